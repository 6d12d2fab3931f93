/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The thread of gnilnd. It sleeps until the NIC or LNet has something for it, as the driver's
 * scheduler threads do. It takes the node's lock for calls to LNet only: calls of uGNI let time
 * pass.
 */
#include <aries/aries.h>
#include <string.h>
#include "gni.h"

#define SCAN_INTERVAL SIM_S

void lnet_gni_wake(struct lnet_gni_ni *owner)
{
    owner->work = true;
    sim_wake(owner->fiber);
}

void lnet_gni_scan_fires(struct sim_event *event)
{
    struct lnet_gni_ni *owner = sim_container_of(sim_container_of(event, struct sim_timer, event),
                                                 struct lnet_gni_ni, scan);

    owner->scan_due = true;
    sim_timer_arm(&owner->scan, sim_now() + SCAN_INTERVAL);
    lnet_gni_wake(owner);
}

/* ---- its objects ----------------------------------------------------------------------------- */

static gni_return_t start(struct lnet_gni_ni *owner)
{
    uint32_t entries = (uint32_t)owner->ni->driver_values[LNET_GNI_FMA_CQ_SIZE], address;
    gni_return_t rc;

    rc = GNI_ConfigureJob(0, 0, LNET_GNI_PTAG, LNET_GNI_COOKIE, NULL);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CdmCreate(LNET_GNI_INSTANCE, LNET_GNI_PTAG, LNET_GNI_COOKIE,
                           GNI_CDM_MODE_ERR_NO_KILL, &owner->cdm);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CdmAttach(owner->cdm, 0, &address, &owner->nic);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CqCreate(owner->nic, entries, 0, GNI_CQ_NOBLOCK, NULL, NULL, &owner->tx_cq);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CqCreate(owner->nic, entries, 0, GNI_CQ_NOBLOCK, NULL, NULL, &owner->rx_cq);
    return rc;
}

/* ---- one pass -------------------------------------------------------------------------------- */

static struct lnet_gni_conn *conn_of(struct lnet_gni_ni *owner, uint32_t queue)
{
    return queue < owner->by_queue->len ? g_ptr_array_index(owner->by_queue, queue) : NULL;
}

static bool receive(struct lnet_gni_ni *owner)
{
    struct lnet_gni_conn *conn, *next;
    gni_cq_entry_t event;
    bool did = false;
    gni_return_t rc;

    while ((rc = GNI_CqGetEvent(owner->rx_cq, &event)) == GNI_RC_SUCCESS) {
        did = true;
        conn = conn_of(owner, (uint32_t)GNI_CQ_GET_REM_INST_ID(event));
        if (conn != NULL)
            lnet_gni_receive_all(conn);
    }
    if (rc == GNI_RC_ERROR_RESOURCE) { /* an overrun: any mailbox may have messages */
        did = true;
        list_for_each_entry_safe (conn, next, &owner->connections, on_ni)
            lnet_gni_receive_all(conn);
    }
    return did;
}

static bool completions(struct lnet_gni_ni *owner)
{
    gni_cq_entry_t event;
    bool did = false;
    gni_return_t rc;

    while ((rc = GNI_CqGetEvent(owner->tx_cq, &event)) != GNI_RC_NOT_DONE) {
        did = true;
        lnet_gni_tx_event(owner, event, rc);
    }
    return did;
}

/* Each connection is served in turn; a connection that ends meanwhile leaves the list. */
static bool transmit(struct lnet_gni_ni *owner)
{
    struct lnet_gni_conn *conn, *next;
    bool did = false;

    list_for_each_entry_safe (conn, next, &owner->connections, on_ni) {
        if (conn->state == LNET_GNI_CLOSED) {
            did |= lnet_gni_conn_destroy_if_idle(conn);
        } else if (conn->closing) {
            lnet_gni_conn_close(conn, conn->why);
            did = true;
        } else if (!list_empty(&conn->queued)) {
            did |= lnet_gni_send_queued(conn);
        }
    }
    return did;
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static void scan_conn(struct lnet_gni_conn *conn)
{
    struct lnet_gni_ni *owner = conn->owner;
    sim_time_t timeout = (sim_time_t)owner->ni->driver_values[LNET_GNI_TIMEOUT] * SIM_S;
    sim_time_t keepalive = timeout > 2 * SIM_S ? (timeout - SIM_S) / 2 : timeout / 2;

    if (sim_now() >= conn->last_rx + timeout) {
        conn->closing = true;
        conn->why = -ETIMEDOUT;
    } else if (sim_now() >= conn->last_tx + keepalive && list_empty(&conn->queued)) {
        lnet_gni_tx_queue(conn, lnet_gni_tx_new(owner, LNET_GNI_NOOP));
    }
}

static void scan(struct lnet_gni_ni *owner)
{
    struct lnet_gni_conn *conn;
    struct lnet_gni_peer *peer;

    owner->scan_due = false;
    list_for_each_entry (conn, &owner->connections, on_ni)
        if (conn->state == LNET_GNI_ESTABLISHED)
            scan_conn(conn);
    lnet_gni_datagrams_scan(owner);
    list_for_each_entry (peer, &owner->peers, on_ni) {
        struct list_head late;
        struct lnet_gni_tx *tx, *next;

        INIT_LIST_HEAD(&late);
        list_for_each_entry_safe (tx, next, &peer->waiting, on_list)
            if (tx->deadline <= sim_now())
                list_move_tail(&tx->on_list, &late);
        lnet_host_lock(owner->ni->node);
        lnet_gni_tx_fail_list(&late, -ETIMEDOUT);
        lnet_host_unlock(owner->ni->node);
    }
}

void lnet_gni_thread(void *context)
{
    static const struct sim_wait wait = {.text = "work for gnilnd"};
    struct lnet_gni_ni *owner = context;

    if (start(owner) != GNI_RC_SUCCESS) {
        owner->asleep = true;
        return; /* every send fails by its time-out */
    }
    owner->started = true;
    lnet_gni_wildcards_offer(owner);
    while (!owner->stopping) {
        bool did;

        sim_wait_prepare();
        owner->work = false;
        did = lnet_gni_datagrams_ended(owner);
        did |= receive(owner);
        did |= completions(owner);
        did |= lnet_gni_connect_wanted(owner);
        did |= transmit(owner);
        if (owner->scan_due)
            scan(owner);
        if (!did && !owner->work) {
            owner->asleep = true;
            sim_wait_prepared(SIM_NEVER, &wait);
            owner->asleep = false;
        }
    }
    owner->asleep = true;
}
