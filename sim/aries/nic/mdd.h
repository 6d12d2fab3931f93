/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of memory descriptors, indexed by MDH. A NIC has one of 4096, shared by all jobs on the
 * node, and one block per protection tag for virtual handles (VMDH). They grow by pages: most
 * nodes have few registrations.
 */
#ifndef JACQUARD_ARIES_MDD_H
#define JACQUARD_ARIES_MDD_H

#include "nic/registration.h"

#define ARIES_MDD_ANY UINT32_MAX

struct aries_mdd_table {
    struct aries_mdd_table *next; /* next block of the NIC */
    uint32_t ptag;
    uint32_t size; /* entries, at most 4096 */
    uint32_t used;
    uint32_t search_from; /* where the search for a free entry starts */
    struct aries_mdd_page *pages[64];
};

struct aries_mdd_table *aries_mdd_table_new(uint32_t size);
void aries_mdd_table_free(struct aries_mdd_table *table);
/*
 * Inserts mr at `index`, or for ARIES_MDD_ANY at a free entry, and returns the entry. Returns
 * ARIES_MDD_ANY if the entry is in use or none is free.
 */
uint32_t aries_mdd_insert(struct aries_mdd_table *table, uint32_t index, struct aries_mr *mr);
void aries_mdd_remove(struct aries_mdd_table *table, uint32_t index);
struct aries_mr *aries_mdd_at(const struct aries_mdd_table *table, uint32_t index); /* NULL: free */

#endif
