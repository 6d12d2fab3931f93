/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams under faults, and at the end of their owners: checklist items 16, 92, 93 and 103. */
#include "datagram_frame.h"

#include <string.h>

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
    sleep_for(SIM_MS); /* the offer has arrived, and no instance answers */
    aries_node_crash(rank->machine->fabric, 0);
    sleep_for(SIM_S);
    domain_close(&domain);
}

static void ugni_92_sessions_within_a_dead_node(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .ranks_per_node = 2, .main = dead_both_main});
}

/*
 * Found by the fuzzer: after a test with an unknown id the endpoint no longer refers to its
 * session. The session still belongs to the endpoint and ends with it.
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

/* A session that was posted to an instance which has gone ends with its poster. */
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

/*
 * The time of a probe that finds nothing: that of a call into the driver, or in the fast mode that
 * of a read of memory.
 */
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
        cmocka_unit_test(ugni_99_fast_probes_stay_out_of_the_driver),
        cmocka_unit_test(ugni_93_exactly_once_under_faults),
        cmocka_unit_test(ugni_92_dead_peer_times_out),
        cmocka_unit_test(ugni_92_sessions_within_a_dead_node),
        cmocka_unit_test(ugni_103_forgotten_datagrams_end_with_their_endpoint),
        cmocka_unit_test(ugni_16_posts_end_with_their_domain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
