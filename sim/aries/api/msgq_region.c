/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared region of a message queue, and the search by which the instances of a node find it;
 * see msgq.h.
 */
#include "api/msgq.h"

#include <assert.h>
#include <sys/mman.h>

#define MAILBOXES_ALIGN 4096u /* only the mailboxes are registered */

static void free_all(struct aries_fabric *fabric);

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t align(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static bool attrs_ok(const gni_msgq_attr_t *attrs)
{
    return attrs != NULL && attrs->max_msg_sz != 0 && attrs->max_msg_sz <= GNI_MSGQ_MSG_SZ_MAX &&
           attrs->smsg_q_sz != 0 && (attrs->smsg_q_sz == 1 || attrs->smsg_q_sz % 2 == 0) &&
           attrs->rcv_pool_sz != 0 && attrs->num_msgq_eps != 0 && attrs->nloc_insts != 0 &&
           attrs->nloc_insts <= GNI_MSGQ_NODE_INSTS_MAX &&
           !(attrs->modes & ~GNI_MSGQ_MODE_BLOCKING) && attrs->rcv_cq_sz != 0;
}

/*
 * Advances the offset by `count` elements. False: the result needs more than 32 bits. No step
 * overflows 64 bits.
 */
static bool append(uint64_t *offset, uint64_t count, uint64_t each)
{
    if (each > UINT32_MAX || count * each > UINT32_MAX)
        return false;
    *offset = align(*offset + count * each, ARIES_MSGQ_LINE);
    return *offset <= UINT32_MAX;
}

static uint32_t table_size(uint32_t connections)
{
    uint32_t size = 4;

    while (size < connections && size < UINT32_MAX / 4)
        size *= 2;
    return size * 2;
}

bool aries_msgq_layout_of(const gni_msgq_attr_t *attrs, uint32_t lanes,
                          struct aries_msgq_layout *layout)
{
    uint64_t end = align(sizeof(struct aries_msgq_region), ARIES_MSGQ_LINE),
             mailbox = ARIES_MSGQ_LINE, each = 0;

    uint64_t slots;

    if (!attrs_ok(attrs))
        return false;
    slots = (uint64_t)attrs->num_msgq_eps * lanes;
    if (slots > UINT32_MAX)
        return false;
    layout->slot_bytes =
        (uint32_t)align(sizeof(struct aries_msgq_record) + attrs->max_msg_sz, ARIES_MSGQ_LINE);
    if (!append(&mailbox, attrs->smsg_q_sz, layout->slot_bytes) ||
        !append(&each, 1, sizeof(struct aries_msgq_connection) + (uint64_t)attrs->smsg_q_sz))
        return false;
    layout->mailbox_bytes = (uint32_t)mailbox;
    layout->connection_bytes = (uint32_t)each;
    layout->table_size = table_size((uint32_t)slots);
    layout->instances = end;
    if (!append(&end, attrs->nloc_insts, sizeof(struct aries_msgq_instance)))
        return false;
    layout->pools = end;
    if (!append(&end, attrs->rcv_pool_sz, attrs->nloc_insts * sizeof(struct aries_msgq_message)))
        return false;
    layout->table = end;
    if (!append(&end, layout->table_size, sizeof(uint32_t)))
        return false;
    layout->connections = end;
    if (!append(&end, slots, each))
        return false;
    layout->mailboxes = end = align(end, MAILBOXES_ALIGN);
    if (!append(&end, slots, mailbox))
        return false;
    layout->bytes = align(end, ARIES_MSGQ_PAGE_BYTES);
    return layout->bytes <= UINT32_MAX;
}

gni_return_t GNI_MsgqSize(gni_msgq_attr_t *attrs, uint32_t *size)
{
    struct aries_msgq_layout layout;

    if (size == NULL || !aries_msgq_layout_of(attrs, 1, &layout))
        return GNI_RC_INVALID_PARAM;
    *size = (uint32_t)layout.bytes;
    return GNI_RC_SUCCESS;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void *place(struct aries_msgq_region *region, uint64_t offset)
{
    return (uint8_t *)region + offset;
}

struct aries_msgq_instance *aries_msgq_instance_at(struct aries_msgq_region *region, uint32_t index)
{
    return (struct aries_msgq_instance *)place(region, region->layout.instances) + index;
}

uint32_t aries_msgq_instance_of(struct aries_msgq_region *region, uint32_t id)
{
    uint32_t index;

    for (index = 0; index < region->attrs.nloc_insts; index++) {
        const struct aries_msgq_instance *instance = aries_msgq_instance_at(region, index);

        if (instance->id == id && instance->present == ARIES_MSGQ_ATTACHED)
            return index;
    }
    return UINT32_MAX;
}

struct aries_msgq_message *aries_msgq_pool_at(struct aries_msgq_region *region, uint32_t index,
                                              uint32_t which)
{
    struct aries_msgq_message *pools = place(region, region->layout.pools);

    return pools + (uint64_t)index * region->attrs.rcv_pool_sz + which % region->attrs.rcv_pool_sz;
}

struct aries_msgq_connection *aries_msgq_connection_at(struct aries_msgq_region *region,
                                                       uint32_t index)
{
    return place(region,
                 region->layout.connections + (uint64_t)index * region->layout.connection_bytes);
}

uint8_t *aries_msgq_slot_busy(struct aries_msgq_connection *connection, uint32_t slot)
{
    return (uint8_t *)(connection + 1) + slot;
}

uint64_t aries_msgq_mailbox_offset(const struct aries_msgq_region *region, uint32_t index)
{
    return (uint64_t)index * region->layout.mailbox_bytes;
}

struct aries_msgq_count *aries_msgq_count_of(struct aries_msgq_connection *connection)
{
    struct aries_msgq_region *region = aries_msgq_region_of(connection);

    return place(region,
                 region->layout.mailboxes + aries_msgq_mailbox_offset(region, connection->index));
}

struct aries_msgq_record *aries_msgq_record_of(struct aries_msgq_connection *connection,
                                               uint32_t ahead)
{
    uint64_t slot = aries_msgq_slot_after(connection, connection->take_slot, ahead);
    uint8_t *slots = (uint8_t *)aries_msgq_count_of(connection) + ARIES_MSGQ_LINE;

    return (struct aries_msgq_record *)(slots +
                                        slot * aries_msgq_region_of(connection)->layout.slot_bytes);
}

/* ---- connections by PE address --------------------------------------------------------------- */

static uint32_t hash(const struct aries_msgq_region *region, uint32_t pe)
{
    return pe * 0x9e3779b1u >> 7 & (region->layout.table_size - 1);
}

static void table_insert(struct aries_msgq_region *region, struct aries_msgq_connection *connection)
{
    uint32_t *table = place(region, region->layout.table);
    uint32_t at = hash(region, connection->pe);

    while (table[at] != 0)
        at = (at + 1) & (region->layout.table_size - 1);
    table[at] = connection->index + 1;
}

struct aries_msgq_connection *aries_msgq_connection_of(struct aries_msgq_region *region,
                                                       uint32_t pe)
{
    const uint32_t *table = place(region, region->layout.table);
    uint32_t at = hash(region, pe);

    for (; table[at] != 0; at = (at + 1) & (region->layout.table_size - 1)) {
        struct aries_msgq_connection *connection = aries_msgq_connection_at(region, table[at] - 1);

        if (connection->pe == pe)
            return connection;
    }
    return NULL;
}

uint32_t aries_msgq_vacant(struct aries_msgq_region *region)
{
    uint32_t index = region->connections * region->lanes;

    while (aries_msgq_connection_at(region, index)->state != ARIES_MSGQ_FREE)
        index = (index + region->lanes) % region->slots;
    return index;
}

uint32_t aries_msgq_next_generation(struct aries_msgq_region *region, uint32_t index)
{
    return aries_msgq_connection_at(region, index)->drawn % ARIES_MSGQ_GENERATIONS + 1;
}

/* Sets up a connection at a free index. Its mailbox is cleared. */
static struct aries_msgq_connection *aries_sim_occupy(struct aries_msgq_region *region,
                                                      uint32_t index, uint32_t pe, uint32_t lane,
                                                      uint32_t generation)
{
    struct aries_msgq_connection *connection = aries_msgq_connection_at(region, index);
    uint32_t drawn = connection->drawn;

    assert(index < region->slots && connection->state == ARIES_MSGQ_FREE);
    memset(connection, 0, region->layout.connection_bytes);
    connection->state = ARIES_MSGQ_ASSIGNED;
    connection->index = index;
    connection->offset =
        region->layout.connections + (uint64_t)index * region->layout.connection_bytes;
    connection->pe = pe;
    connection->lane = lane;
    connection->drawn = drawn + 1;
    connection->generation = generation;
    return connection;
}

struct aries_msgq_connection *aries_msgq_connection_new(struct aries_msgq_region *region,
                                                        uint32_t pe, uint32_t index,
                                                        uint32_t generation)
{
    struct aries_msgq_connection *connection = aries_sim_occupy(region, index, pe, 0, generation);

    table_insert(region, connection);
    memset(aries_msgq_count_of(connection), 0, region->layout.mailbox_bytes);
    region->connections++;
    return connection;
}

/*
 * A message may have arrived before the lane was created. So the mailbox keeps its content;
 * records of an earlier generation are ignored.
 */
struct aries_msgq_connection *aries_msgq_lane_of(struct aries_msgq_region *region, uint32_t key)
{
    uint32_t pe = key & ((1u << ARIES_MSGQ_PE_BITS) - 1), lane = key >> ARIES_MSGQ_PE_BITS;
    struct aries_msgq_connection *first = aries_msgq_connection_of(region, pe), *connection;

    if (lane >= region->lanes || first == NULL)
        return NULL;
    connection = aries_msgq_connection_at(region, first->index + lane);
    return connection->state != ARIES_MSGQ_FREE
               ? connection
               : aries_sim_occupy(region, first->index + lane, pe, lane, first->generation);
}

void aries_msgq_connect(struct aries_msgq_region *region, struct aries_msgq_connection *first,
                        const struct aries_msgq_remote *remote, uint32_t count, uint64_t mailbox,
                        uint32_t place)
{
    uint32_t lane;

    for (lane = 0; lane < region->lanes && lane < count; lane++) {
        struct aries_msgq_connection *connection =
            aries_msgq_connection_at(region, first->index + lane);

        if (connection->state == ARIES_MSGQ_FREE)
            connection =
                aries_sim_occupy(region, first->index + lane, first->pe, lane, first->generation);
        connection->remote_generation = (uint32_t)(mailbox % ARIES_MSGQ_LINE);
        connection->remote_mailbox = mailbox - connection->remote_generation;
        if (region->lanes > 1)
            connection->remote_mailbox += (uint64_t)place * region->layout.mailbox_bytes;
        connection->remote_count = count;
        connection->last_sender = lane;
        memcpy(connection->remote, remote, count * sizeof(*remote));
        connection->state = ARIES_MSGQ_ACTIVE;
    }
}

bool aries_msgq_connection_idle(struct aries_msgq_region *region,
                                struct aries_msgq_connection *first)
{
    uint32_t lane;

    for (lane = 0; lane < region->lanes; lane++)
        if (aries_msgq_connection_at(region, first->index + lane)->in_flight > 0)
            return false;
    return true;
}

void aries_msgq_connection_free(struct aries_msgq_region *region,
                                struct aries_msgq_connection *first)
{
    uint32_t *table = place(region, region->layout.table), index;

    for (index = first->index; index < first->index + region->lanes; index++)
        aries_msgq_connection_at(region, index)->state = ARIES_MSGQ_FREE;
    assert(region->connections > 0);
    region->connections--;
    /* This is rare, so the table is rebuilt instead of repaired. */
    memset(table, 0, region->layout.table_size * sizeof(*table));
    for (index = 0; index < region->slots; index++)
        if (aries_msgq_connection_at(region, index)->state != ARIES_MSGQ_FREE &&
            aries_msgq_connection_at(region, index)->lane == 0)
            table_insert(region, aries_msgq_connection_at(region, index));
}

/* ---- records --------------------------------------------------------------------------------- */

/* Peers may write the record at any time, so the checks use a copy. */
bool aries_msgq_arrived(struct aries_msgq_connection *connection, uint32_t ahead)
{
    const struct aries_msgq_record *there = aries_msgq_record_of(connection, ahead);
    struct aries_msgq_record record;

    memcpy(&record, there, sizeof(record));
    return record.mark == (ARIES_MSGQ_MARK | connection->generation) &&
           record.number == connection->received + ahead &&
           record.length <= aries_msgq_region_of(connection)->attrs.max_msg_sz &&
           record.checksum == aries_msgq_checksum(&record, there + 1);
}

/* ---- finding the region ---------------------------------------------------------------------- */

static struct aries_msgq_shared *shared_find(const struct gni_nic *nic)
{
    struct aries_msgq_shared *shared = nic->hw->msgqs;

    while (shared != NULL &&
           (shared->closed || shared->ptag != nic->ptag || shared->cookie != nic->cdm->cookie))
        shared = shared->next;
    return shared;
}

struct aries_msgq_shared *aries_msgq_shared_open(struct gni_nic *nic, const gni_msgq_attr_t *attrs,
                                                 uint32_t lanes,
                                                 const struct aries_msgq_layout *layout)
{
    struct aries_msgq_shared *shared = lanes == 1 ? shared_find(nic) : NULL;
    struct aries_msgq_region *region;

    if (shared != NULL) {
        shared->refs++;
        return shared;
    }
    /* Untouched pages use no memory. */
    region = mmap(NULL, layout->bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
        return NULL;
    region->attrs = *attrs;
    region->layout = *layout;
    region->state = ARIES_MSGQ_FORMING;
    region->lanes = lanes;
    region->slots = attrs->num_msgq_eps * lanes;
    shared = g_new0(struct aries_msgq_shared, 1);
    shared->hw = nic->hw;
    shared->ptag = nic->ptag;
    shared->cookie = nic->cdm->cookie;
    shared->refs = 1;
    shared->region = region;
    shared->owners = g_new0(struct gni_msgq *, attrs->nloc_insts);
    shared->next = nic->hw->msgqs;
    nic->hw->msgqs = shared;
    aries_fabric_on_end(nic->hw->fabric, ARIES_END_MEMORY, free_all);
    return shared;
}

static void free_all(struct aries_fabric *fabric);

static void shared_free(struct aries_msgq_shared *shared)
{
    munmap(shared->region, shared->region->layout.bytes);
    g_free(shared->owners);
    g_free(shared->others);
    g_free(shared);
}

void aries_msgq_shared_unref(struct aries_msgq_shared *shared)
{
    struct aries_msgq_shared **link = &shared->hw->msgqs;

    if (--shared->refs > 0)
        return;
    while (*link != shared)
        link = &(*link)->next;
    *link = shared->next;
    shared_free(shared);
}

/* Frees the regions that are left when the fabric is destroyed. */
static void free_all(struct aries_fabric *fabric)
{
    uint32_t node;

    for (node = 0; node < fabric->nodes; node++) {
        struct aries_nic *hw = &fabric->nics[node];

        while (hw->msgqs != NULL) {
            struct aries_msgq_shared *next = hw->msgqs->next;

            shared_free(hw->msgqs);
            hw->msgqs = next;
        }
    }
}

/* ---- telling others -------------------------------------------------------------------------- */

void aries_msgq_notify_instance(struct aries_msgq_shared *shared, uint32_t index)
{
    const struct gni_msgq *owner = shared->owners[index];

    if (owner != NULL)
        aries_process_wake(owner->nic->process);
}

void aries_msgq_notify_all(struct aries_msgq_shared *shared)
{
    uint32_t index;

    for (index = 0; index < shared->region->attrs.nloc_insts; index++)
        aries_msgq_notify_instance(shared, index);
}

sim_noinline void aries_msgq_notify(const struct gni_msgq *first)
{
    const struct gni_msgq *msgq;
    uint32_t index;

    for (msgq = first; msgq != NULL; msgq = msgq->process_next) {
        for (index = 0; index < msgq->region->attrs.nloc_insts; index++) {
            const struct gni_msgq *other = msgq->shared->owners[index];

            if (other != NULL && other != msgq && (other->stalled || other->watch_count > 0))
                aries_msgq_notify_instance(msgq->shared, index);
        }
    }
}
