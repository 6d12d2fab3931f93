/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors. FI_AV_TABLE: an fi_addr_t is an index, which is not used again after its address
 * was removed. FI_AV_MAP: it is the address itself, with the NIC in the low half. In both cases the
 * topmost rx_ctx_bits select a receive context of a scalable endpoint.
 */
#include <stdlib.h>

#include "av.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "name.h"
#include "nosys.h"

#define ROOM_FIRST 16
#define RX_BITS_MAX 8
#define REMOVED UINT32_MAX /* in the hash: the search continues behind it */

/* A name without the fields that are always zero; unused1 is USED if the entry is in use. */
struct gnip_av_entry {
    uint32_t words[5];
};
#define USED 1
_Static_assert(offsetof(struct gnip_name, unused2) == sizeof(struct gnip_av_entry), "");

/* Open addressing; 0: free, REMOVED, else the place in the table plus 1. */
struct gnip_av_hash {
    uint32_t bits, used; /* used: including those that were removed */
    uint32_t places[];
};

/* ---- entries --------------------------------------------------------------------------------- */

static struct gnip_name name_at(const struct gnip_av *av, uint32_t place)
{
    struct gnip_name name = {0};

    memcpy(&name, &av->entries[place], sizeof(struct gnip_av_entry));
    return name;
}

/* The addresses from which messages of an endpoint come: one, or one for each context. */
static uint32_t contexts(const struct gnip_name *name)
{
    return (name->name_type & GNIP_SEP) != 0 && name->rx_ctx_cnt > 1 ? name->rx_ctx_cnt : 1;
}

/* Made from a node and a service, which do not say whether it is a scalable endpoint. */
static bool is_plain(const struct gnip_name *name)
{
    return name->name_type == GNIP_BOUND && name->rx_ctx_cnt == 0;
}

/* A name that does not give the number of contexts may have as many as the bits can select. */
static bool has_context(const struct gnip_av *av, const struct gnip_name *name, uint32_t context)
{
    return context < contexts(name) || (is_plain(name) && context < 1u << av->rx_ctx_bits);
}

static bool grow(struct gnip_av *av)
{
    uint32_t room = av->room != 0 ? av->room * 2 : ROOM_FIRST;
    void *bigger;

    if (av->count < av->room)
        return true;
    bigger = realloc(av->entries, room * sizeof(*av->entries));
    if (bigger == NULL)
        return false;
    av->entries = bigger;
    av->room = room;
    return true;
}

/* ---- by address ------------------------------------------------------------------------------ */

static uint32_t hash_of(const struct gnip_av_hash *hash, uint32_t device_addr, uint32_t cdm_id)
{
    uint64_t key = ((uint64_t)cdm_id << 32 | device_addr) * 0x9e3779b97f4a7c15ull;

    return (uint32_t)(key >> (64 - hash->bits));
}

/* Its places in the table and in the hash; REMOVED: none. */
static uint32_t find(const struct gnip_av *av, uint32_t device_addr, uint32_t cdm_id,
                     uint32_t *slot)
{
    const struct gnip_av_hash *hash = av->by_address;
    uint32_t at, place;

    if (hash == NULL)
        return REMOVED;
    at = hash_of(hash, device_addr, cdm_id);
    for (; (place = hash->places[at]) != 0; at = (at + 1) & ((1u << hash->bits) - 1)) {
        struct gnip_name name;

        if (place == REMOVED)
            continue;
        name = name_at(av, place - 1);
        if (name.device_addr != device_addr || cdm_id - name.cdm_id >= contexts(&name))
            continue;
        if (slot != NULL)
            *slot = at;
        return place - 1;
    }
    return REMOVED;
}

/* Adds those addresses of an entry that are not in the hash yet; there is room. */
static void hash_in(struct gnip_av *av, uint32_t place)
{
    struct gnip_av_hash *hash = av->by_address;
    struct gnip_name name = name_at(av, place);
    uint32_t i, at;

    for (i = 0; i < contexts(&name); i++) {
        if (find(av, name.device_addr, name.cdm_id + i, NULL) != REMOVED) {
            av->duplicates = true;
            continue;
        }
        at = hash_of(hash, name.device_addr, name.cdm_id + i);
        while (hash->places[at] != 0 && hash->places[at] != REMOVED)
            at = (at + 1) & ((1u << hash->bits) - 1);
        hash->used += hash->places[at] == 0;
        hash->places[at] = place + 1;
    }
}

static bool in_use(const struct gnip_av *av, uint32_t place)
{
    return name_at(av, place).unused1 == USED;
}

/* Makes room for this many more addresses. */
static bool hash_room(struct gnip_av *av, uint32_t more)
{
    struct gnip_av_hash *old = av->by_address, *hash;
    uint32_t bits = old != NULL ? old->bits : 5, needed = more, i;

    if (old != NULL && (old->used + more) * 2 <= 1u << bits)
        return true;
    for (i = 0; i < av->count; i++) {
        struct gnip_name name = name_at(av, i);

        needed += name.unused1 == USED ? contexts(&name) : 0;
    }
    while (needed * 2 > 1u << bits)
        bits++;
    hash = calloc(1, sizeof(*hash) + (sizeof(hash->places[0]) << bits));
    if (hash == NULL)
        return false;
    hash->bits = bits;
    av->by_address = hash;
    for (i = 0; i < av->count; i++)
        if (in_use(av, i))
            hash_in(av, i);
    free(old);
    return true;
}

static void hash_out(struct gnip_av *av, uint32_t place)
{
    struct gnip_name name = name_at(av, place);
    uint32_t i, slot = 0; /* find() sets it where it finds a place */

    for (i = 0; i < contexts(&name); i++)
        if (find(av, name.device_addr, name.cdm_id + i, &slot) == place)
            av->by_address->places[slot] = REMOVED;
}

/* An entry was removed, and other entries may have the same address. */
static void hash_others(struct gnip_av *av, const struct gnip_name *removed)
{
    uint32_t i;

    for (i = 0; av->duplicates && i < av->count; i++) {
        struct gnip_name name = name_at(av, i);

        if (name.unused1 == USED && name.device_addr == removed->device_addr)
            hash_in(av, i);
    }
}

/* ---- fi_addr_t ------------------------------------------------------------------------------- */

static fi_addr_t address_of(const struct gnip_av *av, uint32_t place)
{
    struct gnip_name name;

    if (av->type == FI_AV_TABLE)
        return place;
    name = name_at(av, place);
    return (fi_addr_t)name.cdm_id << 32 | name.device_addr;
}

static uint64_t without_context(const struct gnip_av *av, fi_addr_t address, uint32_t *context)
{
    if (av->rx_ctx_bits == 0) {
        *context = 0;
        return address;
    }
    *context = (uint32_t)(address >> (64 - av->rx_ctx_bits));
    return address << av->rx_ctx_bits >> av->rx_ctx_bits;
}

/* An endpoint by itself, not one that has this address for one of its contexts. */
static uint32_t find_exactly(const struct gnip_av *av, uint32_t device_addr, uint32_t cdm_id)
{
    uint32_t place = find(av, device_addr, cdm_id, NULL), i;

    if (place == REMOVED || name_at(av, place).cdm_id == cdm_id)
        return place;
    for (i = 0; av->duplicates && i < av->count; i++) {
        struct gnip_name name = name_at(av, i);

        if (name.unused1 == USED && name.device_addr == device_addr && name.cdm_id == cdm_id)
            return i;
    }
    return REMOVED;
}

/* REMOVED: unknown. */
static uint32_t place_of(const struct gnip_av *av, fi_addr_t address, uint32_t *context)
{
    uint64_t plain = without_context(av, address, context);

    if (av->type == FI_AV_TABLE)
        return plain < av->count && in_use(av, (uint32_t)plain) ? (uint32_t)plain : REMOVED;
    return find_exactly(av, (uint32_t)plain, (uint32_t)(plain >> 32));
}

int gnip_av_find_unlocked(const struct gnip_av *av, fi_addr_t address, struct gnip_name *name)
{
    uint32_t context, place = place_of(av, address, &context);

    if (place == REMOVED)
        return -FI_EINVAL;
    *name = name_at(av, place);
    name->unused1 = 0;
    if (!has_context(av, name, context))
        return -FI_EINVAL;
    name->cdm_id += context;
    return 0;
}

int gnip_av_find(struct gnip_av *av, fi_addr_t address, struct gnip_name *name)
{
    int rc;

    gnip_lock(&av->lock);
    rc = gnip_av_find_unlocked(av, address, name);
    gnip_unlock(&av->lock);
    return rc;
}

/*
 * The name, made from a node and a service, of the scalable endpoint that has this context. Such an
 * endpoint receives connection messages under its first id.
 */
static uint32_t find_service(const struct gnip_av *av, const struct gnip_name *context)
{
    uint32_t index = context->cdm_id - context->cm_nic_cdm_id, place;
    struct gnip_name name;

    if (index >= 1u << av->rx_ctx_bits)
        return REMOVED;
    place = find(av, context->device_addr, context->cm_nic_cdm_id, NULL);
    if (place == REMOVED)
        return REMOVED;
    name = name_at(av, place);
    return is_plain(&name) && name.cdm_id == context->cm_nic_cdm_id ? place : REMOVED;
}

fi_addr_t gnip_av_reverse(struct gnip_av *av, const struct gnip_name *peer)
{
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    uint32_t place;

    gnip_lock(&av->lock);
    place = find(av, peer->device_addr, peer->cdm_id, NULL);
    if (place == REMOVED)
        place = find_service(av, peer);
    if (place != REMOVED) {
        struct gnip_name name = name_at(av, place);

        address = address_of(av, place);
        if (peer->cdm_id != name.cdm_id && av->rx_ctx_bits != 0)
            address = fi_rx_addr(address, (int)(peer->cdm_id - name.cdm_id), av->rx_ctx_bits);
    }
    gnip_unlock(&av->lock);
    return address;
}

/* ---- insertion ------------------------------------------------------------------------------- */

/* The bits can select this context. */
static bool fits(const struct gnip_av *av, const struct gnip_name *name)
{
    if ((name->name_type & GNIP_SEP) != 0 && 1u << av->rx_ctx_bits < name->rx_ctx_cnt)
        return false;
    /* In a map these bits are part of the address. */
    return av->type == FI_AV_TABLE || av->rx_ctx_bits == 0 ||
           name->cdm_id >> (32 - av->rx_ctx_bits) == 0;
}

/* A place of the table; REMOVED: no memory. The lock is held. */
static uint32_t add(struct gnip_av *av, const struct gnip_name *name)
{
    struct gnip_name stored = *name;
    uint32_t place;

    if (av->type == FI_AV_MAP) {
        place = find_exactly(av, name->device_addr, name->cdm_id);
        if (place != REMOVED)
            return place;
    }
    if (!hash_room(av, contexts(name)))
        return REMOVED;
    if (av->free_first != 0) {
        place = av->free_first - 1;
        av->free_first = av->entries[place].words[0];
    } else if (av->count < REMOVED - 1 && grow(av)) {
        place = av->count++;
    } else {
        return REMOVED;
    }
    stored.unused1 = USED;
    memcpy(&av->entries[place], &stored, sizeof(av->entries[place]));
    hash_in(av, place);
    av->version++;
    return place;
}

static int insert_one(struct gnip_av *av, const struct gnip_name *name, fi_addr_t *address)
{
    uint32_t place;

    if (!fits(av, name))
        return -FI_EINVAL;
    gnip_lock(&av->lock);
    place = add(av, name);
    if (place != REMOVED && address != NULL)
        *address = address_of(av, place);
    gnip_unlock(&av->lock);
    return place != REMOVED ? 0 : -FI_ENOMEM;
}

/* The checks with which all functions that insert begin. */
static int may_insert(const struct gnip_av *av, const fi_addr_t *addresses, uint64_t flags,
                      const void *context)
{
    if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0 ||
        ((flags & FI_SYNC_ERR) != 0 && context == NULL) ||
        (av->type == FI_AV_MAP && addresses == NULL))
        return -FI_EINVAL;
    return 0;
}

/* The result of an insertion. */
struct outcome {
    int inserted, error; /* the first error */
};

static void book(struct outcome *outcome, int rc, size_t i, fi_addr_t *addresses, uint64_t flags,
                 void *context)
{
    if (rc == 0)
        outcome->inserted++;
    else if (outcome->error == 0)
        outcome->error = rc;
    if (rc != 0 && addresses != NULL)
        addresses[i] = FI_ADDR_NOTAVAIL;
    if ((flags & FI_SYNC_ERR) != 0)
        ((int *)context)[i] = -rc; /* 0 or an errno */
}

/* The number of inserted addresses, or the error if the call can report it in no other way. */
static int result(const struct outcome *outcome, uint64_t flags)
{
    return outcome->inserted == 0 && (flags & FI_SYNC_ERR) == 0 ? outcome->error
                                                                : outcome->inserted;
}

static int insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *addresses,
                  uint64_t flags, void *context)
{
    PORT_CALL("fi_av_insert");
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid);
    size_t stride = gnip_name_bytes(av->addr_format), i;
    int rc = may_insert(av, addresses, flags, context);
    struct outcome outcome = {0, 0};
    struct gnip_name name;

    if (rc != 0 || (names == NULL && count > 0))
        return -FI_EINVAL;
    for (i = 0; i < count; i++) {
        rc = gnip_name_read_any(&name, av->addr_format, (const char *)names + i * stride);
        if (rc == 0)
            rc = insert_one(av, &name, addresses != NULL ? &addresses[i] : NULL);
        book(&outcome, rc, i, addresses, flags, context);
    }
    return result(&outcome, flags);
}

static int insertsym(struct fid_av *fid, const char *node, size_t nodes, const char *service,
                     size_t services, fi_addr_t *addresses, uint64_t flags, void *context)
{
    PORT_CALL("fi_av_insertsym");
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid);
    int rc = may_insert(av, addresses, flags, context);
    struct outcome outcome = {0, 0};
    char host[128], port[32];
    struct gnip_name name;
    size_t i;

    if (rc != 0 || node == NULL || service == NULL || nodes == 0 || services == 0)
        return -FI_EINVAL;
    for (i = 0; i < nodes * services; i++) {
        rc = gnip_name_count_up(host, sizeof(host), node, i / services) &&
                     gnip_name_count_up(port, sizeof(port), service, i % services)
                 ? gnip_name_resolve(FI_ADDR_GNI, host, port, &name)
                 : -FI_EINVAL;
        if (rc == 0)
            rc = insert_one(av, &name, addresses != NULL ? &addresses[i] : NULL);
        book(&outcome, rc, i, addresses, flags, context);
    }
    return result(&outcome, flags);
}

static int insertsvc(struct fid_av *fid, const char *node, const char *service,
                     fi_addr_t *addresses, uint64_t flags, void *context)
{
    PORT_CALL("fi_av_insertsvc");
    return insertsym(fid, node, 1, service, 1, addresses, flags, context);
}

/* ---- removal, lookup, opening, closing ------------------------------------------------------- */

static int remove_one(struct gnip_av *av, fi_addr_t address)
{
    struct gnip_name name;
    uint32_t context, place;

    place = place_of(av, address, &context);
    if (place == REMOVED)
        return av->type == FI_AV_TABLE ? -FI_EINVAL : -FI_ENOENT;
    name = name_at(av, place);
    hash_out(av, place);
    memset(&av->entries[place], 0, sizeof(av->entries[place]));
    hash_others(av, &name);
    /* Applications keep indices, so those of a table stay unused. */
    if (av->type == FI_AV_MAP) {
        av->entries[place].words[0] = av->free_first;
        av->free_first = place + 1;
    }
    av->version++;
    return 0;
}

static int remove_all(struct fid_av *fid, fi_addr_t *addresses, size_t count, uint64_t flags)
{
    PORT_CALL("fi_av_remove");
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid);
    int rc = 0, one;
    size_t i;

    if (flags != 0 || addresses == NULL)
        return -FI_EINVAL;
    gnip_lock(&av->lock);
    for (i = 0; i < count; i++) {
        one = remove_one(av, addresses[i]);
        rc = rc != 0 ? rc : one;
    }
    gnip_unlock(&av->lock);
    return rc;
}

static int lookup(struct fid_av *fid, fi_addr_t address, void *name, size_t *bytes)
{
    PORT_CALL("fi_av_lookup");
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid);
    struct gnip_name found = {0};
    uint32_t context, place;

    if (bytes == NULL || (name == NULL && *bytes != 0))
        return -FI_EINVAL;
    gnip_lock(&av->lock);
    place = place_of(av, address, &context);
    if (place != REMOVED)
        found = name_at(av, place);
    found.unused1 = 0;
    gnip_unlock(&av->lock);
    if (place == REMOVED)
        return av->type == FI_AV_TABLE ? -FI_EINVAL : -FI_ENOENT;
    return gnip_name_copy(&found, av->addr_format, name, bytes);
}

static const char *straddr(struct fid_av *fid, const void *name, char *buffer, size_t *bytes)
{
    PORT_CALL("fi_av_straddr");
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid);
    struct gnip_name read;

    if (bytes == NULL)
        return NULL;
    if (gnip_name_read_any(&read, av->addr_format, name) != 0) {
        if (buffer != NULL && *bytes > 0)
            buffer[0] = '\0';
        *bytes = 1;
        return buffer;
    }
    return gnip_name_print(&read, buffer, bytes);
}

static void end(struct gnip_refs *refs)
{
    struct gnip_av *av = gnip_container(refs, struct gnip_av, refs);

    gnip_unref(&av->domain->refs);
    gnip_lock_fini(&av->lock);
    free(av->by_address);
    free(av->entries);
    free(av);
}

static int close_av(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid.fid);
    int rc = gnip_refs_closable(&av->refs, av->domain->fabric->strict);

    if (rc == 0)
        gnip_refs_close(&av->refs, end);
    return rc;
}

static const struct fi_ops av_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_av,
    .bind = gnip_no_bind,
    .control = gnip_no_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = insert,
    .insertsvc = insertsvc,
    .insertsym = insertsym,
    .remove = remove_all,
    .lookup = lookup,
    .straddr = straddr,
    .av_set = gnip_no_av_set,
};

int gnip_av_open(struct fid_domain *domain_fid, struct fi_av_attr *attr, struct fid_av **av_fid,
                 void *context)
{
    PORT_CALL("fi_av_open");
    struct gnip_domain *domain = gnip_container(domain_fid, struct gnip_domain, fid);
    struct gnip_av *av;

    if (attr == NULL || av_fid == NULL ||
        (attr->type != FI_AV_UNSPEC && attr->type != FI_AV_MAP && attr->type != FI_AV_TABLE) ||
        attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > RX_BITS_MAX)
        return -FI_EINVAL;
    if (attr->name != NULL || (attr->flags & FI_EVENT) != 0)
        return -FI_ENOSYS;
    av = calloc(1, sizeof(*av));
    if (av == NULL)
        return -FI_ENOMEM;
    av->fid.fid.fclass = FI_CLASS_AV;
    av->fid.fid.context = context;
    av->fid.fid.ops = (struct fi_ops *)&av_fid_ops;
    av->fid.ops = (struct fi_ops_av *)&av_ops;
    av->domain = domain;
    av->type = attr->type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
    av->addr_format = domain->addr_format;
    av->rx_ctx_bits = (uint8_t)attr->rx_ctx_bits;
    gnip_lock_init(&av->lock, gnip_single(domain));
    gnip_ref(&domain->refs);
    *av_fid = &av->fid;
    return 0;
}
