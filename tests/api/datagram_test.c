/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: checklist items 93 to 107, and what faults do to them. */
#include "fixture.h"

#include <string.h>

#define FOREVER UINT32_MAX

/* ---- helpers --------------------------------------------------------------------------------- */

struct answer {
    gni_post_state_t state;
    uint32_t address, id;
};

static gni_ep_handle_t ep_unbound(struct domain *domain)
{
    gni_ep_handle_t ep;

    assert_ok(GNI_EpCreate(domain->nic, NULL, &ep));
    return ep;
}

static gni_return_t test(gni_ep_handle_t ep, struct answer *answer)
{
    return GNI_EpPostDataTest(ep, &answer->state, &answer->address, &answer->id);
}

static gni_return_t test_id(gni_ep_handle_t ep, uint64_t id, struct answer *answer)
{
    return GNI_EpPostDataTestById(ep, id, &answer->state, &answer->address, &answer->id);
}

static gni_return_t wait_for(gni_ep_handle_t ep, uint32_t timeout, struct answer *answer)
{
    return GNI_EpPostDataWait(ep, timeout, &answer->state, &answer->address, &answer->id);
}

static gni_return_t wait_id(gni_ep_handle_t ep, uint64_t id, uint32_t timeout,
                            struct answer *answer)
{
    return GNI_EpPostDataWaitById(ep, id, timeout, &answer->state, &answer->address, &answer->id);
}

static void assert_completed(const struct rank *rank, const struct answer *answer, uint32_t peer)
{
    assert_int_equal(answer->state, GNI_POST_COMPLETED);
    assert_int_equal(answer->address,
                     machine_address(rank->machine, rank->machine->rank[peer].node));
    assert_int_equal(answer->id, peer);
}

/* By then something has happened: where times are exact. */
static void sleep_for(sim_time_t duration)
{
    machine_simulated();
    sim_sleep_until(sim_local_time() + duration);
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
        /* Nobody there: the peer keeps what it got until it hears of the cancellation. */
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

/* ---- item 104 -------------------------------------------------------------------------------- */

struct waiter {
    gni_nic_handle_t nic;
    uint64_t id;
    bool woken;
    gni_return_t rc;
};

static void wait_for_any(void *arg)
{
    struct waiter *waiter = arg;

    waiter->rc = GNI_PostdataProbeWaitById(waiter->nic, FOREVER, &waiter->id);
    waiter->woken = true;
}

static void start_waiter(struct rank *rank, struct waiter *waiter)
{
    struct sim_fiber *fiber;

    waiter->woken = false;
    fiber = sim_fiber_start(wait_for_any, waiter, "waiter", sim_now());
    aries_process_bind(rank->process, fiber);
    sleep_for(SIM_US);
}

static void thread_main(struct rank *rank)
{
    gni_ep_handle_t any, self, ep;
    struct domain domain;
    struct waiter waiter;
    struct answer answer;

    domain_open(rank, &domain, 0);
    waiter.nic = domain.nic;
    machine_barrier(rank);
    if (rank->id == 1) {
        ep = domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
        assert_ok(wait_for(ep, FOREVER, &answer));
        machine_barrier(rank);
        domain_close(&domain);
        return;
    }
    any = ep_unbound(&domain);
    start_waiter(rank, &waiter);
    assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 1));
    sleep_for(SIM_MS);
    assert_true(waiter.woken);
    assert_int_equal(waiter.rc, GNI_RC_SUCCESS);
    assert_int_equal(waiter.id, 1);
    assert_ok(test_id(any, 1, &answer));
    /* To oneself, the endpoint destroyed right away: how UCX wakes its thread. */
    assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 1));
    start_waiter(rank, &waiter);
    self = domain_connect(rank, &domain, 0);
    assert_ok(GNI_EpPostDataWId(self, NULL, 0, NULL, 0, 0));
    assert_ok(GNI_EpDestroy(self));
    sleep_for(SIM_MS);
    assert_true(waiter.woken);
    assert_int_equal(waiter.id, 0);
    assert_ok(test_id(any, 1, &answer));
    assert_int_equal(answer.state, GNI_POST_PENDING);
    /* A thread that still waits when the domain goes is told so. */
    assert_ok(test_id(any, 0, &answer));
    start_waiter(rank, &waiter);
    machine_barrier(rank);
    domain_close(&domain);
    sleep_for(SIM_MS);
    assert_true(waiter.woken);
    assert_int_equal(waiter.rc, GNI_RC_INVALID_PARAM);
}

static void ugni_104_threads_wake(void **state)
{
    machine_run(&(struct machine){.main = thread_main});
}

static void self_main(struct rank *rank)
{
    char mine[8] = "myself", theirs[8] = "";
    gni_ep_handle_t any, self;
    struct domain domain;
    struct answer answer;

    domain_open(rank, &domain, 0);
    any = ep_unbound(&domain);
    self = domain_connect(rank, &domain, 0);
    assert_ok(GNI_EpPostDataWId(any, NULL, 0, NULL, 0, 1));
    assert_ok(GNI_EpPostData(self, mine, 7, theirs, 8));
    assert_ok(wait_for(self, FOREVER, &answer));
    assert_completed(rank, &answer, 0);
    assert_string_equal(theirs, "myself");
    assert_ok(test_id(any, 1, &answer));
    assert_int_equal(answer.state, GNI_POST_PENDING);
    domain_close(&domain);
}

static void ugni_104_datagram_to_oneself(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = self_main});
}

/* ---- item 105 -------------------------------------------------------------------------------- */

static void late_main(struct rank *rank)
{
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep;

    sleep_for(rank->id * 100 * SIM_MS);
    domain_open(rank, &domain, 0);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
    if (rank->id == 0)
        assert_rc(wait_for(ep, 90, &answer), GNI_RC_TIMEOUT);
    assert_ok(wait_for(ep, FOREVER, &answer));
    assert_completed(rank, &answer, 1 - rank->id);
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_105_peer_attaches_later(void **state)
{
    machine_run(&(struct machine){.main = late_main});
}

/* ---- item 106 -------------------------------------------------------------------------------- */

#define ADDRESSEE 55 /* the instance that the datagram is for; nobody has it with its cookie */

static void wrong_cookie_main(struct rank *rank)
{
    struct domain domain, other;
    gni_ep_handle_t ep, any[2];
    struct answer answer;

    domain_open(rank, &domain, 0);
    if (rank->id == 1) {
        /* Another instance with the right cookie, and the right instance with another cookie. */
        domain_open_as(&other, ADDRESSEE, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
        any[0] = ep_unbound(&domain);
        any[1] = ep_unbound(&other);
        assert_ok(GNI_EpPostDataWId(any[0], NULL, 0, NULL, 0, 1));
        assert_ok(GNI_EpPostDataWId(any[1], NULL, 0, NULL, 0, 1));
        machine_barrier(rank);
        sleep_for(30 * SIM_MS);
        assert_ok(test_id(any[0], 1, &answer));
        assert_int_equal(answer.state, GNI_POST_PENDING);
        assert_ok(test_id(any[1], 1, &answer));
        assert_int_equal(answer.state, GNI_POST_PENDING);
        domain_close(&other);
    } else {
        machine_barrier(rank);
        assert_ok(GNI_EpCreate(domain.nic, NULL, &ep));
        assert_ok(GNI_EpBind(ep, machine_address(rank->machine, 1), ADDRESSEE));
        assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
        assert_rc(wait_for(ep, 20, &answer), GNI_RC_TIMEOUT);
        assert_ok(GNI_EpDestroy(ep));
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_106_only_the_addressee_gets_it(void **state)
{
    machine_run(&(struct machine){.main = wrong_cookie_main});
}

/* ---- item 107 -------------------------------------------------------------------------------- */

static void same_id_main(struct rank *rank)
{
    uint32_t i, theirs[4] = {0}, mine = rank->id;
    gni_ep_handle_t ep[4];
    struct domain domain;
    struct answer answer;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    for (i = 0; i < 4; i++) {
        ep[i] = domain_connect(rank, &domain, i);
        assert_ok(GNI_EpPostDataWId(ep[i], &mine, 4, &theirs[i], 4, 1));
    }
    for (i = 0; i < 4; i++) {
        assert_ok(wait_id(ep[i], 1, FOREVER, &answer));
        assert_completed(rank, &answer, i);
        assert_int_equal(theirs[i], i);
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_107_one_id_many_endpoints(void **state)
{
    machine_run(&(struct machine){.ranks = 4, .main = same_id_main});
}

/* ---- order of probes ------------------------------------------------------------------------- */

static void storm_hub(struct rank *rank, struct domain *domain, gni_ep_handle_t *ep)
{
    uint32_t size = rank->machine->ranks, round, i, peer;
    struct answer answer;
    uint64_t id;

    for (round = 0; round < 20; round++) {
        for (i = 0; i < size; i++) {
            peer = (7 * i + round) % size;
            assert_ok(GNI_EpPostDataWId(ep[peer], &round, 4, NULL, 0, round << 8 | peer));
        }
        machine_barrier(rank);
        sleep_for(SIM_MS);
        for (i = 0; i < size; i++) {
            peer = (7 * i + round) % size;
            assert_ok(GNI_PostDataProbeById(domain->nic, &id));
            assert_int_equal(id, round << 8 | peer); /* in order of creation, not of completion */
            assert_rc(test_id(ep[peer], id, &answer), GNI_RC_SIZE_ERROR);
        }
        assert_rc(GNI_PostDataProbeById(domain->nic, &id), GNI_RC_NO_MATCH);
        machine_barrier(rank);
    }
}

static void storm_main(struct rank *rank)
{
    uint32_t i, round;
    gni_ep_handle_t ep[MACHINE_RANKS];
    struct domain domain;
    struct answer answer;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    for (i = 0; i < rank->machine->ranks; i++)
        ep[i] = domain_connect(rank, &domain, i);
    if (rank->id == 0)
        storm_hub(rank, &domain, ep);
    for (round = 0; round < 20 && rank->id != 0; round++) {
        machine_barrier(rank);
        sleep_for((rank->id * 5 + round) % 16 * 20 * SIM_US);
        assert_ok(GNI_EpPostData(ep[0], &round, 4, NULL, 0));
        assert_rc(wait_for(ep[0], FOREVER, &answer), GNI_RC_SIZE_ERROR);
        machine_barrier(rank);
    }
    domain_close(&domain);
}

static void ugni_99_probes_follow_creation(void **state)
{
    machine_run(&(struct machine){.ranks = 16, .ranks_per_node = 2, .main = storm_main});
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void add_faults(struct machine *machine)
{
    static const enum sim_fault_action actions[] = {SIM_FAULT_DROP, SIM_FAULT_DELAY,
                                                    SIM_FAULT_DUPLICATE};
    struct sim_fault_point *point = sim_fault_point_find("aries.datagram");
    uint64_t i;

    assert_non_null(point);
    for (i = 0; i < 3; i++) {
        struct sim_fault_rule rule = {.action = actions[i],
                                      .until = SIM_NEVER,
                                      .probability = 0.3,
                                      .source = SIM_FAULT_ANY,
                                      .target = SIM_FAULT_ANY,
                                      .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                      .kind = SIM_FAULT_ANY,
                                      .delay = 300 * SIM_US};

        sim_random_init(&rule.random, 1, "fault", i);
        sim_fault_rule_add(point, &rule);
    }
}

static void faulty_main(struct rank *rank)
{
    uint32_t size = rank->machine->ranks, round, peer;
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep[MACHINE_RANKS];

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    for (peer = 0; peer < size; peer++)
        ep[peer] = domain_connect(rank, &domain, peer);
    for (round = 1; round <= 30; round++) {
        uint32_t theirs[MACHINE_RANKS] = {0};

        for (peer = 0; peer < size; peer++)
            assert_ok(GNI_EpPostData(ep[peer], &round, 4, &theirs[peer], 4));
        for (peer = 0; peer < size; peer++) {
            assert_ok(wait_for(ep[peer], FOREVER, &answer));
            assert_completed(rank, &answer, peer);
            assert_int_equal(theirs[peer], round); /* once, and in order */
        }
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_93_exactly_once_under_faults(void **state)
{
    machine_run(&(struct machine){.ranks = 5, .main = faulty_main, .prepare = add_faults});
}

static void dead_main(struct rank *rank)
{
    struct domain domain;
    struct answer answer;
    gni_ep_handle_t ep;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    if (rank->id == 1) {
        sleep_for(SIM_S);
        fail();
    }
    ep = domain_connect(rank, &domain, 1);
    assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
    sleep_for(SIM_MS); /* the peer holds it now, and dies with it */
    aries_node_crash(rank->machine->fabric, 1);
    assert_ok(wait_for(ep, 1000, &answer));
    assert_int_equal(answer.state, GNI_POST_TIMEOUT);
    assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0)); /* it was dead before */
    assert_ok(wait_for(ep, 1000, &answer));
    assert_int_equal(answer.state, GNI_POST_TIMEOUT);
    domain_close(&domain);
}

static void ugni_92_dead_peer_times_out(void **state)
{
    machine_run(&(struct machine){.main = dead_main});
}

/* Found by the fuzzer: the sessions of a dead node offer nothing any more, not even to each other.
 */
static void dead_both_main(struct rank *rank)
{
    struct domain domain;
    gni_ep_handle_t ep;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    if (rank->id < 2) {
        ep = domain_connect(rank, &domain, 1); /* on this node */
        if (rank->id == 0)
            assert_ok(GNI_EpPostData(ep, NULL, 0, NULL, 0));
        sleep_for(SIM_S);
        fail();
    }
    sleep_for(SIM_MS); /* the offer has arrived, nobody answers */
    aries_node_crash(rank->machine->fabric, 0);
    sleep_for(SIM_S);
    domain_close(&domain);
}

static void ugni_92_sessions_within_a_dead_node(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .ranks_per_node = 2, .main = dead_both_main});
}

/*
 * Found by the fuzzer: a test with an id that nobody has makes the endpoint forget that it posted.
 * What it forgot is the endpoint's all the same, and ends with it.
 */
static void forgotten_main(struct rank *rank)
{
    struct domain domain;
    gni_ep_handle_t ep, other;
    gni_post_state_t state;
    uint32_t pe, id;
    uint64_t wildcard;

    domain_open(rank, &domain, 0);
    assert_ok(GNI_EpCreate(domain.nic, domain.source, &ep));
    assert_ok(GNI_EpCreate(domain.nic, domain.source, &other));
    for (wildcard = 1; wildcard <= 3; wildcard++) {
        assert_ok(GNI_EpPostDataWId(ep, NULL, 0, NULL, 0, wildcard));
        assert_rc(GNI_EpPostDataTestById(ep, 99, &state, &pe, &id), GNI_RC_NO_MATCH);
        assert_ok(GNI_EpPostDataTestById(other, wildcard, &state, &pe, &id));
    }
    assert_ok(GNI_EpDestroy(ep));
    for (wildcard = 1; wildcard <= 3; wildcard++)
        assert_rc(GNI_EpPostDataTestById(other, wildcard, &state, &pe, &id), GNI_RC_NO_MATCH);
    domain_close(&domain);
}

static void ugni_103_forgotten_datagrams_end_with_their_endpoint(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = forgotten_main});
}

/* Nobody is left to hear of it: what was posted to an instance that is gone ends with its poster.
 */
static void orphan_main(struct rank *rank)
{
    struct domain domain;

    domain_open(rank, &domain, 0);
    machine_barrier(rank);
    assert_ok(GNI_EpPostData(domain_connect(rank, &domain, rank->id), NULL, 0, NULL, 0));
    if (rank->id == 1)
        sleep_for(500 * SIM_US); /* that one has been delivered, the other is under way */
    domain_close(&domain);
}

static void ugni_16_posts_end_with_their_domain(void **state)
{
    machine_run(&(struct machine){.main = orphan_main});
}

/* A probe that finds nothing: a call into the driver, or in the fast mode a look at memory. */
static void probe_cost_main(struct rank *rank)
{
    struct domain domain;
    sim_time_t before, expected = rank->id == 0 ? SIM_US : 15 * SIM_NS;
    uint32_t address, instance;
    uint64_t id;

    machine_simulated();
    domain_open(rank, &domain, rank->id == 0 ? 0 : GNI_CDM_MODE_FAST_DATAGRAM_POLL);
    before = sim_local_time();
    assert_int_equal(GNI_PostDataProbeById(domain.nic, &id), GNI_RC_NO_MATCH);
    assert_int_equal(sim_local_time() - before, expected);
    assert_int_equal(GNI_PostDataProbe(domain.nic, &address, &instance), GNI_RC_NO_MATCH);
    assert_int_equal(sim_local_time() - before, 2 * expected);
    domain_close(&domain);
}

static void ugni_99_fast_probes_stay_out_of_the_driver(void **state)
{
    machine_run(&(struct machine){.main = probe_cost_main});
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
        cmocka_unit_test(ugni_104_threads_wake),
        cmocka_unit_test(ugni_104_datagram_to_oneself),
        cmocka_unit_test(ugni_105_peer_attaches_later),
        cmocka_unit_test(ugni_106_only_the_addressee_gets_it),
        cmocka_unit_test(ugni_107_one_id_many_endpoints),
        cmocka_unit_test(ugni_99_probes_follow_creation),
        cmocka_unit_test(ugni_99_fast_probes_stay_out_of_the_driver),
        cmocka_unit_test(ugni_93_exactly_once_under_faults),
        cmocka_unit_test(ugni_92_dead_peer_times_out),
        cmocka_unit_test(ugni_92_sessions_within_a_dead_node),
        cmocka_unit_test(ugni_103_forgotten_datagrams_end_with_their_endpoint),
        cmocka_unit_test(ugni_16_posts_end_with_their_domain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
