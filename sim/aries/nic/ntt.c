/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The node translation table. A job that owns a range of it uses virtual PE addresses: index v
 * names node v % g of block v / g, where g is the granularity of the table. A block consists of g
 * nodes from blck_addr on. If rplc_size is not 0, its last rplc_size nodes are at rplc_addr
 * instead (spare nodes). The meaning of the entries is assumed; only their layout is public.
 */
#include "nic/job.h"

#include <assert.h>
#include <glib.h>

#define GRANULARITY_MAX 32u
#define NOWHERE UINT32_MAX
#define ALL UINT32_MAX

uint32_t aries_ntt_granularity(const struct aries_nic *hw)
{
    return hw->ntt != NULL ? hw->ntt->granularity : 1;
}

/* ---- translating ----------------------------------------------------------------------------- */

static uint32_t group_nodes(const struct aries_job_state *state)
{
    return state->ntt_size * aries_ntt_granularity(state->hw);
}

static uint32_t physical(const struct aries_job_state *state, uint32_t index)
{
    const struct aries_ntt *ntt = state->hw->ntt;
    const gni_ntt_entry_t *entry;
    uint32_t place;

    if (ntt == NULL || index >= group_nodes(state))
        return NOWHERE;
    place = state->ntt_base + index / ntt->granularity;
    if (!ntt->entries[place].set)
        return NOWHERE;
    entry = &ntt->entries[place].entry;
    index %= ntt->granularity;
    if (index + entry->rplc_size >= ntt->granularity)
        return entry->rplc_addr + index + entry->rplc_size - ntt->granularity;
    return entry->blck_addr + index;
}

struct aries_nic *aries_pe_resolve(const struct gni_nic *nic, uint32_t pe_addr)
{
    struct aries_fabric *fabric = nic->hw->fabric;

    if (sim_likely(nic->ntt == NULL))
        return aries_nic_by_pe(fabric, pe_addr);
    pe_addr = physical(nic->ntt, pe_addr);
    return pe_addr != NOWHERE ? aries_nic_by_pe(fabric, pe_addr) : NULL;
}

/* A node outside the group has no virtual address: its real one is returned. */
uint32_t aries_pe_shown(const struct gni_nic *nic, uint32_t pe_addr)
{
    uint32_t index;

    if (sim_likely(nic->ntt == NULL))
        return pe_addr;
    for (index = 0; index < group_nodes(nic->ntt); index++)
        if (physical(nic->ntt, index) == pe_addr)
            return index;
    return pe_addr;
}

bool aries_ntt_attach(struct gni_nic *nic)
{
    const struct aries_job_state *state = aries_job_state_of(nic->hw, nic->ptag);
    uint32_t index;

    if (state == NULL || state->ntt_size == 0)
        return true;
    for (index = 0; index < group_nodes(state); index++)
        if (physical(state, index) == nic->hw->pe_addr)
            break;
    if (index == group_nodes(state))
        return false;
    assert(nic->ntt == NULL);
    nic->ntt = state;
    return true;
}

/* The hardware translates each packet, so bound endpoints follow a change of the table. */
static void changed(struct aries_nic *hw)
{
    struct aries_list *link, *inner;

    for (link = hw->attached.next; link != &hw->attached; link = link->next) {
        struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        for (inner = nic->eps.next; nic->ntt != NULL && inner != &nic->eps; inner = inner->next) {
            struct gni_ep *ep = sim_container_of(inner, struct gni_ep, nic_link);

            if (aries_ep_bound(ep))
                ep->remote = aries_pe_resolve(nic, ep->remote_addr);
        }
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

bool aries_ntt_has(const struct aries_nic *hw, uint32_t base, uint32_t size)
{
    uint32_t i;

    if (hw->ntt == NULL || base >= ARIES_NTT_ENTRIES || size > ARIES_NTT_ENTRIES - base)
        return false;
    for (i = 0; i < size; i++)
        if (!hw->ntt->entries[base + i].set)
            return false;
    return true;
}

void aries_ntt_clear(struct aries_nic *hw, uint32_t base, uint32_t size)
{
    uint32_t i;

    assert(size == 0 || hw->ntt != NULL);
    assert(base <= ARIES_NTT_ENTRIES && size <= ARIES_NTT_ENTRIES - base);
    for (i = base; i < base + size; i++) {
        assert(hw->ntt->used >= hw->ntt->entries[i].set);
        hw->ntt->used -= hw->ntt->entries[i].set;
        hw->ntt->entries[i].set = false;
    }
    changed(hw);
}

static bool in_use(const struct aries_nic *hw, uint32_t place)
{
    uint32_t ptag;

    for (ptag = 0; hw->job_states != NULL && ptag < 256; ptag++) {
        const struct aries_job_state *state = hw->job_states[ptag];

        if (state != NULL && place >= state->ntt_base && place < state->ntt_base + state->ntt_size)
            return true;
    }
    return false;
}

static gni_return_t clear_unused(struct aries_nic *hw)
{
    uint32_t i;

    for (i = 0; hw->ntt != NULL && i < ARIES_NTT_ENTRIES; i++)
        if (hw->ntt->entries[i].set && !in_use(hw, i))
            aries_ntt_clear(hw, i, 1);
    return GNI_RC_SUCCESS;
}

static gni_return_t clear_range(struct aries_nic *hw, uint32_t base, uint32_t size)
{
    if (base >= ARIES_NTT_ENTRIES || size == 0 || size > ARIES_NTT_ENTRIES - base)
        return GNI_RC_INVALID_PARAM;
    if (!aries_ntt_has(hw, base, size))
        return GNI_RC_NO_MATCH;
    aries_ntt_clear(hw, base, size);
    return GNI_RC_SUCCESS;
}

/* The first position with `size` free entries. */
static uint32_t find_room(const struct aries_ntt *ntt, uint32_t size)
{
    uint32_t place, run = 0;

    for (place = 0; place < ARIES_NTT_ENTRIES; place++) {
        run = ntt->entries[place].set ? 0 : run + 1;
        if (run == size)
            return place + 1 - size;
    }
    return NOWHERE;
}

static bool granularity_ok(uint32_t granularity)
{
    return granularity != 0 && granularity <= GRANULARITY_MAX &&
           (granularity & (granularity - 1)) == 0;
}

static bool table_ok(const gni_ntt_descriptor_t *desc)
{
    uint32_t i;

    for (i = 0; i < desc->group_size; i++)
        if (desc->u.table_v2[i].rplc_size > desc->granularity)
            return false;
    return true;
}

gni_return_t aries_ntt_configure(struct aries_nic *hw, const gni_ntt_descriptor_t *desc,
                                 uint32_t *base)
{
    uint32_t size = desc->group_size, first = *base, i;

    if (desc->u.table_v2 == NULL)
        return first == ALL && size == ALL ? clear_unused(hw) : clear_range(hw, first, size);
    if (size == 0 || size > ARIES_NTT_ENTRIES || !granularity_ok(desc->granularity) ||
        (first != ALL && (first >= ARIES_NTT_ENTRIES || size > ARIES_NTT_ENTRIES - first)) ||
        !table_ok(desc))
        return GNI_RC_INVALID_PARAM;
    if (hw->ntt == NULL) {
        hw->ntt = g_new0(struct aries_ntt, 1);
        hw->ntt->granularity = desc->granularity;
    }
    /* The whole table has one granularity, which may change only while the table is empty. */
    if (hw->ntt->used > 0 && hw->ntt->granularity != desc->granularity)
        return GNI_RC_ERROR_RESOURCE;
    if (first == ALL)
        first = find_room(hw->ntt, size);
    if (first == NOWHERE)
        return GNI_RC_ERROR_RESOURCE;
    hw->ntt->granularity = desc->granularity;
    for (i = 0; i < size; i++) {
        hw->ntt->used += !hw->ntt->entries[first + i].set;
        hw->ntt->entries[first + i].set = true;
        hw->ntt->entries[first + i].entry = desc->u.table_v2[i];
    }
    *base = first;
    changed(hw);
    return GNI_RC_SUCCESS;
}
