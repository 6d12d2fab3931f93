/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared message queues whose instances are different processes. Each has a region of its own. The
 * places of the instances are names of the fabric. The instances introduce themselves to each
 * other. A step that one instance takes with a connection all others take, too: it waits until they
 * have.
 */
#include "backend.h"

#include <assert.h>
#include <glib.h>
#include "nic/mem_handle.h"
#include "api/msgq.h"
#include "aries/misc/exceptions.h"

#define TIMEOUT (10 * SIM_S) /* for an instance that is stopped */

enum { /* answers of other instances, as a status */
       ABSENT = A_STATUS_AT_MDD_INV, /* there is no such instance */
       REFUSED = A_STATUS_AT_PROTECTION_ERR
};

struct aries_msgq_other {
    struct aries_live_link *link; /* the process of the instance; NULL: it has not come */
    const struct hello *pending_hello; /* in flight */
    bool acked, refuses; /* how it was answered */
};

struct hello { /* the introduction of an instance to another one */
    struct gni_msgq *msgq;
    uint32_t to;
};

/* A step that is sent to several instances. */
struct round {
    uint32_t open;
    bool refused, abandoned;
};

uint32_t aries_hw_msgq_lanes(void)
{
    return ARIES_MSGQ_LANES_MAX;
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct shm_key key_of(const struct gni_nic *nic, uint32_t kind, uint64_t what)
{
    return (struct shm_key){
        nic->hw->node, kind, {what, (uint64_t)nic->cdm->cookie << 8 | nic->ptag}};
}

static uint64_t value_of(const gni_msgq_attr_t *attrs)
{
    const uint64_t fields[] = {attrs->max_msg_sz,   attrs->smsg_q_sz,  attrs->rcv_pool_sz,
                               attrs->num_msgq_eps, attrs->nloc_insts, attrs->modes,
                               attrs->rcv_cq_sz};
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(fields); i++)
        value = sim_mix(value ^ fields[i]);
    return value;
}

/* Claims the attributes: those of the first instance count. False: they differ. */
static bool claim_attributes(const struct gni_nic *nic, const gni_msgq_attr_t *attrs)
{
    const struct shm_key key = key_of(nic, ARIES_LIVE_NAME_MSGQ_ATTRS, 0);
    uint64_t value = value_of(attrs);
    struct shm_name found;

    /* The name lasts as long as a process holds it, so a process with other attributes must not
     * claim it. */
    if (shm_lookup(aries_live.shm, &key, &found) == 0 && found.value != value)
        return false;
    if (shm_claim_shared(aries_live.shm, &key, value, &found) != 0)
        return false;
    if (found.value == value)
        return true;
    shm_unclaim(aries_live.shm, &key);
    return false;
}

uint32_t aries_hw_msgq_place(const struct gni_nic *nic, const gni_msgq_attr_t *attrs)
{
    const struct shm_key shared = key_of(nic, ARIES_LIVE_NAME_MSGQ_ATTRS, 0);
    struct shm_key key = key_of(nic, ARIES_LIVE_NAME_MSGQ, 0);

    assert(aries_live.shm != NULL && attrs->nloc_insts > 0);
    if (!claim_attributes(nic, attrs))
        return UINT32_MAX;
    if (shm_claim_free(aries_live.shm, &key, attrs->nloc_insts, 0) == 0)
        return (uint32_t)key.key[0];
    shm_unclaim(aries_live.shm, &shared);
    return UINT32_MAX;
}

static struct aries_live_link *owner_of(const struct gni_msgq *msgq, uint32_t place)
{
    const struct shm_key key = key_of(msgq->nic, ARIES_LIVE_NAME_MSGQ, place);

    return aries_live_name_owner(&key);
}

static struct aries_msgq_other *others_of(struct gni_msgq *msgq)
{
    assert(msgq->region != NULL && msgq->region->attrs.nloc_insts > 0);
    if (msgq->shared->others == NULL)
        msgq->shared->others = g_new0(struct aries_msgq_other, msgq->region->attrs.nloc_insts);
    return msgq->shared->others;
}

/* ---- steps of other instances -----------------------------------------------------------------
 */

static struct gni_msgq *msgq_at(uint8_t ptag, uint32_t cookie, uint32_t place)
{
    struct gni_msgq *msgq;

    for (msgq = aries_live.process->msgqs; msgq != NULL; msgq = msgq->process_next)
        if (msgq->nic->ptag == ptag && msgq->nic->cdm->cookie == cookie && msgq->index == place)
            return msgq;
    return NULL;
}

static void handle_left(struct gni_msgq *msgq, uint32_t place)
{
    struct aries_msgq_other *other = &others_of(msgq)[place];

    assert(place < msgq->region->attrs.nloc_insts);
    if (other->link != NULL)
        aries_msgq_instance_left(msgq, place);
    *other = (struct aries_msgq_other){NULL};
}

static uint8_t handle_came(struct gni_msgq *msgq, const struct aries_live_msgq *message,
                           struct aries_live_link *link)
{
    struct aries_msgq_other *other = &others_of(msgq)[message->from];

    assert(message->from < msgq->region->attrs.nloc_insts); /* is_valid has checked it */
    if (msgq->region->state != ARIES_MSGQ_FORMING)
        return REFUSED;
    if (other->link != NULL) /* its predecessor has not sent that it leaves */
        handle_left(msgq, message->from);
    aries_msgq_instance_joined(msgq, message->from, message->remote[0].id,
                               message->remote[0].handle);
    other->link = link;
    return 0;
}

/* False: this process does not hold the name. */
static bool unclaim_if_own(struct shm_key key, uint32_t kind, uint64_t what)
{
    const struct shm_peer *self = shm_self(aries_live.shm);
    struct shm_name found;

    key.kind = kind;
    key.key[0] = what;
    return shm_lookup(aries_live.shm, &key, &found) == 0 && found.slot == self->slot &&
           found.generation == self->generation && shm_unclaim(aries_live.shm, &key) == 0;
}

/* Gives back the names of a connection; `key`: any name of its queue. One of the instances holds
 * them. */
static bool unclaim_connection(struct shm_key key, uint32_t pe, uint32_t index)
{
    bool had = unclaim_if_own(key, ARIES_LIVE_NAME_MSGQ_PE, pe);

    return unclaim_if_own(key, ARIES_LIVE_NAME_MSGQ_INDEX, index) || had;
}

static bool is_free(const struct gni_msgq *msgq, uint32_t index)
{
    assert(index < msgq->region->attrs.num_msgq_eps);
    return aries_msgq_connection_at(msgq->region, index * msgq->region->lanes)->state ==
           ARIES_MSGQ_FREE;
}

static uint8_t handle_connection_step(struct gni_msgq *msgq, const struct aries_live_msgq *message)
{
    struct aries_msgq_region *region = msgq->region;
    struct aries_msgq_connection *first = aries_msgq_connection_of(region, message->pe);

    assert(message->index < region->attrs.num_msgq_eps); /* is_valid has checked it */
    if (message->step == ARIES_LIVE_ASSIGN) {
        if (first == NULL && is_free(msgq, message->index))
            aries_msgq_connection_new(region, message->pe, message->index * region->lanes,
                                      message->generation);
    } else if (message->step == ARIES_LIVE_VACATE) {
        if (first == NULL && is_free(msgq, message->index))
            unclaim_connection(key_of(msgq->nic, 0, 0), message->pe, message->index);
    } else if (first == NULL || first->generation != message->generation) {
        return 0; /* that connection was released, or this instance never knew it */
    } else if (message->step == ARIES_LIVE_CONNECT) {
        if (first->state == ARIES_MSGQ_ASSIGNED)
            aries_msgq_connect(region, first, message->remote, message->count, message->mailbox,
                               msgq->index);
    } else if (message->step == ARIES_LIVE_ASK) {
        return aries_msgq_connection_idle(region, first) ? 0 : REFUSED;
    } else {
        aries_msgq_connection_free(region, first);
    }
    return 0;
}

static bool is_valid(const struct gni_msgq *msgq, const struct aries_live_msgq *message)
{
    uint32_t i;

    if (message->from >= msgq->region->attrs.nloc_insts || message->from == msgq->index ||
        message->step > ARIES_LIVE_VACATE || message->pe >> ARIES_MSGQ_PE_BITS != 0 ||
        message->index >= msgq->region->attrs.num_msgq_eps || message->count > ARIES_MSGQ_LANES_MAX)
        return false;
    if ((message->step == ARIES_LIVE_CAME || message->step == ARIES_LIVE_CONNECT) &&
        message->count == 0)
        return false;
    if (message->step == ARIES_LIVE_ASSIGN &&
        (message->generation == 0 || message->generation > ARIES_MSGQ_GENERATIONS))
        return false;
    for (i = 0; i < message->count; i++)
        if (!aries_mem_handle_check(&message->remote[i].handle))
            return false;
    return true;
}

static uint8_t handle_step(struct aries_live_link *link, uint8_t ptag,
                           const struct aries_live_msgq *message)
{
    struct gni_msgq *msgq = msgq_at(ptag, message->cookie, message->to);

    if (msgq == NULL)
        return ABSENT;
    if (!is_valid(msgq, message))
        return A_STATUS_PKT_MALFORMED_CMD;
    if (message->step == ARIES_LIVE_LEFT) { /* it holds no name any more */
        if (others_of(msgq)[message->from].link == link)
            handle_left(msgq, message->from);
    } else if (owner_of(msgq, message->from) != link) {
        return REFUSED;
    } else if (message->step == ARIES_LIVE_CAME) {
        return handle_came(msgq, message, link);
    } else {
        return handle_connection_step(msgq, message);
    }
    aries_process_wake(msgq->nic->process);
    return 0;
}

sim_noinline uint8_t aries_live_msgq_arrived(const struct aries_live_link *link,
                                             const struct shm_record *record)
{
    struct aries_live_request request;
    struct aries_live_msgq message = {0};
    uint32_t count = record->count - (uint32_t)sizeof(request);
    uint8_t status;

    if (count < offsetof(struct aries_live_msgq, remote) || count > sizeof(message))
        return A_STATUS_PKT_MALFORMED_SIZE;
    memcpy(&request, record->bytes, sizeof(request));
    memcpy(&message, (const uint8_t *)record->bytes + sizeof(request), count);
    status = handle_step((struct aries_live_link *)link, request.ptag, &message);
    sim_wall.changes++;
    return status;
}

void aries_live_msgq_gone(const struct aries_live_link *link)
{
    struct gni_msgq *msgq;
    uint32_t place;

    assert(link != NULL);
    for (msgq = aries_live.process->msgqs; msgq != NULL; msgq = msgq->process_next)
        for (place = 0; place < msgq->region->attrs.nloc_insts; place++)
            if (others_of(msgq)[place].link == link)
                handle_left(msgq, place);
}

/* ---- steps of this instance -------------------------------------------------------------------
 */

/* False: there is no room now. */
static bool send_step(struct gni_msgq *msgq, struct aries_live_link *link,
                      struct aries_live_msgq *message, void (*done)(void *, uint8_t, uint8_t, bool),
                      void *context)
{
    struct aries_live_request request = {.ptag = msgq->nic->ptag};
    uint32_t bytes = (uint32_t)(offsetof(struct aries_live_msgq, remote) +
                                message->count * sizeof(message->remote[0]));

    assert(message->count <= ARIES_MSGQ_LANES_MAX && message->to < msgq->region->attrs.nloc_insts);
    message->cookie = msgq->nic->cdm->cookie;
    message->from = msgq->index;
    if (link->peer != NULL)
        return aries_live_send(link, ARIES_LIVE_MSGQ, &request, message, bytes, done, context);
    done(context, handle_step(link, request.ptag, message), 0,
         false); /* the other one is an instance of this process */
    return true;
}

static void round_reply(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct round *round = context;

    assert(round->open > 0);
    (void)info, (void)remote_overrun;
    round->refused |= status == REFUSED;
    sim_wall.changes++;
    if (--round->open == 0 && round->abandoned)
        g_free(round);
}

static bool round_complete(const void *what)
{
    return ((const struct round *)what)->open == 0;
}

/* Sends a step to all other instances. */
static void send_all(struct gni_msgq *msgq, struct aries_live_msgq *message, struct round *round)
{
    const sim_time_t deadline = sim_now() + TIMEOUT;
    struct aries_msgq_other *others = others_of(msgq);

    for (message->to = 0; message->to < msgq->region->attrs.nloc_insts; message->to++) {
        round->open++;
        while (aries_msgq_ok(msgq) && others[message->to].link != NULL) {
            if (send_step(msgq, others[message->to].link, message, round_reply, round) ||
                sim_now() >= deadline)
                break;
            sim_wall_poll();
        }
        if (!aries_msgq_ok(msgq) || others[message->to].link == NULL)
            round->open--;
    }
}

/* Sends a step to all others, and may wait until they have taken it. True: none refused. */
static bool run_round(struct gni_msgq *msgq, struct aries_live_msgq *message, bool await)
{
    const sim_time_t deadline = sim_now() + TIMEOUT;
    struct round *round = g_new0(struct round, 1);
    const struct sim_wait wait = {
        .text = "the other instances of a message queue", .ready = round_complete, .on = round};
    bool good;

    assert(round->open == 0 && msgq->refs > 0);
    msgq->refs++;
    send_all(msgq, message, round);
    while (await && round->open > 0 && sim_now() < deadline)
        sim_wait_until(deadline, &wait);
    aries_msgq_unref(msgq);
    good = round->open == 0 && !round->refused;
    round->abandoned = true;
    if (round->open == 0)
        g_free(round);
    return good;
}

static void introduced(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct hello *hello = context;
    struct aries_msgq_other *other = &others_of(hello->msgq)[hello->to];

    assert(hello->to < hello->msgq->region->attrs.nloc_insts);
    (void)info, (void)remote_overrun;
    if (other->pending_hello == hello) {
        other->pending_hello = NULL;
        other->acked = status == 0;
        other->refuses = status == REFUSED;
    }
    sim_wall.changes++;
    aries_msgq_unref(hello->msgq);
    g_free(hello);
}

static void introduce_to(struct gni_msgq *msgq, uint32_t place, struct aries_live_link *link)
{
    struct aries_live_msgq message = {.step = ARIES_LIVE_CAME, .to = place, .count = 1};
    struct hello *hello = g_new(struct hello, 1);
    struct aries_msgq_other *other = &others_of(msgq)[place];

    assert(place < msgq->region->attrs.nloc_insts && place != msgq->index);
    *hello = (struct hello){msgq, place};
    message.remote[0] = (struct aries_msgq_remote){msgq->nic->cdm->inst_id, msgq->handle};
    other->pending_hello = hello;
    msgq->refs++;
    if (send_step(msgq, link, &message, introduced, hello))
        return;
    other->pending_hello = NULL;
    g_free(hello);
    aries_msgq_unref(msgq);
}

int aries_hw_msgq_introduce(struct gni_msgq *msgq)
{
    struct aries_msgq_other *others = others_of(msgq);
    bool all = true;
    uint32_t place;

    for (place = 0; place < msgq->region->attrs.nloc_insts; place++) {
        struct aries_live_link *link;

        if (place == msgq->index)
            continue;
        link = others[place].acked || others[place].pending_hello != NULL ? NULL
                                                                          : owner_of(msgq, place);
        if (link != NULL && !link->gone)
            introduce_to(msgq, place, link);
        if (others[place].refuses)
            return -1;
        all &= others[place].acked;
    }
    return all;
}

/* The next queue may use the same connections. */
static void unclaim_connections(const struct gni_msgq *msgq, struct shm_key key)
{
    const struct aries_msgq_region *region = msgq->region;
    uint32_t index, left = region->connections;

    for (index = 0; left > 0 && index < region->attrs.num_msgq_eps; index++) {
        if (is_free(msgq, index))
            continue;
        unclaim_connection(key, aries_msgq_connection_at(msgq->region, index * region->lanes)->pe,
                           index);
        left--;
    }
}

void aries_hw_msgq_leave(struct gni_msgq *msgq, bool wait)
{
    const struct shm_key key = key_of(msgq->nic, ARIES_LIVE_NAME_MSGQ, msgq->index);
    const struct shm_key shared = key_of(msgq->nic, ARIES_LIVE_NAME_MSGQ_ATTRS, 0);
    struct aries_msgq_other *others = others_of(msgq);
    struct aries_live_msgq message = {.step = ARIES_LIVE_LEFT};
    uint32_t place;

    assert(msgq->index < msgq->region->attrs.nloc_insts);
    if (others[msgq->index].acked)
        return;
    others[msgq->index].acked = true;
    msgq->refs++;
    run_round(msgq, &message, wait);
    for (place = 0; place < msgq->region->attrs.nloc_insts; place++)
        others[place].link = NULL;
    unclaim_connections(msgq, key);
    aries_msgq_unref(msgq);
    shm_unclaim(aries_live.shm, &key);
    shm_unclaim(aries_live.shm, &shared);
}

bool aries_hw_msgq_assign(struct gni_msgq *msgq, uint32_t pe, uint32_t *index)
{
    const struct shm_key name = key_of(msgq->nic, ARIES_LIVE_NAME_MSGQ_PE, pe);
    struct shm_key place = key_of(msgq->nic, ARIES_LIVE_NAME_MSGQ_INDEX, 0);

    if (shm_claim(aries_live.shm, &name, 0, NULL) != 0)
        return false;
    if (shm_claim_free(aries_live.shm, &place, msgq->region->attrs.num_msgq_eps, 0) != 0) {
        shm_unclaim(aries_live.shm, &name);
        return false;
    }
    *index = (uint32_t)place.key[0] * msgq->region->lanes;
    if (is_free(msgq, (uint32_t)place.key[0]))
        return true;
    /* The process that held it has left or died: this queue is being torn down. */
    unclaim_connection(name, pe, (uint32_t)place.key[0]);
    return false;
}

static struct aries_live_msgq message_about(const struct aries_msgq_region *region,
                                            enum aries_live_msgq_step step,
                                            const struct aries_msgq_connection *first)
{
    return (struct aries_live_msgq){.step = step,
                                    .pe = first->pe,
                                    .index = first->index / region->lanes,
                                    .generation = first->generation};
}

void aries_hw_msgq_assigned(struct gni_msgq *msgq, const struct aries_msgq_connection *first)
{
    struct aries_live_msgq message = message_about(msgq->region, ARIES_LIVE_ASSIGN, first);

    run_round(msgq, &message, true);
}

void aries_hw_msgq_connected(struct gni_msgq *msgq, const struct aries_msgq_connection *first,
                             uint64_t mailbox)
{
    struct aries_live_msgq message = message_about(msgq->region, ARIES_LIVE_CONNECT, first);

    assert(first->remote_count <= ARIES_MSGQ_LANES_MAX);
    message.count = first->remote_count;
    message.mailbox = mailbox;
    memcpy(message.remote, first->remote, message.count * sizeof(message.remote[0]));
    run_round(msgq, &message, true);
}

bool aries_hw_msgq_others_idle(struct gni_msgq *msgq, const struct aries_msgq_connection *first)
{
    struct aries_live_msgq message = message_about(msgq->region, ARIES_LIVE_ASK, first);

    return run_round(msgq, &message, true);
}

/* Its names become free only when all have released it. Otherwise a step for the next connection
 * could reach an instance that still has this one. */
void aries_hw_msgq_released(struct gni_msgq *msgq, const struct aries_msgq_connection *first)
{
    const struct shm_key key = key_of(msgq->nic, 0, 0);
    struct aries_live_msgq message = message_about(msgq->region, ARIES_LIVE_RELEASE, first);

    msgq->refs++;
    run_round(msgq, &message, true);
    message.step = ARIES_LIVE_VACATE;
    if (!unclaim_connection(key, message.pe, message.index))
        run_round(msgq, &message, true);
    aries_msgq_unref(msgq);
}
