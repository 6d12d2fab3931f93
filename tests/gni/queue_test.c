/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues, counters, event queues; waiting for them; triggered operations. */
#include "queue_frame.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* 300 completions in a queue of four. */
static int small_queue_body(struct rank *rank)
{
    enum { COUNT = 300 };
    struct gni_how how = {.cq_size = 4, .rx_size = COUNT};
    struct fi_cq_tagged_entry entries[100];
    uint64_t numbers[COUNT], i, seen = 0;
    struct gni_side side;
    ssize_t result;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_cq_read(side.rx_cq, entries, 0), 0);
    EXPECT_IS(fi_cq_read(side.rx_cq, entries, 1), -FI_EAGAIN);
    EXPECT_IS(fi_cq_read(side.rx_cq, NULL, 1), -FI_EINVAL);
    for (i = 0; side.id == 1 && i < COUNT; i++)
        EXPECT_IS(fi_recv(side.ep, &numbers[i], 8, NULL, FI_ADDR_UNSPEC, &numbers[i]), 0);
    rank_barrier(rank);
    for (i = 0; side.id == 0 && i < COUNT; i++)
        EXPECT_IS(gni_again(&side, fi_inject(side.ep, &i, 8, side.peers[1])), 0);
    rank_barrier(rank);
    if (side.id == 1) {
        gni_pause(rank, MS);
        while (seen < COUNT) {
            result = fi_cq_read(side.rx_cq, entries, 100);
            EXPECT(result > 0 && result <= 100);
            for (i = 0; i < (uint64_t)result; i++, seen++)
                EXPECT(entries[i].op_context == &numbers[seen] && numbers[seen] == seen);
        }
        EXPECT_IS(fi_cq_read(side.rx_cq, entries, 100), -FI_EAGAIN);
    }
    return gni_finish(&side);
}

static void gni_77_gni_107_small_queue(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, small_queue_body);
}

/* When entries are not read there is an end to what is accepted, and nothing is lost. */
static int full_queue_body(struct rank *rank)
{
    struct gni_how how = {.cq_size = 1, .two_cqs = true, .tx_size = 2000, .rx_size = 65536};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t accepted, i;
    ssize_t result;

    TRY(gni_open(&side, rank, &how));
    for (accepted = 0;; accepted++) {
        result = fi_recv(side.ep, &i, 8, NULL, FI_ADDR_UNSPEC, &side);
        if (result == -FI_EAGAIN)
            break;
        EXPECT_IS(result, 0);
        EXPECT(accepted < 100000);
    }
    EXPECT_IS(accepted, 64 * 256);
    EXPECT_IS(fi_cancel(&side.ep->fid, &side), 0);
    EXPECT_IS(fi_recv(side.ep, &i, 8, NULL, FI_ADDR_UNSPEC, &side), -FI_EAGAIN);
    EXPECT_IS(fi_cq_read(side.rx_cq, &entry, 1), -FI_EAVAIL);
    EXPECT_IS(fi_cq_readerr(side.rx_cq, &(struct fi_cq_err_entry){0}, 0), 1);
    EXPECT_IS(fi_recv(side.ep, &i, 8, NULL, FI_ADDR_UNSPEC, &side), 0);
    return gni_close(&side);
}

static void gni_77_full_queue(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, full_queue_body);
}

static int errors_body(struct rank *rank)
{
    struct fi_cq_err_entry error = {0};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t words[2] = {5, 0};
    char text[100], data[8];
    int number;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_cq_readerr(side.rx_cq, &error, 0), -FI_EAGAIN);
    EXPECT_IS(fi_recv(side.ep, &words[1], 8, NULL, FI_ADDR_UNSPEC, &words[1]), 0);
    EXPECT_IS(fi_trecv(side.ep, &words[1], 8, NULL, FI_ADDR_UNSPEC, 1, 0, &error), 0);
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, words, 8, side.peers[0])), 0);
    gni_pause(rank, MS);
    fi_cq_read(side.rx_cq, NULL, 0);
    EXPECT_IS(fi_cancel(&side.ep->fid, &error), 0);
    /* the error came later and is read first */
    EXPECT_IS(fi_cq_read(side.rx_cq, &entry, 1), -FI_EAVAIL);
    error.err_data = data;
    error.err_data_size = 0;
    EXPECT_IS(fi_cq_readerr(side.rx_cq, &error, 0), 1);
    EXPECT_IS(error.err, FI_ECANCELED);
    EXPECT_IS(error.err_data_size, 0);
    EXPECT_IS(fi_cq_readerr(side.rx_cq, &error, 0), -FI_EAGAIN);
    TRY(gni_entry(&side, side.rx_cq, &entry));
    EXPECT(entry.op_context == &words[1] && words[1] == 5);
    error.err_data = NULL;
    error.err_data_size = 8;
    EXPECT_IS(fi_cq_readerr(side.rx_cq, &error, 0), -FI_EINVAL);
    EXPECT_IS(fi_cq_readerr(side.rx_cq, NULL, 0), -FI_EINVAL);
    for (number = 0; number < 140; number++) {
        const char *known = fi_cq_strerror(side.rx_cq, number, NULL, text, sizeof(text));

        EXPECT(known != NULL && known[0] != '\0' && strncmp(known, text, sizeof(text) - 1) == 0);
    }
    return gni_close(&side);
}

static void gni_108_gni_109_gni_110_errors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, errors_body);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int sread_body(struct rank *rank)
{
    struct gni_how how = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t began, word = 0, i;

    TRY(gni_open(&side, rank, &how));
    began = rank_now();
    EXPECT_IS(fi_cq_sread(side.rx_cq, &entry, 1, NULL, 7), -FI_EAGAIN);
    EXPECT(rank_now() - began >= 7 * MS && rank_now() - began < 8 * MS);
    began = rank_now();
    EXPECT_IS(fi_cq_sread(side.rx_cq, &entry, 1, NULL, 0), -FI_EAGAIN);
    EXPECT(rank_now() - began < MS);
    for (i = 0; i < 10000; i++) {
        if (side.id == 0) {
            gni_pause(rank, rank_random(rank) % (MS / 100));
            EXPECT_IS(gni_again(&side, fi_inject(side.ep, &i, 8, side.peers[1])), 0);
            EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        } else {
            EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        }
        EXPECT_IS(fi_cq_sread(side.rx_cq, &entry, 1, NULL, -1), 1);
        EXPECT_IS(word, i);
        if (side.id == 1)
            EXPECT_IS(gni_again(&side, fi_inject(side.ep, &i, 8, side.peers[0])), 0);
    }
    return gni_finish(&side);
}

static int no_wait_body(struct rank *rank)
{
    struct gni_how how = {.wait_obj = FI_WAIT_NONE};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct fi_cq_attr attr = {.wait_obj = FI_WAIT_MUTEX_COND};
    struct fid_cq *cq;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_cq_sread(side.rx_cq, &entry, 1, NULL, 0), -FI_ENOSYS);
    EXPECT_IS(fi_cq_signal(side.rx_cq), -FI_ENOSYS);
    EXPECT_IS(fi_cq_open(side.domain, &attr, &cq, NULL), -FI_ENOSYS);
    attr.wait_obj = FI_WAIT_SET;
    EXPECT_IS(fi_cq_open(side.domain, &attr, &cq, NULL), -FI_EINVAL);
    attr = (struct fi_cq_attr){.format = 77};
    EXPECT_IS(fi_cq_open(side.domain, &attr, &cq, NULL), -FI_EINVAL);
    EXPECT_IS(fi_cq_open(side.domain, NULL, &cq, NULL), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_111_sread(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, sread_body);
    gni_run(&(struct gni_machine){0}, no_wait_body);
}

static int descriptor_body(struct rank *rank)
{
    struct gni_how how = {.wait_obj = FI_WAIT_FD};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct fid *fids[1];
    struct pollfd poll = {.events = POLLIN};
    uint64_t word = 0;
    int i;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_control(&side.rx_cq->fid, FI_GETWAIT, &poll.fd), 0);
    fids[0] = &side.rx_cq->fid;
    for (i = 0; i < 50; i++) {
        if (side.id == 0) {
            gni_pause(rank, MS / 10 + rank_random(rank) % (MS / 100));
            EXPECT_IS(gni_again(&side, fi_inject(side.ep, &i, 4, side.peers[1])), 0);
            continue;
        }
        EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        while (fi_cq_read(side.rx_cq, &entry, 1) != 1)
            if (fi_trywait(side.fabric, fids, 1) == 0)
                EXPECT_IS(rank_poll(rank, &poll, 1, UINT64_MAX), 1);
        EXPECT_IS(word, i);
    }
    if (side.id == 1) { /* an entry that is not read keeps it readable */
        EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        EXPECT_IS(fi_trywait(side.fabric, fids, 1), 0);
        EXPECT_IS(fi_cancel(&side.ep->fid, &word), 0);
        EXPECT_IS(rank_poll(rank, &poll, 1, 0), 1);
        EXPECT_IS(fi_trywait(side.fabric, fids, 1), -FI_EAGAIN);
        EXPECT_IS(fi_cq_readerr(side.rx_cq, &(struct fi_cq_err_entry){0}, 0), 1);
        EXPECT_IS(fi_trywait(side.fabric, fids, 1), 0);
        EXPECT_IS(rank_poll(rank, &poll, 1, 0), 0);
    }
    return gni_finish(&side);
}

static void gni_112_descriptor(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, descriptor_body);
}

static int poll_set_body(struct rank *rank)
{
    struct gni_how how = {.counters = true};
    struct fi_cq_tagged_entry entry;
    struct fi_poll_attr attr = {0};
    struct fi_eq_attr eq_attr = {0};
    struct fid_poll *set;
    struct gni_side side;
    void *contexts[4];
    struct fid_eq *eq;
    uint64_t word = 4;
    int found;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_poll_open(side.domain, &attr, &set), 0);
    side.rx_cq->fid.context = &side;
    side.cntr[RECEIVES]->fid.context = &word;
    EXPECT_IS(fi_poll_add(set, &side.rx_cq->fid, 0), 0);
    EXPECT_IS(fi_poll_add(set, &side.cntr[RECEIVES]->fid, 0), 0);
    EXPECT_IS(fi_eq_open(side.fabric, &eq_attr, &eq, NULL), 0);
    EXPECT_IS(fi_poll_add(set, &eq->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_poll(set, contexts, 4), 0);
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_inject(side.ep, &word, 8, side.peers[1])), 0);
        rank_barrier(rank);
    } else {
        EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        rank_barrier(rank);
        gni_pause(rank, MS);
        found = fi_poll(set, contexts, 4);
        EXPECT_IS(found, 2);
        EXPECT((contexts[0] == &side && contexts[1] == &word) ||
               (contexts[1] == &side && contexts[0] == &word));
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(fi_poll(set, contexts, 4), 0);
    }
    EXPECT_IS(fi_close(&side.rx_cq->fid), -FI_EBUSY);
    EXPECT_IS(fi_poll_del(set, &side.rx_cq->fid, 0), 0);
    EXPECT_IS(fi_poll_del(set, &side.cntr[RECEIVES]->fid, 0), 0);
    EXPECT_IS(fi_close(&set->fid), 0);
    EXPECT_IS(fi_close(&eq->fid), 0);
    return gni_finish(&side);
}

static void gni_113_poll_set(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, poll_set_body);
}

static int wait_set_body(struct rank *rank)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_SET};
    struct fi_cq_attr cq_attr = {.wait_obj = FI_WAIT_SET};
    struct fid_wait *set;
    struct gni_side side;
    struct fid_cq *cq;
    uint64_t began;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_wait_open(side.fabric, &attr, &set), -FI_EINVAL);
    EXPECT_IS(fi_wait_open(side.fabric, NULL, &set), -FI_EINVAL);
    attr = (struct fi_wait_attr){.wait_obj = FI_WAIT_UNSPEC, .flags = 1};
    EXPECT_IS(fi_wait_open(side.fabric, &attr, &set), -FI_EINVAL);
    attr.flags = 0;
    EXPECT_IS(fi_wait_open(side.fabric, &attr, &set), 0);
    cq_attr.wait_set = set;
    EXPECT_IS(fi_cq_open(side.domain, &cq_attr, &cq, NULL), 0);
    EXPECT_IS(fi_close(&set->fid), -FI_EBUSY);
    began = rank_now();
    EXPECT_IS(fi_wait(set, 3), -FI_ETIMEDOUT);
    EXPECT(rank_now() - began >= 3 * MS && rank_now() - began < 4 * MS);
    EXPECT_IS(fi_cq_signal(cq), 0);
    EXPECT_IS(fi_wait(set, 1000), 0);
    EXPECT_IS(fi_close(&cq->fid), 0);
    EXPECT_IS(fi_close(&set->fid), 0);
    return gni_close(&side);
}

static void gni_114_wait_set(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, wait_set_body);
}

/* ---- event queues ---------------------------------------------------------------------------- */

static int eq_body(struct rank *rank)
{
    struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = FI_WAIT_NONE};
    struct fi_eq_err_entry error = {0};
    struct fi_eq_entry in = {.context = &error, .data = 5}, out;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_eq *eq;
    uint32_t event = 0;
    uint64_t began;

    EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info), 0);
    EXPECT_IS(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
    EXPECT_IS(fi_eq_open(fabric, NULL, &eq, NULL), -FI_EINVAL);
    EXPECT_IS(fi_eq_open(fabric, &attr, &eq, NULL), 0);
    EXPECT_IS(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
    EXPECT_IS(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
    EXPECT_IS(fi_eq_sread(eq, &event, &out, sizeof(out), 0, 0), -FI_ENOSYS);
    EXPECT_IS(fi_eq_write(eq, FI_NOTIFY, &in, sizeof(in), 0), sizeof(in));
    EXPECT_IS(fi_eq_read(eq, &event, &out, 4, 0), -FI_ETOOSMALL);
    EXPECT_IS(fi_eq_read(eq, &event, &out, sizeof(out), FI_PEEK), sizeof(out));
    EXPECT_IS(fi_eq_read(eq, &event, &out, sizeof(out), FI_PEEK), sizeof(out));
    EXPECT_IS(fi_eq_read(eq, &event, &out, sizeof(out), 0), sizeof(out));
    EXPECT(event == FI_NOTIFY && out.context == &error && out.data == 5);
    EXPECT_IS(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
    EXPECT_IS(fi_close(&fabric->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&eq->fid), 0);
    attr = (struct fi_eq_attr){.wait_obj = FI_WAIT_UNSPEC};
    EXPECT_IS(fi_eq_open(fabric, &attr, &eq, NULL), 0);
    EXPECT_IS(fi_eq_write(eq, FI_NOTIFY, &in, sizeof(in), 0), -FI_ENOSYS);
    began = rank_now();
    EXPECT_IS(fi_eq_sread(eq, &event, &out, sizeof(out), 5, 0), -FI_EAGAIN);
    EXPECT(rank_now() - began >= 5 * MS && rank_now() - began < 6 * MS);
    EXPECT_IS(fi_close(&eq->fid), 0);
    EXPECT_IS(fi_close(&fabric->fid), 0);
    fi_freeinfo(info);
    return 0;
}

static void gni_115_event_queue(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, eq_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_77_gni_107_small_queue),
        cmocka_unit_test(gni_77_full_queue),
        cmocka_unit_test(gni_108_gni_109_gni_110_errors),
        cmocka_unit_test(gni_111_sread),
        cmocka_unit_test(gni_112_descriptor),
        cmocka_unit_test(gni_113_poll_set),
        cmocka_unit_test(gni_114_wait_set),
        cmocka_unit_test(gni_115_event_queue),
    };

    return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
