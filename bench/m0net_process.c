/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A ping-pong of messages, and bulk transfers that process 0 reads from process 1. All of it runs
 * in the callbacks of a machine. */
#include "bench.h"
#include "m0net_live.h"
#include "pair.h"

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/semaphore.h"
#include "m0/live.h"
#include "net/lnet/lnet.h"
#include "net/net.h"

enum { LATE_MAX = 64, INS = 4, OUTS = 24, PER_IN = 16, PAGES = BENCH_M0_BULK / 4096 };

static struct {
    struct m0_net_domain dom;
    struct m0_net_transfer_mc tm;
    struct m0_net_end_point *peer;
    struct m0_net_buffer in[INS], out[OUTS], bulk[BENCH_M0_WINDOW];
    struct m0_semaphore state, done;
    unsigned self, turns, transfers, offered, given, late;
    struct m0_net_buf_desc later[LATE_MAX]; /* for which no buffer is free */
} side;

static void check(int rc, const char *what)
{
    if (rc != 0)
        bench_pair_fail("%s: %s", what, strerror(-rc));
}

static bool is_queued(const struct m0_net_buffer *nb)
{
    return (nb->nb_flags & M0_NET_BUF_QUEUED) != 0;
}

static void add(struct m0_net_buffer *nb, enum m0_net_queue_type qtype)
{
    nb->nb_qtype = qtype;
    nb->nb_timeout = M0_TIME_NEVER;
    check(m0_net_buffer_add(nb, &side.tm), "adding a buffer");
}

static void receive(struct m0_net_buffer *nb)
{
    nb->nb_min_receive_size = BENCH_M0_MESSAGE;
    nb->nb_max_receive_msgs = PER_IN;
    nb->nb_ep = NULL;
    add(nb, M0_NET_QT_MSG_RECV);
}

/* 'p': of the ping-pong; 'g': bulk begins; 'd': with a descriptor. */
static void send(char kind, const struct m0_net_buf_desc *desc)
{
    struct m0_net_buffer *nb = side.out;
    char *text;

    while (nb < side.out + OUTS && is_queued(nb))
        nb++;
    if (nb == side.out + OUTS)
        bench_pair_fail("all buffers for messages are in use");
    text = nb->nb_buffer.ov_buf[0];
    text[0] = kind;
    nb->nb_length = BENCH_M0_MESSAGE;
    if (desc != NULL) {
        memcpy(text + 1, &desc->nbd_len, sizeof(desc->nbd_len));
        memcpy(text + 1 + sizeof(desc->nbd_len), desc->nbd_data, desc->nbd_len);
        nb->nb_length = 1 + sizeof(desc->nbd_len) + desc->nbd_len;
    }
    nb->nb_ep = side.peer;
    add(nb, M0_NET_QT_MSG_SEND);
}

/* Process 1 lets the other one read the buffer. */
static void offer(struct m0_net_buffer *nb)
{
    if (side.offered == side.transfers)
        return;
    side.offered++;
    nb->nb_length = BENCH_M0_BULK;
    add(nb, M0_NET_QT_PASSIVE_BULK_SEND);
    send('d', &nb->nb_desc);
}

static void fetch(struct m0_net_buf_desc desc)
{
    struct m0_net_buffer *nb = side.bulk;

    while (nb < side.bulk + BENCH_M0_WINDOW && is_queued(nb))
        nb++;
    if (nb < side.bulk + BENCH_M0_WINDOW) {
        nb->nb_desc = desc;
        nb->nb_length = BENCH_M0_BULK;
        add(nb, M0_NET_QT_ACTIVE_BULK_RECV);
    } else if (side.late < LATE_MAX) { /* the other process was faster */
        side.later[side.late++] = desc;
    } else {
        bench_pair_fail("too many descriptors");
    }
}

static struct m0_net_buf_desc descriptor_of(const char *text)
{
    struct m0_net_buf_desc desc;

    memcpy(&desc.nbd_len, text + 1, sizeof(desc.nbd_len));
    desc.nbd_data = malloc(desc.nbd_len);
    memcpy(desc.nbd_data, text + 1 + sizeof(desc.nbd_len), desc.nbd_len);
    return desc;
}

/* Segments of a page each follow one another. */
static void on_message(const struct m0_net_buffer_event *event)
{
    const char *text = (const char *)event->nbe_buffer->nb_buffer.ov_buf[0] + event->nbe_offset;
    unsigned i;

    if (text[0] == 'g')
        for (i = 0; i < BENCH_M0_WINDOW; i++)
            offer(&side.bulk[i]);
    else if (text[0] == 'd')
        fetch(descriptor_of(text));
    else if (side.self == 1 || --side.turns > 0)
        send('p', NULL);
    else
        m0_semaphore_up(&side.done);
    if (!is_queued(event->nbe_buffer))
        receive(event->nbe_buffer);
}

static void on_event(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    if (event->nbe_status == -ECANCELED)
        return;
    check(event->nbe_status, "an event");
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV)
        on_message(event);
    if (nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND || nb->nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV)
        m0_net_desc_free(&nb->nb_desc);
    if (nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND) {
        offer(nb);
        if (++side.given == side.transfers)
            m0_semaphore_up(&side.done);
    }
    if (nb->nb_qtype != M0_NET_QT_ACTIVE_BULK_RECV)
        return;
    if (side.late > 0)
        fetch(side.later[--side.late]);
    if (--side.transfers == 0)
        m0_semaphore_up(&side.done);
}

static const struct m0_net_buffer_callbacks callbacks = {
    .nbc_cb = {on_event, on_event, on_event, on_event, on_event, on_event}};

static void on_state(const struct m0_net_tm_event *event)
{
    check(event->nte_status, "the machine");
    if (event->nte_type == M0_NET_TEV_STATE_CHANGE)
        m0_semaphore_up(&side.state);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

static void make(struct m0_net_buffer *nb, unsigned pages)
{
    char *memory = m0_alloc_aligned((size_t)pages * 4096, 12);
    unsigned i;

    if (memory == NULL)
        bench_pair_fail("no memory");
    nb->nb_buffer.ov_vec.v_nr = pages;
    nb->nb_buffer.ov_vec.v_count = calloc(pages, sizeof(m0_bcount_t));
    nb->nb_buffer.ov_buf = calloc(pages, sizeof(void *));
    for (i = 0; i < pages; i++) {
        nb->nb_buffer.ov_vec.v_count[i] = 4096;
        nb->nb_buffer.ov_buf[i] = memory + (size_t)i * 4096;
    }
    nb->nb_callbacks = &callbacks;
    check(m0_net_buffer_register(nb, &side.dom), "registering");
}

static void begin(unsigned self, int end, const char *socket)
{
    char address[2][64];
    unsigned i;

    side.self = self;
    m0_semaphore_init(&side.state, 0);
    m0_semaphore_init(&side.done, 0);
    for (i = 0; i < 2; i++)
        snprintf(address[i], sizeof(address[i]), "127.0.78.%u@tcp:12345:41:1", i + 1);
    check(m0_live_begin(socket), socket);
    check(m0_net_domain_init(&side.dom, &m0_net_lnet_xprt), "a domain");
    m0_net_lnet_dom_set_batched(&side.dom, true);
    side.tm.ntm_callbacks = &tm_callbacks;
    check(m0_net_tm_init(&side.tm, &side.dom), "a machine");
    check(m0_net_tm_start(&side.tm, address[self]), address[self]);
    m0_semaphore_down(&side.state);
    check(m0_net_end_point_create(&side.peer, &side.tm, address[1 - self]), "an end point");
    for (i = 0; i < INS; i++) {
        make(&side.in[i], PER_IN);
        receive(&side.in[i]);
    }
    for (i = 0; i < OUTS; i++)
        make(&side.out[i], 1);
    for (i = 0; i < BENCH_M0_WINDOW; i++)
        make(&side.bulk[i], PAGES);
    bench_pair_meet(end);
}

static double pingpong(int end, unsigned turns)
{
    double begin = bench_seconds(), seconds;

    side.turns = turns;
    if (side.self == 0) {
        send('p', NULL);
        m0_semaphore_down(&side.done);
    }
    seconds = bench_seconds() - begin;
    bench_pair_meet(end);
    return seconds;
}

static double bulk(int end, unsigned transfers)
{
    double begin;

    side.transfers = transfers;
    side.offered = side.given = 0;
    bench_pair_meet(end);
    begin = bench_seconds();
    if (side.self == 0)
        send('g', NULL);
    m0_semaphore_down(&side.done); /* the other process's last event may come later */
    begin = bench_seconds() - begin;
    bench_pair_meet(end);
    return begin;
}

void bench_m0net_process(unsigned self, int end, const char *socket, unsigned turns,
                         unsigned transfers, double *us, double *gbps)
{
    double seconds;

    begin(self, end, socket);
    pingpong(end, turns / 10);
    seconds = pingpong(end, turns);
    if (self == 0)
        *us = seconds / turns / 2 * 1e6;
    bulk(end, BENCH_M0_WINDOW);
    seconds = bulk(end, transfers);
    if (self == 0)
        *gbps = (double)transfers * BENCH_M0_BULK / seconds / 1e9;
}
