/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the tests of datagrams, with their answers in a structure. */
#include "datagram_frame.h"

#include <string.h>

gni_ep_handle_t ep_unbound(struct domain *domain)
{
    gni_ep_handle_t ep;

    assert_ok(GNI_EpCreate(domain->nic, NULL, &ep));
    return ep;
}

gni_return_t test_id(gni_ep_handle_t ep, uint64_t id, struct answer *answer)
{
    return GNI_EpPostDataTestById(ep, id, &answer->state, &answer->address, &answer->id);
}

gni_return_t wait_for(gni_ep_handle_t ep, uint32_t timeout, struct answer *answer)
{
    return GNI_EpPostDataWait(ep, timeout, &answer->state, &answer->address, &answer->id);
}

gni_return_t wait_id(gni_ep_handle_t ep, uint64_t id, uint32_t timeout, struct answer *answer)
{
    return GNI_EpPostDataWaitById(ep, id, timeout, &answer->state, &answer->address, &answer->id);
}

void assert_completed(const struct rank *rank, const struct answer *answer, uint32_t peer)
{
    assert_int_equal(answer->state, GNI_POST_COMPLETED);
    assert_int_equal(answer->address,
                     machine_address(rank->machine, rank->machine->rank[peer].node));
    assert_int_equal(answer->id, peer);
}

void sleep_for(sim_time_t duration)
{
    machine_simulated();
    sim_sleep_until(sim_local_time() + duration);
}
