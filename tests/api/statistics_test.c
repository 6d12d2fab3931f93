/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The events that GNI_GetNicStat counts: checklist item 129. */
#include "fixture.h"

#include <string.h>

#define MAILBOX_BYTES 4096u

static uint8_t mailbox[2][MAILBOX_BYTES] __attribute__((aligned(4096)));

struct line {
    struct domain domain;
    gni_ep_handle_t ep;
    gni_smsg_attr_t mine, theirs;
};

/* cq: of the endpoint; NULL: the domain's. */
static void line_open(struct rank *rank, struct line *line, gni_smsg_type_t type, uint16_t credits,
                      uint32_t bytes, uint32_t entries)
{
    uint32_t peer = 1 - rank->id;
    gni_mem_handle_t handle;
    gni_cq_handle_t cq;
    unsigned int size;

    domain_open(rank, &line->domain, GNI_CDM_MODE_ERR_NO_KILL);
    memset(mailbox[rank->id], 0, MAILBOX_BYTES);
    line->mine =
        (gni_smsg_attr_t){.msg_type = type, .mbox_maxcredit = credits, .msg_maxsize = bytes};
    assert_ok(GNI_SmsgBufferSizeNeeded(&line->mine, &size));
    assert_in_range(size, 1, MAILBOX_BYTES);
    line->mine.buff_size = size;
    handle = domain_register(&line->domain, mailbox[rank->id], MAILBOX_BYTES, line->domain.target,
                             GNI_MEM_READWRITE);
    publish(rank, handle, mailbox[rank->id]);
    line->theirs = line->mine;
    line->mine.msg_buffer = mailbox[rank->id];
    line->mine.mem_hndl = handle;
    line->theirs.msg_buffer = mailbox[peer];
    line->theirs.mem_hndl = published_handle(rank, peer);
    assert_ok(GNI_CqCreate(line->domain.nic, entries, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    line->domain.source = cq;
    line->ep = domain_connect(rank, &line->domain, peer);
    assert_ok(GNI_SmsgInit(line->ep, &line->mine, &line->theirs));
    machine_barrier(rank);
}

static uint32_t statistic(gni_nic_handle_t nic, gni_statistic_t which)
{
    uint32_t value = UINT32_MAX;

    assert_ok(GNI_GetNicStat(nic, which, &value));
    return value;
}

/* All counters but these two, which may be the same, are 0. */
static void assert_others_zero(gni_nic_handle_t nic, gni_statistic_t one, gni_statistic_t two)
{
    unsigned i;

    for (i = 0; i < GNI_NUM_STATS; i++)
        if (i != one && i != two)
            assert_int_equal(statistic(nic, (gni_statistic_t)i), 0);
}

static uint32_t fill(struct line *line, uint32_t bytes)
{
    static uint8_t data[1024];
    uint32_t sent = 0;

    while (GNI_SmsgSend(line->ep, NULL, 0, data, bytes, sent) == GNI_RC_SUCCESS)
        sent++;
    return sent;
}

static void line_close(struct rank *rank, struct line *line)
{
    gni_cq_entry_t event;

    machine_barrier(rank);
    while (GNI_CqGetEvent(line->domain.source, &event) != GNI_RC_NOT_DONE)
        ;
    machine_barrier(rank);
    domain_close(&line->domain);
}

/* ---- stalls ---------------------------------------------------------------------------------- */

static void room_main(struct rank *rank)
{
    gni_nic_handle_t nic;
    struct line line;

    line_open(rank, &line, GNI_SMSG_TYPE_MBOX, 64, 512, 256);
    nic = line.domain.nic;
    if (rank->id ==
        0) { /* some of the largest fill the ring, long before the credits are used up */
        assert_in_range(fill(&line, 512), 1, 63);
        assert_int_equal(statistic(nic, GNI_STAT_SMSG_BUFF_CREDITS_STALL), 1);
        assert_rc(GNI_SmsgSend(line.ep, NULL, 0, mailbox[0], 512, 0), GNI_RC_NOT_DONE);
        assert_int_equal(statistic(nic, GNI_STAT_SMSG_BUFF_CREDITS_STALL), 2);
        assert_others_zero(nic, GNI_STAT_SMSG_BUFF_CREDITS_STALL, GNI_STAT_SMSG_BUFF_CREDITS_STALL);
        assert_ok(GNI_ResetNicStat(nic, GNI_STAT_SMSG_BUFF_CREDITS_STALL));
        assert_int_equal(statistic(nic, GNI_STAT_SMSG_BUFF_CREDITS_STALL), 0);
    } else {
        assert_others_zero(nic, GNI_NUM_STATS, GNI_NUM_STATS);
    }
    line_close(rank, &line);
}

static void ugni_129_room_stalls_are_counted(void **state)
{
    machine_run(&(struct machine){.main = room_main});
}

static void request_main(struct rank *rank)
{
    struct line line;

    line_open(rank, &line, GNI_SMSG_TYPE_MBOX, 16, 64, 3);
    if (rank->id == 0) { /* credits and room for more, but the queue has no request for it */
        assert_int_equal(fill(&line, 8), 3);
        assert_int_equal(statistic(line.domain.nic, GNI_STAT_SMSG_REQ_STALL), 1);
        assert_others_zero(line.domain.nic, GNI_STAT_SMSG_REQ_STALL, GNI_STAT_SMSG_REQ_STALL);
    }
    line_close(rank, &line);
}

static void ugni_129_request_stalls_are_counted(void **state)
{
    machine_run(&(struct machine){.main = request_main});
}

/* ---- repeats --------------------------------------------------------------------------------- */

static void drop_two(struct machine *machine)
{
    struct sim_fault_rule rule = packet_rule(SIM_FAULT_DROP, NET_REQUEST);

    rule.count_max = 2;
    rule.source = 0;
    rule.target = 1;
    packet_rule_add(&rule);
}

static void repeat_main(struct rank *rank)
{
    uint64_t word = 5;
    struct line line;
    void *message;

    line_open(rank, &line, GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, 8, 64, 64);
    if (rank->id == 0) {
        assert_ok(GNI_SmsgSend(line.ep, NULL, 0, &word, sizeof word, 1));
        good_event(line.domain.source);
        assert_int_equal(statistic(line.domain.nic, GNI_STAT_SMSG_RETRANS_COUNT), 2);
        assert_others_zero(line.domain.nic, GNI_STAT_SMSG_RETRANS_COUNT,
                           GNI_STAT_SMSG_RETRANS_COUNT);
    } else {
        while (GNI_SmsgGetNext(line.ep, &message) == GNI_RC_NOT_DONE)
            ;
        assert_int_equal(*(uint64_t *)message, 5);
        assert_ok(GNI_SmsgRelease(line.ep));
    }
    line_close(rank, &line);
}

static void ugni_129_repeats_are_counted(void **state)
{
    machine_run(&(struct machine){.prepare = drop_two, .main = repeat_main});
}

/* ---- launches and their owners --------------------------------------------------------------- */

static void launches_main(struct rank *rank)
{
    static uint64_t memory[64] __attribute__((aligned(4096)));
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_FMA_PUT_W_SYNCFLAG,
                                            GNI_POST_FMA_GET, GNI_POST_RDMA_PUT};
    gni_post_descriptor_t descr;
    struct domain domain, other;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep;
    unsigned i;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    domain_open_as(&other, 5, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    handle = domain_register(&domain, memory, sizeof memory, NULL, GNI_MEM_READWRITE);
    ep = domain_connect(rank, &domain, 0);
    for (i = 0; i < 4; i++) {
        descr = describe_put(types[i], memory, handle, (uintptr_t)&memory[8], handle, 64);
        descr.sync_flag_addr = (uintptr_t)&memory[32];
        assert_ok(post(ep, &descr));
        complete(domain.source, &descr);
    }
    descr = describe_amo(GNI_FMA_ATOMIC_FADD, 1, 0, &memory[40], handle, (uintptr_t)&memory[48],
                         handle);
    assert_ok(post(ep, &descr));
    complete(domain.source, &descr);
    descr.amo_cmd = 0; /* refused: nothing is launched */
    assert_rc(post(ep, &descr), GNI_RC_INVALID_PARAM);
    assert_int_equal(statistic(domain.nic, GNI_STAT_FMA_LAUNCH_COUNT), 4);
    assert_others_zero(domain.nic, GNI_STAT_FMA_LAUNCH_COUNT, GNI_STAT_FMA_LAUNCH_COUNT);
    assert_others_zero(other.nic, GNI_NUM_STATS, GNI_NUM_STATS);
    assert_ok(GNI_ResetNicStat(other.nic, GNI_STAT_FMA_LAUNCH_COUNT));
    assert_int_equal(statistic(domain.nic, GNI_STAT_FMA_LAUNCH_COUNT), 4);
    domain_close(&other);
    domain_close(&domain);
}

static void ugni_129_launches_are_counted(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = launches_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_129_room_stalls_are_counted),
        cmocka_unit_test(ugni_129_request_stalls_are_counted),
        cmocka_unit_test(ugni_129_repeats_are_counted),
        cmocka_unit_test(ugni_129_launches_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
