/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small machine for conformance tests: an engine, one chassis of nodes, and one process per rank.
 * A test is a function that every rank runs on a fiber of its own:
 *
 *   static void rank_main(struct rank *rank)
 *   {
 *       struct domain domain;
 *       ...
 *   }
 *   static void ugni_24_unbind_waits(void **state)
 *   {
 *       machine_run(&(struct machine){.ranks = 2, .main = rank_main});
 *   }
 *
 * The machine must end by itself (no deadlock), and its ledger must balance, or the test fails.
 *
 * machine.c simulates it. tests/live/machine.c makes it of processes on a live fabric, of the same
 * sources: there ranks share what is static (and `struct machine`), but no other memory, and a test
 * that needs what only a simulation has (rules for faults, other parameters) is skipped.
 */
#ifndef JACQUARD_TESTS_API_FIXTURE_H
#define JACQUARD_TESTS_API_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "aries/aries.h"
#include "aries/misc/exceptions.h"
#include "engine/fault.h"
#include "engine/random.h"
#include "engine/sim.h"
#include "gni_pub.h"

#define MACHINE_RANKS 64
#define MACHINE_PTAG 17
#define MACHINE_COOKIE GNI_JOB_CREATE_COOKIE(0x1234, 0)
#define MACHINE_JOB 42
/* A second job, for what must be kept apart. */
#define MACHINE_PTAG_OTHER 18
#define MACHINE_COOKIE_OTHER GNI_JOB_CREATE_COOKIE(0x4321, 0)

struct rank {
    uint32_t id, node;
    struct machine *machine;
    struct aries_process *process;
    struct sim_fiber *fiber;
    bool killed; /* by the error policy, or with its node */
    bool ended;
};

struct machine {
    /* The machine of a test. 0 and NULL select the default. */
    uint32_t ranks; /* 2 */
    uint32_t ranks_per_node; /* 1 */
    bool privileged;
    const char *profile; /* "xc40_hsw" */
    const char *preset; /* "chassis" */
    uint64_t seed; /* 1 */
    bool unbalanced; /* the ledger is not checked, because nodes die in the middle */
    const char *param[4]; /* parameters that differ from the table, and their values */
    double value[4];
    void (*main)(struct rank *rank);
    void (*configure)(const struct machine *machine, struct net_config *config);
    void (*place)(struct machine *machine); /* sets `node`; NULL: consecutive ones */
    void (*prepare)(struct machine *machine); /* before the ranks start: fault rules */
    void *argument;
    /* For the ranks. */
    struct net *net;
    struct aries_fabric *fabric;
    uint32_t node[MACHINE_RANKS]; /* of each rank */
    struct rank rank[MACHINE_RANKS];
    uint32_t waiting; /* in machine_barrier */
    uint64_t barriers;
    uint64_t shared[MACHINE_RANKS][16]; /* out-of-band exchange: each rank writes its row */
    uint64_t digest; /* of the run, when it has ended */
};

void machine_run(struct machine *machine);
void machine_barrier(struct rank *rank); /* all ranks that have not ended */
/* The rank goes on only where times are exact, or what only a simulation has is there. */
void machine_simulated(void);
uint32_t machine_address(const struct machine *machine, uint32_t node); /* of its NIC */
/* Whether another thread sets the flag soon: within a millisecond in simulation. */
bool machine_soon(const bool *flag);

/* A communication domain with the queues that most tests need. */
struct domain {
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    uint32_t address;
    gni_cq_handle_t source, target; /* 512 entries; target: for registrations */
};

/* Instance id: that of the rank. modes: GNI_CDM_MODE_. */
void domain_open(struct rank *rank, struct domain *domain, uint32_t modes);
void domain_open_as(struct domain *domain, uint32_t inst_id, uint8_t ptag, uint32_t cookie,
                    uint32_t modes);
gni_ep_handle_t domain_connect(struct rank *rank, struct domain *domain, uint32_t peer);
void domain_close(struct domain *domain); /* everything */

gni_mem_handle_t domain_register(struct domain *domain, void *memory, uint64_t bytes,
                                 gni_cq_handle_t cq, uint32_t flags);
/* Puts (handle, address) where the peers find it, and waits for all. */
void publish(struct rank *rank, gni_mem_handle_t handle, const void *memory);
gni_mem_handle_t published_handle(const struct rank *rank, uint32_t peer);
uint64_t published_address(const struct rank *rank, uint32_t peer);

/* One rank of two that talk: a domain, memory of its own, and the way to the peer's. */
struct side {
    struct rank *rank;
    struct domain domain;
    uint8_t *memory;
    gni_mem_handle_t handle, peer_handle; /* of the memory; its events go to domain.target */
    uint64_t peer_address;
    gni_ep_handle_t ep;
};

/* The peer is the other rank of a pair, or the rank itself when there is no other. With barriers.
 */
void side_open(struct rank *rank, struct side *side, void *memory, uint64_t bytes, uint32_t modes);
void side_close(struct side *side); /* with a barrier */
/* From the rank's own memory at `local` to the peer's at `remote`, or back. */
gni_post_descriptor_t side_describe(const struct side *side, gni_post_type_t type, uint64_t local,
                                    uint64_t remote, uint64_t bytes);

/* Polls until an event comes; the call's return code is *result. */
gni_cq_entry_t next_event(gni_cq_handle_t cq, gni_return_t *result);
/* The next event must be a good one. */
gni_cq_entry_t good_event(gni_cq_handle_t cq);
/* Fetches the next event, which must be of this descriptor, and collects it. */
gni_cq_entry_t complete(gni_cq_handle_t cq, gni_post_descriptor_t *descr);
/* How long the operation takes on queues and links that have run empty. */
sim_time_t idle_time(struct domain *domain, gni_ep_handle_t ep, gni_post_descriptor_t descr);
/* As complete, for a post that must fail; returns the status code. */
unsigned complete_failed(gni_cq_handle_t cq, gni_post_descriptor_t *descr);

/* Descriptors with GLOBAL_EVENT. */
gni_post_descriptor_t describe_put(gni_post_type_t type, const void *local,
                                   gni_mem_handle_t local_handle, uint64_t remote,
                                   gni_mem_handle_t remote_handle, uint64_t length);
gni_post_descriptor_t describe_amo(gni_fma_cmd_type_t command, uint64_t first, uint64_t second,
                                   void *local, gni_mem_handle_t local_handle, uint64_t remote,
                                   gni_mem_handle_t remote_handle);
/* Posts by the call that the type asks for. */
gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *descr);

/* The fate of the next packet of a kind (NET_REQUEST, NET_RESPONSE), wherever it goes. */
struct sim_fault_rule packet_rule(enum sim_fault_action action, uint32_t kind);
void packet_rule_add(const struct sim_fault_rule *rule);
void packet_fault(enum sim_fault_action action, uint32_t kind, uint32_t status);

/* How long something took, where time is modelled. */
#define assert_took(time, least, most)          \
    do {                                        \
        if (SIM_VIRTUAL_TIME)                   \
            assert_in_range(time, least, most); \
    } while (0)
#define assert_rc(call, code) assert_int_equal(call, code)
#define assert_ok(call) assert_rc(call, GNI_RC_SUCCESS)

#endif
