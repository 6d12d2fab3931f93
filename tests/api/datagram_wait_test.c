/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: threads, late and wrong peers, the order of probes: checklist items 99 and 104 to 107.
 */
#include "datagram_frame.h"

#include <string.h>

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
    /* A thread that still waits when the domain is destroyed gets an error. */
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

/* The instance that the datagram is addressed to; no domain has both its id and its cookie. */
#define ADDRESSEE 55

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_104_threads_wake),
        cmocka_unit_test(ugni_104_datagram_to_oneself),
        cmocka_unit_test(ugni_105_peer_attaches_later),
        cmocka_unit_test(ugni_106_only_the_addressee_gets_it),
        cmocka_unit_test(ugni_107_one_id_many_endpoints),
        cmocka_unit_test(ugni_99_probes_follow_creation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
