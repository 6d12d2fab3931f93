/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The header alone: layouts, values, macros, tables of names. Layouts are checked when this
 * compiles. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#include "gni_pub.h"
#include "gni_pub.h"
#include "aries/misc/exceptions.h"
#include "commands.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field)

SIZE(gni_cq_entry_t, 8);
SIZE(gni_cq_mode_t, 4);
SIZE(gni_error_mask_t, 1);
SIZE(gni_return_t, 4);
SIZE(gni_mem_handle_attr_t, 4);
SIZE(gni_smsg_type_t, 4);
SIZE(gni_post_state_t, 4);
SIZE(gni_post_type_t, 4);
SIZE(gni_fma_cmd_type_t, 4);
SIZE(gni_ce_cmd_type_t, 4);
SIZE(gni_ce_child_t, 4);
SIZE(gni_nic_device_t, 4);
SIZE(gni_dev_res_t, 4);
SIZE(gni_job_res_t, 4);
SIZE(gni_statistic_t, 4);
SIZE(gni_nic_handle_t, sizeof(void *));

SIZE(gni_mem_handle_t, 16);
AT(gni_mem_handle_t, qword1, 0);
AT(gni_mem_handle_t, qword2, 8);

SIZE(gni_smsg_attr_t, 56);
AT(gni_smsg_attr_t, msg_type, 0);
AT(gni_smsg_attr_t, msg_buffer, 8);
AT(gni_smsg_attr_t, buff_size, 16);
AT(gni_smsg_attr_t, mem_hndl, 24);
AT(gni_smsg_attr_t, mbox_offset, 40);
AT(gni_smsg_attr_t, mbox_maxcredit, 44);
AT(gni_smsg_attr_t, msg_maxsize, 48);

SIZE(gni_mem_segment_t, 16);
AT(gni_mem_segment_t, address, 0);
AT(gni_mem_segment_t, length, 8);

SIZE(gni_ce_result_t, 24);
AT(gni_ce_result_t, control, 0);
AT(gni_ce_result_t, result1, 8);
AT(gni_ce_result_t, result2, 16);

SIZE(gni_post_descriptor_t, 184);
AT(gni_post_descriptor_t, next_descr, 0);
AT(gni_post_descriptor_t, prev_descr, 8);
AT(gni_post_descriptor_t, post_id, 16);
AT(gni_post_descriptor_t, status, 24);
AT(gni_post_descriptor_t, cq_mode_complete, 32);
AT(gni_post_descriptor_t, type, 36);
AT(gni_post_descriptor_t, cq_mode, 40);
AT(gni_post_descriptor_t, dlvr_mode, 42);
AT(gni_post_descriptor_t, local_addr, 48);
AT(gni_post_descriptor_t, local_mem_hndl, 56);
AT(gni_post_descriptor_t, remote_addr, 72);
AT(gni_post_descriptor_t, remote_mem_hndl, 80);
AT(gni_post_descriptor_t, length, 96);
AT(gni_post_descriptor_t, rdma_mode, 104);
AT(gni_post_descriptor_t, src_cq_hndl, 112);
AT(gni_post_descriptor_t, sync_flag_value, 120);
AT(gni_post_descriptor_t, sync_flag_addr, 128);
AT(gni_post_descriptor_t, amo_cmd, 136);
AT(gni_post_descriptor_t, first_operand, 144);
AT(gni_post_descriptor_t, second_operand, 152);
AT(gni_post_descriptor_t, cqwrite_value, 160);
AT(gni_post_descriptor_t, ce_cmd, 168);
AT(gni_post_descriptor_t, ce_mode, 172);
AT(gni_post_descriptor_t, ce_red_id, 176);

#define CHAIN_PUT_FIELDS(type)     \
    AT(type, next_descr, 0);       \
    AT(type, ep_hndl, 8);          \
    AT(type, length, 16);          \
    AT(type, remote_addr, 24);     \
    AT(type, remote_mem_hndl, 32); \
    AT(type, local_addr, 48)
SIZE(gni_ct_put_post_descriptor_t, 56);
CHAIN_PUT_FIELDS(gni_ct_put_post_descriptor_t);
SIZE(gni_ct_get_post_descriptor_t, 72);
CHAIN_PUT_FIELDS(gni_ct_get_post_descriptor_t);
AT(gni_ct_get_post_descriptor_t, local_mem_hndl, 56);
SIZE(gni_ct_amo_post_descriptor_t, 96);
CHAIN_PUT_FIELDS(gni_ct_amo_post_descriptor_t);
AT(gni_ct_amo_post_descriptor_t, local_mem_hndl, 56);
AT(gni_ct_amo_post_descriptor_t, amo_cmd, 72);
AT(gni_ct_amo_post_descriptor_t, first_operand, 80);
AT(gni_ct_amo_post_descriptor_t, second_operand, 88);
SIZE(gni_ct_cqw_post_descriptor_t, 40);
AT(gni_ct_cqw_post_descriptor_t, next_descr, 0);
AT(gni_ct_cqw_post_descriptor_t, ep_hndl, 8);
AT(gni_ct_cqw_post_descriptor_t, remote_mem_hndl, 16);
AT(gni_ct_cqw_post_descriptor_t, cqwrite_value, 32);
SIZE(gni_ct_uni_post_descriptor_t, 96);
AT(gni_ct_uni_post_descriptor_t, u.put, 0);
AT(gni_ct_uni_post_descriptor_t, u.get, 0);
AT(gni_ct_uni_post_descriptor_t, u.amo, 0);
AT(gni_ct_uni_post_descriptor_t, u.cqw, 0);

SIZE(gni_ntt_entry_t, 12);
AT(gni_ntt_entry_t, blck_addr, 0);
AT(gni_ntt_entry_t, rplc_addr, 4);
AT(gni_ntt_entry_t, rplc_size, 8);
SIZE(gni_ntt_descriptor_t, 24);
AT(gni_ntt_descriptor_t, group_size, 0);
AT(gni_ntt_descriptor_t, granularity, 4);
AT(gni_ntt_descriptor_t, u.table, 8);
AT(gni_ntt_descriptor_t, u.table_v2, 8);
AT(gni_ntt_descriptor_t, flags, 16);

SIZE(gni_error_event_t, 48);
AT(gni_error_event_t, error_code, 0);
AT(gni_error_event_t, error_category, 2);
AT(gni_error_event_t, ptag, 3);
AT(gni_error_event_t, serial_number, 4);
AT(gni_error_event_t, timestamp, 8);
AT(gni_error_event_t, info_mmrs, 16);

SIZE(gni_job_limits_t, 36);
AT(gni_job_limits_t, mdd_limit, 0);
AT(gni_job_limits_t, a.mrt_limit, 4);
AT(gni_job_limits_t, a.m.ce_limit, 4);
AT(gni_job_limits_t, a.m.iommu_limit, 5);
AT(gni_job_limits_t, a.m.res_byte2, 6);
AT(gni_job_limits_t, a.m.res_byte3, 7);
AT(gni_job_limits_t, b.gart_limit, 8);
AT(gni_job_limits_t, b.dla_limit, 8);
AT(gni_job_limits_t, fma_limit, 12);
AT(gni_job_limits_t, bte_limit, 16);
AT(gni_job_limits_t, cq_limit, 20);
AT(gni_job_limits_t, ntt_ctrl, 24);
AT(gni_job_limits_t, ntt_base, 28);
AT(gni_job_limits_t, ntt_size, 32);

SIZE(gni_dev_res_desc_t, 32);
AT(gni_dev_res_desc_t, available, 0);
AT(gni_dev_res_desc_t, reserved, 8);
AT(gni_dev_res_desc_t, held, 16);
AT(gni_dev_res_desc_t, total, 24);
SIZE(gni_job_res_desc_t, 16);
AT(gni_job_res_desc_t, used, 0);
AT(gni_job_res_desc_t, limit, 8);

SIZE(gni_msgq_attr_t, 28);
AT(gni_msgq_attr_t, max_msg_sz, 0);
AT(gni_msgq_attr_t, smsg_q_sz, 4);
AT(gni_msgq_attr_t, rcv_pool_sz, 8);
AT(gni_msgq_attr_t, num_msgq_eps, 12);
AT(gni_msgq_attr_t, nloc_insts, 16);
AT(gni_msgq_attr_t, modes, 20);
AT(gni_msgq_attr_t, rcv_cq_sz, 24);
SIZE(gni_msgq_rem_inst_t, 32);
AT(gni_msgq_rem_inst_t, id, 0);
AT(gni_msgq_rem_inst_t, mdh, 8);
AT(gni_msgq_rem_inst_t, mdh_off, 24);
SIZE(gni_msgq_ep_attr_t, 4112);
AT(gni_msgq_ep_attr_t, pe_addr, 0);
AT(gni_msgq_ep_attr_t, max_msg_sz, 4);
AT(gni_msgq_ep_attr_t, smsg_q_sz, 8);
AT(gni_msgq_ep_attr_t, num_insts, 12);
AT(gni_msgq_ep_attr_t, insts, 16);

SIZE(gni_version_info_t, 176);
AT(gni_version_info_t, ugni_version, 0);
AT(gni_version_info_t, ugni_svn_revision, 4);
AT(gni_version_info_t, ugni_build_string, 8);
AT(gni_version_info_t, kgni_version, 88);
AT(gni_version_info_t, kgni_svn_revision, 92);
AT(gni_version_info_t, kgni_build_string, 96);

SIZE(gni_bi_desc_t, 16);
AT(gni_bi_desc_t, current_bw, 0);
AT(gni_bi_desc_t, current_aot_bw, 2);
AT(gni_bi_desc_t, current_norbs, 4);
AT(gni_bi_desc_t, flags, 6);
AT(gni_bi_desc_t, sys_def_bw, 8);
AT(gni_bi_desc_t, sys_def_aot_bw, 10);
AT(gni_bi_desc_t, cle_seqnum, 12);
AT(gni_bi_desc_t, hss_seqnum, 14);

/* The assertions above are the test; this makes sure that the structure tags exist beside the
 * typedefs. */
static void ugni_1_layouts(void **state)
{
    assert_ptr_equal((struct gni_post_descriptor *)0, (gni_post_descriptor_t *)0);
    assert_ptr_equal((struct gni_mem_handle *)0, (gni_mem_handle_t *)0);
    assert_ptr_equal((struct gni_smsg_attr *)0, (gni_smsg_attr_t *)0);
    assert_ptr_equal((struct gni_ct_uni_post_descriptor *)0, (gni_ct_uni_post_descriptor_t *)0);
    assert_ptr_equal((struct gni_nic *)0, (gni_nic_handle_t)0);
}

static void ugni_2_included_twice(void **state)
{
#ifndef _GNI_PUB_H_
    fail_msg("the guard has another name");
#endif
#if !defined(IN) || !defined(OUT) || !defined(INOUT)
    fail_msg("the annotations must stay defined");
#endif
}

static void ugni_3_version(void **state)
{
    assert_int_equal(GNI_VERSION, 0x005d0102);
    assert_int_equal(GNI_GET_MAJOR(GNI_VERSION), 0);
    assert_int_equal(GNI_GET_MINOR(GNI_VERSION), 0x5d);
    assert_int_equal(GNI_GET_REV(GNI_VERSION), 0x0102);
    assert_int_equal(GNI_VERSION_CHECK(0, 0x5d, 0x102), GNI_VERSION);
    assert_int_equal(GNI_GET_MAJOR(0x12345678), 0x12);
    assert_int_equal(GNI_VERSION_FMA_SHARING, 0x5b0000);
    assert_int_equal(GNI_VERSION_FMA_CHAIN_TRANSACTIONS, 0x5d0000);
}

static void ugni_4_return_codes(void **state)
{
    static const struct {
        gni_return_t code;
        const char *name;
    } codes[] = {
        {GNI_RC_SUCCESS, "GNI_RC_SUCCESS"},
        {GNI_RC_NOT_DONE, "GNI_RC_NOT_DONE"},
        {GNI_RC_INVALID_PARAM, "GNI_RC_INVALID_PARAM"},
        {GNI_RC_ERROR_RESOURCE, "GNI_RC_ERROR_RESOURCE"},
        {GNI_RC_TIMEOUT, "GNI_RC_TIMEOUT"},
        {GNI_RC_PERMISSION_ERROR, "GNI_RC_PERMISSION_ERROR"},
        {GNI_RC_DESCRIPTOR_ERROR, "GNI_RC_DESCRIPTOR_ERROR"},
        {GNI_RC_ALIGNMENT_ERROR, "GNI_RC_ALIGNMENT_ERROR"},
        {GNI_RC_INVALID_STATE, "GNI_RC_INVALID_STATE"},
        {GNI_RC_NO_MATCH, "GNI_RC_NO_MATCH"},
        {GNI_RC_SIZE_ERROR, "GNI_RC_SIZE_ERROR"},
        {GNI_RC_TRANSACTION_ERROR, "GNI_RC_TRANSACTION_ERROR"},
        {GNI_RC_ILLEGAL_OP, "GNI_RC_ILLEGAL_OP"},
        {GNI_RC_ERROR_NOMEM, "GNI_RC_ERROR_NOMEM"},
    };
    size_t i;

    assert_int_equal(ARRAY_SIZE(codes), 14);
    for (i = 0; i < ARRAY_SIZE(codes); i++) {
        assert_int_equal(codes[i].code, i);
        assert_string_equal(gni_err_str[i], codes[i].name);
    }
}

/* The bits of the values of AMO commands agree with their names. */
static void ugni_5_amo_commands(void **state)
{
    size_t i;

    assert_int_equal(ARRAY_SIZE(amo_commands), 118);
    for (i = 0; i < ARRAY_SIZE(amo_commands); i++) {
        const struct command *amo = &amo_commands[i];
        bool second = strstr(amo->name, "ATOMIC2_") != NULL;
        const char *operation = strstr(amo->name, second ? "ATOMIC2_" : "ATOMIC_");
        const char *suffix;
        bool fetch, shorter, cached;

        operation = strchr(operation, '_') + 1;
        /*
         * FPMIN, FPMAX and FPADD begin with an F that is part of the operation; the
         * compare-and-swap of the first generation has none and fetches all the same.
         */
        fetch = (operation[0] == 'F' && strncmp(operation, "FP", 2) != 0) ||
                (!second && strncmp(operation, "CSWAP", 5) == 0);
        suffix = strchr(operation, '_');
        shorter = suffix && (strcmp(suffix, "_S") == 0 || strcmp(suffix, "_SC") == 0);
        cached = suffix && (strcmp(suffix, "_C") == 0 || strcmp(suffix, "_SC") == 0);
        assert_int_equal(amo->value, amo->expected);
        assert_int_equal((amo->value & 0x100) == 0, fetch);
        assert_int_equal((amo->value & 0x200) != 0, shorter);
        assert_int_equal((amo->value & 0x040) != 0, second);
        assert_int_equal((amo->value & (second ? 0x020 : 0x010)) != 0, cached);
        if (second)
            assert_int_equal(amo->value & 1, !shorter);
    }
}

static void ugni_5_ce_commands(void **state)
{
    size_t i;

    assert_int_equal(ARRAY_SIZE(ce_commands), 26);
    for (i = 0; i < ARRAY_SIZE(ce_commands); i++) {
        const struct command *ce = &ce_commands[i];
        bool shorter = strcmp(ce->name + strlen(ce->name) - 2, "_S") == 0;

        assert_int_equal(ce->value, ce->expected);
        assert_int_equal(ce->value & 1, !shorter);
        assert_int_equal((ce->value & 0x20) != 0, strstr(ce->name, "GIDX") != NULL);
    }
}

#define EQUAL(name, expected)               \
    {                                       \
#name, (uint64_t)(name), (expected) \
    }

static void ugni_5_flags(void **state)
{
    static const struct {
        const char *name;
        uint64_t value, expected;
    } flags[] = {
#include "flags.inc"
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(flags); i++)
        if (flags[i].value != flags[i].expected)
            fail_msg("%s is %#llx, not %#llx", flags[i].name, (unsigned long long)flags[i].value,
                     (unsigned long long)flags[i].expected);
}

static void ugni_5_macros(void **state)
{
    assert_int_equal(GNI_JOB_CREATE_COOKIE(0x1234, 0xd), 0x12340028);
    assert_int_equal(GNI_JOB_CREATE_COOKIE(1 + 1, 1 | 2), 0x00020018);
    assert_true(GNI_CQ_IS_BLOCKING(GNI_CQ_BLOCKING | GNI_CQ_UNMANAGED));
    assert_false(GNI_CQ_IS_BLOCKING(GNI_CQ_NOBLOCK));
    assert_true(GNI_CQ_IS_NON_BLOCKING(GNI_CQ_EMULATED));
    assert_false(GNI_CQ_IS_NON_BLOCKING(GNI_CQ_BLOCKING));
    assert_true(GNI_CQ_IS_EMULATED(GNI_CQ_EMULATED));
    assert_true(GNI_CQ_IS_NOT_EMULATED(GNI_CQ_BLOCKING));
    assert_true(GNI_CQ_IS_INVALID_EMULATED(GNI_CQ_EMULATED | GNI_CQ_BLOCKING));
    assert_false(GNI_CQ_IS_INVALID_EMULATED(GNI_CQ_EMULATED));
    assert_false(GNI_CQ_IS_INVALID_EMULATED(GNI_CQ_BLOCKING));
    assert_true(GNI_CQ_USE_PHYS_PAGES(GNI_CQ_PHYS_PAGES));
    assert_int_equal(GNI_EXMEM_FLAGS(GNI_MEM_CUDA), 1);
    assert_true(GNI_MEM_IS_EXTERNAL(GNI_MEM_CUDA | GNI_MEM_READ_ONLY));
    assert_false(GNI_MEM_IS_EXTERNAL(GNI_MEM_READ_ONLY));
}

/* libfabric's own definitions, made after the header as it does, must meet no name of ours. */
#define GNI_MEMHNDL_NPAGES_MASK 0xFFFFFFF
#define GNI_MEMHNDL_MDH_MASK 0xFFF
#define GNI_MEMHNDL_FLAG_NEW_FRMT 0x80
typedef struct gni_mem_hndl_v1 {
    uint64_t va : 52;
} gni_mem_hndl_v1_t;
typedef struct gni_mem_hndl_v2 {
    uint64_t va : 52;
} gni_mem_hndl_v2_t;
#define compiler_barrier() __asm__ volatile("" ::: "memory")

static void ugni_6_names_left_free(void **state)
{
    gni_mem_hndl_v1_t first = {1};
    gni_mem_hndl_v2_t second = {2};

    compiler_barrier();
    assert_int_equal(first.va + second.va, 3);
    assert_int_equal(GNI_MEMHNDL_ATTR_CLONE - GNI_MEMHNDL_ATTR_READONLY + 1, 7);
}

static void ugni_7_statistics(void **state)
{
    static const char *const names[] = {
        "SMSG_BUFF_CREDITS_STALL",
        "SMSG_DLA_STALL",
        "SMSG_MBOX_CREDITS_STALL",
        "SMSG_REQ_STALL",
        "SMSG_RETRANS_COUNT",
        "SMSG_RETRANS_DLA_COUNT",
        "SMSG_RETRANS_STALL",
        "DLA_ALLOC_STATUS_STALL",
        "DLA_ALLOC_STATUS_TIMEOUT",
        "DLA_BLOCK_ORPHANED",
        "DLA_BLOCK_RETRANS_COUNT",
        "DLA_FREE_BLOCKS_STALL",
        "DLA_FREE_FMAD_BLOCKS_STALL",
        "DLA_HIGH_RETRANS_COUNT",
        "DLA_OVERFLOW_RESEND",
        "DLA_RETRANS_COUNT",
        "DLA_TOTAL_RETRANS_COUNT",
        "FLBTE_TXD_CORRUPT",
        "FLBTE_TXD_NONE",
        "FMA_LAUNCH_COUNT",
        "MR_MULTI_PAGESIZE",
    };
    size_t i;

#ifdef CRAY_CONFIG_GHAL_ARIES
    assert_int_equal(GNI_NUM_STATS, 21);
    assert_int_equal(GNI_STAT_DLA_ALLOC_STATUS_STALL, 7);
    assert_int_equal(GNI_STAT_FMA_LAUNCH_COUNT, 19);
    assert_int_equal(GNI_STAT_MR_MULTI_PAGESIZE, 20);
#else
    assert_int_equal(GNI_NUM_STATS, 8);
    assert_int_equal(GNI_STAT_MR_MULTI_PAGESIZE, 7);
#endif
    assert_int_equal(GNI_STAT_SMSG_BUFF_CREDITS_STALL, 0);
    assert_int_equal(GNI_STAT_SMSG_RETRANS_STALL, 6);
    for (i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(gni_statistic_str[i], names[i]);
}

/* Getters must accept a value that is not a variable. */
static gni_cq_entry_t rvalue(gni_cq_entry_t entry)
{
    return entry;
}

#define ROUND_TRIP(entry, FIELD, bits)                                                    \
    do {                                                                                  \
        unsigned bit;                                                                     \
                                                                                          \
        for (bit = 0; bit < (bits); bit++) {                                              \
            GNI_CQ_SET_##FIELD(entry, UINT64_C(1) << bit);                                \
            assert_int_equal(GNI_CQ_GET_##FIELD(rvalue(entry)), UINT64_C(1) << bit);      \
        }                                                                                 \
        GNI_CQ_SET_##FIELD(entry, UINT64_C(0));                                           \
        assert_int_equal(GNI_CQ_GET_##FIELD(entry), 0);                                   \
        GNI_CQ_SET_##FIELD(entry, ~UINT64_C(0));                                          \
        assert_int_equal(GNI_CQ_GET_##FIELD(rvalue(entry)), (UINT64_C(1) << (bits)) - 1); \
    } while (0)

static void ugni_9_setters_round_trip(void **state)
{
    static const gni_cq_entry_t starts[] = {0, ~UINT64_C(0), UINT64_C(0x123456789abcdef0)};
    size_t i;

    for (i = 0; i < ARRAY_SIZE(starts); i++) {
        gni_cq_entry_t entry = starts[i];

        ROUND_TRIP(entry, INST_ID, 24);
        ROUND_TRIP(entry, REM_INST_ID, 32);
        ROUND_TRIP(entry, MSG_ID, 32);
        ROUND_TRIP(entry, TID, 22);
        ROUND_TRIP(entry, TYPE, 2);
        GNI_CQ_CLR_STATUS(entry);
        assert_true(GNI_CQ_STATUS_OK(rvalue(entry)));
        /* The bits outside the data stay unchanged. */
        assert_int_equal(GNI_CQ_GET_SOURCE(entry), GNI_CQ_GET_SOURCE(starts[i]));
        assert_int_equal(GNI_CQ_GET_INFO(entry), GNI_CQ_GET_INFO(starts[i]));
        assert_int_equal(GNI_CQ_OVERRUN(entry), GNI_CQ_OVERRUN(starts[i]));
        assert_int_equal(GNI_CQ_REM_OVERRUN(entry), GNI_CQ_REM_OVERRUN(starts[i]));
    }
}

/* Setting one field of a post event leaves the two others. */
static void ugni_9_fields_do_not_overlap(void **state)
{
    gni_cq_entry_t entry = 0;

    GNI_CQ_SET_INST_ID(entry, 0x00abcdef);
    GNI_CQ_SET_TID(entry, 0x3ffffe);
    GNI_CQ_SET_TYPE(entry, GNI_CQ_EVENT_TYPE_MSGQ);
    assert_int_equal(GNI_CQ_GET_INST_ID(entry), 0x00abcdef);
    assert_int_equal(GNI_CQ_GET_TID(entry), 0x3ffffe);
    assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
    assert_int_equal(GNI_CQ_GET_SOURCE(entry), 0);
    GNI_CQ_SET_INST_ID(entry, 0x12ffffff);
    assert_int_equal(GNI_CQ_GET_INST_ID(entry), 0x00ffffff);
    assert_int_equal(GNI_CQ_GET_TID(entry), 0x3ffffe);
}

/* Calls every accessor on one entry, as a program might do with an unexpected entry. */
static void ugni_9_all_accessors(void **state)
{
    gni_cq_entry_t all = ~UINT64_C(0);

    assert_int_equal(GNI_CQ_GET_DATA(rvalue(all)), 0xffffffffffff);
    assert_int_equal(GNI_CQ_GET_SOURCE(rvalue(all)), 7);
    assert_int_equal(GNI_CQ_GET_STATUS(rvalue(all)), 0x3f);
    assert_int_equal(GNI_CQ_GET_INFO(rvalue(all)), 3);
    assert_int_equal(GNI_CQ_OVERRUN(rvalue(all)), 1);
    assert_int_equal(GNI_CQ_REM_OVERRUN(rvalue(all)), 1);
    assert_int_equal(GNI_CQ_GET_BLOCK_ID(rvalue(all)), 0xffff);
    assert_int_equal(GNI_CQ_GET_UNSUCCESSFUL_CNT(rvalue(all)), 0xffff);
    assert_int_equal(GNI_CQ_GET_MARKER_ID(rvalue(all)), 0xffffffff);
    assert_int_equal(GNI_CQ_GET_FAILED_ENQUEUE_CNT(rvalue(all)), 0xffff);
    assert_int_equal(GNI_CQ_GET_CE_ID(rvalue(all)), 0xff);
    assert_int_equal(GNI_CQ_GET_REDUCTN_ID(rvalue(all)), 0x3ffffffff);
    assert_int_equal(GNI_CQ_GET_TRANS_TYPE(rvalue(all)), 0xf);
    assert_int_equal(GNI_CQ_STATUS_DLA_OVERFLOW(rvalue(all)), 0);
    assert_int_equal(GNI_CQ_BTE_ENQ_STATUS(rvalue(all)), 0);
    assert_false(GNI_CQ_STATUS_OK(rvalue(all)));
    assert_int_equal(GNI_CQ_STATUS_DLA_OVERFLOW((uint64_t)A_STATUS_DLA_OVERFLOW << 56), 1);
    /* Source BTE, info ENQ_STATUS. */
    assert_int_equal(GNI_CQ_BTE_ENQ_STATUS(UINT64_C(2) << 51 | UINT64_C(1) << 48), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_1_layouts),
        cmocka_unit_test(ugni_2_included_twice),
        cmocka_unit_test(ugni_3_version),
        cmocka_unit_test(ugni_4_return_codes),
        cmocka_unit_test(ugni_5_amo_commands),
        cmocka_unit_test(ugni_5_ce_commands),
        cmocka_unit_test(ugni_5_flags),
        cmocka_unit_test(ugni_5_macros),
        cmocka_unit_test(ugni_6_names_left_free),
        cmocka_unit_test(ugni_7_statistics),
        cmocka_unit_test(ugni_9_setters_round_trip),
        cmocka_unit_test(ugni_9_fields_do_not_overlap),
        cmocka_unit_test(ugni_9_all_accessors),
    };
    return cmocka_run_group_tests_name("gni_pub.h", tests, NULL, NULL);
}
