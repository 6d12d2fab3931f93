/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters, triggered operations, and progress by counters and queues. */
#include "queue_frame.h"

/* ---- counters and triggers ------------------------------------------------------------------- */

static int counter_body(struct rank *rank)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
    struct gni_side side;
    struct fid_cntr *cntr;
    uint64_t began;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_cntr_open(side.domain, &attr, &cntr, NULL), 0);
    EXPECT_IS(fi_cntr_set(cntr, 0xfffffffffull), 0);
    EXPECT_IS(fi_cntr_add(cntr, 2), 0);
    EXPECT(fi_cntr_read(cntr) == 0x1000000001ull);
    EXPECT_IS(fi_cntr_wait(cntr, 0x1000000001ull, 0), 0);
    began = rank_now();
    EXPECT_IS(fi_cntr_wait(cntr, 0x1000000002ull, 20), -FI_ETIMEDOUT);
    EXPECT(rank_now() - began >= 20 * MS && rank_now() - began < 22 * MS);
    EXPECT_IS(fi_cntr_seterr(cntr, 7), 0);
    EXPECT_IS(fi_cntr_adderr(cntr, 1), 0);
    EXPECT(fi_cntr_readerr(cntr) == 8);
    EXPECT_IS(fi_cntr_wait(cntr, 0x1000000002ull, 20), -FI_EAVAIL);
    EXPECT_IS(fi_close(&cntr->fid), 0);
    attr.events = (enum fi_cntr_events)7;
    EXPECT(fi_cntr_open(side.domain, &attr, &cntr, NULL) == -FI_EINVAL);
    EXPECT_IS(fi_cntr_open(side.domain, NULL, &cntr, NULL), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_106_counters(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, counter_body);
}

/* The counter is at 10: a write for 10 begins at once, one for 11 waits. */
static int triggered_write(struct gni_side *side, struct gni_memory *memory, struct fid_cntr *cntr)
{
    struct rank *rank = side->rank;
    struct fi_triggered_context contexts[2];
    struct fi_cq_tagged_entry entry;
    uint64_t values[2] = {77, 78}, i;
    struct fi_rma_iov remote = {memory->all[1].address, 8, memory->all[1].key};

    for (i = 0; i < 2; i++) {
        struct iovec iov = {&values[i], 8};
        struct fi_msg_rma message = {.msg_iov = &iov,
                                     .iov_count = 1,
                                     .addr = side->peers[1],
                                     .rma_iov = &remote,
                                     .rma_iov_count = 1,
                                     .context = &contexts[i]};

        memset(&contexts[i], 0, sizeof(contexts[i]));
        contexts[i].event_type = FI_TRIGGER_THRESHOLD;
        contexts[i].trigger.threshold.cntr = cntr;
        contexts[i].trigger.threshold.threshold = 10 + i;
        EXPECT_IS(gni_again(side, fi_writemsg(side->ep, &message, FI_TRIGGER | FI_COMPLETION)), 0);
    }
    TRY(gni_entry(side, side->tx_cq, &entry));
    EXPECT(entry.op_context == &contexts[0]);
    TRY(gni_silence(side, side->tx_cq, 100));
    EXPECT_IS(fi_cntr_add(cntr, 1), 0);
    TRY(gni_entry(side, side->tx_cq, &entry));
    EXPECT(entry.op_context == &contexts[1]);
    return 0;
}

/* Three messages wait for a counter: they go out in the order of their thresholds. */
static int trigger_body(struct rank *rank)
{
    static const size_t thresholds[] = {6, 2, 4};
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
    struct fi_triggered_context contexts[3];
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    struct fid_cntr *cntr;
    uint64_t words[3] = {6, 2, 4}, in, i;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 4096, FI_REMOTE_WRITE | FI_WRITE));
    EXPECT_IS(fi_cntr_open(side.domain, &attr, &cntr, NULL), 0);
    if (side.id == 0) {
        for (i = 0; i < 3; i++) {
            struct iovec iov = {&words[i], 8};
            struct fi_msg message = {
                .msg_iov = &iov, .iov_count = 1, .addr = side.peers[1], .context = &contexts[i]};

            memset(&contexts[i], 0, sizeof(contexts[i]));
            contexts[i].event_type = 77;
            EXPECT_IS(fi_sendmsg(side.ep, &message, FI_TRIGGER | FI_COMPLETION), -FI_EINVAL);
            contexts[i].event_type = FI_TRIGGER_THRESHOLD;
            contexts[i].trigger.threshold.cntr = cntr;
            contexts[i].trigger.threshold.threshold = thresholds[i];
            EXPECT_IS(fi_sendmsg(side.ep, &message, FI_TRIGGER | FI_INJECT), -FI_EINVAL);
            EXPECT_IS(gni_again(&side, fi_sendmsg(side.ep, &message, FI_TRIGGER | FI_COMPLETION)),
                      0);
        }
        TRY(gni_silence(&side, side.tx_cq, 100));
        EXPECT_IS(fi_close(&cntr->fid), -FI_EBUSY);
        EXPECT_IS(fi_cntr_add(cntr, 3), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT(entry.op_context == &contexts[1]);
        TRY(gni_silence(&side, side.tx_cq, 100));
        EXPECT_IS(fi_cntr_set(cntr, 10), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        TRY(gni_entry(&side, side.tx_cq, &entry));
        TRY(triggered_write(&side, &memory, cntr));
    } else {
        for (i = 1; i <= 3; i++) {
            EXPECT_IS(fi_recv(side.ep, &in, 8, NULL, FI_ADDR_UNSPEC, &in), 0);
            TRY(gni_entry(&side, side.rx_cq, &entry));
            EXPECT_IS(in, 2 * i);
        }
    }
    EXPECT_IS(fi_close(&cntr->fid), 0);
    rank_barrier(rank);
    EXPECT_IS(*(uint64_t *)memory.bytes, side.id == 1 ? 78 : 0);
    TRY(gni_memory_close(&side, &memory));
    return gni_finish(&side);
}

static void gni_105_triggers(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, trigger_body);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Both ranks compute while a rendezvous is in flight: only automatic progress continues it. */
static int computing(struct rank *rank, bool manual)
{
    enum { BYTES = 1 << 20 };
    uint8_t *bytes = malloc(BYTES);
    struct gni_how how = {.manual = manual};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t began;

    TRY(gni_open(&side, rank, &how));
    if (side.id == 0) {
        gni_fill(bytes, BYTES, 1);
        EXPECT_IS(gni_again(&side, fi_send(side.ep, bytes, BYTES, NULL, side.peers[1], NULL)), 0);
    } else {
        memset(bytes, 0, BYTES);
        EXPECT_IS(fi_recv(side.ep, bytes, BYTES, NULL, FI_ADDR_UNSPEC, bytes), 0);
    }
    gni_pause(rank, 10000 * MS);
    if (side.id == 1)
        EXPECT(gni_filled(bytes, BYTES, 1) == !manual);
    began = rank_now();
    TRY(gni_entry(&side, side.rx_cq, &entry));
    EXPECT(rank_now() - began < 2 * MS);
    free(bytes);
    return gni_finish(&side);
}

static int computing_auto(struct rank *rank)
{
    return computing(rank, false);
}

static int computing_manual(struct rank *rank)
{
    return computing(rank, true);
}

static void gni_149_gni_150_progress(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, computing_auto);
    gni_run(&(struct gni_machine){.ranks = 2}, computing_manual);
}

/*
 * A reader that always finds an entry makes progress now and then: messages arrive while there are
 * entries left.
 */
static int full_reads_body(struct rank *rank)
{
    enum { MANY = 48, ENOUGH = 20 };
    uint64_t values[MANY + 1] = {0}, value;
    struct gni_how how = {.manual = true};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    unsigned i;

    TRY(gni_open(&side, rank, &how));
    if (side.id == 0) {
        for (i = 0; i <= MANY; i++) {
            value = i + 1;
            EXPECT_IS(gni_again(&side, fi_send(side.ep, &value, 8, NULL, side.peers[1], NULL)), 0);
            TRY(gni_entry(&side, side.tx_cq, &entry));
            if (i + 1 == MANY)
                gni_pause(rank, 50 * MS);
        }
        return gni_finish(&side);
    }
    for (i = 0; i <= MANY; i++)
        EXPECT_IS(fi_recv(side.ep, &values[i], 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
    while (values[MANY - 1] == 0)
        EXPECT_IS(fi_cq_read(side.rx_cq, NULL, 0), 0);
    gni_pause(rank, 100 * MS); /* the last message is there, and no queue was read */
    EXPECT_IS(values[MANY], 0);
    for (i = 0; i < ENOUGH; i++)
        EXPECT_IS(fi_cq_read(side.rx_cq, &entry, 1), 1);
    EXPECT_IS(values[MANY], MANY + 1);
    for (; i <= MANY; i++)
        TRY(gni_entry(&side, side.rx_cq, &entry));
    return gni_finish(&side);
}

static void gni_150_progress_of_a_queue_with_entries(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, full_reads_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_106_counters),
        cmocka_unit_test(gni_105_triggers),
        cmocka_unit_test(gni_149_gni_150_progress),
        cmocka_unit_test(gni_150_progress_of_a_queue_with_entries),
    };

    return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
