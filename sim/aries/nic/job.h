/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * State that the driver of one node keeps for a protection tag: limits, translation, suspension.
 * Also its node translation table.
 */
#ifndef JACQUARD_ARIES_JOB_H
#define JACQUARD_ARIES_JOB_H

#include "nic/interface.h"

#define ARIES_NO_LIMIT UINT64_MAX
#define ARIES_NTT_ENTRIES 8192u

/*
 * The job that (ptag, cookie) names on a node; with ptag GNI_FIND_ALLOC_PTAG, the job of the
 * cookie. NULL: none.
 */
struct aries_job *aries_job_find(struct aries_nic *hw, uint8_t ptag, uint32_t cookie);
struct aries_job *aries_job_add(struct aries_fabric *fabric, uint32_t node, uint64_t job_id,
                                uint8_t ptag, uint32_t cookie);
uint8_t aries_job_ptag(struct aries_fabric *fabric, struct aries_job *job); /* allocates the tag */

struct aries_job_state {
    struct aries_nic *hw;
    uint64_t limit[GNI_JOB_RES_LAST]; /* ARIES_NO_LIMIT: only the NIC's capacity limits it */
    uint32_t ntt_base, ntt_size; /* range of entries; size 0: addresses are not translated */
    bool ntt_cleanup; /* the entries are cleared when the last domain of the tag is gone */
    bool suspending, suspended;
    uint8_t ptag;
};

struct aries_ntt {
    uint32_t granularity; /* nodes per entry */
    uint32_t used; /* number of entries that are set */
    struct {
        gni_ntt_entry_t entry;
        bool set;
    } entries[ARIES_NTT_ENTRIES];
};

/* NULL: the tag has no state of its own. */
static inline struct aries_job_state *aries_job_state_of(const struct aries_nic *hw, uint8_t ptag)
{
    return sim_likely(hw->job_states == NULL) ? NULL : hw->job_states[ptag];
}
struct aries_job_state *aries_job_state_make(struct aries_nic *hw, uint8_t ptag);

/* Whether a job that uses `used` of a resource may get `more`. */
static inline bool aries_job_allows(const struct aries_nic *hw, uint8_t ptag,
                                    gni_job_res_t resource, uint64_t used)
{
    const struct aries_job_state *state = aries_job_state_of(hw, ptag);

    return sim_likely(state == NULL) || used < state->limit[resource];
}
/* How much the attachments of a tag hold; for aries_job_allows() if there is a limit. */
uint64_t aries_job_used(const struct aries_nic *hw, uint8_t ptag, gni_job_res_t resource);
static inline bool aries_job_may_add(const struct aries_nic *hw, uint8_t ptag,
                                     gni_job_res_t resource)
{
    return sim_likely(aries_job_state_of(hw, ptag) == NULL) ||
           aries_job_allows(hw, ptag, resource, aries_job_used(hw, ptag, resource));
}

void aries_job_left(struct aries_nic *hw, uint8_t ptag); /* a domain of the tag was detached */
void aries_job_states_free(struct aries_nic *hw);

/* ntt.c */
/* Checks and executes GNI_ConfigureNTT for a privileged caller. */
gni_return_t aries_ntt_configure(struct aries_nic *hw, const gni_ntt_descriptor_t *desc,
                                 uint32_t *base);
/* Whether all of them are set. */
bool aries_ntt_has(const struct aries_nic *hw, uint32_t base, uint32_t size);
void aries_ntt_clear(struct aries_nic *hw, uint32_t base, uint32_t size);
uint32_t aries_ntt_granularity(const struct aries_nic *hw);
/*
 * Attaches a domain to its translation group. False: the group does not contain the domain's own
 * node.
 */
bool aries_ntt_attach(struct gni_nic *nic);

/*
 * Converts between addresses of this domain and NICs: the NIC that an address names, and the
 * address that this domain sees.
 */
struct aries_nic *aries_pe_resolve(const struct gni_nic *nic, uint32_t pe_addr);
uint32_t aries_pe_shown(const struct gni_nic *nic, uint32_t pe_addr);

#endif
