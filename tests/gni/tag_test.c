/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which receive gets which message; peek, claim, discard; cancel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fixture.h"
#include "rdma/fi_ext_gni.h"

#define LONG_BYTES 100000
#define TAGGED_RECEIVE (FI_RECV | FI_MSG | FI_TAGGED)

static const struct gni_how plain = {0};
static const struct gni_how directed = {.caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV};

/* ---- a reference model ----------------------------------------------------------------------- */

/*
 * Rank 0 sends and, by turns with rank 1, both draw the same random numbers: so rank 1 knows which
 * message each of its receives must get. Receives may be posted before or after what they match.
 */
enum { STEPS = 400 };

struct model_receive {
    uint64_t tag, ignore, got;
    int done;
};

struct model {
    struct model_receive receives[STEPS];
    uint64_t messages[STEPS]; /* tags in the order of sending; ~0: taken */
    uint64_t received[STEPS]; /* what arrived in receive i */
    int receive_count, message_count, matched;
};

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

static int matches(uint64_t tag, uint64_t ignore, uint64_t message)
{
    return ((tag ^ message) & ~ignore) == 0;
}

/* Message number `message` has come: which receive gets it; -1: none yet. */
static int model_arrives(struct model *model, int message, uint64_t tag)
{
    int i;

    for (i = 0; i < model->receive_count; i++) {
        struct model_receive *receive = &model->receives[i];

        if (!receive->done && matches(receive->tag, receive->ignore, tag)) {
            receive->done = 1;
            receive->got = (uint64_t)message;
            return i;
        }
    }
    model->messages[message] = tag;
    return -1;
}

static void model_posted(struct model *model, int index)
{
    struct model_receive *receive = &model->receives[index];
    int i;

    for (i = 0; i < model->message_count; i++) {
        if (model->messages[i] != ~0ull &&
            matches(receive->tag, receive->ignore, model->messages[i])) {
            receive->done = 1;
            receive->got = (uint64_t)i;
            model->messages[i] = ~0ull;
            return;
        }
    }
}

static uint64_t draw_ignore(uint64_t *state)
{
    static const uint64_t masks[] = {0, 0, 0, 1, 3, 0xffffffffffffffffull};

    return masks[draw(state) % 6];
}

/* What both know: step `i` is a receive or a message. */
static int model_body(struct rank *rank, int hashed)
{
    struct model *model = calloc(1, sizeof(*model));
    struct gni_how how = {.tx_size = 1000, .rx_size = 1000, .not_enabled = true, .no_peers = true};
    uint32_t implementation = (uint32_t)hashed, found = 77;
    struct fi_gni_ops_ep *ops;
    uint64_t state = 77 + (uint64_t)hashed, tag;
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    int i;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_open_ops(&side.ep->fid, FI_GNI_EP_OPS_1, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->get_val(&side.ep->fid, GNI_HASH_TAG_IMPL, &found), 0);
    EXPECT_IS(found, 0);
    EXPECT_IS(ops->set_val(&side.ep->fid, GNI_HASH_TAG_IMPL, &implementation), 0);
    EXPECT_IS(ops->get_val(&side.ep->fid, GNI_HASH_TAG_IMPL, &found), 0);
    EXPECT_IS(found, implementation);
    EXPECT_IS(fi_enable(side.ep), 0);
    EXPECT_IS(ops->set_val(&side.ep->fid, GNI_HASH_TAG_IMPL, &implementation), -FI_EINVAL);
    TRY(gni_exchange(&side, side.ep, side.peers));
    for (i = 0; i < STEPS; i++) {
        tag = draw(&state) % 8;
        if (draw(&state) % 2 == 0) {
            int number = model->message_count++;
            uint64_t out = (uint64_t)number;

            if (side.id == 0)
                EXPECT_IS(
                    gni_again(&side, fi_tinject(side.ep, &out, sizeof(out), side.peers[1], tag)),
                    0);
            model->messages[number] = ~0ull;
            model_arrives(model, number, tag);
        } else {
            int number = model->receive_count++;

            model->receives[number] =
                (struct model_receive){.tag = tag, .ignore = draw_ignore(&state)};
            if (side.id == 1)
                EXPECT_IS(fi_trecv(side.ep, &model->received[number], 8, NULL, FI_ADDR_UNSPEC, tag,
                                   model->receives[number].ignore, &model->received[number]),
                          0);
            model_posted(model, number);
        }
        /* message i has arrived before receive i + 1 is posted */
        rank_barrier(rank);
        if (side.id == 1)
            fi_cq_read(side.rx_cq, NULL, 0);
    }
    for (i = 0; i < model->receive_count; i++)
        model->matched += model->receives[i].done;
    for (i = 0; side.id == 1 && i < model->matched; i++)
        TRY(gni_entry(&side, side.rx_cq, &entry));
    for (i = 0; side.id == 1 && i < model->receive_count; i++)
        if (model->receives[i].done)
            EXPECT_IS(model->received[i], model->receives[i].got);
    if (side.id == 1)
        TRY(gni_silence(&side, side.rx_cq, 10));
    rank_barrier(rank);
    free(model);
    return gni_close(&side);
}

static int model_lists(struct rank *rank)
{
    return model_body(rank, 0);
}

static int model_hashes(struct rank *rank)
{
    return model_body(rank, 1);
}

static void gni_28_gni_79_matching(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, model_lists);
    gni_run(&(struct gni_machine){.ranks = 2}, model_hashes);
}

/* ---- directed receives ----------------------------------------------------------------------- */

static int directed_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t number, from[3] = {9, 9, 9};
    struct fi_msg_tagged peek = {.tag = 1, .ignore = UINT64_MAX, .context = &peek};
    fi_addr_t source;
    int i;

    TRY(gni_open(&side, rank, &directed));
    if (side.id > 0) {
        number = side.id;
        gni_pause(rank, side.id * 10000000ull); /* 1 before 2 */
        EXPECT_IS(gni_again(&side, fi_tinject(side.ep, &number, 8, side.peers[0], 5)), 0);
        EXPECT_IS(gni_again(&side, fi_tinject(side.ep, &number, 8, side.peers[0], 5)), 0);
    }
    rank_barrier(rank);
    if (side.id == 0) {
        gni_pause(rank, 1000000000); /* all are there */
        for (i = 2; i > 0; i--) { /* a peek finds the oldest of that source */
            peek.addr = side.peers[i];
            EXPECT_IS(fi_trecvmsg(side.ep, &peek, FI_PEEK), 0);
            TRY(gni_entry_from(&side, side.rx_cq, &entry, &source));
            EXPECT(entry.op_context == &peek && source == side.peers[i]);
        }
        EXPECT_IS(fi_trecv(side.ep, &from[2], 8, NULL, side.peers[2], 5, 0, &from[2]), 0);
        EXPECT_IS(fi_trecv(side.ep, &from[0], 8, NULL, FI_ADDR_UNSPEC, 5, 0, &from[0]), 0);
        EXPECT_IS(fi_trecv(side.ep, &from[1], 8, NULL, side.peers[1], 5, 0, &from[1]), 0);
        for (i = 0; i < 3; i++) {
            TRY(gni_entry_from(&side, side.rx_cq, &entry, &source));
            EXPECT_IS(source, side.peers[*(uint64_t *)entry.op_context]);
        }
        EXPECT(from[0] == 1 && from[1] == 1 && from[2] == 2);
    }
    rank_barrier(rank);
    return gni_close(&side);
}

static void gni_71_gni_85_directed(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 3}, directed_body);
}

/* Without the capability the source that a receive names means nothing, not even an invalid one. */
static int undirected_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t number = 3, in[2];

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 1) {
        EXPECT_IS(gni_again(&side, fi_inject(side.ep, &number, 8, side.peers[0])), 0);
        EXPECT_IS(gni_again(&side, fi_inject(side.ep, &number, 8, side.peers[0])), 0);
    } else {
        EXPECT_IS(fi_recv(side.ep, &in[0], 8, NULL, 0, &in[0]), 0);
        EXPECT_IS(fi_recv(side.ep, &in[1], 8, NULL, 12345, &in[1]), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.op_context == &in[0]);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.op_context == &in[1]);
    }
    rank_barrier(rank);
    return gni_close(&side);
}

static void gni_72_gni_161_source_ignored(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, undirected_body);
}

/* ---- peek, claim, discard -------------------------------------------------------------------- */

static int post(struct gni_side *side, void *buffer, size_t bytes, uint64_t tag, uint64_t ignore,
                void *context, uint64_t flags)
{
    struct iovec iov = {buffer, bytes};
    struct fi_msg_tagged message = {.msg_iov = &iov,
                                    .iov_count = bytes == SIZE_MAX ? 0 : 1,
                                    .addr = FI_ADDR_UNSPEC,
                                    .tag = tag,
                                    .ignore = ignore,
                                    .context = context};

    if (bytes == SIZE_MAX)
        message.msg_iov = NULL;
    return (int)fi_trecvmsg(side->ep, &message, flags);
}

/* Rank 0: an eager message (tag 1, 100 bytes) and a long one (tag 2). */
static int send_two(struct gni_side *side, uint8_t *bytes)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    gni_fill(bytes, LONG_BYTES, 4);
    EXPECT_IS(
        gni_again(side, fi_tsenddata(side->ep, bytes, 100, NULL, 0x55, side->peers[1], 1, NULL)),
        0);
    EXPECT_IS(gni_again(side, fi_tsend(side->ep, bytes, LONG_BYTES, NULL, side->peers[1], 2, NULL)),
              0);
    TRY(gni_entry(side, side->tx_cq, &entry));
    TRY(gni_entry(side, side->tx_cq, &entry));
    return 0;
}

static int peek_both(struct gni_side *side, uint8_t *bytes)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    struct fi_context context;

    EXPECT_IS(post(side, bytes, 50, 9, 0, &context, FI_PEEK), 0);
    TRY(gni_error(side, side->rx_cq, &error));
    EXPECT(error.err == FI_ENOMSG && error.op_context == &context && error.tag == 9);
    EXPECT(error.buf == bytes && error.len == 50);
    memset(bytes, 0, LONG_BYTES);
    /* a short buffer, none, and no vector at all */
    EXPECT_IS(post(side, bytes, 50, 1, 0, &context, FI_PEEK), 0);
    TRY(gni_entry(side, side->rx_cq, &entry));
    EXPECT_IS(entry.flags, TAGGED_RECEIVE | FI_PEEK | FI_REMOTE_CQ_DATA);
    EXPECT(entry.len == 100 && entry.tag == 1 && entry.data == 0x55 && entry.buf == bytes);
    EXPECT(gni_filled(bytes, 50, 4) && bytes[50] == 0);
    EXPECT_IS(post(side, NULL, 0, 1, 0, &context, FI_PEEK), 0);
    TRY(gni_entry(side, side->rx_cq, &entry));
    EXPECT(entry.len == 100 && entry.buf == NULL);
    EXPECT_IS(post(side, NULL, SIZE_MAX, 1, 0, &context, FI_PEEK), 0);
    TRY(gni_entry(side, side->rx_cq, &entry));
    EXPECT(entry.len == 100 && entry.buf == NULL);
    EXPECT_IS(post(side, bytes, LONG_BYTES, 2, 0, &context, FI_PEEK), 0);
    TRY(gni_entry(side, side->rx_cq, &entry));
    EXPECT(entry.len == LONG_BYTES && entry.buf == NULL && entry.tag == 2);
    return 0;
}

static int peek_body(struct rank *rank)
{
    uint8_t *bytes = malloc(LONG_BYTES);
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    int i;

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 0)
        TRY(send_two(&side, bytes));
    if (side.id == 1) {
        gni_pause(rank, 1000000000); /* both are there */
        TRY(peek_both(&side, bytes));
        /* the oldest that matches is found, and all can still be received */
        EXPECT_IS(post(&side, NULL, 0, 0, UINT64_MAX, &entry, FI_PEEK), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(entry.tag, 1);
        for (i = 1; i <= 2; i++) {
            EXPECT_IS(
                fi_trecv(side.ep, bytes, LONG_BYTES, NULL, FI_ADDR_UNSPEC, (uint64_t)i, 0, bytes),
                0);
            TRY(gni_entry(&side, side.rx_cq, &entry));
            EXPECT(entry.len == (i == 1 ? 100 : LONG_BYTES) && gni_filled(bytes, entry.len, 4));
        }
    }
    rank_barrier(rank);
    free(bytes);
    return gni_close(&side);
}

static void gni_80_gni_81_gni_85_peek(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, peek_body);
}

static int claim_body(struct rank *rank)
{
    uint8_t *bytes = malloc(LONG_BYTES);
    struct fi_context mine, other;
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    struct gni_side side;
    int result;

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 0)
        TRY(send_two(&side, bytes));
    if (side.id == 1) {
        gni_pause(rank, 1000000000);
        EXPECT_IS(post(&side, NULL, 0, 1, 0, &mine, FI_PEEK | FI_CLAIM), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(entry.len, 100);
        /* no other receive finds it */
        EXPECT_IS(post(&side, NULL, 0, 1, 0, &other, FI_PEEK), 0);
        TRY(gni_error(&side, side.rx_cq, &error));
        EXPECT_IS(error.err, FI_ENOMSG);
        result = post(&side, bytes, 100, 1, 0, &other, FI_CLAIM);
        if (result == 0) {
            TRY(gni_error(&side, side.rx_cq, &error));
            EXPECT_IS(error.err, FI_ENOMSG);
        } else {
            EXPECT_IS(result, -FI_EINVAL);
        }
        EXPECT_IS(post(&side, bytes, 100, 1, 0, &mine, FI_CLAIM), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.len == 100 && entry.op_context == &mine && gni_filled(bytes, 100, 4));
        /* the long one is claimed and dropped: its sender completes */
        EXPECT_IS(post(&side, NULL, 0, 2, 0, &mine, FI_PEEK | FI_CLAIM), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(post(&side, NULL, 0, 2, 0, &mine, FI_CLAIM | FI_DISCARD), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT((entry.flags & FI_DISCARD) != 0 && entry.len == 0 && entry.buf == NULL);
    }
    rank_barrier(rank);
    free(bytes);
    return gni_close(&side);
}

static void gni_82_claim(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, claim_body);
}

static int flags_body(struct rank *rank)
{
    struct fi_context context;
    struct gni_side side;
    uint64_t word;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(post(&side, &word, 8, 1, 0, &context, FI_DISCARD), -FI_EINVAL);
    EXPECT_IS(post(&side, &word, 8, 1, 0, NULL, FI_CLAIM), -FI_EINVAL);
    EXPECT_IS(post(&side, &word, 8, 1, 0, NULL, FI_PEEK | FI_CLAIM), -FI_EINVAL);
    EXPECT_IS(post(&side, &word, 8, 1, 0, &context, 1ull << 50), -FI_EINVAL);
    EXPECT_IS(post(&side, &word, 8, 1, 0, &context, FI_MULTI_RECV), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_83_gni_84_flags(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, flags_body);
}

/* ---- cancel ---------------------------------------------------------------------------------- */

static int cancel_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct gni_side side;
    uint64_t in[3];
    int i;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_cancel(&side.ep->fid, &in[0]), -FI_ENOENT);
    EXPECT_IS(fi_recv(side.ep, &in[0], 8, NULL, FI_ADDR_UNSPEC, &in[0]), 0);
    EXPECT_IS(fi_trecv(side.ep, &in[1], 8, NULL, FI_ADDR_UNSPEC, 3, 0, &in[1]), 0);
    for (i = 0; i < 2; i++) {
        EXPECT_IS(fi_cancel(&side.ep->fid, &in[i]), 0);
        TRY(gni_error(&side, side.rx_cq, &error));
        EXPECT(error.err == FI_ECANCELED && error.prov_errno == FI_ECANCELED);
        EXPECT(error.op_context == &in[i] && error.buf == &in[i] && error.len == 8);
        EXPECT_IS(error.flags, FI_RECV | FI_MSG | (i == 1 ? FI_TAGGED : 0));
        EXPECT_IS(fi_cancel(&side.ep->fid, &in[i]), -FI_ENOENT);
    }
    /* a send waits for its connection when this call returns */
    EXPECT_IS(fi_send(side.ep, &in[2], 8, NULL, side.peers[0], &in[2]), 0);
    if (fi_cancel(&side.ep->fid, &in[2]) == 0) {
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_ECANCELED && error.op_context == &in[2]);
    }
    return gni_close(&side);
}

static void gni_43_cancel(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.yaml = GNI_BREAKS("libfabric.completion-dropped")}, cancel_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_28_gni_79_matching),
        cmocka_unit_test(gni_71_gni_85_directed),
        cmocka_unit_test(gni_72_gni_161_source_ignored),
        cmocka_unit_test(gni_80_gni_81_gni_85_peek),
        cmocka_unit_test(gni_82_claim),
        cmocka_unit_test(gni_83_gni_84_flags),
        cmocka_unit_test(gni_43_cancel),
    };

    return cmocka_run_group_tests_name("tags", tests, NULL, NULL);
}
