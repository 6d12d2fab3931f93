/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the tests of datagrams, with their answers in a structure. */
#ifndef JACQUARD_TESTS_DATAGRAM_FRAME_H
#define JACQUARD_TESTS_DATAGRAM_FRAME_H

#include "fixture.h"

#define FOREVER UINT32_MAX

struct answer {
    gni_post_state_t state;
    uint32_t address, id;
};

gni_ep_handle_t ep_unbound(struct domain *domain);
gni_return_t test_id(gni_ep_handle_t ep, uint64_t id, struct answer *answer);
gni_return_t wait_for(gni_ep_handle_t ep, uint32_t timeout, struct answer *answer);
gni_return_t wait_id(gni_ep_handle_t ep, uint64_t id, uint32_t timeout, struct answer *answer);
void assert_completed(const struct rank *rank, const struct answer *answer, uint32_t peer);
/* By then something has happened: where times are exact. */
void sleep_for(sim_time_t duration);

#endif
