/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages by themselves: the files that send, match, fetch and complete, on one endpoint whose
 * only peer is itself. Underneath is a network of this file: what is sent arrives in order, what is
 * posted is carried out at once and reported in any order, and everything that may say "not now" or
 * fail does so by chance. It also knows which memory a transfer may touch.
 */
#include "message_frame.h"

struct shape {
    uint64_t bytes, room; /* of the message, of the receive */
    size_t from, to; /* pieces */
    bool early; /* the message comes first */
    uint64_t flags;
};

static void one_message(const struct shape *shape)
{
    uint64_t arrives = shape->bytes < shape->room ? shape->bytes : shape->room;
    struct iovec from[8], to[8];
    struct fi_msg_tagged send = {.msg_iov = from,
                                 .iov_count = cut(source_area, shape->bytes, shape->from, from),
                                 .addr = 3,
                                 .tag = 77,
                                 .context = &a_send,
                                 .data = 4321};
    struct fi_msg_tagged receive;
    const struct entry *entry;

    memset(target_area, GUARD, shape->room + 1024);
    receive = (struct fi_msg_tagged){.msg_iov = to,
                                     .iov_count = cut(target_area, shape->room, shape->to, to),
                                     .tag = 77,
                                     .context = &a_receive};
    fill(from, send.iov_count);
    entry_count = 0;
    if (!shape->early)
        assert_int_equal(fi_trecvmsg(&ep->fid, &receive, 0), 0);
    assert_int_equal(fi_tsendmsg(&ep->fid, &send, FI_REMOTE_CQ_DATA | shape->flags), 0);
    if (shape->early) {
        while (gnip_match_first(ep->tagged, NULL) == NULL)
            progress_once();
        assert_int_equal(fi_trecvmsg(&ep->fid, &receive, 0), 0);
    }
    progress_until(2);
    entry = entry_of(&a_send);
    assert_int_equal(entry->err, 0);
    assert_int_equal(entry->entry.flags, FI_MSG | FI_SEND | FI_TAGGED);
    assert_int_equal(entry->entry.len, 0);
    entry = entry_of(&a_receive);
    assert_int_equal(entry->err, shape->bytes > shape->room ? FI_ETRUNC : 0);
    assert_int_equal(entry->olen, shape->bytes - arrives);
    assert_int_equal(entry->entry.len, arrives);
    assert_int_equal(entry->entry.flags, FI_MSG | FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
    assert_int_equal(entry->entry.tag, 77);
    assert_int_equal(entry->entry.data, 4321);
    if (entry->err == 0)
        assert_int_equal(entry->source, 3);
    check(to, receive.iov_count, arrives);
}

/* All alignments of both sides against all short lengths, whole and truncated, by rendezvous. */
static void gni_76_every_alignment(void **unused)
{
    uint64_t bytes, room;
    uint32_t from, to;

    open_ep(1);
    vc.eager_max = 0;
    for (from = 0; from < 4; from++) {
        for (to = 0; to < 4; to++) {
            for (bytes = 1; bytes <= 19; bytes++) {
                for (room = bytes > 6 ? bytes - 6 : 0; room <= bytes + 1; room++) {
                    struct iovec source = {source_area + 64 + from, bytes};
                    struct iovec target = {target_area + 64 + to, room};
                    uint64_t arrives = bytes < room ? bytes : room;

                    memset(target_area, GUARD, 256);
                    fill(&source, 1);
                    entry_count = 0;
                    assert_int_equal(fi_recv(&ep->fid, target.iov_base, room, NULL, 0, &a_receive),
                                     0);
                    assert_int_equal(fi_send(&ep->fid, source.iov_base, bytes, NULL, 3, &a_send),
                                     0);
                    progress_until(2);
                    assert_int_equal(entry_of(&a_receive)->err, bytes > room ? FI_ETRUNC : 0);
                    assert_int_equal(entry_of(&a_receive)->entry.len, arrives);
                    assert_int_equal(entry_of(&a_send)->err, 0);
                    check(&target, 1, arrives);
                }
            }
        }
    }
    assert_int_equal(kinds[GNIP_EAGER], 0);
    assert_true(gets > 0);
    close_ep();
}

/* Vectors on both sides, every protocol, with everything refusing now and then. */
static void vectors(uint64_t seed, bool rendezvous, bool automatic)
{
    uint32_t i;

    open_ep(seed);
    nic.automatic = automatic;
    trouble = (uint32_t)(seed % 3) * 20;
    if (rendezvous)
        vc.eager_max = 0;
    for (i = 0; i < 300; i++) {
        struct shape shape = {.from = chance(9), .to = chance(9), .early = chance(2) == 0};

        if (shape.from > 0)
            shape.bytes = chance(4) == 0 ? chance(60000) : chance(200);
        if (shape.to > 0)
            shape.room =
                chance(3) == 0 ? chance((uint32_t)shape.bytes + 1) : shape.bytes + chance(3);
        if (chance(4) == 0)
            shape.flags = FI_DELIVERY_COMPLETE;
        one_message(&shape);
    }
    close_ep();
}

static void gni_61_vectors_eager(void **unused)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++)
        vectors(seed, false, false);
    assert_true(largest_get >= 16384);
}

static void gni_64_vectors_by_rendezvous(void **unused)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++)
        vectors(seed, true, seed % 2 == 0);
}

/* A message that does not fit the window goes by rendezvous, which needs one slot. */
static void gni_66_no_window(void **unused)
{
    struct shape shape = {.bytes = 3000, .room = 3000, .from = 1, .to = 1, .early = true};

    open_ep(5);
    vc.tx_credits_used = 62; /* two slots are left */
    one_message(&shape);
    assert_int_equal(kinds[GNIP_RNDZV_RTS], 1);
    shape.bytes = shape.room = 200;
    one_message(&shape);
    assert_int_equal(kinds[GNIP_EAGER], 1);
    vc.tx_credits_used -= 62;
    close_ep();
}

/* ---- two receives at once, failures ---------------------------------------------------------- */

static void gni_61_interleaved(void **unused)
{
    struct iovec from[4][8], to[4][8];
    int sends[4], receives[4];
    uint64_t seed;
    size_t i;

    for (seed = 1; seed <= 30; seed++) {
        open_ep(seed);
        vc.eager_max = 0;
        trouble = 25;
        memset(target_area, GUARD, AREA);
        for (i = 0; i < 4; i++) {
            size_t pieces = cut(target_area + i * 8192, 5000, 1 + chance(8), to[i]);
            struct fi_msg_tagged receive = {
                .msg_iov = to[i], .iov_count = pieces, .tag = i, .context = &receives[i]};

            assert_int_equal(fi_trecvmsg(&ep->fid, &receive, 0), 0);
        }
        for (i = 0; i < 4; i++) {
            size_t pieces = cut(source_area + i * 8192, 5000, 1 + chance(8), from[i]);
            struct fi_msg_tagged send = {
                .msg_iov = from[i], .iov_count = pieces, .addr = 3, .tag = i, .context = &sends[i]};

            fill(from[i], pieces);
            assert_int_equal(fi_tsendmsg(&ep->fid, &send, 0), 0);
        }
        progress_until(8);
        for (i = 0; i < 4; i++) {
            uint64_t place = 0;
            size_t k, n;

            assert_int_equal(entry_of(&receives[i])->err, 0);
            for (k = 0; to[i] + k < to[i] + 8 && place < 5000; k++)
                for (n = 0; n < to[i][k].iov_len; n++)
                    assert_int_equal(((uint8_t *)to[i][k].iov_base)[n], pattern(place++));
        }
        close_ep();
    }
}

/* ---- completions ----------------------------------------------------------------------------- */

static void gni_69_delivery_complete(void **unused)
{
    struct iovec iov = {source_area, 100};
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = 3, .context = &a_send};

    open_ep(9);
    assert_int_equal(fi_sendmsg(&ep->fid, &msg, FI_DELIVERY_COMPLETE), 0);
    progress_all();
    assert_int_equal(entry_count, 0); /* not received yet */
    assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_send)->err, 0);
    assert_int_equal(kinds[GNIP_EAGER_ACK], 1);
    close_ep();
}

static void gni_60_inject(void **unused)
{
    struct gnip_cntr cntr = {.value = 0};
    uint32_t i;

    open_ep(9);
    ep->send_cntr = &cntr;
    for (i = 0; i < 64; i++)
        source_area[i] = (uint8_t)i;
    assert_int_equal(fi_inject(&ep->fid, source_area, 65, 3), -FI_EINVAL);
    assert_int_equal(fi_inject(&ep->fid, source_area, 64, 3), 0);
    memset(source_area, 0, 64);
    assert_int_equal(fi_recv(&ep->fid, target_area, 64, NULL, 0, &a_receive), 0);
    progress_all();
    assert_int_equal(entry_count, 1);
    assert_ptr_equal(entries[0].entry.op_context, &a_receive);
    for (i = 0; i < 64; i++)
        assert_int_equal(target_area[i], i);
    assert_int_equal(cntr.value, 1);
    close_ep();
}

static void gni_62_no_segments(void **unused)
{
    struct fi_msg_tagged msg = {.addr = 3, .tag = 1, .context = &a_send};
    struct iovec nine[9] = {{0}};

    open_ep(2);
    assert_int_equal(fi_sendv(&ep->fid, nine, NULL, 9, 3, &a_send), -FI_EINVAL);
    assert_int_equal(fi_trecv(&ep->fid, NULL, 0, NULL, 0, 1, 0, &a_receive), 0);
    assert_int_equal(fi_tsendmsg(&ep->fid, &msg, 0), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_receive)->entry.len, 0);
    assert_int_equal(entry_of(&a_receive)->err, 0);
    close_ep();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_76_every_alignment),
        cmocka_unit_test(gni_61_vectors_eager),
        cmocka_unit_test(gni_64_vectors_by_rendezvous),
        cmocka_unit_test(gni_66_no_window),
        cmocka_unit_test(gni_61_interleaved),
        cmocka_unit_test(gni_69_delivery_complete),
        cmocka_unit_test(gni_60_inject),
        cmocka_unit_test(gni_62_no_segments),
    };

    return cmocka_run_group_tests(tests, areas, no_areas);
}
