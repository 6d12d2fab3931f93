/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Balanced injection: aries checklist items 32 and 33. */
#include "fixture.h"

#include <string.h>

#define BYTES (1u << 20)
#define BOTH_FLAGS (GNI_BI_FLAG_APPLY_AFTER_THROTTLE | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES)

static uint8_t memory[2][BYTES] __attribute__((aligned(4096)));

static void open_side(struct rank *rank, struct side *side)
{
    side_open(rank, side, memory[rank->id], BYTES, GNI_CDM_MODE_ERR_NO_KILL);
}

static void run(void (*main)(struct rank *rank), uint32_t ranks, bool privileged)
{
    machine_run(&(struct machine){.ranks = ranks, .main = main, .privileged = privileged});
}

/* ---- codes ----------------------------------------------------------------------------------- */

static void codes_main(struct rank *rank)
{
    gni_return_t expected = rank->machine->privileged ? GNI_RC_SUCCESS : GNI_RC_PERMISSION_ERROR;
    const uint16_t number = GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
    gni_bi_desc_t desc;

    assert_rc(GNI_SetBIConfig(0, 101, 0, GNI_BI_FLAG_APPLY_NOW), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetBIConfig(0, 0, 101, GNI_BI_FLAG_APPLY_NOW), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetBIConfig(0, 993, 0, number), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetBIConfig(0, 0, 993, number), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetBIConfig(0, 0, 0, 0x10), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetBIConfig(6, 50, 0, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetBIConfig(6, &desc), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetBIConfig(0, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_BISyncWait(6, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 1024);
    assert_int_equal(desc.current_bw, 0);
    assert_rc(GNI_SetBIConfig(0, 50, 25, GNI_BI_FLAG_APPLY_NOW), expected);
    assert_ok(GNI_BISyncWait(0, 0));
    if (!rank->machine->privileged)
        return;
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_bw, 50);
    assert_int_equal(desc.current_aot_bw, 25);
    assert_int_equal(desc.current_norbs, 496);
    assert_int_equal(desc.flags, GNI_BI_FLAG_APPLY_NOW);
    assert_int_equal(desc.cle_seqnum, 1);
    assert_int_equal(desc.hss_seqnum, 0);
    assert_ok(GNI_SetBIConfig(0, 992, 0, number));
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 992);
    assert_ok(GNI_SetBIConfig(0, 100, 100, 0));
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 992);
    assert_ok(GNI_SetBIConfig(0, 7, 7, GNI_BI_FLAG_USE_DEFAULT_SETTINGS));
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 1024);
    assert_int_equal(desc.current_bw, desc.sys_def_bw);
    assert_int_equal(desc.cle_seqnum, 4);
}

static void aries_33_configuring_injection(void **state)
{
    run(codes_main, 1, false);
    run(codes_main, 1, true);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Puts 1 MiB by both units and returns the time that it took. */
static sim_time_t transfer(const struct rank *rank, const struct side *side, gni_post_type_t type)
{
    gni_post_descriptor_t descr =
        describe_put(type, memory[rank->id], side->handle, side->peer_address, side->peer_handle,
                     type == GNI_POST_FMA_PUT ? BYTES / 4 : BYTES);
    sim_time_t began = sim_clock_read();

    assert_ok(post(side->ep, &descr));
    complete(side->domain.source, &descr);
    return sim_clock_read() - began;
}

/* The counter is a maximum over the run: each limit has a machine of its own. */
static void limited_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_RDMA_PUT, GNI_POST_FMA_PUT, GNI_POST_RDMA_GET,
                                            GNI_POST_FMA_GET};
    uint16_t limit = *(const uint16_t *)rank->machine->argument;
    struct aries_counters counters;
    struct side side;
    unsigned i;

    if (rank->id == 0)
        assert_ok(GNI_SetBIConfig(0, limit, 0,
                                  GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES));
    memset(memory[rank->id], (int)rank->id + 1, BYTES);
    open_side(rank, &side);
    if (rank->id == 0) {
        for (i = 0; i < 4; i++) {
            memset(memory[1], 2, BYTES);
            transfer(rank, &side, types[i]);
        }
        aries_get_counters(rank->machine->fabric, &counters);
        assert_true(counters.orb_max <= limit);
        assert_true(counters.orb_max > 0);
        assert_true(limit < 64 || counters.orb_max > limit / 2); /* and it is used */
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void aries_32_never_more_than_configured(void **state)
{
    static uint16_t limits[] = {1, 2, 3, 7, 16, 50, 100, 250};
    unsigned i;

    for (i = 0; i < sizeof limits / sizeof limits[0]; i++)
        machine_run(
            &(struct machine){.main = limited_main, .privileged = true, .argument = &limits[i]});
}

/* Packets in flight × 64 bytes per round trip: half of them, half of the rate, below the knee. */
static void rate_main(struct rank *rank)
{
    const uint16_t modes = GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
    sim_time_t full, few, fewer, again;
    struct side side;

    open_side(rank, &side);
    if (rank->id == 0) {
        full = transfer(rank, &side, GNI_POST_RDMA_PUT);
        assert_ok(GNI_SetBIConfig(0, 16, 0, modes));
        few = transfer(rank, &side, GNI_POST_RDMA_PUT);
        assert_ok(GNI_SetBIConfig(0, 8, 0, modes));
        fewer = transfer(rank, &side, GNI_POST_RDMA_PUT);
        assert_true(few > 3 * full / 2);
        assert_in_range(fewer * 100 / few, 180, 220);
        assert_ok(GNI_SetBIConfig(0, 0, 0, GNI_BI_FLAG_APPLY_NOW)); /* off */
        again = transfer(rank, &side, GNI_POST_RDMA_PUT);
        assert_int_equal(again, full);
        /* The system controller does the same from outside. */
        aries_bi_set(rank->machine->fabric, 0, 16);
        assert_int_equal(transfer(rank, &side, GNI_POST_RDMA_PUT), few);
        aries_bi_set(rank->machine->fabric, 0, 0);
        assert_int_equal(transfer(rank, &side, GNI_POST_RDMA_PUT), full);
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void aries_32_fewer_packets_less_rate(void **state)
{
    run(rate_main, 2, true);
}

/* ---- throttles ------------------------------------------------------------------------------- */

static void throttle_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    gni_bi_desc_t desc;
    sim_time_t began;

    /* The second value holds while the controller throttles. */
    assert_ok(GNI_SetBIConfig(0, 80, 10, GNI_BI_FLAG_APPLY_NOW));
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 793);
    sim_settle();
    aries_throttle(fabric, 100, 10 * SIM_MS);
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 99);
    assert_int_equal(desc.hss_seqnum, 1);
    assert_ok(GNI_SetBIConfig(0, 80, 5, GNI_BI_FLAG_APPLY_NOW)); /* changed meanwhile */
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 49);
    sim_sleep_until(sim_clock_read() + 11 * SIM_MS);
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 793);
    assert_int_equal(desc.hss_seqnum, 2);
    /* A setting that applies after a throttle waits for a throttle, and for its end. */
    assert_ok(GNI_SetBIConfig(0, 300, 0, BOTH_FLAGS));
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 793);
    began = sim_clock_read();
    assert_rc(GNI_BISyncWait(0, 0), GNI_RC_TIMEOUT);
    assert_rc(GNI_BISyncWait(0, 7), GNI_RC_TIMEOUT);
    assert_in_range(sim_clock_read() - began, 7 * SIM_MS, 8 * SIM_MS);
    aries_throttle(fabric, 50, 5 * SIM_MS);
    began = sim_clock_read();
    assert_ok(GNI_BISyncWait(0, UINT32_MAX));
    assert_in_range(sim_clock_read() - began, 4 * SIM_MS, 6 * SIM_MS);
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 300);
    assert_int_equal(desc.current_bw, 300);
    /* A longer throttle after a shorter one. */
    assert_ok(GNI_SetBIConfig(0, 0, 10, 0));
    sim_settle();
    aries_throttle(fabric, 50, SIM_MS);
    aries_throttle(fabric, 50, 5 * SIM_MS);
    sim_sleep_until(sim_clock_read() + 2 * SIM_MS);
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 99);
    sim_sleep_until(sim_clock_read() + 4 * SIM_MS);
    assert_ok(GNI_GetBIConfig(0, &desc));
    assert_int_equal(desc.current_norbs, 1024);
}

static void aries_33_apply_on_throttle(void **state)
{
    run(throttle_main, 1, true);
}

/* Packets that wait for admission continue when the limit is raised: nothing is lost. */
static void raised_main(struct rank *rank)
{
    const uint16_t modes = GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
    gni_post_descriptor_t descr[8], *collected;
    sim_time_t began;
    struct side side;
    unsigned i;

    open_side(rank, &side);
    if (rank->id == 0) {
        assert_ok(GNI_SetBIConfig(0, 1, 0, modes));
        began = sim_clock_read();
        for (i = 0; i < 8; i++) {
            descr[i] = describe_put(i % 2 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, memory[0],
                                    side.handle, side.peer_address, side.peer_handle, 65536);
            assert_ok(post(side.ep, &descr[i]));
        }
        sim_sleep_until(sim_clock_read() + 100 * SIM_US);
        assert_ok(GNI_SetBIConfig(0, 0, 0, GNI_BI_FLAG_APPLY_NOW));
        for (i = 0; i < 8; i++)
            assert_ok(
                GNI_GetCompleted(side.domain.source, good_event(side.domain.source), &collected));
        assert_true(sim_clock_read() - began < SIM_MS); /* at one packet each it is 5 ms */
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void aries_32_raising_the_limit(void **state)
{
    run(raised_main, 2, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_33_configuring_injection),
        cmocka_unit_test(aries_32_never_more_than_configured),
        cmocka_unit_test(aries_32_fewer_packets_less_rate),
        cmocka_unit_test(aries_33_apply_on_throttle),
        cmocka_unit_test(aries_32_raising_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
