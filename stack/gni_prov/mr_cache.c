/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registrations of a domain's memory. A request for memory that a registration covers shares it;
 * regions that overlap are merged. A registration without users is kept for the next request, up to
 * a limit; the least recently used one is evicted first. Keeping it requires that unmapped memory
 * is noted (port_memory_changed); otherwise it ends with its last user. So does a registration
 * whose key peers may have: they must not access what the application has closed.
 *
 * The calls that GNI sees do not depend on where memory lies: searches go by address, but all
 * sequences of calls go by age.
 */
#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "mr.h"
#include "mr_cache.h"
#include "nic.h"
#include "params.h"
#include "req.h"

#include <stdlib.h>
#include "port/list.h"

#define PAGE 4096ull

typedef struct gnip_mr_entry node;

static void enter(node *entry, enum gnip_mr_state state)
{
    node **root = &entry->side->roots[state];

    entry->state = state;
    *root = gnip_mr_tree_insert(*root, entry);
}

static void leave(node *entry)
{
    node **root = &entry->side->roots[entry->state];

    *root = gnip_mr_tree_remove(*root, entry);
    entry->left = entry->right = NULL;
    entry->state = GNIP_MR_RETIRED;
}

/* ---- registering ----------------------------------------------------------------------------- */

gni_return_t gnip_mr_register_pages(struct gnip_mr_bank *bank, uint64_t first, uint64_t end,
                                    bool written, gni_mem_handle_t *handle)
{
    struct gnip_nic *nic = bank->nic;
    gni_return_t rc;

    memset(handle, 0, sizeof(*handle));
    gnip_lock(&nic->lock);
    rc = GNI_MemRegister(nic->gni, first, end - first, NULL,
                         written ? GNI_MEM_READWRITE : GNI_MEM_READ_ONLY, UINT32_MAX, handle);
    gnip_unlock(&nic->lock);
    return rc;
}

/* The entry is in no tree and in no list but cache->entries. */
static void deregister(node *entry)
{
    struct gnip_nic *nic = entry->bank->nic;
    gni_return_t rc;

    gnip_lock(&nic->lock);
    rc = nic->gni != NULL ? GNI_MemDeregister(nic->gni, &entry->mr.handle) : GNI_RC_SUCCESS;
    gnip_unlock(&nic->lock);
    if (rc != GNI_RC_SUCCESS)
        gnip_warn(FI_LOG_MR, "a memory registration could not be ended: %s", gni_err_str[rc]);
    port_memory_watch_end(entry->watch);
    port_list_remove(&entry->all);
    free(entry);
}

static void remove_from_stale(struct gnip_mr_cache *cache, node *entry)
{
    leave(entry);
    port_list_remove(&entry->age);
    assert(cache->counts.stale > 0);
    cache->counts.stale--;
}

/* False: all registrations are in use. */
static bool evict(struct gnip_mr_cache *cache)
{
    struct port_link *oldest = cache->stale.next;
    node *entry;

    if (oldest == &cache->stale)
        return false;
    entry = gnip_container(oldest, node, age);
    remove_from_stale(cache, entry);
    cache->counts.evicted++;
    deregister(entry);
    return true;
}

static uint32_t registrations(const struct gnip_mr_cache *cache)
{
    return cache->counts.in_use + cache->counts.stale;
}

static bool over_limit(const struct gnip_mr_cache *cache)
{
    int32_t limit = cache->domain->params.mr_hard_limit;

    return limit >= 0 && registrations(cache) >= (uint32_t)limit;
}

static uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
    number = (number ^ number >> 27) * 0x94d049bb133111ebull;
    return number ^ number >> 31;
}

static void fill(struct gnip_mr_cache *cache, struct gnip_mr_bank *bank, node *entry,
                 uint64_t first, uint64_t end)
{
    entry->bank = bank;
    entry->first = first;
    entry->end = entry->end_max = end;
    entry->sequence = ++cache->sequence;
    entry->priority = mixed(entry->sequence);
    entry->state = GNIP_MR_RETIRED;
    entry->uses = 1;
    entry->mr.domain = cache->domain;
    entry->mr.nic = bank->nic;
    entry->mr.auth = bank->auth;
    entry->mr.address = first;
    entry->mr.bytes = end - first;
    entry->mr.entry = entry;
    port_list_append(&cache->entries, &entry->all);
}

/* Registers exactly this range, and evicts others for it if that helps. */
static int obtain(struct gnip_mr_cache *cache, struct gnip_mr_bank *bank, uint64_t first,
                  uint64_t end, bool written, node **made)
{
    node *entry = calloc(1, sizeof(*entry));
    gni_return_t rc;

    if (entry == NULL)
        return -FI_ENOMEM;
    while (over_limit(cache) && evict(cache))
        ;
    if (over_limit(cache)) {
        free(entry);
        return -FI_ENOSPC;
    }
    entry->watch = port_memory_watch_begin(first, end - first);
    do
        rc = gnip_mr_register_pages(bank, first, end, written, &entry->mr.handle);
    while (rc == GNI_RC_ERROR_RESOURCE && evict(cache));
    if (rc != GNI_RC_SUCCESS) {
        port_memory_watch_end(entry->watch);
        free(entry);
        return rc == GNI_RC_ERROR_RESOURCE ? -FI_EAGAIN : -gnip_errno(rc);
    }
    fill(cache, bank, entry, first, end);
    entry->written = written;
    cache->counts.in_use++;
    *made = entry;
    return 0;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* The used and unused registrations of a side that overlap or adjoin the range. */
static node *neighbours(struct gnip_mr_side *side, uint64_t first, uint64_t end)
{
    node *list = NULL;

    gnip_mr_tree_touching(side->roots[GNIP_MR_IN_USE], first, end, &list);
    gnip_mr_tree_touching(side->roots[GNIP_MR_STALE], first, end, &list);
    return list;
}

/*
 * The range to register instead of [*first, *end): together with all that touches it, unless that
 * is more than twice as long. So a buffer that grows piece by piece costs no more than twice its
 * size.
 */
static bool widen(const node *list, uint64_t *first, uint64_t *end)
{
    uint64_t low = *first, high = *end;

    for (; list != NULL; list = list->next) {
        if (list->first < low)
            low = list->first;
        if (list->end > high)
            high = list->end;
    }
    if ((low == *first && high == *end) || high - low > 2 * (*end - *first))
        return false;
    *first = low;
    *end = high;
    return true;
}

/* A new entry replaces those that it covers: at once, or when their last use ends. */
static void swallow(struct gnip_mr_cache *cache, node *list, const node *by)
{
    while (list != NULL) {
        node *entry = list;

        list = entry->next;
        if (entry->first < by->first || entry->end > by->end)
            continue;
        if (entry->state == GNIP_MR_STALE) {
            remove_from_stale(cache, entry);
            deregister(entry);
        } else {
            leave(entry);
        }
    }
}

static int miss(struct gnip_mr_cache *cache, struct gnip_mr_bank *bank, struct gnip_mr_side *side,
                uint64_t first, uint64_t end, bool written, node **found)
{
    uint64_t wide_first = first, wide_end = end;
    int rc = -FI_EINVAL;

    cache->counts.misses++;
    /* A part that is not in use may have been unmapped: then tries without it. */
    if (cache->shared && widen(neighbours(side, first, end), &wide_first, &wide_end))
        rc = obtain(cache, bank, wide_first, wide_end, written, found);
    if (rc != 0)
        rc = obtain(cache, bank, first, end, written, found);
    if (rc != 0 || !cache->shared)
        return rc;
    /* obtain() has succeeded, so *found is set. */
    (*found)->side = side; /* NOLINT(clang-analyzer-core.NullDereference) */
    swallow(cache, neighbours(side, (*found)->first, (*found)->end), *found);
    enter(*found, GNIP_MR_IN_USE);
    return 0;
}

/* ---- memory that was unmapped ---------------------------------------------------------------- */

static void invalidate(struct gnip_mr_cache *cache, uint64_t address, uint64_t bytes)
{
    uint64_t first = address & ~(PAGE - 1), end = (address + bytes + PAGE - 1) & ~(PAGE - 1);
    struct gnip_mr_bank *bank;
    node *list, *entry;
    int i;

    for (bank = cache->banks; bank != NULL; bank = bank->next) {
        for (i = 0; i < 2; i++) {
            list = neighbours(&bank->sides[i], first, end);
            while ((entry = list) != NULL) {
                list = entry->next;
                if (entry->first >= end || entry->end <= first)
                    continue; /* it only adjoins */
                cache->counts.invalidated++;
                if (entry->state == GNIP_MR_STALE) {
                    remove_from_stale(cache, entry);
                    deregister(entry);
                } else {
                    leave(entry);
                }
            }
        }
    }
}

static void apply_memory_changes(struct gnip_mr_cache *cache)
{
    uint64_t address, bytes;
    int rc;

    while ((rc = port_memory_changed(&cache->changes, &address, &bytes)) > 0)
        invalidate(cache, address, bytes);
    if (rc < 0 && cache->watched) /* changes are not noted any more: what is kept may be gone */
        invalidate(cache, 0, ~(PAGE - 1));
    cache->watched = rc == 0;
}

/* ---- using ----------------------------------------------------------------------------------- */

static struct gnip_mr_bank *bank_of(struct gnip_mr_cache *cache, const struct gnip_auth *auth)
{
    struct gnip_mr_bank *bank = cache->banks;

    while (bank != NULL && bank->auth != auth)
        bank = bank->next;
    return bank;
}

/* cache->lock is held. */
static int find(struct gnip_mr_cache *cache, struct gnip_mr_bank *bank, uint64_t first,
                uint64_t end, bool written, node **found)
{
    struct gnip_mr_side *side = &bank->sides[written];
    node *entry;

    gnip_assert_held(&cache->lock);
    assert(first < end && first % PAGE == 0 && end % PAGE == 0);

    if (!cache->shared)
        return miss(cache, bank, side, first, end, written, found);
    apply_memory_changes(cache);
    entry = gnip_mr_tree_find(side->roots[GNIP_MR_IN_USE], first, end);
    if (entry == NULL) {
        entry = gnip_mr_tree_find(side->roots[GNIP_MR_STALE], first, end);
        if (entry == NULL)
            return miss(cache, bank, side, first, end, written, found);
        remove_from_stale(cache, entry);
        cache->counts.in_use++;
        enter(entry, GNIP_MR_IN_USE);
    }
    entry->uses++;
    cache->counts.hits++;
    *found = entry;
    return 0;
}

int gnip_mr_cache_get(struct gnip_domain *domain, struct gnip_auth *auth, const void *address,
                      uint64_t bytes, bool written, struct gnip_mr **registered)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(domain);
    uint64_t first = (uintptr_t)address & ~(PAGE - 1);
    uint64_t last = (uintptr_t)address + bytes - 1;
    struct gnip_mr_bank *bank;
    node *entry = NULL;
    int rc;

    if (bytes == 0 || last < (uintptr_t)address || (last | (PAGE - 1)) == UINT64_MAX)
        return -FI_EINVAL;
    gnip_lock(&cache->lock);
    bank = bank_of(cache, auth);
    rc = find(cache, bank, first, (last | (PAGE - 1)) + 1, written, &entry);
    gnip_unlock(&cache->lock);
    *registered = rc == 0 ? &entry->mr : NULL;
    return rc;
}

void gnip_mr_cache_expose(struct gnip_mr_entry *entry)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(entry->mr.domain);

    gnip_lock(&cache->lock);
    entry->exposed = true;
    gnip_unlock(&cache->lock);
}

gnip_noinline void gnip_mr_cache_use(struct gnip_mr_entry *entry)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(entry->mr.domain);

    gnip_lock(&cache->lock);
    entry->uses++;
    gnip_unlock(&cache->lock);
}

gnip_noinline void gnip_mr_cache_put(struct gnip_mr_entry *entry)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(entry->mr.domain);
    const struct gnip_params *params = &cache->domain->params;

    gnip_lock(&cache->lock);
    assert(entry->uses > 0);
    if (--entry->uses == 0) {
        assert(cache->counts.in_use > 0);
        cache->counts.in_use--;
        if (entry->state == GNIP_MR_IN_USE && params->mr_lazy != 0 && cache->watched &&
            !entry->exposed && registrations(cache) < params->mr_soft_limit) {
            leave(entry);
            enter(entry, GNIP_MR_STALE);
            port_list_append(&cache->stale, &entry->age);
            cache->counts.stale++;
            while (cache->counts.stale > params->mr_stale_limit)
                evict(cache);
        } else {
            if (entry->state == GNIP_MR_IN_USE)
                leave(entry);
            deregister(entry);
        }
    }
    gnip_unlock(&cache->lock);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static int make_cache(struct gnip_domain *domain)
{
    struct gnip_mr_cache *cache;

    port_mutex_lock(&domain->lock);
    if (domain->mr_cache == NULL) {
        cache = calloc(1, sizeof(*cache));
        if (cache == NULL) {
            port_mutex_unlock(&domain->lock);
            return -FI_ENOMEM;
        }
        cache->domain = domain;
        cache->shared = strcmp(domain->params.mr_cache, "none") != 0;
        gnip_lock_init(&cache->lock, gnip_single(domain));
        port_list_init(&cache->stale);
        port_list_init(&cache->entries);
        port_list_init(&cache->regions);
        apply_memory_changes(cache);
        __atomic_store_n(&domain->mr_cache, cache, __ATOMIC_RELEASE);
    }
    port_mutex_unlock(&domain->lock);
    return 0;
}

/* Finds a NIC that this domain may use, or opens one. Adds a reference. */
static int find_nic(struct gnip_domain *domain, struct gnip_auth *auth, struct gnip_nic **nic)
{
    const struct gnip_domain *sole = gnip_single(domain) ? domain : NULL;
    struct port_link *link;

    *nic = NULL;
    port_mutex_lock(&domain->ctx->lock);
    for (link = auth->nics.next; link != &auth->nics && *nic == NULL; link = link->next) {
        struct gnip_nic *each = gnip_container(link, struct gnip_nic, auth_link);

        if (each->sole == NULL || each->sole == sole)
            *nic = each;
    }
    if (*nic != NULL)
        (*nic)->refs++;
    port_mutex_unlock(&domain->ctx->lock);
    return *nic != NULL ? 0 : gnip_nic_get(domain, auth, UINT32_MAX, false, nic);
}

int gnip_mr_cache_open(struct gnip_domain *domain, struct gnip_auth *auth, struct gnip_nic *nic)
{
    struct gnip_mr_cache *cache;
    struct gnip_mr_bank *bank, *made;
    int rc = make_cache(domain);

    if (rc != 0)
        return rc;
    cache = gnip_mr_cache_of(domain);
    gnip_lock(&cache->lock);
    bank = bank_of(cache, auth);
    gnip_unlock(&cache->lock);
    if (bank != NULL)
        return 0;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return -FI_ENOMEM;
    made->auth = auth;
    made->nic = nic;
    if (nic != NULL)
        gnip_nic_ref(nic);
    else
        rc = find_nic(domain, auth, &made->nic);
    if (rc != 0) {
        free(made);
        return rc;
    }
    gnip_lock(&cache->lock);
    bank = bank_of(cache, auth);
    if (bank == NULL) {
        made->next = cache->banks;
        cache->banks = made;
    }
    gnip_unlock(&cache->lock);
    if (bank != NULL) { /* another thread was faster */
        gnip_nic_put(made->nic);
        free(made);
    }
    return 0;
}

struct gnip_nic *gnip_mr_cache_nic(struct gnip_domain *domain, struct gnip_auth *auth)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(domain);
    struct gnip_nic *nic;

    gnip_lock(&cache->lock);
    nic = bank_of(cache, auth)->nic;
    gnip_unlock(&cache->lock);
    return nic;
}

int gnip_mr_cache_flush(struct gnip_domain *domain)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(domain);

    if (cache == NULL)
        return 0;
    gnip_lock(&cache->lock);
    while (evict(cache))
        ;
    gnip_unlock(&cache->lock);
    return 0;
}

void gnip_mr_cache_counts(struct gnip_domain *domain, struct gnip_mr_counts *counts)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(domain);

    memset(counts, 0, sizeof(*counts));
    if (cache == NULL)
        return;
    gnip_lock(&cache->lock);
    *counts = cache->counts;
    gnip_unlock(&cache->lock);
}

void gnip_mr_cache_free(struct gnip_domain *domain)
{
    struct gnip_mr_cache *cache = gnip_mr_cache_of(domain);
    struct gnip_mr_bank *bank;

    if (cache == NULL)
        return;
    while (evict(cache))
        ;
    while ((bank = cache->banks) != NULL) {
        cache->banks = bank->next;
        gnip_nic_put(bank->nic);
        free(bank);
    }
    gnip_lock_fini(&cache->lock);
    free(cache);
    domain->mr_cache = NULL;
}
