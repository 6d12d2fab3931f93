/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functional test of all queues. */
#include "m0/ping.h"

#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "ping/pvt.h"

void m0_ping_options_default(struct m0_ping_options *options)
{
    *options = (struct m0_ping_options){.buffers = 20,
                                        .segments = 8,
                                        .segment_size = 4096,
                                        .bulk_size = 8 * 4096,
                                        .loops = 1,
                                        .message_timeout = 5ull * M0_TIME_ONE_SECOND,
                                        .bulk_timeout = 10ull * M0_TIME_ONE_SECOND};
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* A server adds from callbacks, which run until its machine has stopped: -ESHUTDOWN. */
static int add(struct m0_ping_slot *slot, enum m0_net_queue_type qtype, m0_time_t timeout)
{
    struct m0_ping *ping = slot->ping;
    int rc;

    slot->nb.nb_qtype = qtype;
    slot->nb.nb_timeout = timeout == 0 ? M0_TIME_NEVER : m0_time_add(m0_time_now(), timeout);
    slot->ended = false;
    if (qtype == M0_NET_QT_MSG_RECV || qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
        qtype == M0_NET_QT_ACTIVE_BULK_RECV) {
        if (!slot->clear)
            m0_ping_clear(slot, m0_vec_count(&slot->nb.nb_buffer.ov_vec));
        slot->clear = false;
    }
    m0_mutex_lock(&ping->lock);
    rc = ping->lost != 0  ? ping->lost
         : ping->stopping ? -ESHUTDOWN
                          : m0_net_buffer_add(&slot->nb, &ping->tm);
    m0_mutex_unlock(&ping->lock);
    return rc;
}

static int receive(struct m0_ping_slot *slot, m0_time_t timeout)
{
    slot->nb.nb_ep = NULL;
    /* It is the longest message that arrives, too. */
    slot->nb.nb_min_receive_size = m0_vec_count(&slot->nb.nb_buffer.ov_vec);
    slot->nb.nb_max_receive_msgs = 1;
    return add(slot, M0_NET_QT_MSG_RECV, timeout);
}

static struct m0_ping_slot *take(struct m0_ping *ping)
{
    struct m0_ping_slot *slot = NULL;
    uint32_t i;

    m0_mutex_lock(&ping->lock);
    for (i = ping->server ? ping->options.buffers : 0; i < ping->slot_count; i++)
        if (!ping->slots[i].used) {
            slot = &ping->slots[i];
            slot->used = true;
            break;
        }
    m0_mutex_unlock(&ping->lock);
    return slot;
}

static void give_back(struct m0_ping_slot *slot)
{
    m0_net_desc_free(&slot->nb.nb_desc);
    if (slot->reply_to != NULL)
        m0_net_end_point_put(slot->reply_to);
    slot->reply_to = NULL;
    slot->nb.nb_ep = NULL;
    m0_mutex_lock(&slot->ping->lock);
    slot->used = false;
    m0_cond_broadcast(&slot->ping->changed);
    m0_mutex_unlock(&slot->ping->lock);
}

void m0_ping_settle(struct m0_ping *ping)
{
    m0_mutex_lock(&ping->lock);
    while (m0_exists(i, ping->slot_count, ping->slots[i].used))
        m0_cond_wait(&ping->changed);
    m0_mutex_unlock(&ping->lock);
}

/* What was received is cleared as soon as it was compared, because it is in the cache then. */
static bool take_filled(struct m0_ping_slot *slot, m0_bcount_t bytes)
{
    bool filled = m0_ping_is_filled(slot, 0, bytes);

    m0_ping_clear(slot, bytes);
    return filled;
}

static void note_error(struct m0_ping *ping)
{
    __atomic_add_fetch(&ping->errors, 1, __ATOMIC_RELAXED);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void serve_text(struct m0_ping *ping, struct m0_ping_slot *out, struct m0_ping_slot *in,
                       m0_bcount_t bytes)
{
    int rc;

    if (!m0_ping_is_text(in, "ping", bytes))
        note_error(ping);
    m0_ping_put_text(out, "pong", bytes);
    out->nb.nb_ep = out->reply_to;
    rc = add(out, M0_NET_QT_MSG_SEND, ping->options.message_timeout);
    if (rc != 0 && rc != -ESHUTDOWN)
        note_error(ping);
    if (rc != 0)
        give_back(out);
}

/* The descriptor is in the message at `in`. */
static void serve_bulk(struct m0_ping *ping, struct m0_ping_slot *out, struct m0_ping_slot *in,
                       m0_bcount_t bytes)
{
    struct m0_bufvec_cursor cursor;
    char head[M0_PING_HEAD];
    uint32_t length, size;
    int rc = -EINVAL;

    m0_bufvec_cursor_init(&cursor, &in->nb.nb_buffer);
    m0_bufvec_cursor_copyfrom(&cursor, head, sizeof(head));
    length = m0_ping_number(head + 1);
    size = m0_ping_number(head + 10);
    if (length == 0 || length > bytes - M0_PING_HEAD || size == 0 ||
        size > m0_vec_count(&out->nb.nb_buffer.ov_vec))
        goto bad;
    out->nb.nb_desc.nbd_data = m0_alloc(length);
    if (out->nb.nb_desc.nbd_data == NULL)
        goto bad;
    out->nb.nb_desc.nbd_len = length;
    m0_bufvec_cursor_copyfrom(&cursor, out->nb.nb_desc.nbd_data, length);
    out->kind = head[0];
    out->length = size;
    if (out->kind == 'r')
        m0_ping_fill(out, size);
    rc = add(out, out->kind == 'r' ? M0_NET_QT_ACTIVE_BULK_SEND : M0_NET_QT_ACTIVE_BULK_RECV,
             ping->options.bulk_timeout);
    if (rc == 0)
        return;
bad:
    if (rc != -ESHUTDOWN)
        note_error(ping);
    give_back(out);
}

static void serve(struct m0_ping *ping, struct m0_ping_slot *in,
                  const struct m0_net_buffer_event *ev)
{
    struct m0_ping_slot *out = take(ping);
    struct m0_bufvec_cursor cursor;
    char kind = '\0';

    m0_bufvec_cursor_init(&cursor, &in->nb.nb_buffer);
    m0_bufvec_cursor_copyfrom(&cursor, &kind, 1);
    if (out == NULL) {
        note_error(ping);
        return;
    }
    m0_net_end_point_get(ev->nbe_ep);
    out->reply_to = ev->nbe_ep;
    if (kind == 'm')
        serve_text(ping, out, in, ev->nbe_length);
    else if ((kind == 'r' || kind == 's') && ev->nbe_length > M0_PING_HEAD)
        serve_bulk(ping, out, in, ev->nbe_length);
    else {
        note_error(ping);
        give_back(out);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_server_event(struct m0_ping_slot *slot, const struct m0_net_buffer_event *ev)
{
    struct m0_ping *ping = slot->ping;
    int rc;

    if (slot->nb.nb_qtype != M0_NET_QT_MSG_RECV) {
        if (slot->nb.nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV && ev->nbe_status == 0 &&
            (ev->nbe_length != slot->length || !take_filled(slot, ev->nbe_length)))
            note_error(ping);
        give_back(slot);
        return;
    }
    if (ev->nbe_status == 0) {
        serve(ping, slot, ev);
        m0_ping_clear(slot, ev->nbe_length);
    }
    rc = receive(slot, 0);
    if (rc != 0 && rc != -ESHUTDOWN)
        note_error(ping);
}

static void on_event(const struct m0_net_buffer_event *ev)
{
    struct m0_ping_slot *slot = container_of(ev->nbe_buffer, struct m0_ping_slot, nb);
    struct m0_ping *ping = slot->ping;

    if (ev->nbe_status != 0 && ev->nbe_status != -ECANCELED)
        note_error(ping);
    if (ping->server) {
        on_server_event(slot, ev);
        return;
    }
    m0_mutex_lock(&ping->lock);
    slot->ended = true;
    slot->status = ev->nbe_status;
    slot->length = ev->nbe_length;
    m0_cond_broadcast(&ping->changed);
    m0_mutex_unlock(&ping->lock);
}

static const struct m0_net_buffer_callbacks callbacks = {
    .nbc_cb = {on_event, on_event, on_event, on_event, on_event, on_event}};

static void on_state(const struct m0_net_tm_event *ev)
{
    struct m0_ping *ping = container_of(ev->nte_tm, struct m0_ping, tm);

    m0_mutex_lock(&ping->lock);
    if (ev->nte_type == M0_NET_TEV_STATE_CHANGE) {
        ping->state = ev->nte_next_state;
        ping->status = ev->nte_status;
    } else if (ev->nte_type == M0_NET_TEV_ERROR && ev->nte_status != -ENOBUFS) {
        ping->lost = ev->nte_status; /* the machine fails after this callback */
    }
    m0_cond_broadcast(&ping->changed);
    m0_mutex_unlock(&ping->lock);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

/* ---- begin and end --------------------------------------------------------------------------- */

static void slots_free(struct m0_ping *ping)
{
    uint32_t i;

    for (i = 0; i < ping->slot_count; i++) {
        m0_net_buffer_deregister(&ping->slots[i].nb, ping->dom);
        m0_bufvec_free_aligned(&ping->slots[i].nb.nb_buffer, M0_SEG_SHIFT);
    }
    m0_free(ping->slots);
}

static int slots_make(struct m0_ping *ping, uint32_t count)
{
    const struct m0_ping_options *options = &ping->options;
    struct m0_ping_slot *slot;
    int rc;

    M0_ALLOC_ARR(ping->slots, count);
    if (ping->slots == NULL)
        return -ENOMEM;
    for (; ping->slot_count < count; ping->slot_count++) {
        slot = &ping->slots[ping->slot_count];
        slot->ping = ping;
        rc = m0_bufvec_alloc_aligned(&slot->nb.nb_buffer, options->segments, options->segment_size,
                                     M0_SEG_SHIFT);
        if (rc != 0)
            return rc;
        slot->nb.nb_callbacks = &callbacks;
        rc = m0_net_buffer_register(&slot->nb, ping->dom);
        if (rc != 0) {
            m0_bufvec_free_aligned(&slot->nb.nb_buffer, M0_SEG_SHIFT);
            return rc;
        }
    }
    return 0;
}

static int await_state(struct m0_ping *ping, enum m0_net_tm_state state)
{
    m0_mutex_lock(&ping->lock);
    while (ping->state != state && ping->state != M0_NET_TM_FAILED)
        m0_cond_wait(&ping->changed);
    m0_mutex_unlock(&ping->lock);
    return ping->state == state ? 0 : ping->status;
}

static int begin(struct m0_ping *ping, const char *address)
{
    int rc = m0_net_tm_start(&ping->tm, address);
    uint32_t i;

    if (rc == 0)
        rc = await_state(ping, M0_NET_TM_STARTED);
    for (i = 0; rc == 0 && ping->server && i < ping->options.buffers; i++)
        rc = receive(&ping->slots[i], 0);
    return rc;
}

void m0_ping_stop(struct m0_ping *ping)
{
    bool started = ping->tm.ntm_ep != NULL;

    m0_mutex_lock(&ping->lock);
    ping->stopping = true;
    if (started && ping->lost == 0)
        m0_net_tm_stop(&ping->tm, true);
    m0_mutex_unlock(&ping->lock);
    if (started) /* or, if its driver is lost, the failure */
        await_state(ping, M0_NET_TM_STOPPED);
    m0_net_tm_fini(&ping->tm);
    slots_free(ping);
    if (ping->dom == &ping->own)
        m0_net_domain_fini(ping->dom);
    m0_cond_fini(&ping->changed);
    m0_mutex_fini(&ping->lock);
    m0_free(ping);
}

static struct m0_ping *start(const struct m0_net_xprt *xprt, const char *address,
                             const struct m0_ping_options *options, bool server, int *error)
{
    struct m0_ping *ping;

    *error = -ENOMEM;
    M0_ALLOC_PTR(ping);
    if (ping == NULL)
        return NULL;
    ping->options = *options;
    ping->options.buffers = max_type(uint32_t, options->buffers, 2);
    ping->server = server;
    ping->tm.ntm_callbacks = &tm_callbacks;
    m0_mutex_init(&ping->lock);
    m0_cond_init(&ping->changed, &ping->lock);
    ping->dom = options->share != NULL ? options->share->dom : &ping->own;
    if (options->share == NULL) {
        *error = m0_net_domain_init(ping->dom, xprt);
        if (*error != 0)
            goto domain;
        if (options->prepare != NULL)
            options->prepare(ping->dom);
    }
    *error = slots_make(ping, server ? 2 * ping->options.buffers : 4);
    if (*error == 0)
        *error = m0_net_tm_init(&ping->tm, ping->dom);
    if (*error != 0)
        goto slots;
    *error = begin(ping, address);
    if (*error == 0)
        return ping;
    m0_ping_stop(ping);
    return NULL;
    slots:
    slots_free(ping);
    if (ping->dom == &ping->own)
        m0_net_domain_fini(ping->dom);
domain:
    m0_cond_fini(&ping->changed);
    m0_mutex_fini(&ping->lock);
    m0_free(ping);
    return NULL;
}

struct m0_ping *m0_ping_server_start(const struct m0_net_xprt *xprt, const char *address,
                                     const struct m0_ping_options *options, int *error)
{
    return start(xprt, address, options, true, error);
}

struct m0_ping *m0_ping_client_start(const struct m0_net_xprt *xprt, const char *address,
                                     const struct m0_ping_options *options, int *error)
{
    return start(xprt, address, options, false, error);
}

int m0_ping_lost(struct m0_ping *ping)
{
    int rc;

    m0_mutex_lock(&ping->lock);
    rc = ping->lost;
    m0_mutex_unlock(&ping->lock);
    return rc;
}

const char *m0_ping_address(const struct m0_ping *ping)
{
    return ping->tm.ntm_ep->nep_addr;
}

/* ---- the client ------------------------------------------------------------------------------ */

/* The operation's status; it is cancelled if it takes longer than its timeout, which a transport
 * may not watch. */
static int await(struct m0_ping_slot *slot, m0_time_t timeout)
{
    struct m0_ping *ping = slot->ping;
    m0_time_t until = m0_time_add(m0_time_now(), timeout);
    bool late = false;

    m0_mutex_lock(&ping->lock);
    while (!slot->ended) {
        if (m0_cond_timedwait(&ping->changed, late ? M0_TIME_NEVER : until) || late || slot->ended)
            continue;
        late = true;
        m0_mutex_unlock(&ping->lock);
        m0_net_buffer_del(&slot->nb, &ping->tm);
        m0_mutex_lock(&ping->lock);
    }
    m0_mutex_unlock(&ping->lock);
    return late && slot->status == -ECANCELED ? -ETIMEDOUT : slot->status;
}

static int send_message(struct m0_ping_slot *out, struct m0_net_end_point *to)
{
    m0_time_t timeout = out->ping->options.message_timeout;
    int rc;

    out->nb.nb_ep = to;
    rc = add(out, M0_NET_QT_MSG_SEND, timeout);
    return rc != 0 ? rc : await(out, timeout);
}

static int run_message(struct m0_ping *ping, struct m0_net_end_point *to)
{
    struct m0_ping_slot *out = &ping->slots[0], *in = &ping->slots[1];
    m0_time_t timeout = ping->options.message_timeout;
    int rc = receive(in, timeout), sent;
    bool good;

    if (rc != 0)
        return rc;
    m0_ping_put_text(out, "ping", ping->options.message_size);
    sent = send_message(out, to);
    if (sent != 0)
        m0_net_buffer_del(&in->nb, &ping->tm);
    rc = await(in, timeout);
    if (sent != 0 || rc != 0)
        return sent != 0 ? sent : rc;
    good = in->length == out->nb.nb_length && m0_ping_is_text(in, "pong", in->length);
    m0_ping_clear(in, in->length);
    return good ? 0 : -EBADMSG;
}

static int run_bulk(struct m0_ping *ping, struct m0_net_end_point *to, char kind)
{
    struct m0_ping_slot *out = &ping->slots[2], *bulk = &ping->slots[3];
    m0_time_t timeout = ping->options.bulk_timeout;
    uint32_t size = ping->options.bulk_size;
    int rc, ended;

    if (kind == 's')
        m0_ping_fill(bulk, size);
    rc =
        add(bulk, kind == 's' ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV, timeout);
    if (rc != 0)
        return rc;
    rc = m0_ping_put_descriptor(out, kind, &bulk->nb.nb_desc, size);
    if (rc == 0)
        rc = send_message(out, to);
    if (rc != 0)
        m0_net_buffer_del(&bulk->nb, &ping->tm);
    ended = await(bulk, timeout);
    m0_net_desc_free(&bulk->nb.nb_desc);
    if (rc != 0 || ended != 0)
        return rc != 0 ? rc : ended;
    return kind == 's' || (bulk->length == size && take_filled(bulk, size)) ? 0 : -EBADMSG;
}

static int run_loop(struct m0_ping *client, struct m0_net_end_point *to)
{
    int rc = run_message(client, to);

    if (rc == 0)
        rc = run_bulk(client, to, 'r');
    return rc == 0 ? run_bulk(client, to, 's') : rc;
}

uint32_t m0_ping_retried(const struct m0_ping *client)
{
    return client->retried;
}

int m0_ping_run(struct m0_ping *client, const char *server)
{
    struct m0_net_end_point *to;
    int rc = m0_net_end_point_create(&to, &client->tm, server);
    uint32_t loop;

    if (rc != 0)
        return rc;
    for (loop = 0; rc == 0 && loop < client->options.loops; loop++) {
        rc = run_loop(client, to);
        while (rc != 0 && rc != -EBADMSG && client->retried < client->options.retries) {
            client->retried++;
            rc = run_loop(client, to);
        }
    }
    m0_net_end_point_put(to);
    return rc;
}
