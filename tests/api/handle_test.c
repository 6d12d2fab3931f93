/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of the API without state: memory handles, queue entries, status codes, devices. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "gni_pub.h"
#include "aries/misc/exceptions.h"
#include "nic/ce_result.h"
#include "nic/cq_entry.h"
#include "nic/mem_handle.h"
#include "nic/status.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The checksum as its definition says, bit by bit (reflected polynomial 0x8c), to compare with. */
static uint8_t reference_crc(const gni_mem_handle_t *handle)
{
    uint8_t crc = 0;
    unsigned byte, bit;

    for (byte = 0; byte < 15; byte++) {
        crc ^= byte < 8 ? handle->qword1 >> 8 * byte : handle->qword2 >> 8 * (byte - 8);
        for (bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x8c : crc >> 1;
    }
    return crc;
}

/* A key of libfabric's gni provider keeps only address and MDH; the rest is made up again like
 * this. */
static gni_mem_handle_t rebuilt(uint64_t address, uint32_t mdh, uint8_t flags)
{
    gni_mem_handle_t handle;

    handle.qword1 = (uint64_t)mdh << 52 | address >> 12;
    handle.qword2 = (uint64_t)flags << 34 | UINT64_C(12) << 28 | UINT64_C(0x0FFFFFFF);
    handle.qword2 |= (uint64_t)reference_crc(&handle) << 56;
    return handle;
}

static void ugni_30_bits_of_a_handle(void **state)
{
    const struct aries_mem_handle fields = {
        .address = 0x00007f8123456000,
        .mdh = 0xabc,
        .pages = 0x1234567,
        .page_shift = 21,
        .flags = ARIES_MEM_READONLY | ARIES_MEM_IOMMU,
    };
    gni_mem_handle_t handle = aries_mem_handle_encode(&fields);

    assert_int_equal(handle.qword1 & ((UINT64_C(1) << 52) - 1), 0x00007f8123456);
    assert_int_equal(handle.qword1 >> 52, 0xabc);
    assert_int_equal(handle.qword2 & 0x0fffffff, 0x1234567);
    assert_int_equal(handle.qword2 >> 28 & 0x3f, 21);
    assert_int_equal(handle.qword2 >> 34 & 0xff, 0x11);
    assert_int_equal(handle.qword2 >> 42 & 0x3fff, 0);
    assert_int_equal(handle.qword2 >> 56, reference_crc(&handle));
}

/* Fixed results, worked out from the definition of the checksum outside this program. */
static void ugni_30_crc_vectors(void **state)
{
    static const gni_mem_handle_t handles[] = {
#include "crc_vectors.inc"
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(handles); i++) {
        assert_int_equal(reference_crc(&handles[i]), handles[i].qword2 >> 56);
        assert_true(aries_mem_handle_check(&handles[i]));
    }
}

/* Every bit of a handle by itself: the checksum is linear, so this covers all handles. */
static void ugni_30_crc_of_each_bit(void **state)
{
    unsigned bit;

    for (bit = 0; bit < 120; bit++) {
        gni_mem_handle_t handle = {0, 0};

        if (bit < 64)
            handle.qword1 = UINT64_C(1) << bit;
        else
            handle.qword2 = UINT64_C(1) << (bit - 64);
        assert_false(aries_mem_handle_check(&handle));
        handle.qword2 |= (uint64_t)reference_crc(&handle) << 56;
        assert_true(aries_mem_handle_check(&handle));
    }
}

static void ugni_30_fields_round_trip(void **state)
{
    static const struct aries_mem_handle fields[] = {
        {.address = 0, .mdh = 0, .pages = 0, .page_shift = 0, .flags = 0},
        {.address = 0xfffffffffffff000,
         .mdh = 4095,
         .pages = ARIES_MEM_PAGES_MAX,
         .page_shift = 63,
         .flags = 0x7f},
        {.address = 0x1000, .mdh = 1, .pages = 1, .page_shift = 12, .flags = ARIES_MEM_VMDH},
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(fields); i++) {
        gni_mem_handle_t handle = aries_mem_handle_encode(&fields[i]);
        struct aries_mem_handle back;

        aries_mem_handle_decode(&handle, &back);
        assert_int_equal(back.address, fields[i].address);
        assert_int_equal(back.mdh, fields[i].mdh);
        assert_int_equal(back.pages, fields[i].pages);
        assert_int_equal(back.page_shift, fields[i].page_shift);
        assert_int_equal(back.flags, fields[i].flags);
    }
}

/*
 * A handle that the library makes, and one that a client makes from address and MDH, name the same
 * region.
 */
static void ugni_31_rebuilt_handle(void **state)
{
    const struct aries_mem_handle original = {
        .address = 0xffffff8123456000, /* bit 48 set: sign-extended from 49 bits */
        .mdh = 0x5a5,
        .pages = 17,
        .page_shift = 12,
        .flags = ARIES_MEM_MRT | ARIES_MEM_READONLY,
    };
    gni_mem_handle_t handle = aries_mem_handle_encode(&original), copy;
    struct aries_mem_handle fields;

    copy = rebuilt(handle.qword1 << 12, handle.qword1 >> 52, ARIES_MEM_READONLY);
    assert_true(aries_mem_handle_check(&copy));
    aries_mem_handle_decode(&copy, &fields);
    assert_int_equal(fields.address, original.address);
    assert_int_equal(fields.mdh, original.mdh);
    assert_int_equal(fields.pages, ARIES_MEM_PAGES_MAX);
    assert_int_equal(fields.page_shift, 12);
    assert_int_equal(fields.flags, ARIES_MEM_READONLY);
    assert_int_equal(aries_mem_handle_mdh(&copy), aries_mem_handle_mdh(&handle));
    assert_int_equal(aries_mem_handle_flags(&copy), ARIES_MEM_READONLY);
}

/* The scalable mode names a region by its index alone. */
static void ugni_31_rebuilt_vmdh_handle(void **state)
{
    gni_mem_handle_t handle = rebuilt(0, 4095, ARIES_MEM_VMDH | ARIES_MEM_READONLY);
    int yes = 0;

    assert_true(aries_mem_handle_check(&handle));
    assert_int_equal(aries_mem_handle_mdh(&handle), 4095);
    assert_int_equal(GNI_MemHndlQueryAttr(&handle, GNI_MEMHNDL_ATTR_VMDH, &yes), GNI_RC_SUCCESS);
    assert_int_equal(yes, 1);
}

/* Format 2 keeps the MDH elsewhere. */
static void ugni_31_second_format(void **state)
{
    gni_mem_handle_t handle;
    struct aries_mem_handle fields;

    handle.qword1 = UINT64_C(0xeee) << 52 | UINT64_C(0x7f0000123);
    handle.qword2 =
        UINT64_C(0x345) << 42 | (uint64_t)ARIES_MEM_NEW_FORMAT << 34 | UINT64_C(12) << 28 | 9;
    handle.qword2 |= (uint64_t)reference_crc(&handle) << 56;
    assert_true(aries_mem_handle_check(&handle));
    aries_mem_handle_decode(&handle, &fields);
    assert_int_equal(fields.address, 0x7f0000123000);
    assert_int_equal(fields.mdh, 0x345);
    assert_int_equal(fields.pages, 9);
    assert_int_equal(fields.flags, ARIES_MEM_NEW_FORMAT);
}

static void ugni_32_flipped_bit(void **state)
{
    const struct aries_mem_handle fields = {
        .address = 0x7fff12345000, .mdh = 321, .pages = 64, .page_shift = 12};
    const gni_mem_handle_t handle = aries_mem_handle_encode(&fields);
    unsigned bit;
    int yes;

    assert_true(aries_mem_handle_check(&handle));
    for (bit = 0; bit < 128; bit++) {
        gni_mem_handle_t flipped = handle;

        if (bit < 64)
            flipped.qword1 ^= UINT64_C(1) << bit;
        else
            flipped.qword2 ^= UINT64_C(1) << (bit - 64);
        assert_false(aries_mem_handle_check(&flipped));
        yes = 7;
        assert_int_equal(GNI_MemHndlQueryAttr(&flipped, GNI_MEMHNDL_ATTR_VMDH, &yes),
                         GNI_RC_INVALID_PARAM);
        assert_int_equal(yes, 7);
    }
}

/* "No handle" is not a damaged one: a post with it fails at the target. */
static void ugni_32_zero_handle_passes(void **state)
{
    const gni_mem_handle_t none = {0, 0};

    assert_true(aries_mem_handle_check(&none));
}

static void ugni_42_query_attributes(void **state)
{
    static const struct {
        gni_mem_handle_attr_t attr;
        uint8_t flag;
    } attributes[] = {
        {GNI_MEMHNDL_ATTR_READONLY, 0x01}, {GNI_MEMHNDL_ATTR_VMDH, 0x02},
        {GNI_MEMHNDL_ATTR_MRT, 0x04},      {GNI_MEMHNDL_ATTR_GART, 0x08},
        {GNI_MEMHNDL_ATTR_IOMMU, 0x10},    {GNI_MEMHNDL_ATTR_PCI_IOMMU, 0x20},
        {GNI_MEMHNDL_ATTR_CLONE, 0x40},
    };
    size_t asked, set;
    int yes;

    for (set = 0; set < ARRAY_SIZE(attributes); set++) {
        const struct aries_mem_handle fields = {.address = 0x10000,
                                                .mdh = 3,
                                                .pages = 1,
                                                .page_shift = 12,
                                                .flags = attributes[set].flag};
        gni_mem_handle_t handle = aries_mem_handle_encode(&fields);

        for (asked = 0; asked < ARRAY_SIZE(attributes); asked++) {
            yes = 7;
            assert_int_equal(GNI_MemHndlQueryAttr(&handle, attributes[asked].attr, &yes),
                             GNI_RC_SUCCESS);
            assert_int_equal(yes, asked == set);
        }
    }
}

static void ugni_42_bad_questions(void **state)
{
    const struct aries_mem_handle fields = {.address = 0x10000, .mdh = 3, .page_shift = 12};
    gni_mem_handle_t handle = aries_mem_handle_encode(&fields);
    int yes = 7;

    assert_int_equal(GNI_MemHndlQueryAttr(&handle, (gni_mem_handle_attr_t)0, &yes),
                     GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_MemHndlQueryAttr(&handle, (gni_mem_handle_attr_t)8, &yes),
                     GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_MemHndlQueryAttr(NULL, GNI_MEMHNDL_ATTR_VMDH, &yes), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_MemHndlQueryAttr(&handle, GNI_MEMHNDL_ATTR_VMDH, NULL),
                     GNI_RC_INVALID_PARAM);
    assert_int_equal(yes, 7);
}

static void post_entry(void **state)
{
    gni_cq_entry_t entry = aries_cq_entry_post(ARIES_CQ_SOURCE_BTE, ARIES_CQ_BTE_TX_DONE,
                                               A_STATUS_OKAY, ARIES_CQ_TID_MAX, 0x12abcdef);

    assert_int_equal(GNI_CQ_GET_SOURCE(entry), ARIES_CQ_SOURCE_BTE);
    assert_int_equal(GNI_CQ_GET_INFO(entry), ARIES_CQ_BTE_TX_DONE);
    assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_POST);
    assert_int_equal(GNI_CQ_GET_TID(entry), ARIES_CQ_TID_MAX);
    assert_int_equal(GNI_CQ_GET_INST_ID(entry), 0xabcdef);
    assert_true(GNI_CQ_STATUS_OK(entry));
    assert_int_equal(GNI_CQ_OVERRUN(entry) + GNI_CQ_REM_OVERRUN(entry), 0);
    assert_int_equal(GNI_CQ_REM_OVERRUN(entry | ARIES_CQ_REM_OVERRUN), 1);
    assert_int_equal(GNI_CQ_OVERRUN(entry | ARIES_CQ_OVERRUN), 1);
}

static void message_entry(void **state)
{
    gni_cq_entry_t entry = aries_cq_entry_message(GNI_CQ_EVENT_TYPE_SMSG, ARIES_CQ_CPLTN_SRSP,
                                                  A_STATUS_ORB_TIMEOUT, 0xffffffff);

    assert_int_equal(GNI_CQ_GET_SOURCE(entry), ARIES_CQ_SOURCE_SSID);
    assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_SMSG);
    assert_int_equal(GNI_CQ_GET_MSG_ID(entry), 0xffffffff);
    assert_int_equal(GNI_CQ_GET_STATUS(entry), A_STATUS_ORB_TIMEOUT);
    assert_int_equal(GNI_CQ_GET_INFO(entry), ARIES_CQ_CPLTN_SRSP);
    entry = aries_cq_entry_message(GNI_CQ_EVENT_TYPE_MSGQ, ARIES_CQ_CPLTN_SREQ, 0, 0);
    assert_int_equal(GNI_CQ_GET_TYPE(entry), GNI_CQ_EVENT_TYPE_MSGQ);
    assert_int_equal(GNI_CQ_GET_MSG_ID(entry), 0);
}

static void remote_entry(void **state)
{
    gni_cq_entry_t entry = aries_cq_entry_remote(ARIES_CQ_CPLTN_DREQ, 0, 0xfeedbeef);

    assert_int_equal(GNI_CQ_GET_SOURCE(entry), ARIES_CQ_SOURCE_RMT);
    assert_int_equal(GNI_CQ_GET_INFO(entry), ARIES_CQ_CPLTN_DREQ);
    assert_int_equal(GNI_CQ_GET_REM_INST_ID(entry), 0xfeedbeef);
    assert_int_equal(GNI_CQ_GET_INST_ID(entry), 0xedbeef);
    assert_int_equal(GNI_CQ_GET_TYPE(entry), 0);
    assert_int_equal(GNI_CQ_GET_DATA(entry), 0xfeedbeef);
}

/* The accessors' half of item 69; that such an entry arrives is tested with the fabric. */
static void ugni_69_cqwrite_entry(void **state)
{
    gni_cq_entry_t entry = aries_cq_entry_cqwrite(UINT64_C(0xffff123456789abc));

    assert_int_equal(GNI_CQ_GET_DATA(entry), 0x123456789abc);
    assert_int_equal(GNI_CQ_GET_REM_INST_ID(entry), 0x56789abc);
    assert_int_equal(GNI_CQ_GET_INST_ID(entry), 0x789abc);
    assert_int_equal(GNI_CQ_GET_SOURCE(entry), ARIES_CQ_SOURCE_RMT);
    assert_int_equal(GNI_CQ_GET_INFO(entry), ARIES_CQ_RMT_CQWRITE);
    assert_true(GNI_CQ_STATUS_OK(entry));
    assert_true(aries_cq_entry_cqwrite(0) != 0);
}

static void engine_entries(void **state)
{
    gni_cq_entry_t entry = aries_cq_entry_ce(A_STATUS_CE_JOIN_DUPLICATE, 3, 9, 1234);

    assert_int_equal(GNI_CQ_GET_CE_ID(entry), 3);
    assert_int_equal(GNI_CQ_GET_TRANS_TYPE(entry), 9);
    assert_int_equal(GNI_CQ_GET_REDUCTN_ID(entry), 1234);
    assert_int_equal(GNI_CQ_GET_STATUS(entry), A_STATUS_CE_JOIN_DUPLICATE);
    entry = aries_cq_entry(ARIES_CQ_SOURCE_DLA, ARIES_CQ_DLA_ALLOC_STATUS, A_STATUS_DLA_OVERFLOW,
                           UINT64_C(7) << 16 | 0x1234);
    assert_int_equal(GNI_CQ_GET_BLOCK_ID(entry), 0x1234);
    assert_int_equal(GNI_CQ_GET_UNSUCCESSFUL_CNT(entry), 7);
    assert_int_equal(GNI_CQ_STATUS_DLA_OVERFLOW(entry), 1);
    entry =
        aries_cq_entry(ARIES_CQ_SOURCE_DLA, ARIES_CQ_DLA_MARKER, 0, UINT64_C(5) << 32 | 0x89abcdef);
    assert_int_equal(GNI_CQ_GET_MARKER_ID(entry), 0x89abcdef);
    assert_int_equal(GNI_CQ_GET_FAILED_ENQUEUE_CNT(entry), 5);
    entry = aries_cq_entry(ARIES_CQ_SOURCE_BTE, ARIES_CQ_BTE_ENQ_STATUS, 0, 0);
    assert_int_equal(GNI_CQ_BTE_ENQ_STATUS(entry), 1);
    entry = aries_cq_entry(ARIES_CQ_SOURCE_SSID, ARIES_CQ_CPLTN_DREQ, 0, 0);
    assert_int_equal(GNI_CQ_BTE_ENQ_STATUS(entry), 0);
}

static void ce_result(void **state)
{
    gni_ce_result_t result = {0, 0, 0};

    assert_false(aries_ce_result_done(&result));
    result.control = aries_ce_result_control(A_STATUS_OKAY, GNI_CE_FPE_UFLOW, 0xffff123456789abc);
    assert_true(aries_ce_result_done(&result));
    assert_int_equal(GNI_CE_RES_GET_STATUS(&result), 0);
    assert_int_equal(GNI_CE_RES_STATUS_OK(&result), 1);
    assert_int_equal(GNI_CE_RES_GET_FPE(&result), GNI_CE_FPE_UFLOW);
    assert_int_equal(GNI_CE_RES_GET_RED_ID(&result), 0x123456789abc);
    result.control = aries_ce_result_control(A_STATUS_CE_REDUCTION_ID_MISMATCH, 0, 0);
    assert_int_equal(GNI_CE_RES_GET_STATUS(&result), 0x37);
    assert_int_equal(GNI_CE_RES_STATUS_OK(&result), 0);
}

static gni_cq_entry_t failed(enum aries_cq_source source, enum aries_cq_info info, unsigned status)
{
    return aries_cq_entry(source, info, status, 0);
}

static void ugni_88_error_string(void **state)
{
    static const char expected[] = "SOURCE_SSID:AT_PF_INV:CPLTN_DREQ";
    gni_cq_entry_t entry = failed(ARIES_CQ_SOURCE_SSID, ARIES_CQ_CPLTN_DREQ, A_STATUS_AT_PF_INV);
    char text[256];

    memset(text, 'x', sizeof(text));
    assert_int_equal(GNI_CqErrorStr(entry, text, sizeof(expected)), GNI_RC_SUCCESS);
    assert_string_equal(text, expected);
    assert_int_equal(text[sizeof(expected)], 'x');

    memset(text, 'x', sizeof(text));
    assert_int_equal(GNI_CqErrorStr(entry, text, sizeof(expected) - 1), GNI_RC_SIZE_ERROR);
    assert_int_equal(text[0], 'x');
    assert_int_equal(GNI_CqErrorStr(entry, text, 0), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_CqErrorStr(entry, NULL, sizeof(text)), GNI_RC_INVALID_PARAM);
}

static void ugni_88_units_and_places(void **state)
{
    static const struct {
        enum aries_cq_source source;
        enum aries_cq_info info;
        unsigned status;
        const char *text;
    } rows[] = {
        {ARIES_CQ_SOURCE_BTE, ARIES_CQ_BTE_TX_DONE, 0x00, "SOURCE_BTE:OKAY:TX_DONE"},
        {ARIES_CQ_SOURCE_BTE, ARIES_CQ_BTE_TX_DONE_NO_SSID, 0x23,
         "SOURCE_BTE:BTE_TIMEOUT:TX_DONE_NO_SSID"},
        {ARIES_CQ_SOURCE_BTE, ARIES_CQ_BTE_ENQ_STATUS, 0x21,
         "SOURCE_BTE:BTE_UNCORRECTABLE:ENQ_STATUS"},
        {ARIES_CQ_SOURCE_SSID, ARIES_CQ_SSID_NONE, 0x27, "SOURCE_SSID:SSID_TIMEOUT:NONE"},
        {ARIES_CQ_SOURCE_SSID, ARIES_CQ_CPLTN_SREQ, 0x20, "SOURCE_SSID:DLA_OVERFLOW:CPLTN_SREQ"},
        {ARIES_CQ_SOURCE_SSID, ARIES_CQ_CPLTN_SRSP, 0x3d,
         "SOURCE_SSID:ENDPOINT_UNREACHABLE:CPLTN_SRSP"},
        {ARIES_CQ_SOURCE_RMT, ARIES_CQ_RMT_CQWRITE, 0x30, "SOURCE_RMT:CQ_ERR:CQWRITE"},
        {ARIES_CQ_SOURCE_RMT, ARIES_CQ_CPLTN_DREQ, 0x2f, "SOURCE_RMT:CQ_OVERRUN:CPLTN_DREQ"},
        {ARIES_CQ_SOURCE_DLA, ARIES_CQ_DLA_ALLOC_STATUS, 0x3f,
         "SOURCE_DLA:RESERVED_3F:ALLOC_STATUS"},
        {ARIES_CQ_SOURCE_DLA, ARIES_CQ_DLA_MARKER, 0x20, "SOURCE_DLA:DLA_OVERFLOW:DLA_MARKER"},
    };
    char text[256];
    size_t i;

    for (i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(GNI_CqErrorStr(failed(rows[i].source, rows[i].info, rows[i].status), text,
                                        sizeof(text)),
                         GNI_RC_SUCCESS);
        assert_string_equal(text, rows[i].text);
    }
    /* Any 64 bits give some text. */
    assert_int_equal(GNI_CqErrorStr(0, text, sizeof(text)), GNI_RC_SUCCESS);
    assert_string_equal(text, "SOURCE_NONE:OKAY:UNDEFINED");
    assert_int_equal(GNI_CqErrorStr(~UINT64_C(0), text, sizeof(text)), GNI_RC_SUCCESS);
    assert_string_equal(text, "SOURCE_UNDEFINED:RESERVED_3F:UNDEFINED");
}

static void aries_54_refused_put(void **state)
{
    static const char expected[] = "SOURCE_SSID:AT_MDD_INV:CPLTN_DREQ";
    gni_cq_entry_t entry = failed(ARIES_CQ_SOURCE_SSID, ARIES_CQ_CPLTN_DREQ, A_STATUS_AT_MDD_INV);
    char text[sizeof(expected)];

    assert_int_equal(GNI_CqErrorStr(entry, text, sizeof(text)), GNI_RC_SUCCESS);
    assert_string_equal(text, expected);
    assert_int_equal(GNI_CqErrorStr(entry, text, sizeof(text) - 1), GNI_RC_SIZE_ERROR);
}

/* All 64 codes; the recoverable ones as in the driver's table. */
static void ugni_89_recoverable(void **state)
{
    static const uint8_t recoverable[] = {
        0x06, 0x07, 0x08, 0x09, 0x0b, 0x18, 0x1d, 0x20, 0x21, 0x22, 0x23, 0x26,
        0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2e, 0x2f, 0x39, 0x3b, 0x3c, 0x3d,
    };
    unsigned code, source;
    uint64_t expected = 0;
    uint32_t yes;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(recoverable); i++)
        expected |= UINT64_C(1) << recoverable[i];
    for (source = ARIES_CQ_SOURCE_BTE; source <= ARIES_CQ_SOURCE_DLA; source++) {
        for (code = 1; code < ARIES_STATUS_COUNT; code++) {
            yes = 7;
            assert_int_equal(GNI_CqErrorRecoverable(failed(source, 0, code), &yes), GNI_RC_SUCCESS);
            assert_int_equal(yes, expected >> code & 1);
        }
    }
    yes = 7;
    assert_int_equal(GNI_CqErrorRecoverable(failed(ARIES_CQ_SOURCE_SSID, 0, 0), &yes),
                     GNI_RC_INVALID_STATE);
    assert_int_equal(yes, 7);
    assert_int_equal(GNI_CqErrorRecoverable(failed(ARIES_CQ_SOURCE_SSID, 0, 1), NULL),
                     GNI_RC_INVALID_PARAM);
}

/* Names are unique, and the header's numbers are the published ones where programs use them. */
static void ugni_89_status_names(void **state)
{
    unsigned a, b;

    for (a = 0; a < ARIES_STATUS_COUNT; a++)
        for (b = 0; b < a; b++)
            assert_string_not_equal(aries_status_name(a), aries_status_name(b));
    assert_int_equal(A_STATUS_OK, 0);
    assert_int_equal(A_STATUS_AT_PROTECTION_ERR, 0x14);
    assert_int_equal(A_STATUS_ENDPOINT_UNREACHABLE, 0x3d);
    assert_string_equal(aries_status_name(0x14), "AT_PROTECTION_ERR");
    assert_string_equal(aries_status_name(0x2c), "RMT_SEQTBL_UNAVAILABLE");
}

static void ugni_127_devices(void **state)
{
    int ids[4] = {7, 7, 7, 7};
    gni_nic_device_t type = GNI_DEVICE_LAST;
    gni_version_info_t info;
    uint32_t version = 0;
    int count = 0;

    assert_int_equal(GNI_GetNumLocalDevices(&count), GNI_RC_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(GNI_GetLocalDeviceIds(4, ids), GNI_RC_SUCCESS);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 7);
    assert_int_equal(GNI_GetDeviceType(&type), GNI_RC_SUCCESS);
    assert_int_equal(type, GNI_DEVICE_ARIES);
    assert_int_equal(GNI_GetVersion(&version), GNI_RC_SUCCESS);
    assert_int_equal(version, GNI_VERSION);
    memset(&info, 0xff, sizeof(info));
    assert_int_equal(GNI_GetVersionInformation(&info), GNI_RC_SUCCESS);
    assert_int_equal(info.ugni_version, GNI_VERSION);
    assert_int_equal(info.kgni_version, GNI_VERSION);
    assert_in_range(strnlen(info.ugni_build_string, MAX_BUILD_STRING_LENGTH), 1,
                    MAX_BUILD_STRING_LENGTH - 1);
    assert_in_range(strnlen(info.kgni_build_string, MAX_BUILD_STRING_LENGTH), 1,
                    MAX_BUILD_STRING_LENGTH - 1);

    assert_int_equal(GNI_GetNumLocalDevices(NULL), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_GetLocalDeviceIds(0, ids), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_GetLocalDeviceIds(-1, ids), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_GetLocalDeviceIds(1, NULL), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_GetDeviceType(NULL), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_GetVersion(NULL), GNI_RC_INVALID_PARAM);
    assert_int_equal(GNI_GetVersionInformation(NULL), GNI_RC_INVALID_PARAM);
}

/* The naming half of item 128; libfabric prints every one of them. */
static void ugni_128_resource_names(void **state)
{
    static const char *const device[] = {"UNKNOWN", "MDD", "MRT", "CQ",      "FMA",    "CE",
                                         "DLA",     "TCR", "DVA", "UNKNOWN", "UNKNOWN"};
    static const char *const job[] = {"UNKNOWN",   "MDD",     "MRT",     "IOMMU",  "GART", "CQ",
                                      "FMA",       "RDMA",    "CE",      "DLA",    "SFMA", "DIRECT",
                                      "PCI_IOMMU", "NONVMDH", "UNKNOWN", "UNKNOWN"};
    unsigned r;

    for (r = 0; r < ARRAY_SIZE(device); r++) {
        bool exists = strcmp(device[r], "UNKNOWN") != 0 && r != GNI_DEV_RES_MRT;

        assert_string_equal(gni_dev_res_to_str((gni_dev_res_t)r), device[r]);
        assert_int_equal(gni_dev_res_valid((gni_dev_res_t)r), exists);
    }
    for (r = 0; r < ARRAY_SIZE(job); r++) {
        bool exists =
            strcmp(job[r], "UNKNOWN") != 0 && r != GNI_JOB_RES_MRT && r != GNI_JOB_RES_GART;

        assert_string_equal(gni_job_res_to_str((gni_job_res_t)r), job[r]);
        assert_int_equal(gni_job_res_valid((gni_job_res_t)r), exists);
    }
    assert_string_equal(gni_dev_res_to_str((gni_dev_res_t)-1), "UNKNOWN");
    assert_string_equal(gni_job_res_to_str((gni_job_res_t)-1), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_30_bits_of_a_handle),
        cmocka_unit_test(ugni_30_crc_vectors),
        cmocka_unit_test(ugni_30_crc_of_each_bit),
        cmocka_unit_test(ugni_30_fields_round_trip),
        cmocka_unit_test(ugni_31_rebuilt_handle),
        cmocka_unit_test(ugni_31_rebuilt_vmdh_handle),
        cmocka_unit_test(ugni_31_second_format),
        cmocka_unit_test(ugni_32_flipped_bit),
        cmocka_unit_test(ugni_32_zero_handle_passes),
        cmocka_unit_test(ugni_42_query_attributes),
        cmocka_unit_test(ugni_42_bad_questions),
        cmocka_unit_test(post_entry),
        cmocka_unit_test(message_entry),
        cmocka_unit_test(remote_entry),
        cmocka_unit_test(ugni_69_cqwrite_entry),
        cmocka_unit_test(engine_entries),
        cmocka_unit_test(ce_result),
        cmocka_unit_test(ugni_88_error_string),
        cmocka_unit_test(ugni_88_units_and_places),
        cmocka_unit_test(aries_54_refused_put),
        cmocka_unit_test(ugni_89_recoverable),
        cmocka_unit_test(ugni_89_status_names),
        cmocka_unit_test(ugni_127_devices),
        cmocka_unit_test(ugni_128_resource_names),
    };
    return cmocka_run_group_tests_name("uGNI without state", tests, NULL, NULL);
}
