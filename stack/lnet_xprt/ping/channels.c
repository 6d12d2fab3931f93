/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A machine whose events the application delivers itself. Several threads take its channel back at
 * the moment when the event thread waits to signal it: each of them returns once it has. One
 * request of a signal is one signal, and a stop ends the receive buffers.
 */
#include "edges_pvt.h"
#include "lib/chan.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "lib/thread.h"

enum { TAKERS = 3 };
#define WHILE (M0_TIME_ONE_SECOND / 100) /* the other threads have come to their waits by then */

struct channels {
    struct edges *edges;
    struct m0_net_transfer_mc tm;
    struct m0_mutex guard;
    struct m0_chan chan;
    struct m0_clink clink;
    struct m0_thread takers[TAKERS];
    unsigned settled, taken; /* under edges->lock */
};

static void changed(struct channels *channels, unsigned *count)
{
    m0_mutex_lock(&channels->edges->lock);
    ++*count;
    m0_cond_broadcast(&channels->edges->changed);
    m0_mutex_unlock(&channels->edges->lock);
}

static void await(struct channels *channels, const unsigned *count, unsigned wanted)
{
    m0_mutex_lock(&channels->edges->lock);
    while (*count < wanted)
        m0_cond_wait(&channels->edges->changed);
    m0_mutex_unlock(&channels->edges->lock);
}

static void on_machine(const struct m0_net_tm_event *event)
{
    struct channels *channels = container_of(event->nte_tm, struct channels, tm);

    if (event->nte_type == M0_NET_TEV_STATE_CHANGE)
        changed(channels, &channels->settled);
}

static const struct m0_net_tm_callbacks callbacks = {.ntc_event_cb = on_machine};

static int start(struct channels *channels, const char *address)
{
    int rc;

    channels->tm.ntm_callbacks = &callbacks;
    rc = m0_net_tm_init(&channels->tm, &channels->edges->dom);
    if (rc == 0)
        rc = m0_net_buffer_event_deliver_synchronously(&channels->tm);
    if (rc == 0)
        rc = m0_net_tm_start(&channels->tm, address);
    if (rc != 0)
        return m0_edges__wrong(channels->edges, "a machine that delivers no events: %s",
                               strerror(-rc));
    await(channels, &channels->settled, 1);
    return 0;
}

static void take_back(struct channels *channels)
{
    m0_net_buffer_event_notify(&channels->tm, NULL);
    changed(channels, &channels->taken);
}

static void sleep_a_while(void)
{
    m0_nanosleep(WHILE, NULL);
}

/* Queues a buffer and cancels it: an event. */
static int cause_event(struct channels *channels, struct edges_buffer *buffer)
{
    int rc;

    buffer->nb.nb_qtype = M0_NET_QT_PASSIVE_BULK_SEND;
    buffer->nb.nb_ep = NULL;
    buffer->nb.nb_length = 1;
    buffer->nb.nb_timeout = M0_TIME_NEVER;
    buffer->events = 0;
    rc = m0_net_buffer_add(&buffer->nb, &channels->tm);
    if (rc == 0)
        m0_net_buffer_del(&buffer->nb, &channels->tm);
    return rc;
}

static int take_event(struct channels *channels, struct edges_buffer *buffer)
{
    int rc;

    m0_net_buffer_event_deliver_all(&channels->tm);
    rc = m0_edges__expect_end(buffer, -ECANCELED);
    m0_net_desc_free(&buffer->nb.nb_desc);
    return rc;
}

/* One request, one signal, however many events come. */
static int one_signal(struct channels *channels)
{
    struct edges_buffer *buffers = channels->edges->buffers;
    int rc;

    m0_net_buffer_event_notify(&channels->tm, &channels->chan);
    rc = cause_event(channels, &buffers[0]);
    if (rc == 0) {
        m0_chan_wait(&channels->clink);
        rc = cause_event(channels, &buffers[1]);
    }
    if (rc != 0)
        return m0_edges__wrong(channels->edges, "a buffer of a channel: %s", strerror(-rc));
    sleep_a_while();
    if (m0_chan_trywait(&channels->clink))
        return m0_edges__wrong(channels->edges, "a channel was signalled twice");
    rc = take_event(channels, &buffers[0]);
    m0_net_desc_free(&buffers[1].nb.nb_desc);
    return rc;
}

/* The guard keeps the event thread from its signal until all takers wait for that. */
static int take_back_at_once(struct channels *channels)
{
    struct edges_buffer *buffer = &channels->edges->buffers[0];
    unsigned i;
    int rc;

    m0_mutex_lock(&channels->guard);
    m0_net_buffer_event_notify(&channels->tm, &channels->chan);
    rc = cause_event(channels, buffer);
    sleep_a_while();
    for (i = 0; rc == 0 && i < TAKERS; i++)
        rc = M0_THREAD_INIT(&channels->takers[i], struct channels *, NULL, &take_back, channels,
                            "taker");
    sleep_a_while();
    m0_mutex_unlock(&channels->guard);
    if (rc != 0)
        return m0_edges__wrong(channels->edges, "taking a channel back: %s", strerror(-rc));
    await(channels, &channels->taken, TAKERS);
    for (i = 0; i < TAKERS; i++) {
        m0_thread_join(&channels->takers[i]);
        m0_thread_fini(&channels->takers[i]);
    }
    if (!m0_chan_trywait(&channels->clink))
        return m0_edges__wrong(channels->edges, "a channel was not signalled");
    return take_event(channels, buffer);
}

/* A stop that cancels nothing ends receive buffers all the same: nothing else would. */
static int stop(struct channels *channels)
{
    struct edges_buffer *buffer = &channels->edges->buffers[0];
    int rc;

    buffer->nb.nb_qtype = M0_NET_QT_MSG_RECV;
    buffer->nb.nb_min_receive_size = buffer->nb.nb_max_receive_msgs = 1;
    buffer->events = 0;
    rc = m0_net_buffer_add(&buffer->nb, &channels->tm);
    if (rc != 0)
        return m0_edges__wrong(channels->edges, "a receive buffer: %s", strerror(-rc));
    channels->settled = 0;
    m0_net_tm_stop(&channels->tm, false);
    await(channels, &channels->settled, 1);
    m0_net_tm_fini(&channels->tm);
    return m0_edges__expect_end(buffer, -ECANCELED);
}

int m0_edges__channels(struct edges *edges, const char *address)
{
    struct channels channels = {.edges = edges};
    int rc = start(&channels, address);

    if (rc != 0)
        return rc;
    m0_mutex_init(&channels.guard);
    m0_chan_init(&channels.chan, &channels.guard);
    m0_clink_init(&channels.clink, NULL);
    m0_clink_add_lock(&channels.chan, &channels.clink);
    rc = take_back_at_once(&channels);
    if (rc == 0)
        rc = one_signal(&channels);
    if (rc != 0)
        return rc; /* buffers may be queued: nothing is freed */
    m0_clink_del_lock(&channels.clink);
    m0_clink_fini(&channels.clink);
    m0_chan_fini_lock(&channels.chan);
    m0_mutex_fini(&channels.guard);
    return stop(&channels);
}
