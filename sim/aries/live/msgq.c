/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared message queues whose instances are different processes. Each has a region of its own. The
 * places of the instances are names of the fabric; they introduce themselves to each other, and
 * what one does with a connection all others do, too: it waits until they have.
 */
#include "backend.h"

#include <glib.h>
#include "nic/mem_handle.h"
#include "api/msgq.h"
#include "aries/misc/exceptions.h"

#define PATIENCE (10 * SIM_S) /* with one that is stopped */

enum { /* what the other says: as a status */
       ABSENT = A_STATUS_AT_MDD_INV, /* no such instance is here */
       REFUSED = A_STATUS_AT_PROTECTION_ERR
};

struct msgq_other {
    struct lnic_link *link; /* whose instance it is; NULL: has not come */
    const struct hello *telling; /* under way */
    bool told, refuses; /* what became of it */
};

struct hello { /* of an instance to another one */
    struct gni_msgq *msgq;
    uint32_t to;
};

/* What is said to several at once. */
struct round {
    uint32_t open;
    bool refused, abandoned;
};

uint32_t aries_hw_msgq_lanes(void)
{
    return MSGQ_LANES_MAX;
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct live_key key_of(const struct gni_nic *nic, uint32_t kind, uint64_t what)
{
    return (struct live_key){
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

/* The first one decides what the attributes are. False: they are different ones. */
static bool agree_on(const struct gni_nic *nic, const gni_msgq_attr_t *attrs)
{
    const struct live_key key = key_of(nic, LNIC_NAME_MSGQ_ATTRS, 0);
    uint64_t value = value_of(attrs);
    struct live_name found;

    /* The name lasts as long as anybody has it: who does not belong there takes no part in it. */
    if (live_lookup(lnic_backend.live, &key, &found) == 0 && found.value != value)
        return false;
    if (live_claim_shared(lnic_backend.live, &key, value, &found) != 0)
        return false;
    if (found.value == value)
        return true;
    live_unclaim(lnic_backend.live, &key);
    return false;
}

uint32_t aries_hw_msgq_place(const struct gni_nic *nic, const gni_msgq_attr_t *attrs)
{
    const struct live_key shared = key_of(nic, LNIC_NAME_MSGQ_ATTRS, 0);
    struct live_key key = key_of(nic, LNIC_NAME_MSGQ, 0);

    if (!agree_on(nic, attrs))
        return UINT32_MAX;
    if (live_claim_free(lnic_backend.live, &key, attrs->nloc_insts, 0) == 0)
        return (uint32_t)key.key[0];
    live_unclaim(lnic_backend.live, &shared);
    return UINT32_MAX;
}

static struct lnic_link *owner_of(const struct gni_msgq *msgq, uint32_t place)
{
    const struct live_key key = key_of(msgq->nic, LNIC_NAME_MSGQ, place);

    return lnic_owner(&key);
}

static struct msgq_other *others_of(struct gni_msgq *msgq)
{
    if (msgq->shared->others == NULL)
        msgq->shared->others = g_new0(struct msgq_other, msgq->region->attrs.nloc_insts);
    return msgq->shared->others;
}

/* ---- what another one says ------------------------------------------------------------------- */

static struct gni_msgq *msgq_at(uint8_t ptag, uint32_t cookie, uint32_t place)
{
    struct gni_msgq *msgq;

    for (msgq = lnic_backend.process->msgqs; msgq != NULL; msgq = msgq->process_next)
        if (msgq->nic->ptag == ptag && msgq->nic->cdm->cookie == cookie && msgq->index == place)
            return msgq;
    return NULL;
}

static void other_left(struct gni_msgq *msgq, uint32_t place)
{
    struct msgq_other *other = &others_of(msgq)[place];

    if (other->link != NULL)
        msgq_went(msgq, place);
    *other = (struct msgq_other){NULL};
}

static uint8_t other_came(struct gni_msgq *msgq, const struct lnic_msgq *said,
                          struct lnic_link *link)
{
    struct msgq_other *other = &others_of(msgq)[said->from];

    if (msgq->region->state != MSGQ_FORMING)
        return REFUSED;
    if (other->link != NULL) /* its predecessor, which has not said that it has left */
        other_left(msgq, said->from);
    msgq_came(msgq, said->from, said->remote[0].id, said->remote[0].handle);
    other->link = link;
    return 0;
}

/* False: this process does not have the name. */
static bool give_back(struct live_key key, uint32_t kind, uint64_t what)
{
    const struct live_peer *self = live_self(lnic_backend.live);
    struct live_name found;

    key.kind = kind;
    key.key[0] = what;
    return live_lookup(lnic_backend.live, &key, &found) == 0 && found.slot == self->slot &&
           found.generation == self->generation && live_unclaim(lnic_backend.live, &key) == 0;
}

/* The names of a connection; `key`: any of its queue's. One of the instances has them. */
static bool give_back_both(struct live_key key, uint32_t pe, uint32_t index)
{
    bool had = give_back(key, LNIC_NAME_MSGQ_PE, pe);

    return give_back(key, LNIC_NAME_MSGQ_INDEX, index) || had;
}

static bool is_free(const struct gni_msgq *msgq, uint32_t index)
{
    return msgq_connection_at(msgq->region, index * msgq->region->lanes)->state == MSGQ_FREE;
}

static uint8_t connection_said(struct gni_msgq *msgq, const struct lnic_msgq *said)
{
    struct msgq_region *region = msgq->region;
    struct msgq_connection *first = msgq_connection_of(region, said->pe);

    if (said->step == LNIC_ASSIGN) {
        if (first == NULL && is_free(msgq, said->index))
            msgq_connection_new(region, said->pe, said->index * region->lanes, said->generation);
    } else if (said->step == LNIC_VACATE) {
        if (first == NULL && is_free(msgq, said->index))
            give_back_both(key_of(msgq->nic, 0, 0), said->pe, said->index);
    } else if (first == NULL || first->generation != said->generation) {
        return 0; /* that one was released, or it never came to know of it */
    } else if (said->step == LNIC_CONNECT) {
        if (first->state == MSGQ_ASSIGNED)
            msgq_connect(region, first, said->remote, said->count, said->mailbox, msgq->index);
    } else if (said->step == LNIC_ASK) {
        return msgq_connection_idle(region, first) ? 0 : REFUSED;
    } else {
        msgq_connection_free(region, first);
    }
    return 0;
}

static bool sane(const struct gni_msgq *msgq, const struct lnic_msgq *said)
{
    uint32_t i;

    if (said->from >= msgq->region->attrs.nloc_insts || said->from == msgq->index ||
        said->step > LNIC_VACATE || said->pe >> MSGQ_PE_BITS != 0 ||
        said->index >= msgq->region->attrs.num_msgq_eps || said->count > MSGQ_LANES_MAX)
        return false;
    if ((said->step == LNIC_CAME || said->step == LNIC_CONNECT) && said->count == 0)
        return false;
    if (said->step == LNIC_ASSIGN && (said->generation == 0 || said->generation > MSGQ_GENERATIONS))
        return false;
    for (i = 0; i < said->count; i++)
        if (!aries_mem_handle_check(&said->remote[i].handle))
            return false;
    return true;
}

static uint8_t hear(struct lnic_link *link, uint8_t ptag, const struct lnic_msgq *said)
{
    struct gni_msgq *msgq = msgq_at(ptag, said->cookie, said->to);

    if (msgq == NULL)
        return ABSENT;
    if (!sane(msgq, said))
        return A_STATUS_PKT_MALFORMED_CMD;
    if (said->step == LNIC_LEFT) { /* which has no name any more */
        if (others_of(msgq)[said->from].link == link)
            other_left(msgq, said->from);
    } else if (owner_of(msgq, said->from) != link) {
        return REFUSED;
    } else if (said->step == LNIC_CAME) {
        return other_came(msgq, said, link);
    } else {
        return connection_said(msgq, said);
    }
    aries_process_wake(msgq->nic->process);
    return 0;
}

sim_noinline uint8_t lnic_msgq_arrived(const struct lnic_link *link,
                                       const struct live_record *record)
{
    struct lnic_request request;
    struct lnic_msgq said = {0};
    uint32_t count = record->count - (uint32_t)sizeof(request);
    uint8_t status;

    if (count < offsetof(struct lnic_msgq, remote) || count > sizeof(said))
        return A_STATUS_PKT_MALFORMED_SIZE;
    memcpy(&request, record->bytes, sizeof(request));
    memcpy(&said, (const uint8_t *)record->bytes + sizeof(request), count);
    status = hear((struct lnic_link *)link, request.ptag, &said);
    sim_wall.changes++;
    return status;
}

void lnic_msgq_gone(const struct lnic_link *link)
{
    struct gni_msgq *msgq;
    uint32_t place;

    for (msgq = lnic_backend.process->msgqs; msgq != NULL; msgq = msgq->process_next)
        for (place = 0; place < msgq->region->attrs.nloc_insts; place++)
            if (others_of(msgq)[place].link == link)
                other_left(msgq, place);
}

/* ---- what this one says ---------------------------------------------------------------------- */

/* False: it has no room now. */
static bool say(struct gni_msgq *msgq, struct lnic_link *link, struct lnic_msgq *said,
                void (*done)(void *, uint8_t, uint8_t, bool), void *context)
{
    struct lnic_request request = {.ptag = msgq->nic->ptag};
    uint32_t bytes =
        (uint32_t)(offsetof(struct lnic_msgq, remote) + said->count * sizeof(said->remote[0]));

    said->cookie = msgq->nic->cdm->cookie;
    said->from = msgq->index;
    if (link->peer != NULL)
        return lnic_say(link, LNIC_MSGQ, &request, said, bytes, done, context);
    done(context, hear(link, request.ptag, said), 0, false); /* an instance of this process */
    return true;
}

static void heard(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct round *round = context;

    (void)info, (void)remote_overrun;
    round->refused |= status == REFUSED;
    sim_wall.changes++;
    if (--round->open == 0 && round->abandoned)
        g_free(round);
}

static bool all_heard(const void *what)
{
    return ((const struct round *)what)->open == 0;
}

/* To all others that are there. */
static void say_all(struct gni_msgq *msgq, struct lnic_msgq *said, struct round *round)
{
    const sim_time_t deadline = sim_now() + PATIENCE;
    struct msgq_other *others = others_of(msgq);

    for (said->to = 0; said->to < msgq->region->attrs.nloc_insts; said->to++) {
        round->open++;
        while (msgq_ok(msgq) && others[said->to].link != NULL) {
            if (say(msgq, others[said->to].link, said, heard, round) || sim_now() >= deadline)
                break;
            sim_wall_poll();
        }
        if (!msgq_ok(msgq) || others[said->to].link == NULL)
            round->open--;
    }
}

/* The same; may wait until they have done it. True: all have said yes. */
static bool agree(struct gni_msgq *msgq, struct lnic_msgq *said, bool await)
{
    const sim_time_t deadline = sim_now() + PATIENCE;
    struct round *round = g_new0(struct round, 1);
    const struct sim_wait wait = {
        .text = "the other instances of a message queue", .ready = all_heard, .on = round};
    bool good;

    msgq->refs++;
    say_all(msgq, said, round);
    while (await && round->open > 0 && sim_now() < deadline)
        sim_wait_until(deadline, &wait);
    msgq_unref(msgq);
    good = round->open == 0 && !round->refused;
    round->abandoned = true;
    if (round->open == 0)
        g_free(round);
    return good;
}

static void introduced(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct hello *hello = context;
    struct msgq_other *other = &others_of(hello->msgq)[hello->to];

    (void)info, (void)remote_overrun;
    if (other->telling == hello) {
        other->telling = NULL;
        other->told = status == 0;
        other->refuses = status == REFUSED;
    }
    sim_wall.changes++;
    msgq_unref(hello->msgq);
    g_free(hello);
}

static void introduce_to(struct gni_msgq *msgq, uint32_t place, struct lnic_link *link)
{
    struct lnic_msgq said = {.step = LNIC_CAME, .to = place, .count = 1};
    struct hello *hello = g_new(struct hello, 1);
    struct msgq_other *other = &others_of(msgq)[place];

    *hello = (struct hello){msgq, place};
    said.remote[0] = (struct msgq_remote){msgq->nic->cdm->inst_id, msgq->handle};
    other->telling = hello;
    msgq->refs++;
    if (say(msgq, link, &said, introduced, hello))
        return;
    other->telling = NULL;
    g_free(hello);
    msgq_unref(msgq);
}

int aries_hw_msgq_introduce(struct gni_msgq *msgq)
{
    struct msgq_other *others = others_of(msgq);
    bool all = true;
    uint32_t place;

    for (place = 0; place < msgq->region->attrs.nloc_insts; place++) {
        struct lnic_link *link;

        if (place == msgq->index)
            continue;
        link = others[place].told || others[place].telling != NULL ? NULL : owner_of(msgq, place);
        if (link != NULL && !link->gone)
            introduce_to(msgq, place, link);
        if (others[place].refuses)
            return -1;
        all &= others[place].told;
    }
    return all;
}

/* The next queue may have the same connections. */
static void give_back_all(const struct gni_msgq *msgq, struct live_key key)
{
    const struct msgq_region *region = msgq->region;
    uint32_t index, left = region->connections;

    for (index = 0; left > 0 && index < region->attrs.num_msgq_eps; index++) {
        if (is_free(msgq, index))
            continue;
        give_back_both(key, msgq_connection_at(msgq->region, index * region->lanes)->pe, index);
        left--;
    }
}

void aries_hw_msgq_leave(struct gni_msgq *msgq, bool wait)
{
    const struct live_key key = key_of(msgq->nic, LNIC_NAME_MSGQ, msgq->index);
    const struct live_key shared = key_of(msgq->nic, LNIC_NAME_MSGQ_ATTRS, 0);
    struct msgq_other *others = others_of(msgq);
    struct lnic_msgq said = {.step = LNIC_LEFT};
    uint32_t place;

    if (others[msgq->index].told)
        return;
    others[msgq->index].told = true;
    msgq->refs++;
    agree(msgq, &said, wait);
    for (place = 0; place < msgq->region->attrs.nloc_insts; place++)
        others[place].link = NULL;
    give_back_all(msgq, key);
    msgq_unref(msgq);
    live_unclaim(lnic_backend.live, &key);
    live_unclaim(lnic_backend.live, &shared);
}

bool aries_hw_msgq_assign(struct gni_msgq *msgq, uint32_t pe, uint32_t *index)
{
    const struct live_key name = key_of(msgq->nic, LNIC_NAME_MSGQ_PE, pe);
    struct live_key place = key_of(msgq->nic, LNIC_NAME_MSGQ_INDEX, 0);

    if (live_claim(lnic_backend.live, &name, 0, NULL) != 0)
        return false;
    if (live_claim_free(lnic_backend.live, &place, msgq->region->attrs.num_msgq_eps, 0) != 0) {
        live_unclaim(lnic_backend.live, &name);
        return false;
    }
    *index = (uint32_t)place.key[0] * msgq->region->lanes;
    if (is_free(msgq, (uint32_t)place.key[0]))
        return true;
    /* Whose it was has left or died: this queue is being torn down. */
    give_back_both(name, pe, (uint32_t)place.key[0]);
    return false;
}

static struct lnic_msgq about(const struct msgq_region *region, enum lnic_msgq_step step,
                              const struct msgq_connection *first)
{
    return (struct lnic_msgq){.step = step,
                              .pe = first->pe,
                              .index = first->index / region->lanes,
                              .generation = first->generation};
}

void aries_hw_msgq_assigned(struct gni_msgq *msgq, const struct msgq_connection *first)
{
    struct lnic_msgq said = about(msgq->region, LNIC_ASSIGN, first);

    agree(msgq, &said, true);
}

void aries_hw_msgq_connected(struct gni_msgq *msgq, const struct msgq_connection *first,
                             uint64_t mailbox)
{
    struct lnic_msgq said = about(msgq->region, LNIC_CONNECT, first);

    said.count = first->remote_count;
    said.mailbox = mailbox;
    memcpy(said.remote, first->remote, said.count * sizeof(said.remote[0]));
    agree(msgq, &said, true);
}

bool aries_hw_msgq_others_idle(struct gni_msgq *msgq, const struct msgq_connection *first)
{
    struct lnic_msgq said = about(msgq->region, LNIC_ASK, first);

    return agree(msgq, &said, true);
}

/* Nobody can have its names before all have released it: what is said of the next one would come to
 * who still has this one. */
void aries_hw_msgq_released(struct gni_msgq *msgq, const struct msgq_connection *first)
{
    const struct live_key key = key_of(msgq->nic, 0, 0);
    struct lnic_msgq said = about(msgq->region, LNIC_RELEASE, first);

    msgq->refs++;
    agree(msgq, &said, true);
    said.step = LNIC_VACATE;
    if (!give_back_both(key, said.pe, said.index))
        agree(msgq, &said, true);
    msgq_unref(msgq);
}
