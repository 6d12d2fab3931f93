/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: posts, probes, time limits and cancelling: checklist items 93 to 103. */
#include "datagram_frame.h"

#include <string.h>

/* ---- helpers --------------------------------------------------------------------------------- */

static gni_return_t test(gni_ep_handle_t ep, struct answer *answer)
{
    return GNI_EpPostDataTest(ep, &answer->state, &answer->address, &answer->id);
}

/* ---- item 93 --------------------------------------------------------------------------------- */

static void exchange(struct rank *rank, struct domain *domain, sim_time_t late)
{
    char mine[16] = "", theirs[16] = "";
    gni_ep_handle_t ep = domain_connect(rank, domain, 1 - rank->id);
    struct answer answer;

    sleep_for(late);
    mine[0] = (char)('a' + rank->id);
    strcpy(mine + 1, " was here");
    assert_ok(GNI_EpPostData(ep, mine, 16, theirs, 16));
    memset(mine, 0, sizeof(mine)); /* it was copied */
    assert_ok(wait_for(ep, FOREVER, &answer));
    assert_completed(rank, &answer, 1 - rank->id);
    assert_int_equal(theirs[0], 'b' - (int)rank->id);
    assert_string_equal(theirs + 1, " was here");
    assert_ok(GNI_EpDestroy(ep));
    machine_barrier(rank);
}

static void bound_main(struct rank *rank)
{
    struct domain domain;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    exchange(rank, &domain, 0);
    exchange(rank, &domain, rank->id * SIM_MS);
    exchange(rank, &domain, (1 - rank->id) * SIM_MS);
    exchange(rank, &domain, rank->id * 5 * SIM_US); /* the offers cross */
    domain_close(&domain);
}

static void ugni_93_bound_posts_meet_in_any_order(void **state)
{
    machine_run(&(struct machine){.main = bound_main});
}

/* ---- item 94 --------------------------------------------------------------------------------- */

static void wildcard_main(struct rank *rank)
{
    char theirs[8] = "";
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    if (rank->id == 0) {
        ep = ep_unbound(&domain);
        assert_ok(GNI_EpPostDataWId(ep, (char[]){"server"}, 7, theirs, 8, 5));
        assert_ok(wait_id(ep, 5, FOREVER, &answer));
        assert_string_equal(theirs, "client");
    } else {
        ep = domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpPostData(ep, (char[]){"client"}, 7, theirs, 8));
        assert_ok(wait_for(ep, FOREVER, &answer));
        assert_string_equal(theirs, "server");
    }
    assert_completed(rank, &answer, 1 - rank->id);
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_94_wildcard_learns_its_peer(void **state)
{
    machine_run(&(struct machine){.main = wildcard_main});
}

/* ---- item 95 --------------------------------------------------------------------------------- */

static void remote_data_listener(struct rank *rank, struct domain *domain, bool wildcard)
{
    gni_ep_handle_t ep = domain_connect(rank, domain, 1), any = ep_unbound(domain);
    char buffer[8] = "";
    struct answer answer;
    uint32_t address, id;

    /* The buffer of an earlier datagram stays the endpoint's. */
    assert_ok(GNI_EpPostData(ep, (char[]){"one"}, 4, buffer, 8));
    assert_ok(wait_for(ep, FOREVER, &answer));
    machine_barrier(rank);
    sleep_for(SIM_MS);
    assert_ok(test(ep, &answer));
    assert_int_equal(answer.state, GNI_POST_REMOTE_DATA);
    assert_int_equal(answer.id, 1);
    assert_string_equal(buffer, "second");
    assert_rc(GNI_PostDataProbe(domain->nic, &address, &id), GNI_RC_NO_MATCH);
    memset(buffer, 0, sizeof(buffer));
    assert_ok(test(ep, &answer)); /* not consumed */
    assert_string_equal(buffer, "second");
    if (wildcard) {
        assert_ok(GNI_EpPostDataWId(any, (char[]){"two"}, 4, buffer, 8, 9));
        assert_ok(test_id(any, 9, &answer));
    } else {
        assert_ok(GNI_EpPostData(ep, (char[]){"two"}, 4, buffer, 8));
        assert_ok(test(ep, &answer));
    }
    assert_completed(rank, &answer, 1);
    assert_string_equal(buffer, "second");
}

static void remote_data_main(struct rank *rank)
{
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep;
    char buffer[8];

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    if (rank->id == 0) {
        remote_data_listener(rank, &domain, rank->machine->argument != NULL);
    } else {
        ep = domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpPostData(ep, (char[]){"first"}, 6, buffer, 8));
        assert_ok(wait_for(ep, FOREVER, &answer));
        machine_barrier(rank);
        assert_ok(GNI_EpPostData(ep, (char[]){"second"}, 7, buffer, 8));
        assert_ok(wait_for(ep, FOREVER, &answer));
        assert_completed(rank, &answer, 0);
        assert_string_equal(buffer, "two");
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_95_unexpected_data_waits(void **state)
{
    machine_run(&(struct machine){.main = remote_data_main});
    machine_run(&(struct machine){.main = remote_data_main, .argument = state});
}

/* ---- item 96 --------------------------------------------------------------------------------- */

static void order_main(struct rank *rank)
{
    gni_ep_handle_t ep[3];
    struct domain domain;
    struct answer answer;
    uint32_t i, theirs[3] = {0}, mine = rank->id;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    for (i = 0; i < 3 && rank->id == 0; i++) {
        ep[i] = ep_unbound(&domain);
        assert_ok(GNI_EpPostDataWId(ep[i], &mine, 4, &theirs[i], 4, 100 + i));
    }
    machine_barrier(rank);
    if (rank->id == 0) {
        for (i = 0; i < 3; i++) {
            assert_ok(wait_id(ep[i], 100 + i, FOREVER, &answer));
            assert_completed(rank, &answer, i + 1);
            assert_int_equal(theirs[i], i + 1);
        }
    } else if (rank->id < 4) {
        sleep_for(rank->id * SIM_MS);
        ep[0] = domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpPostData(ep[0], &mine, 4, &theirs[0], 4));
        assert_ok(wait_for(ep[0], FOREVER, &answer));
    } else { /* two wildcards do not meet */
        ep[0] = ep_unbound(&domain);
        assert_ok(GNI_EpPostDataWId(ep[0], &mine, 4, &theirs[0], 4, 1));
        assert_rc(wait_id(ep[0], 1, 50, &answer), GNI_RC_TIMEOUT);
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_96_oldest_wildcard_first(void **state)
{
    machine_run(&(struct machine){.ranks = 6, .main = order_main});
}

/* ---- items 97, 98, 106, 107 ------------------------------------------------------------------ */

static void limits_main(struct rank *rank)
{
    gni_ep_handle_t ep, again, any;
    struct domain domain;
    struct answer answer;
    char big[129] = "";

    domain_open(rank, &domain, 0);
    ep = domain_connect(rank, &domain, 1);
    again = domain_connect(rank, &domain, 1);
    any = ep_unbound(&domain);
    assert_rc(GNI_EpPostData(ep, big, 129, NULL, 0), GNI_RC_SIZE_ERROR);
    assert_rc(GNI_EpPostData(any, big, 1, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpPostDataWId(ep, big, 1, NULL, 0, UINT64_MAX), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpPostData(NULL, big, 1, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 1));
    assert_rc(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 2), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_EpDestroy(any));
    machine_barrier(rank);
    machine_simulated(); /* the peer's answer does not come between two calls */
    if (rank->id == 0) {
        assert_ok(GNI_EpPostData(ep, big, 128, NULL, 0));
        assert_rc(GNI_EpPostData(ep, big, 128, NULL, 0), GNI_RC_ERROR_RESOURCE);
        assert_rc(GNI_EpPostData(again, NULL, 0, NULL, 0), GNI_RC_ERROR_RESOURCE);
        assert_ok(wait_for(ep, FOREVER, &answer));
        assert_ok(GNI_EpPostData(again, NULL, 0, NULL, 0)); /* the peer is free again */
        assert_ok(wait_for(again, FOREVER, &answer));
    } else {
        ep = domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpPostData(ep, NULL, 0, big, 128));
        assert_ok(wait_for(ep, FOREVER, &answer));
        assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
        assert_ok(wait_for(ep, FOREVER, &answer));
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_97_ugni_98_limits_of_posts(void **state)
{
    machine_run(&(struct machine){.main = limits_main});
}

static void matched_wildcard_main(struct rank *rank)
{
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep, any;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    if (rank->id == 0) {
        any = ep_unbound(&domain);
        assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 1));
        machine_barrier(rank);
        sleep_for(SIM_MS);
        /* The wildcard has met that peer and was not consumed. */
        assert_rc(GNI_EpPostData(ep, NULL, 0, NULL, 0), GNI_RC_ERROR_RESOURCE);
        assert_ok(test_id(any, 1, &answer));
        assert_completed(rank, &answer, 1);
    } else {
        machine_barrier(rank);
        assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
        assert_ok(wait_for(ep, FOREVER, &answer));
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_97_matched_wildcard_counts(void **state)
{
    machine_run(&(struct machine){.main = matched_wildcard_main});
}

/* ---- items 99, 100 --------------------------------------------------------------------------- */

static void probe_main(struct rank *rank)
{
    gni_ep_handle_t with, without;
    uint32_t address, id, peer = 1 - rank->id;
    struct domain domain, second;
    struct answer answer;
    uint64_t datagram;

    domain_open(rank, &domain, 0);
    domain_open_as(&second, 100 + rank->id, MACHINE_PTAG, MACHINE_COOKIE, 0);
    machine_barrier(rank);
    without = domain_connect(rank, &domain, peer);
    assert_ok(GNI_EpCreate(domain.nic, NULL, &with));
    assert_ok(GNI_EpBind(with, machine_address(rank->machine, peer), 100 + peer));
    assert_ok(GNI_EpPostData(without, NULL, 0, NULL, 0));
    machine_barrier(rank);
    sleep_for(SIM_MS);
    assert_rc(GNI_PostDataProbeById(domain.nic, &datagram), GNI_RC_NO_MATCH);
    assert_ok(GNI_PostDataProbe(domain.nic, &address, &id));
    assert_int_equal(id, peer);
    assert_ok(GNI_EpPostDataWId(with, NULL, 0, NULL, 0, 77));
    assert_ok(GNI_EpCreate(second.nic, NULL, &with));
    assert_ok(GNI_EpPostDataWId(with, NULL, 0, NULL, 0, 78));
    assert_ok(GNI_PostdataProbeWaitById(domain.nic, FOREVER, &datagram));
    assert_int_equal(datagram, 77);
    assert_ok(GNI_PostDataProbeById(domain.nic, &datagram)); /* probes do not consume */
    assert_int_equal(datagram, 77);
    assert_ok(GNI_PostDataProbe(domain.nic, &address, &id)); /* the older one comes first */
    assert_int_equal(id, peer);
    assert_ok(test(without, &answer));
    assert_completed(rank, &answer, peer);
    assert_rc(test(without, &answer), GNI_RC_NO_MATCH);
    assert_ok(GNI_PostDataProbe(domain.nic, &address, &id));
    assert_int_equal(id, 100 + peer);
    machine_barrier(rank);
    domain_close(&second);
    domain_close(&domain);
}

static void ugni_99_ugni_100_probe_and_consume(void **state)
{
    machine_run(&(struct machine){.main = probe_main});
}

/* ---- item 101 -------------------------------------------------------------------------------- */

static void small_buffer_main(struct rank *rank)
{
    char buffer[4] = "...";
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    assert_ok(GNI_EpPostData(ep, (char[]){"12345678"}, 8, buffer, 4));
    assert_rc(wait_for(ep, FOREVER, &answer), GNI_RC_SIZE_ERROR);
    assert_string_equal(buffer, "...");
    assert_rc(test(ep, &answer), GNI_RC_NO_MATCH);
    machine_barrier(rank);
    assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 4)); /* no buffer of 4 bytes */
    assert_rc(wait_for(ep, FOREVER, &answer), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_101_short_buffer_consumes(void **state)
{
    machine_run(&(struct machine){.main = small_buffer_main});
}

/* ---- item 102 -------------------------------------------------------------------------------- */

static void timeout_main(struct rank *rank)
{
    struct domain domain;
    struct answer answer;
    sim_time_t begin;
    gni_ep_handle_t ep;
    uint64_t id;

    machine_simulated();
    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    if (rank->id == 0) {
        assert_ok(GNI_EpPostDataWId(ep, NULL, 0, NULL, 0, 3));
        assert_rc(wait_for(ep, 0, &answer), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_EpPostDataWait(ep, 1, NULL, &answer.address, &answer.id),
                  GNI_RC_INVALID_PARAM);
        begin = sim_local_time();
        assert_rc(wait_for(ep, 7, &answer), GNI_RC_TIMEOUT);
        assert_in_range(sim_local_time() - begin, 7 * SIM_MS, 7 * SIM_MS + 20 * SIM_US);
        assert_rc(GNI_PostdataProbeWaitById(domain.nic, 3, &id), GNI_RC_TIMEOUT);
        assert_rc(GNI_PostdataProbeWaitById(domain.nic, 0, &id), GNI_RC_TIMEOUT);
        assert_ok(test(ep, &answer));
        assert_int_equal(answer.state, GNI_POST_PENDING);
        assert_rc(GNI_EpUnbind(ep), GNI_RC_NOT_DONE);
    } else {
        sleep_for(20 * SIM_MS);
        assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
    }
    assert_ok(wait_for(ep, FOREVER, &answer));
    assert_completed(rank, &answer, 1 - rank->id);
    assert_ok(GNI_EpUnbind(ep));
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_102_waits_end_in_time(void **state)
{
    machine_run(&(struct machine){.main = timeout_main});
}

/* ---- item 103 -------------------------------------------------------------------------------- */

static void cancel_alone(struct domain *domain)
{
    gni_ep_handle_t any = ep_unbound(domain);
    struct answer answer;

    assert_rc(GNI_EpPostDataCancel(any), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpPostDataCancelById(any, 4), GNI_RC_NO_MATCH);
    assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 4));
    assert_rc(GNI_EpPostDataCancelById(any, 5), GNI_RC_NO_MATCH);
    assert_ok(GNI_EpPostDataCancelById(any, 4));
    assert_rc(test_id(any, 4, &answer), GNI_RC_NO_MATCH);
    assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 6)); /* the endpoint is free */
    assert_ok(GNI_EpDestroy(any));
}

static void cancel_main(struct rank *rank)
{
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep;

    domain_open(rank, &domain, 0);
    cancel_alone(&domain);
    machine_barrier(rank);
    ep = rank->id == 0 ? domain_connect(rank, &domain, 1) : ep_unbound(&domain);
    if (rank->id == 0) {
        assert_rc(GNI_EpPostDataCancel(ep), GNI_RC_NO_MATCH);
        /*
         * The instance has gone: the peer keeps the data that it got until the cancellation
         * arrives.
         */
        assert_ok(GNI_EpPostDataWId(ep, (char[]){"x"}, 1, NULL, 0, 8));
        sleep_for(SIM_MS);
        assert_ok(GNI_EpPostDataCancelById(ep, 8));
        assert_ok(wait_for(ep, 100, &answer));
        assert_int_equal(answer.state, GNI_POST_TERMINATED);
        sleep_for(SIM_MS);
        machine_barrier(rank);
        machine_barrier(rank);
        /* The peer's wildcard takes it, its answer is on its way. */
        assert_ok(GNI_EpPostData(ep, (char[]){"y"}, 1, NULL, 0));
        sleep_for(6 * SIM_US);
        assert_ok(GNI_EpPostDataCancel(ep));
        assert_ok(wait_for(ep, 100, &answer));
        assert_int_equal(answer.state, GNI_POST_TERMINATED);
    } else {
        machine_barrier(rank);
        assert_ok(GNI_EpPostDataWId(ep, NULL, 0, NULL, 0, 9));
        assert_ok(test_id(ep, 9, &answer));
        assert_int_equal(answer.state, GNI_POST_PENDING); /* the cancelled one is gone */
        machine_barrier(rank);
        sleep_for(SIM_MS);
        assert_ok(wait_id(ep, 9, FOREVER, &answer));
        assert_int_equal(answer.state, GNI_POST_TERMINATED);
        assert_int_equal(answer.id, 0);
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_103_cancel(void **state)
{
    machine_run(&(struct machine){.main = cancel_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_93_bound_posts_meet_in_any_order),
        cmocka_unit_test(ugni_94_wildcard_learns_its_peer),
        cmocka_unit_test(ugni_95_unexpected_data_waits),
        cmocka_unit_test(ugni_96_oldest_wildcard_first),
        cmocka_unit_test(ugni_97_ugni_98_limits_of_posts),
        cmocka_unit_test(ugni_97_matched_wildcard_counts),
        cmocka_unit_test(ugni_99_ugni_100_probe_and_consume),
        cmocka_unit_test(ugni_101_short_buffer_consumes),
        cmocka_unit_test(ugni_102_waits_end_in_time),
        cmocka_unit_test(ugni_103_cancel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
