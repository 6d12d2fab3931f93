/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What comes into which bytes: vectors, truncation, alignments, multi-receive; completion levels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fixture.h"

#define CANARY 0x5a

static const struct gni_how plain = {0};

/* Sends and waits for the completion. */
static int send_wait(struct gni_side *side, const void *bytes, size_t length, uint32_t peer)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    EXPECT_IS(gni_again(side, fi_send(side->ep, bytes, length, NULL, side->peers[peer], NULL)), 0);
    return gni_entry(side, side->tx_cq, &entry);
}

/* ---- vectors and remote CQ data -------------------------------------------------------------- */

/* Splits `length` bytes in `count` uneven parts. */
static void split(struct iovec *iov, size_t count, uint8_t *bytes, size_t length)
{
    size_t i, part, used = 0;

    for (i = 0; i < count; i++) {
        part = i + 1 == count ? length - used : length / (2 * count) + i;
        iov[i] = (struct iovec){bytes + used, part};
        used += part;
    }
}

static int vector_body(struct rank *rank)
{
    static const size_t lengths[] = {100, 5000, 16352, 40001, 300000};
    uint8_t *bytes = malloc(300001);
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct iovec iov[9];
    void *desc[8] = {NULL};
    size_t count, i;

    TRY(gni_open(&side, rank, &plain));
    for (count = 2; count <= 8; count++) {
        for (i = 0; i < 5; i++) {
            if (side.id == 0) {
                struct fi_msg message = {.msg_iov = iov,
                                         .iov_count = count,
                                         .addr = side.peers[1],
                                         .data = 0xabc + count};

                gni_fill(bytes, lengths[i], count + i);
                split(iov, count, bytes, lengths[i]);
                if (count % 2 == 0)
                    EXPECT_IS(gni_again(&side, fi_sendmsg(side.ep, &message,
                                                          FI_REMOTE_CQ_DATA | FI_COMPLETION)),
                              0);
                else
                    EXPECT_IS(
                        gni_again(&side, fi_sendv(side.ep, iov, desc, count, side.peers[1], NULL)),
                        0);
                TRY(gni_entry(&side, side.tx_cq, &entry));
            } else {
                memset(bytes, 0, lengths[i]);
                split(iov, 9 - count < 2 ? 2 : 9 - count, bytes, lengths[i]);
                EXPECT_IS(fi_recvv(side.ep, iov, desc, 9 - count < 2 ? 2 : 9 - count,
                                   FI_ADDR_UNSPEC, bytes),
                          0);
                TRY(gni_entry(&side, side.rx_cq, &entry));
                EXPECT_IS(entry.len, lengths[i]);
                EXPECT(gni_filled(bytes, lengths[i], count + i));
                EXPECT_IS(entry.flags, FI_RECV | FI_MSG | (count % 2 == 0 ? FI_REMOTE_CQ_DATA : 0));
                EXPECT_IS(entry.data, count % 2 == 0 ? 0xabc + count : 0);
            }
        }
    }
    memset(iov, 0, sizeof(iov));
    EXPECT_IS(fi_sendv(side.ep, iov, NULL, 9, side.peers[0], NULL), -FI_EINVAL);
    free(bytes);
    return gni_finish(&side);
}

static void gni_61_gni_62_vectors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, vector_body);
}

static int empty_body(struct rank *rank)
{
    struct fi_msg_tagged message = {.tag = 4};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 0) {
        message.addr = side.peers[1];
        EXPECT_IS(gni_again(&side, fi_tsendmsg(side.ep, &message, FI_COMPLETION)), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(gni_again(&side, fi_senddata(side.ep, NULL, 0, NULL, 99, side.peers[1], NULL)),
                  0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(gni_again(&side, fi_injectdata(side.ep, "abc", 3, 98, side.peers[1])), 0);
    } else {
        char text[4] = {0};

        EXPECT_IS(fi_trecv(side.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, 4, 0, &entry), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.len == 0 && entry.tag == 4);
        EXPECT_IS(fi_recv(side.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, &entry), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.len == 0 && entry.data == 99 && (entry.flags & FI_REMOTE_CQ_DATA) != 0);
        EXPECT_IS(fi_recv(side.ep, text, 4, NULL, FI_ADDR_UNSPEC, &entry), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.len == 3 && entry.data == 98 && strcmp(text, "abc") == 0);
    }
    return gni_finish(&side);
}

static void gni_62_gni_63_empty_and_data(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, empty_body);
}

/* ---- truncation and alignment ---------------------------------------------------------------- */

static int truncated(struct gni_side *side, uint8_t *bytes, size_t sent, size_t room, size_t align)
{
    struct rank *rank = side->rank;
    struct fi_cq_err_entry error;
    size_t i;

    if (side->id == 0) {
        gni_fill(bytes + align, sent, sent);
        return send_wait(side, bytes + align, sent, 1);
    }
    memset(bytes, CANARY, room + 64);
    EXPECT_IS(fi_recv(side->ep, bytes + align, room, NULL, FI_ADDR_UNSPEC, bytes), 0);
    TRY(gni_error(side, side->rx_cq, &error));
    EXPECT(error.err == FI_ETRUNC && error.prov_errno == FI_ETRUNC && error.op_context == bytes);
    EXPECT_IS(error.len, room);
    EXPECT_IS(error.olen, sent - room);
    EXPECT_IS(error.flags, FI_MSG | FI_RECV);
    EXPECT(error.buf == bytes + align);
    EXPECT(gni_filled(bytes + align, room, sent));
    for (i = 0; i < align; i++)
        EXPECT(bytes[i] == CANARY);
    for (i = align + room; i < room + 64; i++)
        EXPECT(bytes[i] == CANARY);
    return 0;
}

static int truncation_body(struct rank *rank)
{
    uint8_t *bytes = malloc(70000);
    struct gni_side side;
    size_t room;

    TRY(gni_open(&side, rank, &plain));
    for (room = 0; room <= 32; room++) {
        TRY(truncated(&side, bytes, 33, room, room % 4));
        TRY(truncated(&side, bytes, 20000 + room, room, room % 4));
        TRY(truncated(&side, bytes, 50001, 16384 + room, room % 5));
    }
    free(bytes);
    return gni_finish(&side);
}

static void gni_64_truncation(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, truncation_body);
}

/* All alignments of a rendezvous, the receive posted after the message and before it. */
static int alignment_body(struct rank *rank)
{
    uint8_t *bytes = malloc(20100);
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    size_t here, there, length, i;

    TRY(gni_open(&side, rank, &plain));
    for (here = 0; here < 4; here++) {
        for (there = 0; there < 4; there++) {
            for (length = 20000; length < 20004; length++) {
                if (side.id == 0) {
                    gni_fill(bytes + here, length, length + here);
                    TRY(send_wait(&side, bytes + here, length, 1));
                    continue;
                }
                memset(bytes, CANARY, 20100);
                if (length % 2 == 0)
                    gni_pause(rank, 20000000); /* it is unexpected */
                EXPECT_IS(fi_recv(side.ep, bytes + 8 + there, length, NULL, FI_ADDR_UNSPEC, bytes),
                          0);
                TRY(gni_entry(&side, side.rx_cq, &entry));
                EXPECT_IS(entry.len, length);
                EXPECT(gni_filled(bytes + 8 + there, length, length + here));
                for (i = 0; i < 8 + there; i++)
                    EXPECT(bytes[i] == CANARY);
                for (i = 8 + there + length; i < 20100; i++)
                    EXPECT(bytes[i] == CANARY);
            }
        }
    }
    free(bytes);
    return gni_finish(&side);
}

static void gni_76_alignments(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, alignment_body);
}

/* ---- completion levels ----------------------------------------------------------------------- */

/* Rank 1 receives a millisecond later: what rank 0 sees before that depends on the level. */
static int levels_body(struct rank *rank)
{
    static const size_t lengths[] = {64, 30000};
    uint8_t *bytes = calloc(1, 30000);
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t began;
    size_t i;

    TRY(gni_open(&side, rank, &plain));
    /* connected */
    TRY(side.id == 0 ? send_wait(&side, bytes, 1, 1) : 0);
    if (side.id == 1) {
        EXPECT_IS(fi_recv(side.ep, bytes, 1, NULL, FI_ADDR_UNSPEC, NULL), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
    }
    for (i = 0; i < 3; i++) {
        rank_barrier(rank);
        began = rank_now();
        if (side.id == 0) {
            struct iovec iov = {bytes, lengths[i % 2]};
            struct fi_msg message = {.msg_iov = &iov, .iov_count = 1, .addr = side.peers[1]};

            EXPECT_IS(
                fi_sendmsg(side.ep, &message,
                           FI_COMPLETION | (i < 2 ? FI_DELIVERY_COMPLETE : FI_TRANSMIT_COMPLETE)),
                0);
            TRY(gni_entry(&side, side.tx_cq, &entry));
            if (i < 2)
                EXPECT(rank_now() - began >= 1000000000);
            else
                EXPECT(rank_now() - began < 100000000);
        } else {
            gni_pause(rank, 1000000000);
            EXPECT_IS(fi_recv(side.ep, bytes, 30000, NULL, FI_ADDR_UNSPEC, NULL), 0);
            TRY(gni_entry(&side, side.rx_cq, &entry));
        }
    }
    free(bytes);
    return gni_finish(&side);
}

static void gni_69_gni_70_levels(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, levels_body);
}

/* ---- what entries say ------------------------------------------------------------------------ */

/* Rank 1 does not know rank 0: no source; with FI_SOURCE_ERR an error entry with its name, of 48
 * bytes or 70 characters. */
static int unknown_sender(struct rank *rank, uint64_t caps, uint32_t format)
{
    struct gni_how how = {.caps = caps, .addr_format = format, .no_peers = true};
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    char name[80] = {0}, all[2][80], text[16] = {0};
    size_t bytes = sizeof(name);
    struct gni_side side;
    fi_addr_t source, peer;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_getname(&side.ep->fid, name, &bytes), 0);
    EXPECT_IS(bytes, format == FI_ADDR_STR ? 70 : 48);
    rank_allgather(rank, name, all, sizeof(name));
    if (side.id == 0) {
        EXPECT_IS(fi_av_insert(side.av, all[1], 1, &peer, 0, NULL), 1);
        EXPECT_IS(gni_again(&side, fi_inject(side.ep, "hello", 6, peer)), 0);
    } else {
        EXPECT_IS(fi_recv(side.ep, text, sizeof(text), NULL, FI_ADDR_UNSPEC, text), 0);
        if ((caps & FI_SOURCE_ERR) == 0) {
            TRY(gni_entry_from(&side, side.rx_cq, &entry, &source));
            EXPECT(source == FI_ADDR_NOTAVAIL && entry.len == 6);
        } else {
            TRY(gni_error(&side, side.rx_cq, &error));
            EXPECT(error.err == FI_EADDRNOTAVAIL && error.op_context == text && error.len == 6);
            EXPECT(error.err_data != NULL);
            EXPECT(memcmp(error.err_data, all[0], bytes) == 0);
        }
        EXPECT(strcmp(text, "hello") == 0);
    }
    return gni_finish(&side);
}

static int unknown_sender_plain(struct rank *rank)
{
    return unknown_sender(rank, FI_MSG | FI_SOURCE, FI_ADDR_GNI);
}

static int unknown_sender_error(struct rank *rank)
{
    return unknown_sender(rank, FI_MSG | FI_SOURCE | FI_SOURCE_ERR, FI_ADDR_GNI);
}

static int unknown_sender_string(struct rank *rank)
{
    return unknown_sender(rank, FI_MSG | FI_SOURCE | FI_SOURCE_ERR, FI_ADDR_STR);
}

static void gni_73_unknown_sender(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, unknown_sender_plain);
    gni_run(&(struct gni_machine){.ranks = 2}, unknown_sender_error);
    gni_run(&(struct gni_machine){.ranks = 2}, unknown_sender_string);
}

static int selective_body(struct rank *rank)
{
    struct gni_how how = {.cq_bind_flags = FI_SELECTIVE_COMPLETION, .counters = true};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t word = 1;
    struct iovec iov = {&word, 8};
    struct fi_msg message = {.msg_iov = &iov, .iov_count = 1, .context = &word};

    TRY(gni_open(&side, rank, &how));
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 8, NULL, side.peers[1], NULL)), 0);
        TRY(gni_count(&side, side.cntr[SENDS], 1));
        TRY(gni_silence(&side, side.tx_cq, 50));
        message.addr = side.peers[1];
        EXPECT_IS(gni_again(&side, fi_sendmsg(side.ep, &message, FI_COMPLETION)), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT(entry.op_context == &word);
    } else {
        EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
        TRY(gni_count(&side, side.cntr[RECEIVES], 1));
        TRY(gni_silence(&side, side.rx_cq, 50));
        message.addr = FI_ADDR_UNSPEC;
        EXPECT_IS(fi_recvmsg(side.ep, &message, FI_COMPLETION), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.op_context == &word);
    }
    return gni_finish(&side);
}

static void gni_74_selective(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, selective_body);
}

/* ---- multi-receive --------------------------------------------------------------------------- */

static int post_multi(struct gni_side *side, void *bytes, size_t size, void *context)
{
    struct iovec iov = {bytes, size};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = context};

    return (int)fi_recvmsg(side->ep, &message, FI_MULTI_RECV | FI_COMPLETION);
}

static int release(struct gni_side *side, void *context)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;

    TRY(gni_entry(side, side->rx_cq, &entry));
    EXPECT_IS(entry.flags, FI_MULTI_RECV);
    EXPECT(entry.len == 0 && entry.buf == NULL && entry.op_context == context);
    return 0;
}

/* Message i of rank 0: i + 1 times 100 bytes; the third one is long. */
static size_t multi_length(int i)
{
    return i == 2 ? 30001 : (size_t)(i + 1) * 100;
}

/* Eager and long messages, before and after the buffer was posted. */
static int multi_body(struct rank *rank)
{
    enum { COUNT = 6 };
    uint8_t *bytes = malloc(40000), *expected, seen[COUNT] = {0};
    struct gni_how how = {.two_cqs = true, .counters = true};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    size_t total = 0;
    int i, j;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; i < COUNT; i++)
        total += multi_length(i);
    for (i = 0; side.id == 0 && i < COUNT; i++) {
        gni_fill(bytes, multi_length(i), (uint64_t)i);
        EXPECT_IS(
            gni_again(&side, fi_send(side.ep, bytes, multi_length(i), NULL, side.peers[1], NULL)),
            0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        if (i == 3)
            gni_pause(rank, 1000000000);
    }
    if (side.id == 1) {
        gni_pause(rank, 100000000);
        memset(bytes, CANARY, 40000);
        EXPECT_IS(post_multi(&side, bytes, total + 63, &side), 0);
        expected = bytes;
        for (i = 0; i < COUNT; i++) {
            TRY(gni_entry(&side, side.rx_cq, &entry));
            EXPECT_IS(entry.flags, FI_MSG | FI_RECV);
            EXPECT(entry.op_context == &side);
            for (j = 0, expected = bytes; j < COUNT && multi_length(j) != entry.len; j++)
                expected += multi_length(j);
            EXPECT(j < COUNT && !seen[j] && entry.buf == expected);
            seen[j] = 1;
            EXPECT(gni_filled(entry.buf, entry.len, (uint64_t)j));
        }
        TRY(release(&side, &side));
        for (i = 0; i < 63; i++)
            EXPECT(bytes[total + (size_t)i] == CANARY);
        EXPECT_IS(fi_cntr_read(side.cntr[RECEIVES]), COUNT);
    }
    free(bytes);
    return gni_finish(&side);
}

static void gni_86_gni_87_gni_89_gni_92_multi(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, multi_body);
}

/* The last message does not fit: what fits is there. Eager, then long. */
static int multi_truncated_body(struct rank *rank)
{
    static const size_t lengths[] = {300, 30000};
    uint8_t *bytes = malloc(40000);
    struct gni_how how = {.two_cqs = true};
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error;
    struct gni_side side;
    int i;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; i < 2; i++) {
        rank_barrier(rank);
        if (side.id == 0) {
            gni_fill(bytes, 100, 1);
            TRY(send_wait(&side, bytes, 100, 1));
            gni_fill(bytes, lengths[i], 2);
            TRY(send_wait(&side, bytes, lengths[i], 1));
            continue;
        }
        memset(bytes, CANARY, 40000);
        EXPECT_IS(post_multi(&side, bytes, 250, &side), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.len == 100 && entry.buf == bytes);
        TRY(gni_error(&side, side.rx_cq, &error));
        EXPECT(error.err == FI_ETRUNC && error.buf == bytes + 100 && error.op_context == &side);
        EXPECT_IS(error.len, 150);
        EXPECT_IS(error.olen, lengths[i] - 150);
        EXPECT(gni_filled(bytes + 100, 150, 2) && bytes[250] == CANARY);
        TRY(release(&side, &side));
    }
    free(bytes);
    return gni_finish(&side);
}

static void gni_88_multi_truncated(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, multi_truncated_body);
}

static int multi_sources_body(struct rank *rank)
{
    enum { EACH = 10, BYTES = 3 * EACH * 500 };
    uint8_t *bytes = malloc(BYTES);
    struct gni_how how = {.two_cqs = true};
    struct fi_cq_tagged_entry entry;
    int counts[4] = {0}, i;
    struct gni_side side;
    fi_addr_t source;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; side.id > 0 && i < EACH; i++) {
        gni_fill(bytes, 500, side.id * 100 + (uint64_t)i);
        TRY(send_wait(&side, bytes, 500, 0));
    }
    if (side.id == 0) {
        EXPECT_IS(post_multi(&side, bytes, BYTES, bytes), 0);
        for (i = 0; i < 3 * EACH; i++) {
            TRY(gni_entry_from(&side, side.rx_cq, &entry, &source));
            EXPECT(source >= side.peers[1] && source <= side.peers[3]);
            EXPECT_IS(entry.len, 500);
            EXPECT(gni_filled(entry.buf, 500, source * 100 + (uint64_t)counts[source]));
            counts[source]++;
        }
        TRY(release(&side, bytes));
    }
    free(bytes);
    return gni_finish(&side);
}

static void gni_90_multi_sources(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 4}, multi_sources_body);
}

static int multi_cancel_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct gni_side side;
    uint8_t bytes[1000];

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(post_multi(&side, bytes, sizeof(bytes), bytes), 0);
    EXPECT_IS(fi_cancel(&side.ep->fid, bytes), 0);
    TRY(gni_error(&side, side.rx_cq, &error));
    EXPECT(error.err == FI_ECANCELED && error.op_context == bytes);
    TRY(gni_silence(&side, side.rx_cq, 10));
    return gni_close(&side);
}

static void gni_91_multi_cancel(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, multi_cancel_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_61_gni_62_vectors),
        cmocka_unit_test(gni_62_gni_63_empty_and_data),
        cmocka_unit_test(gni_64_truncation),
        cmocka_unit_test(gni_76_alignments),
        cmocka_unit_test(gni_69_gni_70_levels),
        cmocka_unit_test(gni_73_unknown_sender),
        cmocka_unit_test(gni_74_selective),
        cmocka_unit_test(gni_86_gni_87_gni_89_gni_92_multi),
        cmocka_unit_test(gni_88_multi_truncated),
        cmocka_unit_test(gni_90_multi_sources),
        cmocka_unit_test(gni_91_multi_cancel),
    };

    return cmocka_run_group_tests_name("receives", tests, NULL, NULL);
}
