/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functional test of all queues. */
#include "m0/ping.h"

#include <stdlib.h>

#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "net/net.h"

enum { MESSAGE_HEAD = 19 }; /* 'r', "%08u" with its NUL, twice */

/* A buffer and the end of its operation. */
struct slot {
    struct m0_net_buffer nb; /* first: callbacks find the slot */
    struct m0_ping *ping;
    bool used; /* by an operation of the server */
    bool ended;
    int status;
    m0_bcount_t length;
    struct m0_net_end_point *reply_to;
    char kind;
};

struct m0_ping {
    struct m0_net_transfer_mc tm; /* first */
    struct m0_net_domain dom;
    struct m0_ping_options options;
    struct m0_mutex lock; /* of slots and `changed` */
    struct m0_cond changed;
    struct slot *slots;
    uint32_t slot_count;
    bool server, stopping;
    enum m0_net_tm_state state;
    int status;
    uint64_t errors;
};

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

/* ---- data ------------------------------------------------------------------------------------ */

/* The text that is repeated, a hundred times. */
#define TEN_TIMES(text) text text text text text text text text text text
static char pattern[] = TEN_TIMES(TEN_TIMES("abcdefghi"));
enum { PATTERN = sizeof(pattern) - 1 };

static void fill(struct slot *slot, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor cursor;
    m0_bcount_t at;

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    for (at = 0; at < bytes; at += PATTERN)
        m0_bufvec_cursor_copyto(&cursor, pattern, min_type(m0_bcount_t, PATTERN, bytes - at));
    slot->nb.nb_length = bytes;
}

static bool is_filled(struct slot *slot, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor cursor;
    m0_bcount_t at, part;
    char text[PATTERN];

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    for (at = 0; at < bytes; at += part) {
        part = min_type(m0_bcount_t, PATTERN, bytes - at);
        if (m0_bufvec_cursor_copyfrom(&cursor, text, part) != part ||
            memcmp(text, pattern, part) != 0)
            return false;
    }
    return true;
}

static void write_at_begin(struct slot *slot, void *bytes, m0_bcount_t count)
{
    struct m0_bufvec_cursor cursor;

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    m0_bufvec_cursor_copyto(&cursor, bytes, count);
    slot->nb.nb_length = count;
}

static void put_text(struct slot *slot, const char *text)
{
    char message[16];
    int length = snprintf(message, sizeof(message), "m%s", text);

    write_at_begin(slot, message, (m0_bcount_t)length + 1);
}

static int put_descriptor(struct slot *slot, char kind, const struct m0_net_buf_desc *desc,
                          uint32_t size)
{
    m0_bcount_t bytes = MESSAGE_HEAD + desc->nbd_len;
    char *message = m0_alloc(bytes);

    if (message == NULL)
        return -ENOMEM;
    message[0] = kind;
    snprintf(message + 1, 9, "%08u", desc->nbd_len);
    snprintf(message + 10, 9, "%08u", size);
    memcpy(message + MESSAGE_HEAD, desc->nbd_data, desc->nbd_len);
    write_at_begin(slot, message, bytes);
    m0_free(message);
    return 0;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int add(struct slot *slot, enum m0_net_queue_type qtype, m0_time_t timeout)
{
    struct m0_ping *ping = slot->ping;
    int rc;

    slot->nb.nb_qtype = qtype;
    slot->nb.nb_timeout = timeout == 0 ? M0_TIME_NEVER : m0_time_add(m0_time_now(), timeout);
    slot->ended = false;
    rc = m0_net_buffer_add(&slot->nb, &ping->tm);
    return rc;
}

static int receive(struct slot *slot, m0_time_t timeout)
{
    slot->nb.nb_ep = NULL;
    /* It is the longest message that arrives, too. */
    slot->nb.nb_min_receive_size = m0_vec_count(&slot->nb.nb_buffer.ov_vec);
    slot->nb.nb_max_receive_msgs = 1;
    return add(slot, M0_NET_QT_MSG_RECV, timeout);
}

static struct slot *take(struct m0_ping *ping)
{
    struct slot *slot = NULL;
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

static void give_back(struct slot *slot)
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

static void note_error(struct m0_ping *ping)
{
    __atomic_add_fetch(&ping->errors, 1, __ATOMIC_RELAXED);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void serve_text(struct m0_ping *ping, struct slot *out)
{
    put_text(out, "pong");
    out->nb.nb_ep = out->reply_to;
    if (add(out, M0_NET_QT_MSG_SEND, ping->options.message_timeout) != 0) {
        note_error(ping);
        give_back(out);
    }
}

/* The descriptor is in the message at `in`. */
static void serve_bulk(struct m0_ping *ping, struct slot *out, struct slot *in, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor cursor;
    char head[MESSAGE_HEAD];
    unsigned long length, size;

    m0_bufvec_cursor_init(&cursor, &in->nb.nb_buffer);
    m0_bufvec_cursor_copyfrom(&cursor, head, sizeof(head));
    head[9] = head[18] = '\0';
    length = strtoul(head + 1, NULL, 10);
    size = strtoul(head + 10, NULL, 10);
    if (length == 0 || length > bytes - MESSAGE_HEAD || size == 0 ||
        size > m0_vec_count(&out->nb.nb_buffer.ov_vec))
        goto bad;
    out->nb.nb_desc.nbd_data = m0_alloc(length);
    if (out->nb.nb_desc.nbd_data == NULL)
        goto bad;
    out->nb.nb_desc.nbd_len = (uint32_t)length;
    m0_bufvec_cursor_copyfrom(&cursor, out->nb.nb_desc.nbd_data, length);
    out->kind = head[0];
    out->length = size;
    if (out->kind == 'r')
        fill(out, size);
    if (add(out, out->kind == 'r' ? M0_NET_QT_ACTIVE_BULK_SEND : M0_NET_QT_ACTIVE_BULK_RECV,
            ping->options.bulk_timeout) == 0)
        return;
bad:
    note_error(ping);
    give_back(out);
}

static void serve(struct m0_ping *ping, struct slot *in, const struct m0_net_buffer_event *ev)
{
    struct slot *out = take(ping);
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
        serve_text(ping, out);
    else if ((kind == 'r' || kind == 's') && ev->nbe_length > MESSAGE_HEAD)
        serve_bulk(ping, out, in, ev->nbe_length);
    else {
        note_error(ping);
        give_back(out);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_server_event(struct slot *slot, const struct m0_net_buffer_event *ev)
{
    struct m0_ping *ping = slot->ping;

    if (slot->nb.nb_qtype != M0_NET_QT_MSG_RECV) {
        if (slot->nb.nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV && ev->nbe_status == 0 &&
            (ev->nbe_length != slot->length || !is_filled(slot, ev->nbe_length)))
            note_error(ping);
        give_back(slot);
        return;
    }
    if (ev->nbe_status == 0)
        serve(ping, slot, ev);
    if (!__atomic_load_n(&ping->stopping, __ATOMIC_RELAXED) && receive(slot, 0) != 0)
        note_error(ping);
}

static void on_event(const struct m0_net_buffer_event *ev)
{
    struct slot *slot = container_of(ev->nbe_buffer, struct slot, nb);
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

    if (ev->nte_type != M0_NET_TEV_STATE_CHANGE)
        return;
    m0_mutex_lock(&ping->lock);
    ping->state = ev->nte_next_state;
    ping->status = ev->nte_status;
    m0_cond_broadcast(&ping->changed);
    m0_mutex_unlock(&ping->lock);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

/* ---- begin and end --------------------------------------------------------------------------- */

static void slots_free(struct m0_ping *ping)
{
    uint32_t i;

    for (i = 0; i < ping->slot_count; i++) {
        m0_net_buffer_deregister(&ping->slots[i].nb, &ping->dom);
        m0_bufvec_free_aligned(&ping->slots[i].nb.nb_buffer, M0_SEG_SHIFT);
    }
    m0_free(ping->slots);
}

static int slots_make(struct m0_ping *ping, uint32_t count)
{
    const struct m0_ping_options *options = &ping->options;
    struct slot *slot;
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
        rc = m0_net_buffer_register(&slot->nb, &ping->dom);
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
    __atomic_store_n(&ping->stopping, true, __ATOMIC_RELAXED);
    if (ping->tm.ntm_state == M0_NET_TM_STARTED && m0_net_tm_stop(&ping->tm, true) == 0)
        await_state(ping, M0_NET_TM_STOPPED);
    m0_net_tm_fini(&ping->tm);
    slots_free(ping);
    m0_net_domain_fini(&ping->dom);
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
    *error = m0_net_domain_init(&ping->dom, xprt);
    if (*error != 0)
        goto domain;
    if (options->prepare != NULL)
        options->prepare(&ping->dom);
    *error = slots_make(ping, server ? 2 * ping->options.buffers : 4);
    if (*error == 0)
        *error = m0_net_tm_init(&ping->tm, &ping->dom);
    if (*error != 0)
        goto slots;
    *error = begin(ping, address);
    if (*error == 0)
        return ping;
    m0_ping_stop(ping);
    return NULL;
    slots:
    slots_free(ping);
    m0_net_domain_fini(&ping->dom);
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

const char *m0_ping_address(const struct m0_ping *ping)
{
    return ping->tm.ntm_ep->nep_addr;
}

/* ---- the client ------------------------------------------------------------------------------ */

/* The operation's status; it is cancelled if it takes longer than its timeout, which a transport
 * may not watch. */
static int await(struct slot *slot, m0_time_t timeout)
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

static int send_message(struct slot *out, struct m0_net_end_point *to)
{
    m0_time_t timeout = out->ping->options.message_timeout;
    int rc;

    out->nb.nb_ep = to;
    rc = add(out, M0_NET_QT_MSG_SEND, timeout);
    return rc != 0 ? rc : await(out, timeout);
}

static int run_message(struct m0_ping *ping, struct m0_net_end_point *to)
{
    struct slot *out = &ping->slots[0], *in = &ping->slots[1];
    m0_time_t timeout = ping->options.message_timeout;
    struct m0_bufvec_cursor cursor;
    char text[6] = "";
    int rc = receive(in, timeout), sent;

    if (rc != 0)
        return rc;
    put_text(out, "ping");
    sent = send_message(out, to);
    if (sent != 0)
        m0_net_buffer_del(&in->nb, &ping->tm);
    rc = await(in, timeout);
    m0_bufvec_cursor_init(&cursor, &in->nb.nb_buffer);
    m0_bufvec_cursor_copyfrom(&cursor, text, sizeof(text));
    if (sent != 0 || rc != 0)
        return sent != 0 ? sent : rc;
    return in->length == sizeof(text) && memcmp(text, "mpong", sizeof(text)) == 0 ? 0 : -EBADMSG;
}

static int run_bulk(struct m0_ping *ping, struct m0_net_end_point *to, char kind)
{
    struct slot *out = &ping->slots[2], *bulk = &ping->slots[3];
    m0_time_t timeout = ping->options.bulk_timeout;
    uint32_t size = ping->options.bulk_size;
    int rc, ended;

    if (kind == 's')
        fill(bulk, size);
    rc =
        add(bulk, kind == 's' ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV, timeout);
    if (rc != 0)
        return rc;
    rc = put_descriptor(out, kind, &bulk->nb.nb_desc, size);
    if (rc == 0)
        rc = send_message(out, to);
    if (rc != 0)
        m0_net_buffer_del(&bulk->nb, &ping->tm);
    ended = await(bulk, timeout);
    m0_net_desc_free(&bulk->nb.nb_desc);
    if (rc != 0 || ended != 0)
        return rc != 0 ? rc : ended;
    return kind == 's' || (bulk->length == size && is_filled(bulk, size)) ? 0 : -EBADMSG;
}

int m0_ping_run(struct m0_ping *client, const char *server)
{
    struct m0_net_end_point *to;
    int rc = m0_net_end_point_create(&to, &client->tm, server);
    uint32_t loop;

    if (rc != 0)
        return rc;
    for (loop = 0; rc == 0 && loop < client->options.loops; loop++) {
        rc = run_message(client, to);
        if (rc == 0)
            rc = run_bulk(client, to, 'r');
        if (rc == 0)
            rc = run_bulk(client, to, 's');
    }
    m0_net_end_point_put(to);
    return rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

void m0_ping_counters(struct m0_ping *ping, uint64_t table[M0_PING_QUEUES][M0_PING_COLUMNS])
{
    struct m0_net_qstats stats[M0_NET_QT_NR];
    int i;

    M0_CASSERT((int)M0_PING_QUEUES == (int)M0_NET_QT_NR);
    m0_net_tm_stats_get(&ping->tm, M0_NET_QT_NR, stats, false);
    for (i = 0; i < M0_NET_QT_NR; i++) {
        table[i][M0_PING_ADDS] = stats[i].nqs_num_adds;
        table[i][M0_PING_DELS] = stats[i].nqs_num_dels;
        table[i][M0_PING_SUCCESSES] = stats[i].nqs_num_s_events;
        table[i][M0_PING_FAILURES] = stats[i].nqs_num_f_events;
        table[i][M0_PING_TIME] = stats[i].nqs_time_in_queue;
        table[i][M0_PING_BYTES] = stats[i].nqs_total_bytes;
        table[i][M0_PING_MAXIMUM] = stats[i].nqs_max_bytes;
    }
}

uint64_t m0_ping_errors(const struct m0_ping *ping)
{
    return __atomic_load_n(&ping->errors, __ATOMIC_RELAXED);
}

void m0_ping_print(struct m0_ping *ping, FILE *to)
{
    static const char *const names[] = {"mRECV", "mSEND", "pRECV", "pSEND", "aRECV", "aSEND"};
    uint64_t table[M0_PING_QUEUES][M0_PING_COLUMNS];
    int i;

    m0_ping_counters(ping, table);
    fprintf(to,
            "%s\nQueue     #Add   #Del  #Succ  #Fail   Time in Queue [s]        Total    "
            "Max Size\n",
            m0_ping_address(ping));
    for (i = 0; i < M0_PING_QUEUES; i++) {
        const uint64_t *row = table[i];

        fprintf(to,
                "%-6s %7" PRIu64 "%7" PRIu64 "%7" PRIu64 "%7" PRIu64 "  %8" PRIu64 ".%09" PRIu64
                "%13" PRIu64 "%12" PRIu64 "\n",
                names[i], row[M0_PING_ADDS], row[M0_PING_DELS], row[M0_PING_SUCCESSES],
                row[M0_PING_FAILURES], m0_time_seconds(row[M0_PING_TIME]),
                m0_time_nanoseconds(row[M0_PING_TIME]), row[M0_PING_BYTES], row[M0_PING_MAXIMUM]);
    }
}
