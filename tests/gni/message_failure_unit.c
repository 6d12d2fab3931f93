/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages whose transactions or connection fail, and answers that come too late. */
#include "message_frame.h"

static void gni_142_transfers_fail_sometimes(void **unused)
{
    uint32_t failed = 0, i;
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++) {
        open_ep(seed);
        vc.eager_max = 0;
        trouble = seed % 2 == 0 ? 30 : 0;
        fail_posts = 30;
        for (i = 0; i < 50; i++) {
            struct iovec source[8], target[8];
            size_t from = cut(source_area, 5000, 1 + chance(8), source);
            size_t to = cut(target_area, 5000, 1 + chance(8), target);
            const struct entry *received;

            memset(target_area, GUARD, 6000);
            fill(source, from);
            entry_count = 0;
            assert_int_equal(fi_recvv(&ep->fid, target, NULL, to, 0, &a_receive), 0);
            assert_int_equal(fi_sendv(&ep->fid, source, NULL, from, 3, &a_send), 0);
            progress_until(2); /* both sides get the same result */
            received = entry_of(&a_receive);
            assert_int_equal(entry_of(&a_send)->err, received->err);
            assert_true(received->err == 0 || received->err == FI_EIO);
            failed += received->err != 0;
            if (received->err == 0)
                check(target, to, 5000);
        }
        close_ep();
    }
    assert_in_range(failed, 1, 900);
}

static void injected(int32_t count, enum fi_ep_type type, int expected)
{
    struct iovec source = {source_area + 1, 20000}, target = {target_area + 2, 20000};

    open_ep(7);
    ep->type = type;
    ep->msg_vc = &vc;
    ep->conn_state = GNIP_CONNECTED;
    domain.params.error_inject = count;
    memset(target_area, GUARD, 21000);
    fill(&source, 1);
    assert_int_equal(fi_recv(&ep->fid, target.iov_base, 20000, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_send(&ep->fid, source.iov_base, 20000, NULL, 3, &a_send), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_receive)->err, expected);
    assert_int_equal(entry_of(&a_send)->err, expected);
    if (expected == 0)
        check(&target, 1, 20000);
    close_ep();
}

static void gni_142_injected_failures(void **unused)
{
    injected(4, FI_EP_RDM, 0);
    injected(4, FI_EP_MSG, 0);
    injected(5, FI_EP_RDM, FI_ECANCELED);
    injected(1, FI_EP_DGRAM, FI_ECANCELED); /* no replay */
}

/* An eager send fails where replays would not help; those that do help are uGNI's. */
static void gni_142_injected_eager(void **unused)
{
    int32_t count;

    for (count = 4; count <= 5; count++) {
        open_ep(7);
        domain.params.error_inject = count;
        assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
        assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
        progress_until(count == 4 ? 2 : 1);
        assert_int_equal(entry_of(&a_send)->err, count == 4 ? 0 : FI_ECANCELED);
        if (count == 5)
            assert_int_equal(fi_cancel(&ep->fid.fid, &a_receive), 0);
        close_ep();
    }
}

/* The connection is lost while the receiver waits for resources, and the sender for its FIN. */
static void gni_144_lost_connection(void **unused)
{
    open_ep(3);
    vc.eager_max = 0;
    assert_int_equal(fi_send(&ep->fid, source_area, 5000, NULL, 3, &a_send), 0);
    while (gnip_match_first(ep->untagged, NULL) == NULL)
        progress_once();
    while (event_count > 0)
        report();
    trouble = 100;
    assert_int_equal(fi_recv(&ep->fid, target_area, 5000, NULL, 0, &a_receive), 0);
    assert_false(gnip_queue_empty(&vc.work));
    broken = -FI_ENOTCONN;
    trouble = 0;
    gnip_req_drop(gnip_container(gnip_queue_pop(&vc.work), struct gnip_req, link), FI_ENOTCONN);
    gnip_req_vc_lost(&vc, FI_ENOTCONN);
    assert_int_equal(entry_of(&a_receive)->err, FI_EIO);
    assert_int_equal(entry_of(&a_send)->err, FI_ENOTCONN);
    close_ep();
}

/* A late answer names a request that has ended: its slot is used again, but the id is another. */
static void gni_45_stale_answers(void **unused)
{
    struct gnip_fin fin = {.h = {.kind = GNIP_RNDZV_FIN}};
    uint64_t ignored = ctx.counts.ignored;
    struct gnip_req *req;
    uint32_t old;

    open_ep(2);
    vc.eager_max = 0;
    req = gnip_req_get(ep, GNIP_REQ_SEND, false);
    old = req->id;
    assert_ptr_equal(gnip_req_of_id(ep, old), req);
    gnip_req_put(req);
    assert_null(gnip_req_of_id(ep, old));
    assert_int_equal(fi_send(&ep->fid, source_area, 50, NULL, 3, &a_send), 0);
    progress_all();
    assert_int_equal(kinds[GNIP_RNDZV_RTS], 1); /* in the same slot */
    fin.h.a = old;
    gnip_fin_arrived(&vc, &fin);
    fin.h.a = 0;
    gnip_fin_arrived(&vc, &fin);
    fin.h.a = ~0ull;
    gnip_fin_arrived(&vc, &fin);
    assert_int_equal(ctx.counts.ignored - ignored, 3);
    assert_int_equal(entry_count, 0);
    assert_int_equal(fi_recv(&ep->fid, target_area, 50, NULL, 0, &a_receive), 0);
    progress_until(2);
    close_ep();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_142_transfers_fail_sometimes),
        cmocka_unit_test(gni_142_injected_failures),
        cmocka_unit_test(gni_142_injected_eager),
        cmocka_unit_test(gni_144_lost_connection),
        cmocka_unit_test(gni_45_stale_answers),
    };

    return cmocka_run_group_tests(tests, areas, no_areas);
}
