/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receives: completions, cancelling, limits of the store, multi-receive buffers, peeks and claims.
 */
#include "message_frame.h"

static void gni_74_selective(void **unused)
{
    struct gnip_cntr cntr = {.value = 0};

    open_ep(2);
    ep->tx_flags = ep->rx_flags = 0;
    ep->tx_selective = ep->rx_selective = true;
    ep->recv_cntr = &cntr;
    assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_recv(&ep->fid, target_area, 10, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
    progress_all();
    assert_int_equal(entry_count, 1); /* the error only */
    assert_int_equal(entries[0].err, FI_ETRUNC);
    assert_int_equal(cntr.value, 1);
    assert_int_equal(cntr.errors, 1);
    close_ep();
}

static void gni_75_notify_flags(void **unused)
{
    open_ep(2);
    ep->notify_flags_only = true;
    assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_senddata(&ep->fid, source_area, 100, NULL, 5, 3, &a_send), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_send)->entry.flags, 0);
    assert_int_equal(entry_of(&a_receive)->entry.flags, FI_REMOTE_CQ_DATA);
    close_ep();
}

static void gni_43_cancel(void **unused)
{
    open_ep(2);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_send), -FI_ENOENT);
    assert_int_equal(fi_trecv(&ep->fid, target_area, 100, NULL, 0, 8, 0, &a_receive), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 50, NULL, 3, &a_send), 0);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_send), 0); /* is queued */
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_receive), 0);
    assert_int_equal(entry_of(&a_send)->err, FI_ECANCELED);
    assert_ptr_equal(entry_of(&a_send)->entry.buf, source_area);
    assert_int_equal(entry_of(&a_send)->entry.len, 50);
    assert_int_equal(entry_of(&a_receive)->err, FI_ECANCELED);
    assert_ptr_equal(entry_of(&a_receive)->entry.buf, target_area);
    assert_int_equal(entry_of(&a_receive)->entry.len, 100);
    assert_int_equal(entry_of(&a_receive)->entry.tag, 8);
    close_ep();
}

static void gni_66_limits(void **unused)
{
    uint32_t accepted = 0;
    int rc;

    open_ep(2);
    while ((rc = (int)fi_send(&ep->fid, source_area, 8, NULL, 3, &a_send)) == 0)
        accepted++;
    assert_int_equal(rc, -FI_EAGAIN);
    assert_int_equal(accepted, 500);
    recv_cq.capacity = 10;
    for (accepted = 0; fi_recv(&ep->fid, target_area, 8, NULL, 0, &a_receive) == 0;)
        accepted++;
    assert_int_equal(accepted, 10);
    progress_until(20);
    while (entry_count < 1000) { /* entries are read, so all get through in the end */
        if (fi_recv(&ep->fid, target_area, 8, NULL, 0, &a_receive) == -FI_EAGAIN)
            progress_once();
        if (entry_count >= 990)
            break;
    }
    progress_all();
    while (fi_cancel(&ep->fid.fid, &a_receive) == 0)
        ;
    close_ep();
}

/* ---- multi-receive --------------------------------------------------------------------------- */

static int a_buffer;

static void post_buffer(uint8_t *buffer, size_t bytes, int *context)
{
    struct iovec iov = {buffer, bytes};
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .context = context};

    assert_int_equal(fi_recvmsg(&ep->fid, &msg, FI_MULTI_RECV), 0);
}

/* Entries of the buffer: data of increasing length, side by side; then, last, the release. */
static void check_buffer(const uint64_t *lengths, uint32_t count, bool released)
{
    uint32_t seen = 0, releases = 0, i, k;
    uint64_t total = 0;

    for (i = 0; i < entry_count; i++) {
        const struct entry *entry = &entries[i];

        if (entry->entry.op_context != &a_buffer)
            continue;
        assert_int_equal(releases, 0);
        if (entry->entry.flags == FI_MULTI_RECV) {
            assert_int_equal(entry->entry.len, 0);
            assert_null(entry->entry.buf);
            releases++;
            continue;
        }
        assert_int_equal(entry->entry.flags, FI_MSG | FI_RECV);
        for (k = 0; k < entry->entry.len; k++)
            assert_int_equal(((uint8_t *)entry->entry.buf)[k], pattern(k));
        total += entry->entry.len;
        seen++;
    }
    assert_int_equal(seen, count);
    assert_int_equal(releases, released);
    for (i = 0; i < count; i++)
        total -= lengths[i];
    assert_int_equal(total, 0);
}

static void parts(uint64_t seed, bool early)
{
    uint64_t lengths[40], sum = 0;
    struct gnip_cntr cntr = {.value = 0};
    uint32_t count = 20 + chance(20), i;
    int sends;

    open_ep(seed);
    ep->recv_cntr = &cntr;
    vc.eager_max = seed % 2 == 0 ? 100 : 16352;
    trouble = (uint32_t)(seed % 3) * 20;
    for (i = 0; i < 4096; i++)
        source_area[i] = pattern(i);
    for (i = 0; i < count; i++)
        sum += lengths[i] = chance(700);
    memset(target_area, GUARD, AREA);
    entry_count = 0;
    if (!early)
        post_buffer(target_area + 3, sum + 63, &a_buffer);
    for (i = 0; i < count; i++)
        assert_int_equal(fi_send(&ep->fid, source_area, lengths[i], NULL, 3, &sends), 0);
    for (i = 0; early && i < 200; i++)
        progress_once();
    if (early)
        post_buffer(target_area + 3, sum + 63, &a_buffer);
    progress_until(2 * count + 1);
    check_buffer(lengths, count, true);
    for (i = 0; i < 63; i++)
        assert_int_equal(target_area[3 + sum + i], GUARD);
    assert_int_equal(cntr.value, count + 1);
    close_ep();
}

static void gni_87_parts_do_not_touch(void **unused)
{
    uint64_t seed;

    for (seed = 1; seed <= 30; seed++) {
        parts(seed, false);
        parts(seed, true);
    }
}

static void gni_88_last_is_truncated(void **unused)
{
    uint32_t truncated = 0, released = 0, i;
    int sends;

    open_ep(1);
    memset(target_area, GUARD, 400);
    post_buffer(target_area, 200, &a_buffer);
    assert_int_equal(fi_send(&ep->fid, source_area, 120, NULL, 3, &sends), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 120, NULL, 3, &sends), 0);
    progress_until(5);
    for (i = 0; i < entry_count; i++) {
        if (entries[i].entry.op_context != &a_buffer)
            assert_int_equal(entries[i].err, 0);
        else if (entries[i].err == FI_ETRUNC) {
            assert_ptr_equal(entries[i].entry.buf, target_area + 120);
            assert_int_equal(entries[i].entry.len, 80);
            assert_int_equal(entries[i].olen, 40);
            truncated++;
        } else if (entries[i].entry.flags == FI_MULTI_RECV) {
            assert_int_equal(truncated, 1);
            released++;
        }
    }
    assert_int_equal(released, 1);
    assert_int_equal(target_area[200], GUARD);
    close_ep();
}

/* No CQ entries: messages wait, in order, and get on when entries are read. */
static void gni_86_few_entries(void **unused)
{
    uint64_t lengths[30];
    uint32_t i;
    int sends;

    open_ep(4);
    entry_count = 0;
    for (i = 0; i < 4096; i++)
        source_area[i] = pattern(i);
    post_buffer(target_area, 30 * 70 + 63, &a_buffer);
    recv_cq.capacity = 1; /* the buffer's own entry */
    for (i = 0; i < 30; i++) {
        lengths[i] = 70;
        assert_int_equal(fi_send(&ep->fid, source_area, 70, NULL, 3, &sends), 0);
    }
    progress_all();
    assert_true(ep->mrecv_stalled);
    assert_int_equal(entry_count, 30); /* of the sends */
    recv_cq.capacity = 3;
    progress_all();
    check_buffer(lengths, 30, true);
    assert_false(ep->mrecv_stalled);
    close_ep();
}

static void gni_91_cancel_buffer(void **unused)
{
    open_ep(4);
    entry_count = 0;
    vc.eager_max = 0;
    post_buffer(target_area, 1000, &a_buffer);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_buffer), 0);
    assert_int_equal(entry_count, 1);
    assert_int_equal(entry_of(&a_buffer)->err, FI_ECANCELED);
    entry_count = 0;
    post_buffer(target_area, 1000, &a_buffer);
    assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
    while (ep->own_used == 0)
        progress_once();
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_buffer), -FI_ENOENT); /* a part is in use */
    progress_until(2);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_buffer), 0);
    close_ep();
}

/* ---- peek, claim, discard -------------------------------------------------------------------- */

static void send_tagged(uint64_t bytes, uint64_t tag, int *context)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        source_area[i] = pattern(i);
    assert_int_equal(fi_tsend(&ep->fid, source_area, bytes, NULL, 3, tag, context), 0);
    progress_all();
    entry_count = 0;
}

static ssize_t peek(uint64_t tag, uint64_t flags, void *buffer, size_t bytes, void *context)
{
    struct iovec iov = {buffer, bytes};
    struct fi_msg_tagged msg = {.msg_iov = buffer == NULL ? NULL : &iov,
                                .iov_count = buffer != NULL,
                                .tag = tag,
                                .context = context};

    entry_count = 0;
    return fi_trecvmsg(&ep->fid, &msg, flags);
}

static void peeked(uint64_t bytes)
{
    struct gnip_cntr cntr = {.value = 0};

    open_ep(6);
    ep->recv_cntr = &cntr;
    assert_int_equal(peek(9, FI_PEEK, target_area, 30, &a_receive), 0);
    assert_int_equal(entry_of(&a_receive)->err, FI_ENOMSG);
    assert_ptr_equal(entry_of(&a_receive)->entry.buf, target_area);
    assert_int_equal(entry_of(&a_receive)->entry.len, 30);
    assert_int_equal(entry_of(&a_receive)->entry.tag, 9);
    send_tagged(bytes, 9, &a_send);
    memset(target_area, GUARD, 64);
    assert_int_equal(peek(9, FI_PEEK, target_area, 30, &a_receive), 0);
    assert_int_equal(entry_of(&a_receive)->err, 0);
    assert_int_equal(entry_of(&a_receive)->entry.len, bytes);
    assert_int_equal(entry_of(&a_receive)->entry.flags, FI_MSG | FI_RECV | FI_TAGGED | FI_PEEK);
    if (bytes > vc.eager_max) {
        assert_null(entry_of(&a_receive)->entry.buf);
        assert_int_equal(target_area[0], GUARD);
    } else {
        assert_ptr_equal(entry_of(&a_receive)->entry.buf, target_area);
        assert_int_equal(target_area[29], pattern(29));
        assert_int_equal(target_area[30], GUARD);
    }
    assert_int_equal(peek(9, FI_PEEK, NULL, 0, &a_receive), 0);
    assert_int_equal(entry_of(&a_receive)->entry.len, bytes);
    assert_null(entry_of(&a_receive)->entry.buf);
    recv_cq.format = FI_CQ_FORMAT_MSG;
    memset(target_area, GUARD, 64);
    assert_int_equal(peek(9, FI_PEEK, target_area, 30, &a_receive), 0);
    assert_int_equal(target_area[0], GUARD);
    entry_count = 0;
    assert_int_equal(fi_trecv(&ep->fid, target_area, bytes, NULL, 0, 9, 0, &a_receive), 0);
    progress_all();
    assert_int_equal(entry_of(&a_receive)->entry.len, bytes);
    assert_int_equal(cntr.value, 1); /* peeks are not counted */
    assert_int_equal(cntr.errors, 0);
    close_ep();
}

static void gni_81_peek(void **unused)
{
    peeked(100);
    peeked(20000);
}

static void claimed(uint64_t bytes)
{
    struct fi_context mine, other;

    open_ep(6);
    send_tagged(bytes, 9, &a_send);
    assert_int_equal(peek(9, FI_CLAIM | FI_PEEK, NULL, 0, NULL), -FI_EINVAL);
    assert_int_equal(peek(9, FI_CLAIM | FI_PEEK, NULL, 0, &mine), 0);
    assert_int_equal(entry_of(&mine)->entry.len, bytes);
    assert_int_equal(peek(9, FI_PEEK, NULL, 0, &other), 0);
    assert_int_equal(entry_of(&other)->err, FI_ENOMSG); /* no other receive finds it */
    assert_int_equal(peek(9, FI_CLAIM, target_area, bytes, &other), -FI_EINVAL);
    assert_int_equal(peek(9, FI_CLAIM, target_area, bytes, &mine), 0);
    progress_all();
    assert_int_equal(entry_of(&mine)->err, 0);
    assert_int_equal(entry_of(&mine)->entry.len, bytes);
    assert_int_equal(entry_of(&mine)->entry.flags, FI_MSG | FI_RECV | FI_TAGGED | FI_CLAIM);
    assert_int_equal(target_area[bytes - 1], pattern(bytes - 1));
    assert_int_equal(peek(9, FI_CLAIM, target_area, bytes, &mine), -FI_EINVAL);
    /* Dropped, at once or after it was claimed. */
    send_tagged(bytes, 10, &a_send);
    assert_int_equal(peek(10, FI_CLAIM | FI_PEEK, NULL, 0, &mine), 0);
    assert_int_equal(peek(10, FI_CLAIM | FI_DISCARD, NULL, 0, &mine), 0);
    assert_int_equal(entry_of(&mine)->entry.len, 0);
    assert_int_equal(entry_of(&mine)->entry.flags,
                     FI_MSG | FI_RECV | FI_TAGGED | FI_CLAIM | FI_DISCARD);
    send_tagged(bytes, 11, &a_send);
    assert_int_equal(peek(11, FI_PEEK | FI_DISCARD, NULL, 0, &mine), 0);
    assert_int_equal(peek(11, FI_PEEK, NULL, 0, &mine), 0);
    assert_int_equal(entry_of(&mine)->err, FI_ENOMSG);
    progress_all();
    close_ep(); /* the senders of dropped messages have completed */
}

static void gni_82_claim_and_discard(void **unused)
{
    claimed(100);
    claimed(20000);
}

static void gni_83_flags(void **unused)
{
    open_ep(6);
    assert_int_equal(peek(1, FI_DISCARD, NULL, 0, &a_receive), -FI_EINVAL);
    assert_int_equal(peek(1, FI_CLAIM, NULL, 0, NULL), -FI_EINVAL);
    assert_int_equal(peek(1, FI_PEEK | FI_FENCE, NULL, 0, &a_receive), -FI_EINVAL);
    assert_int_equal(peek(1, FI_MULTI_RECV, target_area, 100, &a_receive), -FI_EINVAL);
    close_ep();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_74_selective),
        cmocka_unit_test(gni_75_notify_flags),
        cmocka_unit_test(gni_43_cancel),
        cmocka_unit_test(gni_66_limits),
        cmocka_unit_test(gni_87_parts_do_not_touch),
        cmocka_unit_test(gni_88_last_is_truncated),
        cmocka_unit_test(gni_86_few_entries),
        cmocka_unit_test(gni_91_cancel_buffer),
        cmocka_unit_test(gni_81_peek),
        cmocka_unit_test(gni_82_claim_and_discard),
        cmocka_unit_test(gni_83_flags),
    };

    return cmocka_run_group_tests(tests, areas, no_areas);
}
