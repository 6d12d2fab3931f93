/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The figures in the shared segment: watch.h. Called with the lock held. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "aries/watch.h"
#include "aries/machine.h"

#include <assert.h>
#include <glib.h>

#include "backend.h"
#include "lock.h"
#include "shm/seqlock.h"

_Static_assert(ARIES_WATCH_AT == ARIES_LIVE_MDDS * sizeof(struct aries_live_mdd),
               "behind the registrations");
_Static_assert(ARIES_WATCH_AT + sizeof(struct aries_watch) <= ARIES_LIVE_SEGMENT_BYTES,
               "there is room");

static void put_cq(struct aries_watch *watch, const struct gni_cq *cq)
{
    if (watch->cqs < ARIES_WATCH_CQS)
        watch->cq[watch->cqs] =
            (struct aries_watch_cq){cq->index, cq->capacity, cq->count, cq->overrun};
    watch->cqs++;
}

static void put_ep(struct aries_watch *watch, const struct gni_ep *ep)
{
    uint32_t busy = ep->tx_sent - ep->tx_returned;

    if (!ep->connected || ep->remote == NULL)
        return;
    if (watch->eps < ARIES_WATCH_EPS)
        watch->ep[watch->eps] = (struct aries_watch_ep){
            .node = ep->remote->node,
            .instance = ep->remote_id,
            .credits = ep->credits,
            .free = (uint16_t)(busy < ep->credits ? ep->credits - busy : 0),
            .sent = ep->tx_sent,
            .received = ep->rx_received,
            .broken = ep->broken,
        };
    watch->eps++;
}

static void put_nic(struct aries_watch *watch, const struct gni_nic *nic)
{
    const struct aries_list *link;

    watch->nics++;
    for (link = nic->cqs.next; link != &nic->cqs; link = link->next)
        put_cq(watch, sim_container_of(link, struct gni_cq, nic_link));
    for (link = nic->eps.next; link != &nic->eps; link = link->next)
        put_ep(watch, sim_container_of(link, struct gni_ep, nic_link));
    for (link = nic->mrs.next; link != &nic->mrs; link = link->next)
        watch->regions++;
}

/* ---- connections ----------------------------------------------------------------------------- */

struct connection {
    struct aries_list link; /* in the order of changes */
    struct aries_watch_vc vc;
};

static GHashTable *connections; /* by the library's id */
static struct aries_list changes = {&changes, &changes};

static void connection_free(void *connection)
{
    aries_list_remove(&((struct connection *)connection)->link);
    g_free(connection);
}

__attribute__((visibility("default"))) void
gni_machine_connection(const void *id, uint32_t nic_address, uint32_t instance, const char *state)
{
    const struct aries_nic *nic;
    struct connection *connection;

    aries_live_enter();
    if (connections == NULL)
        connections = g_hash_table_new_full(NULL, NULL, NULL, connection_free);
    if (state == NULL) {
        g_hash_table_remove(connections, id);
    } else if (aries_live.fabric != NULL) {
        nic = aries_nic_by_pe(aries_live.fabric, nic_address);
        connection = g_hash_table_lookup(connections, id);
        if (connection == NULL) {
            connection = g_new0(struct connection, 1);
            g_hash_table_insert(connections, (void *)(uintptr_t)id, connection);
        } else {
            aries_list_remove(&connection->link);
        }
        aries_list_add(&changes, &connection->link);
        connection->vc.node = nic != NULL ? nic->node : UINT32_MAX;
        connection->vc.instance = instance;
        connection->vc.since_ns = aries_live_ns(sim_now());
        g_strlcpy(connection->vc.state, state, sizeof(connection->vc.state));
    }
    aries_live_leave();
}

void aries_live_watch_forked(void)
{
    if (connections != NULL)
        g_hash_table_remove_all(connections);
}

static void put_connections(struct aries_watch *watch)
{
    const struct aries_list *link;
    uint32_t i = 0;

    watch->vcs = connections != NULL ? g_hash_table_size(connections) : 0;
    for (link = changes.previous; link != &changes && i < ARIES_WATCH_VCS; link = link->previous)
        watch->vc[i++] = sim_container_of(link, struct connection, link)->vc;
}

/* Whether anything has happened since the last figures. */
static bool moved(const struct aries_watch *watch, const struct aries_counters *counters)
{
    return watch->magic != ARIES_WATCH_MAGIC || watch->transactions != counters->transactions ||
           watch->bytes != counters->payload_bytes || watch->events != counters->events ||
           watch->errors != counters->errors || watch->smsg_sent != counters->smsg_sent ||
           watch->smsg_received != counters->smsg_received ||
           watch->datagrams != counters->datagrams;
}

void aries_live_watch_publish(void)
{
    const struct aries_counters *counters = &aries_live.fabric->counters;
    const struct aries_list *link;
    struct aries_watch *watch;

    assert(aries_live.shm != NULL && aries_live.segment != NULL);
    watch = (struct aries_watch *)((uint8_t *)aries_live.segment + ARIES_WATCH_AT);
    shm_seq_write_begin(&watch->sequence);
    watch->taken_ns = aries_live_ns(sim_now());
    if (moved(watch, counters))
        watch->progress_ns = watch->taken_ns;
    watch->magic = ARIES_WATCH_MAGIC;
    watch->transactions = counters->transactions;
    watch->bytes = counters->payload_bytes;
    watch->events = counters->events;
    watch->errors = counters->errors;
    watch->overruns = counters->overruns;
    watch->smsg_sent = counters->smsg_sent;
    watch->smsg_received = counters->smsg_received;
    watch->datagrams = counters->datagrams;
    watch->nics = watch->regions = watch->cqs = watch->eps = 0;
    for (link = aries_live.hw->attached.next; link != &aries_live.hw->attached; link = link->next)
        put_nic(watch, sim_container_of(link, struct gni_nic, nic_link));
    put_connections(watch);
    shm_seq_write_end(&watch->sequence);
}

/* A program that exits leaves its last figures and its whole trace. */
static void __attribute__((destructor)) at_the_end(void)
{
    aries_live_enter();
    if (aries_live.shm != NULL && aries_live.segment != NULL && !shm_forked(aries_live.shm))
        aries_live_watch_publish();
    aries_live_trace_end();
    aries_live_leave();
}
