/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Packets and limits of the NIC: items 10 to 34 of the checklist aries. */
#include "nic_frame.h"

#include <stdlib.h>
#include <string.h>

static void post_and_complete(const struct side *side, gni_post_descriptor_t *descr)
{
    assert_ok(post(side->ep, descr));
    complete(side->domain.source, descr);
}

static void place_next_blade(struct machine *machine)
{
    machine->node[0] = 0;
    machine->node[1] = 4;
}

/* ---- items 10, 11, 13: phits on the link between two blades ---------------------------------- */

struct phits {
    uint64_t there, back;
};

static void count_phits(const struct net_link_info *info, void *arg)
{
    struct phits *phits = arg;

    if (info->router == 0 && info->peer == 1)
        phits->there += info->units;
    if (info->router == 1 && info->peer == 0)
        phits->back += info->units;
}

static struct phits phits_of(struct side *side, gni_post_descriptor_t *descr)
{
    const struct net *net = side->rank->machine->net;
    struct phits before = {0}, after = {0};

    net_for_each_link(net, count_phits, &before);
    post_and_complete(side, descr);
    net_for_each_link(net, count_phits, &after);
    return (struct phits){after.there - before.there, after.back - before.back};
}

static void assert_phits(struct phits phits, uint64_t there, uint64_t back)
{
    assert_int_equal(phits.there, there);
    assert_int_equal(phits.back, back);
}

static void phits_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;
    struct phits phits;
    uint32_t bytes;

    open_as(rank, &side, 0);
    if (rank->id == 0) {
        descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 0, 64);
        assert_phits(phits_of(&side, &descr), 14, 1);
        descr = side_describe(&side, GNI_POST_RDMA_PUT, 0, 0, 64);
        assert_phits(phits_of(&side, &descr), 14, 1);
        descr = side_describe(&side, GNI_POST_FMA_GET, 0, 0, 64);
        assert_phits(phits_of(&side, &descr), 3, 12);
        descr = side_describe(&side, GNI_POST_RDMA_GET, 0, 0, 64);
        assert_phits(phits_of(&side, &descr), 3, 12);

        descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 0, 8);
        assert_phits(phits_of(&side, &descr), 5, 1);
        descr = describe_amo(GNI_FMA_ATOMIC2_FIADD, 1, 0, side.memory, side.handle,
                             side.peer_address, side.peer_handle);
        assert_phits(phits_of(&side, &descr), 5, 3);
        descr.amo_cmd = GNI_FMA_ATOMIC2_IADD; /* fetches nothing */
        assert_phits(phits_of(&side, &descr), 5, 1);

        for (bytes = 1; bytes <= 64; bytes++) {
            descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 0, bytes);
            phits = phits_of(&side, &descr);
            assert_phits(phits, 3 + (8 * bytes + 47) / 48, 1);
            assert_true(phits.there <= 14);
        }
    }
    side_close(&side);
}

static void aries_10_aries_11_aries_13_phits(void **state)
{
    machine_run(&(struct machine){.main = phits_main, .place = place_next_blade});
}

/* ---- items 12, 13, 62 ------------------------------------------------------------------------ */

/* Checks the packets of a PUT to `remote`, which are cut at boundaries of 64 bytes. */
static void expect_packets(uint64_t remote, uint64_t bytes, uint64_t *packets, uint64_t *flits)
{
    *packets = 0;
    *flits = 0;
    while (bytes > 0) {
        uint64_t piece = 64 - remote % 64;

        piece = piece < bytes ? piece : bytes;
        assert_true(1 + (piece + 15) / 16 <= 5);
        *flits += 1 + (piece + 15) / 16;
        ++*packets;
        remote += piece;
        bytes -= piece;
    }
}

static void packets_main(struct rank *rank)
{
    static const uint32_t sizes[] = {1,    4,    63,   64,   65,   127,  128,  129,   1000,
                                     1023, 1024, 1025, 1088, 2047, 4096, 5000, 30000, 40001};
    static const uint32_t offsets[] = {0, 1, 4, 32, 60, 63, 64, 100};
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT};
    struct aries_counters before, after;
    struct side side;
    uint64_t packets, flits;
    size_t t, s, o;

    open_as(rank, &side, 0);
    for (t = 0; t < 2 && rank->id == 0; t++)
        for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (o = 0; o < sizeof offsets / sizeof *offsets; o++) {
                gni_post_descriptor_t descr =
                    side_describe(&side, types[t], 3, offsets[o], sizes[s]);

                before = counters_of(rank);
                post_and_complete(&side, &descr);
                after = counters_of(rank);
                expect_packets(side.peer_address + offsets[o], sizes[s], &packets, &flits);
                assert_int_equal(after.request_packets - before.request_packets, packets);
                assert_int_equal(after.response_packets - before.response_packets, packets);
                assert_int_equal(after.payload_bytes - before.payload_bytes, sizes[s]);
                assert_int_equal(after.request_flits - before.request_flits, flits);
                if (offsets[o] % 64 == 0)
                    assert_int_equal(packets, (sizes[s] + 63) / 64);
            }
    side_close(&side);
}

static void aries_12_aries_13_aries_62_packets_of_puts(void **state)
{
    machine_run(&(struct machine){.main = packets_main});
    machine_run(&(struct machine){.main = packets_main, .configure = configure_closed_form});
}

/* ---- items 14, 15 ---------------------------------------------------------------------------- */

static void refused_main(struct rank *rank)
{
    struct aries_counters before, after;
    gni_post_descriptor_t descr;
    struct side side;
    gni_cq_entry_t event;
    uint32_t odd;

    open_as(rank, &side, 0);
    before = counters_of(rank);
    for (odd = 1; odd < 4; odd++) {
        descr = side_describe(&side, GNI_POST_RDMA_GET, 0, odd, 64);
        assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
        descr = side_describe(&side, GNI_POST_RDMA_GET, 0, 0, 64 + odd);
        assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
    }
    descr = side_describe(&side, GNI_POST_FMA_GET, 0, 0, 0);
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr = describe_amo(GNI_FMA_ATOMIC2_FIADD, 1, 0, side.memory, side.handle, side.peer_address,
                         side.peer_handle);
    descr.length = 0;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    sim_spend(SIM_MS);
    sim_settle();
    after = counters_of(rank);
    assert_int_equal(after.request_packets, before.request_packets);
    assert_rc(GNI_CqGetEvent(side.domain.source, &event), GNI_RC_NOT_DONE);
    machine_barrier(rank);

    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 0, 0);
    post_and_complete(&side, &descr);
    side_close(&side);
}

static void aries_14_aries_15_refused_at_the_post(void **state)
{
    machine_run(&(struct machine){.main = refused_main});
}

/* ---- items 29, 30, 31 ------------------------------------------------------------------------ */

static void descriptors_main(struct rank *rank)
{
    gni_nic_handle_t nic;
    gni_cdm_handle_t cdm[129];
    uint32_t address, i;

    for (i = 0; i < 129; i++)
        assert_ok(GNI_CdmCreate(i, MACHINE_PTAG, MACHINE_COOKIE,
                                i < 128 ? 0 : GNI_CDM_MODE_FMA_SHARED, &cdm[i]));
    for (i = 0; i < 127; i++)
        assert_ok(GNI_CdmAttach(cdm[i], 0, &address, &nic));
    assert_rc(GNI_CdmAttach(cdm[127], 0, &address, &nic), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CdmAttach(cdm[128], 0, &address, &nic));
    assert_ok(GNI_CdmDestroy(cdm[5]));
    assert_ok(GNI_CdmAttach(cdm[127], 0, &address, &nic));
    for (i = 0; i < 129; i++)
        if (i != 5)
            assert_ok(GNI_CdmDestroy(cdm[i]));
}

static void aries_29_fma_descriptors(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = descriptors_main});
}

#define REGISTRATIONS 4096

static gni_return_t register_page(struct domain *domain, uint64_t page, gni_mem_handle_t *handle)
{
    return GNI_MemRegister(domain->nic, (uintptr_t)memory[0] + page % 16 * 4096, 4096, NULL,
                           GNI_MEM_READWRITE, UINT32_MAX, handle);
}

static void registrations_main(struct rank *rank)
{
    gni_mem_handle_t *handles = calloc(REGISTRATIONS + 1, sizeof *handles);
    struct domain domain;
    uint32_t i;

    assert_non_null(handles);
    domain_open(rank, &domain, 0);
    for (i = 0; i < REGISTRATIONS; i++)
        assert_ok(register_page(&domain, i, &handles[i]));
    assert_rc(register_page(&domain, i, &handles[i]), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_MemDeregister(domain.nic, &handles[1234]));
    assert_ok(register_page(&domain, i, &handles[i]));
    domain_close(&domain);
    free(handles);
}

static void aries_30_memory_descriptors(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = registrations_main});
}

static void queues_main(struct rank *rank)
{
    gni_cq_handle_t cq;
    struct domain domain;
    uint32_t i;

    domain_open(rank, &domain, 0); /* has two */
    for (i = 2; i < 2048; i++)
        assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    assert_rc(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq),
              GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CqDestroy(domain.target));
    assert_ok(GNI_CqCreate(domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    domain_close(&domain);
}

static void aries_31_queue_descriptors(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = queues_main});
}

/* ---- item 32 --------------------------------------------------------------------------------- */

#define FLOOD 24

/* Ranks of node 0 write and read all at once, each with its peer on node 1. */
static void flood_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_RDMA_PUT, GNI_POST_FMA_PUT, GNI_POST_RDMA_GET,
                                            GNI_POST_FMA_GET};
    gni_post_descriptor_t descr[FLOOD], *collected;
    struct side side;
    uint32_t i;

    open_as(rank, &side, 0);
    for (i = 0; i < FLOOD && rank->node == 0; i++) {
        descr[i] = side_describe(&side, types[i % 4], 0, 0, BYTES / 2);
        assert_ok(post(side.ep, &descr[i]));
    }
    for (i = 0; i < FLOOD && rank->node == 0; i++)
        assert_ok(GNI_GetCompleted(side.domain.source, good_event(side.domain.source), &collected));
    *(uint64_t *)rank->machine->argument = counters_of(rank).orb_max;
    side_close(&side);
}

static void place_pairs(struct machine *machine)
{
    uint32_t i;

    for (i = 0; i < machine->ranks; i++)
        machine->node[i] = i % 2;
}

static uint64_t outstanding(double entries, bool closed_form)
{
    uint64_t most = 0;

    machine_run(&(struct machine){
        .ranks = 12,
        .main = flood_main,
        .place = place_pairs,
        .argument = &most,
        .configure = closed_form ? configure_closed_form : NULL,
        .param = {"aries.nic.orb_entries"},
        .value = {entries},
    });
    return most;
}

static void aries_32_outstanding_packets(void **state)
{
    static const double entries[] = {1024, 496, 64, 10, 1};
    uint64_t most;
    size_t i;

    for (i = 0; i < 2 * sizeof entries / sizeof *entries; i++) {
        most = outstanding(entries[i / 2], i % 2 == 0);
        assert_true(most <= entries[i / 2]);
        assert_true(most >= entries[i / 2] / 2); /* the flood came up to it */
    }
}

/* ---- item 34 --------------------------------------------------------------------------------- */

static void dual_main(struct rank *rank)
{
    const bool dual = *(bool *)rank->machine->argument;
    gni_post_descriptor_t descr[5], *collected;
    gni_cq_handle_t cq;
    struct side side;
    gni_ep_handle_t ep;
    uint32_t i;

    open_as(rank, &side, dual ? GNI_CDM_MODE_DUAL_EVENTS : 0);
    assert_ok(GNI_CqCreate(side.domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    assert_ok(GNI_EpCreate(side.domain.nic, cq, &ep));
    assert_ok(GNI_EpBind(
        ep, aries_nic_address(rank->machine->fabric, rank->machine->rank[rank->id ^ 1].node),
        rank->id ^ 1));
    for (i = 0; i < 5; i++) {
        descr[i] = side_describe(&side, GNI_POST_RDMA_PUT, 0, 0, 4096);
        descr[i].cq_mode = GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT;
        if (!dual)
            assert_rc(post(ep, &descr[i]), GNI_RC_INVALID_PARAM);
        else
            assert_rc(post(ep, &descr[i]), i < 4 ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE);
    }
    for (i = 0; i < 8 && dual; i++)
        assert_ok(GNI_GetCompleted(cq, good_event(cq), &collected));
    if (dual) {
        assert_ok(post(ep, &descr[4]));
        for (i = 0; i < 2; i++)
            assert_ok(GNI_GetCompleted(cq, good_event(cq), &collected));
    }
    side_close(&side);
}

static void aries_34_dual_events(void **state)
{
    bool dual = false;

    machine_run(&(struct machine){.main = dual_main, .argument = &dual});
    dual = true;
    machine_run(&(struct machine){.main = dual_main, .argument = &dual});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_10_aries_11_aries_13_phits),
        cmocka_unit_test(aries_12_aries_13_aries_62_packets_of_puts),
        cmocka_unit_test(aries_14_aries_15_refused_at_the_post),
        cmocka_unit_test(aries_29_fma_descriptors),
        cmocka_unit_test(aries_30_memory_descriptors),
        cmocka_unit_test(aries_31_queue_descriptors),
        cmocka_unit_test(aries_32_outstanding_packets),
        cmocka_unit_test(aries_34_dual_events),
    };

    return cmocka_run_group_tests_name("nic", tests, NULL, NULL);
}
