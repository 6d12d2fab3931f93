/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transport of datagram messages between the kernels of two nodes. Messages of one pair of
 * instances are sent one after the other, so they arrive in order whatever the network does. A
 * message that is lost, or finds no attached instance, is sent again. After several tries a
 * message to a dead node is given up.
 */
#include "nic/datagram.h"

#include <assert.h>
#include <glib.h>
#include <stdlib.h>

#define RETRY (2 * SIM_MS) /* assumed: the interval of the driver was not published */
#define RETRY_UNATTACHED_MAX (64 * SIM_MS)
#define DEAD_TRIES 10u
#define HEADER_BYTES 64u
#define BUCKETS 256u /* per node; a power of two */

struct aries_kernel {
    struct aries_list buckets[BUCKETS];
};

static void try_send(struct aries_datagram_message *message);

/* ---- queues ---------------------------------------------------------------------------------- */

static struct aries_list *bucket_of(const struct aries_datagram_message *message)
{
    struct aries_nic *nic = message->from.nic;
    uint64_t key = (uint64_t)message->to.pe << 32 | message->to.inst_id;
    uint32_t i;

    if (nic->kernel == NULL) {
        nic->kernel = malloc(sizeof(*nic->kernel));
        if (nic->kernel == NULL)
            abort();
        for (i = 0; i < BUCKETS; i++)
            aries_list_init(&nic->kernel->buckets[i]);
    }
    return &nic->kernel->buckets[sim_mix(key + message->from.inst_id) & (BUCKETS - 1)];
}

static bool same_pair(const struct aries_datagram_message *a,
                      const struct aries_datagram_message *b)
{
    return a->to.pe == b->to.pe && a->to.inst_id == b->to.inst_id &&
           a->from.inst_id == b->from.inst_id && a->cookie == b->cookie && a->ptag == b->ptag;
}

/* The oldest message of the same pair in its bucket. */
static struct aries_datagram_message *first_of_pair(const struct aries_datagram_message *message)
{
    struct aries_list *bucket = bucket_of(message), *node;

    for (node = bucket->next; node != bucket; node = node->next) {
        struct aries_datagram_message *other =
            sim_container_of(node, struct aries_datagram_message, link);

        if (same_pair(other, message))
            return other;
    }
    return NULL;
}

/* Frees a message that is done and starts the next one of its pair. */
static void finish(struct aries_datagram_message *message, enum sim_ledger_outcome outcome)
{
    struct aries_datagram_message *next;

    sim_timer_cancel(&message->timer);
    aries_list_remove(&message->link);
    sim_ledger_settle(&message->entry, outcome);
    next = first_of_pair(message);
    free(message);
    if (next != NULL && !next->started)
        try_send(next);
}

static void give_up(struct aries_datagram_message *message)
{
    if (message->session != NULL)
        aries_datagram_failed(message->session);
    finish(message, SIM_LEDGER_ABANDONED);
}

/* ---- one try --------------------------------------------------------------------------------- */

void aries_datagram_send_ended(struct aries_datagram_message *message, bool accepted)
{
    assert(message->copies > 0);
    message->copies--;
    if (!message->arrived) {
        if (!accepted) {
            if (message->copies == 0 &&
                (message->kind != ARIES_DATAGRAM_OFFER || message->withdrawn)) {
                /* Only an offer is repeated until its instance exists. */
                finish(message, SIM_LEDGER_ABANDONED);
            } else if (message->copies == 0) {
                sim_timer_arm(&message->timer, sim_now() + message->pause);
                if (message->pause < RETRY_UNATTACHED_MAX)
                    message->pause *= 2;
            }
            return;
        }
        message->arrived = true;
        if (message->session != NULL) { /* the receiver could not clear this pointer */
            aries_datagram_offer_arrived(message->session);
            message->session = NULL;
        }
        sim_ledger_deliver(&message->entry, message->length,
                           sim_ledger_digest(message->data, message->length, 0));
    }
    if (message->copies == 0)
        finish(message, SIM_LEDGER_OK);
}

static void describe_message(const void *what, struct sim_fault_hit *hit)
{
    const struct aries_datagram_message *message = what;

    g_strlcpy(hit->what, "datagram", sizeof(hit->what));
    g_snprintf(hit->extent, sizeof(hit->extent), "%u B", (unsigned)message->length);
}

/* Applies the scenario's faults to the message. True: it was dropped or delayed. */
static bool fault_injected(struct aries_datagram_message *message)
{
    struct aries_fabric *fabric = message->from.nic->fabric;
    struct sim_fault_subject subject = {
        .describe = describe_message,
        .what = message,
        .source = message->from.nic->node,
        .target = message->to.nic->node,
        .source_group = net_group_of(fabric->net, message->from.nic->node),
        .target_group = net_group_of(fabric->net, message->to.nic->node),
        .kind = message->kind,
    };
    const struct sim_fault_rule *rule;

    if (message->decided) {
        message->decided = false;
        return false;
    }
    rule = sim_fault_ask(&fabric->fault_datagram, &subject);
    if (rule == NULL)
        return false;
    sim_trace_add_text("do", sim_fault_action_name(rule->action));
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, subject.source, 0, "datagram fault", sim_now(), 0,
              0, rule->action);
    switch (rule->action) {
    case SIM_FAULT_DROP:
        sim_timer_arm(&message->timer, sim_now() + RETRY);
        return true;
    case SIM_FAULT_DELAY:
        message->decided = true;
        sim_timer_arm(&message->timer, sim_now() + rule->delay);
        return true;
    case SIM_FAULT_DUPLICATE:
        message->copies++;
        aries_hw_kernel_send(message, HEADER_BYTES + message->length);
        return false;
    default:
        return false;
    }
}

static void try_send(struct aries_datagram_message *message)
{
    message->started = true;
    if (!message->from.nic->alive) {
        finish(message, SIM_LEDGER_ABANDONED);
        return;
    }
    if (message->to.nic == NULL || !message->to.nic->alive) {
        if (++message->failures > DEAD_TRIES)
            give_up(message);
        else
            sim_timer_arm(&message->timer, sim_now() + RETRY);
        return;
    }
    if (fault_injected(message))
        return;
    message->copies++;
    sim_timer_arm(&message->timer, sim_now() + RETRY);
    aries_hw_kernel_send(message, HEADER_BYTES + message->length);
}

static void timer_fired(struct sim_event *event)
{
    struct aries_datagram_message *message =
        sim_container_of(event, struct aries_datagram_message, timer.event);

    if (message->copies != 0 && message->from.nic->alive && message->to.nic->alive) {
        sim_timer_arm(&message->timer, sim_now() + RETRY); /* sent later */
        return;
    }
    message->copies = 0; /* a dead node neither sends nor receives */
    if (message->arrived)
        finish(message, SIM_LEDGER_OK);
    else
        try_send(message);
}

/* ---- for datagram.c -------------------------------------------------------------------------- */

struct aries_datagram_message *aries_datagram_send(const struct aries_datagram_message *content)
{
    struct aries_datagram_message *message = malloc(sizeof(*message));
    struct aries_fabric *fabric = content->from.nic->fabric;
    uint32_t target = content->to.nic != NULL ? content->to.nic->node : UINT32_MAX;

    if (message == NULL)
        abort();
    *message = *content;
    message->timer = (struct sim_timer){.event = {timer_fired}};
    message->failures = message->copies = 0;
    message->started = message->arrived = message->decided = message->withdrawn = false;
    message->pause = RETRY;
    sim_ledger_open(&fabric->book_datagram, &message->entry, content->from.nic->node, target,
                    content->length);
    sim_ledger_hand_in(&message->entry, sim_ledger_digest(message->data, message->length, 0));
    aries_list_add(bucket_of(message), &message->link);
    if (!content->from.nic->alive) { /* a dead node sends nothing */
        finish(message, SIM_LEDGER_ABANDONED);
        return NULL;
    }
    if (first_of_pair(message) == message)
        try_send(message);
    return message;
}

bool aries_datagram_withdraw(struct aries_datagram_message *message)
{
    if (message->copies != 0) {
        message->withdrawn = true;
        return false;
    }
    finish(message, SIM_LEDGER_ABANDONED);
    return true;
}

void aries_datagram_kernel_fini(struct aries_fabric *fabric)
{
    uint32_t node, i;

    for (node = 0; node < fabric->nodes; node++) {
        struct aries_kernel *kernel = fabric->nics[node].kernel;

        for (i = 0; kernel != NULL && i < BUCKETS; i++) {
            while (!aries_list_empty(&kernel->buckets[i])) {
                struct aries_datagram_message *message =
                    sim_container_of(kernel->buckets[i].next, struct aries_datagram_message, link);

                aries_list_remove(&message->link);
                free(message);
            }
        }
        free(kernel);
        fabric->nics[node].kernel = NULL;
    }
}
