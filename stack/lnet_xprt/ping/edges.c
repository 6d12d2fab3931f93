/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two transfer machines and a few buffers, each of whose events is verified. */
#include "m0/edges.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "edges_pvt.h"

#define SOON (M0_TIME_ONE_SECOND / 50) /* when a buffer is late */

int m0_edges__wrong(struct edges *edges, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(edges->text, edges->size, format, list);
    va_end(list);
    return -1;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_buffer(const struct m0_net_buffer_event *event)
{
    struct edges_buffer *buffer = container_of(event->nbe_buffer, struct edges_buffer, nb);
    struct edges *edges = buffer->edges;

    m0_mutex_lock(&edges->lock);
    if (event->nbe_ep != NULL)
        buffer->from_other &= strcmp(event->nbe_ep->nep_addr, edges->tm[1].ntm_ep->nep_addr) == 0;
    if (buffer->events < EVENTS)
        buffer->event[buffer->events] = *event;
    buffer->events++;
    m0_cond_broadcast(&edges->changed);
    m0_mutex_unlock(&edges->lock);
}

const struct m0_net_buffer_callbacks m0_edges__callbacks = {
    .nbc_cb = {on_buffer, on_buffer, on_buffer, on_buffer, on_buffer, on_buffer}};

static void on_machine(const struct m0_net_tm_event *event)
{
    struct edges *edges = container_of(event->nte_tm->ntm_dom, struct edges, dom);

    if (event->nte_type != M0_NET_TEV_STATE_CHANGE)
        return;
    m0_mutex_lock(&edges->lock);
    edges->settled++;
    m0_cond_broadcast(&edges->changed);
    m0_mutex_unlock(&edges->lock);
}

static const struct m0_net_tm_callbacks machine_callbacks = {.ntc_event_cb = on_machine};

static void await_settled(struct edges *edges)
{
    m0_mutex_lock(&edges->lock);
    while (edges->settled < MACHINES)
        m0_cond_wait(&edges->changed);
    edges->settled = 0;
    m0_mutex_unlock(&edges->lock);
}

static void await_events(struct edges_buffer *buffer, unsigned count)
{
    m0_mutex_lock(&buffer->edges->lock);
    while (buffer->events < count)
        m0_cond_wait(&buffer->edges->changed);
    m0_mutex_unlock(&buffer->edges->lock);
}

/* ---- contents -------------------------------------------------------------------------------- */

/* Pseudo-random: a byte of another key or place differs nearly always. */
static char byte_of(unsigned key, m0_bcount_t at)
{
    uint64_t word = (at + 1 + ((uint64_t)key << 32)) * UINT64_C(0x9e3779b97f4a7c15);

    return (char)((word ^ word >> 32) * UINT64_C(0xbf58476d1ce4e5b9) >> 56);
}

static void write_bytes(struct edges_buffer *buffer, m0_bcount_t bytes, unsigned key)
{
    struct m0_bufvec_cursor cursor;
    m0_bcount_t at;
    char byte;

    m0_bufvec_cursor_init(&cursor, &buffer->nb.nb_buffer);
    for (at = 0; at < BYTES; at++) {
        byte = at < bytes ? byte_of(key, at) : 0;
        m0_bufvec_cursor_copyto(&cursor, &byte, 1);
    }
    buffer->nb.nb_length = bytes;
}

static int expect_bytes(struct edges_buffer *buffer, m0_bcount_t offset, m0_bcount_t bytes,
                        unsigned key)
{
    struct m0_bufvec_cursor cursor;
    m0_bcount_t at;
    char byte;

    m0_bufvec_cursor_init(&cursor, &buffer->nb.nb_buffer);
    m0_bufvec_cursor_move(&cursor, offset);
    for (at = 0; at < bytes; at++) {
        m0_bufvec_cursor_copyfrom(&cursor, &byte, 1);
        if (byte != byte_of(key, at))
            return m0_edges__wrong(buffer->edges, "queue %d: byte %u of %u is wrong",
                                   (int)buffer->nb.nb_qtype, (unsigned)at, (unsigned)bytes);
    }
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

int m0_edges__add(struct edges_buffer *buffer, unsigned machine, enum m0_net_queue_type qtype,
                  m0_time_t timeout, m0_bcount_t receive_size, uint32_t messages_)
{
    int rc;

    buffer->nb.nb_qtype = qtype;
    if (qtype != M0_NET_QT_MSG_SEND)
        buffer->nb.nb_ep = NULL;
    buffer->nb.nb_timeout = timeout == 0 ? M0_TIME_NEVER : m0_time_add(m0_time_now(), timeout);
    buffer->nb.nb_min_receive_size = receive_size;
    buffer->nb.nb_max_receive_msgs = messages_;
    buffer->events = 0;
    buffer->from_other = true;
    rc = m0_net_buffer_add(&buffer->nb, &buffer->edges->tm[machine]);
    return rc == 0 ? 0 : m0_edges__wrong(buffer->edges, "queue %d: %s", (int)qtype, strerror(-rc));
}

static int add(struct edges_buffer *buffer, unsigned machine, enum m0_net_queue_type qtype,
               m0_time_t timeout)
{
    return m0_edges__add(buffer, machine, qtype, timeout, BYTES / MESSAGES, MESSAGES);
}

int m0_edges__expect_end(struct edges_buffer *buffer, int status)
{
    await_events(buffer, 1);
    return buffer->events == 1 && buffer->event[0].nbe_status == status
               ? 0
               : m0_edges__wrong(
                     buffer->edges, "queue %d: %u events, the first has status %d instead of %d",
                     (int)buffer->nb.nb_qtype, buffer->events, buffer->event[0].nbe_status, status);
}

/* Messages of several lengths in one buffer. */
static int messages(struct edges *edges)
{
    struct edges_buffer *in = &edges->buffers[0], *out = &edges->buffers[1];
    struct m0_net_end_point *to;
    m0_bcount_t offset = 0, length;
    unsigned i;
    int rc;

    write_bytes(in, 0, 0);
    rc = m0_net_end_point_create(&to, &edges->tm[1], edges->tm[0].ntm_ep->nep_addr);
    if (rc != 0)
        return m0_edges__wrong(edges, "an end point: %s", strerror(-rc));
    rc = add(in, 0, M0_NET_QT_MSG_RECV, 0);
    for (i = 0; rc == 0 && i < MESSAGES; i++) {
        write_bytes(out, 100 + 1000 * i, i);
        out->nb.nb_ep = to;
        rc = add(out, 1, M0_NET_QT_MSG_SEND, 0);
        if (rc == 0)
            rc = m0_edges__expect_end(out, 0);
    }
    m0_net_end_point_put(to);
    if (rc != 0)
        return rc;
    await_events(in, MESSAGES);
    for (i = 0; i < MESSAGES; i++) {
        length = 100 + 1000 * i;
        if (in->event[i].nbe_status != 0 || in->event[i].nbe_length != length ||
            in->event[i].nbe_offset != offset)
            return m0_edges__wrong(
                edges, "message %u: status %d, %u bytes at %u instead of %u at %u", i,
                in->event[i].nbe_status, (unsigned)in->event[i].nbe_length,
                (unsigned)in->event[i].nbe_offset, (unsigned)length, (unsigned)offset);
        if (expect_bytes(in, offset, length, i) != 0)
            return -1;
        offset += length;
    }
    return in->from_other ? 0 : m0_edges__wrong(edges, "a message has another sender");
}

/* The active side of a passive buffer. */
static int answer(struct edges_buffer *active, const struct edges_buffer *passive,
                  enum m0_net_queue_type qtype)
{
    int rc = m0_net_desc_copy(&passive->nb.nb_desc, &active->nb.nb_desc);

    if (rc != 0)
        return m0_edges__wrong(active->edges, "a descriptor: %s", strerror(-rc));
    if (add(active, 1, qtype, 0) != 0 || m0_edges__expect_end(active, 0) != 0)
        return -1;
    m0_net_desc_free(&active->nb.nb_desc);
    return 0;
}

/* Two passive buffers at a time, which are served in the other order. */
static int bulk(struct edges *edges, bool read)
{
    enum m0_net_queue_type own = read ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV;
    struct edges_buffer *passive = &edges->buffers[0], *active = &edges->buffers[2], *got;
    m0_bcount_t length[2] = {BYTES / 2 + 77, BYTES - 4095};
    int i;

    for (i = 0; i < 2; i++) {
        write_bytes(&passive[i], read ? length[i] : 0, (unsigned)(10 + i));
        write_bytes(&active[i], read ? 0 : length[i], (unsigned)(10 + i));
        if (add(&passive[i], 0, own, 0) != 0)
            return -1;
    }
    for (i = 1; i >= 0; i--)
        if (answer(&active[i], &passive[i],
                   read ? M0_NET_QT_ACTIVE_BULK_RECV : M0_NET_QT_ACTIVE_BULK_SEND) != 0)
            return -1;
    for (i = 0; i < 2; i++) {
        got = read ? &active[i] : &passive[i];
        if (m0_edges__expect_end(&passive[i], 0) != 0)
            return -1;
        if (got->event[0].nbe_length != length[i])
            return m0_edges__wrong(edges, "a bulk transfer has %u bytes instead of %u",
                                   (unsigned)got->event[0].nbe_length, (unsigned)length[i]);
        if (expect_bytes(got, 0, length[i], (unsigned)(10 + i)) != 0)
            return -1;
        m0_net_desc_free(&passive[i].nb.nb_desc);
    }
    return 0;
}

/* Tests that cancelled and late buffers end with their errors in each queue that waits for a peer.
 */
static int ends(struct edges *edges)
{
    static const enum m0_net_queue_type queues[] = {M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV,
                                                    M0_NET_QT_PASSIVE_BULK_SEND};
    unsigned i;

    for (i = 0; i < 3; i++) {
        struct edges_buffer *cancelled = &edges->buffers[2 * i], *late = cancelled + 1;

        write_bytes(cancelled, 100, 1);
        write_bytes(late, 100, 2);
        if (add(cancelled, 0, queues[i], 0) != 0 || add(late, 0, queues[i], SOON) != 0)
            return -1;
    }
    for (i = 0; i < 3; i++)
        m0_net_buffer_del(&edges->buffers[2 * i].nb, &edges->tm[0]);
    for (i = 0; i < 2 * 3; i++) {
        if (m0_edges__expect_end(&edges->buffers[i], i % 2 == 0 ? -ECANCELED : -ETIMEDOUT) != 0)
            return -1;
        m0_net_desc_free(&edges->buffers[i].nb.nb_desc);
    }
    return 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int buffers_make(struct edges *edges)
{
    unsigned i;
    int rc = 0;

    for (i = 0; rc == 0 && i < BUFFERS; i++) {
        struct edges_buffer *buffer = &edges->buffers[i];

        buffer->edges = edges;
        buffer->nb.nb_callbacks = &m0_edges__callbacks;
        rc = m0_bufvec_alloc_aligned(&buffer->nb.nb_buffer, SEGMENTS, M0_SEG_SIZE, M0_SEG_SHIFT);
        if (rc == 0)
            rc = m0_net_buffer_register(&buffer->nb, &edges->dom);
    }
    return rc == 0 ? 0 : m0_edges__wrong(edges, "a buffer: %s", strerror(-rc));
}

static int machines_start(struct edges *edges, const char *address)
{
    unsigned i;
    int rc = 0;

    for (i = 0; rc == 0 && i < MACHINES; i++) {
        edges->tm[i].ntm_callbacks = &machine_callbacks;
        rc = m0_net_tm_init(&edges->tm[i], &edges->dom);
        if (rc == 0)
            rc = m0_net_tm_start(&edges->tm[i], address);
    }
    if (rc != 0)
        return m0_edges__wrong(edges, "a transfer machine: %s", strerror(-rc));
    await_settled(edges);
    for (i = 0; i < MACHINES; i++)
        if (edges->tm[i].ntm_state != M0_NET_TM_STARTED)
            return m0_edges__wrong(edges, "a transfer machine has not started");
    return 0;
}

static void finish(struct edges *edges)
{
    unsigned i;

    for (i = 0; i < MACHINES; i++)
        m0_net_tm_stop(&edges->tm[i], false);
    await_settled(edges);
    for (i = 0; i < MACHINES; i++)
        m0_net_tm_fini(&edges->tm[i]);
    for (i = 0; i < BUFFERS; i++) {
        m0_net_buffer_deregister(&edges->buffers[i].nb, &edges->dom);
        m0_bufvec_free_aligned(&edges->buffers[i].nb.nb_buffer, M0_SEG_SHIFT);
    }
    m0_net_domain_fini(&edges->dom);
    m0_cond_fini(&edges->changed);
    m0_mutex_fini(&edges->lock);
    m0_free(edges);
}

/* After a mistake buffers may be queued: nothing is freed then. */
int m0_edges_run(const struct m0_net_xprt *xprt, const char *address, char *text, size_t size)
{
    struct edges *edges;
    int rc;

    M0_ALLOC_PTR(edges);
    if (edges == NULL)
        return -1;
    edges->text = text;
    edges->size = size;
    m0_mutex_init(&edges->lock);
    m0_cond_init(&edges->changed, &edges->lock);
    rc = m0_net_domain_init(&edges->dom, xprt);
    if (rc != 0)
        return m0_edges__wrong(edges, "a domain: %s", strerror(-rc));
    if (buffers_make(edges) != 0 || machines_start(edges, address) != 0 || messages(edges) != 0 ||
        bulk(edges, false) != 0 || bulk(edges, true) != 0 || ends(edges) != 0 ||
        m0_edges__shapes(edges) != 0 || m0_edges__channels(edges, address) != 0)
        return -1;
    finish(edges);
    return 0;
}
