/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages by themselves: the files that send, match, fetch and complete, on one endpoint whose
 * only peer is itself. Underneath is a network of this file: what is sent arrives in order, what is
 * posted is carried out at once and reported in any order, and everything that may say "not now" or
 * fail does so by chance. It also knows which memory a transfer may touch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "bounce.h"
#include "cm_nic.h"
#include "cntr.h"
#include "cq.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "list.h"
#include "lock.h"
#include "match.h"
#include "message.h"
#include "mr.h"
#include "name.h"
#include "nic.h"
#include "params.h"
#include "proto.h"
#include "req.h"
#include "txd.h"
#include "vc.h"
#include "waitable.h"
#include "rx_window.h"

void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...)
{
}

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((state >> 33) % below);
}

static uint32_t trouble; /* of 100 calls so many say: not now */

static bool not_now(void)
{
    return chance(100) < trouble;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static struct gnip_ctx ctx;
static struct gnip_domain domain;
static struct gnip_nic nic;
static struct gnip_vc vc;
static struct gnip_ep *ep;
static struct gnip_cq send_cq, recv_cq;

void port_spend(enum port_cost cost, uint64_t amount)
{
}

uint64_t port_random(void)
{
    return chance(1u << 30);
}

void *port_pages_alloc(size_t bytes, size_t page)
{
    return calloc(1, bytes);
}

void port_pages_free(void *pages, size_t bytes)
{
    free(pages);
}

void port_mutex_lock(struct port_mutex *mutex)
{
    fail();
}

void port_mutex_unlock(struct port_mutex *mutex)
{
    fail();
}

void gnip_waitable_signal(struct gnip_waitable *waitable)
{
}

void gnip_waitable_idle(struct gnip_waitable *waitable)
{
}

uint32_t gnip_nic_progress(struct gnip_nic *of, uint32_t *polls)
{
    return 0;
}

uint32_t gnip_cm_nic_progress(struct gnip_cm_nic *of, uint32_t *polls)
{
    return 0;
}

int gnip_trigger_check(const struct gnip_ep *of, void *context, uint64_t flags)
{
    return 0;
}

void gnip_name_write(const struct gnip_name *name, uint32_t format, void *buffer)
{
    memset(buffer, 0x5a, sizeof *name);
}

void gnip_cntr_add(struct gnip_cntr *cntr, uint64_t count)
{
    if (cntr != NULL)
        cntr->value += count;
}

void gnip_cntr_add_error(struct gnip_cntr *cntr, uint64_t count)
{
    if (cntr != NULL)
        cntr->errors += count;
}

/* Registrations: of exactly what was asked for, so that nothing else may be touched. */
struct gnip_mr_entry {
    int unused;
};
#define REGIONS 4096
static struct gnip_mr regions[REGIONS];
static uint32_t regions_used;

bool gnip_mr_serves(const struct gnip_mr *mr, const void *buffer, uint64_t bytes, bool written)
{
    uint64_t begin = (uintptr_t)buffer;

    return begin >= mr->address && begin + bytes <= mr->address + mr->bytes &&
           (!written || (mr->access & (FI_RECV | FI_READ | FI_REMOTE_WRITE)) != 0);
}

int gnip_mr_auto(struct gnip_ep *of, const void *address, uint64_t bytes, bool written,
                 struct gnip_mr **mr)
{
    uint32_t i = 0;

    if (not_now())
        return -FI_EAGAIN;
    while (regions[i].uses != 0)
        i++;
    assert_true(i < REGIONS);
    regions[i].address = (uintptr_t)address;
    regions[i].bytes = bytes;
    regions[i].access = written ? FI_RECV : FI_SEND;
    regions[i].uses = 1;
    regions[i].handle.qword1 = i;
    regions[i].handle.qword2 = 4711;
    regions_used++;
    *mr = &regions[i];
    return 0;
}

void gnip_mr_use(struct gnip_mr *mr)
{
    mr->uses++;
    regions_used++;
}

void gnip_mr_release(struct gnip_mr *mr)
{
    assert_true(mr->uses > 0);
    mr->uses--;
    regions_used--;
}

/* Descriptors; events of what was posted, taken in any order. */
#define TXDS 64
static struct gnip_txd txds[TXDS], *events[TXDS];
static struct gnip_transfer transfers[TXDS];
static bool txd_used[TXDS];
static uint32_t event_count;
static uint32_t fail_posts; /* of 100 transfers so many fail, recoverably */

struct gnip_txd *gnip_txd_get(struct gnip_nic *of, bool reserved)
{
    uint32_t i = 0;

    if (not_now())
        return NULL;
    while (i < TXDS && txd_used[i])
        i++;
    if (i == TXDS)
        return NULL;
    txd_used[i] = true;
    txds[i].nic = of;
    return &txds[i];
}

struct gnip_txd *gnip_txd_get_transfer(struct gnip_nic *of)
{
    struct gnip_txd *txd = gnip_txd_get(of, false);

    if (txd != NULL)
        (txd->transfer = &transfers[txd - txds])->txd = txd;
    return txd;
}

void gnip_txd_put(struct gnip_nic *of, struct gnip_txd *txd)
{
    assert_true(txd_used[txd - txds]);
    txd_used[txd - txds] = false;
}

static uint32_t gets, largest_get;

/* One GET: aligned, from what may be read (whole words around the region), to what may be written.
 */
static void get(uint64_t local, const gni_mem_handle_t *local_handle, uint64_t remote,
                const gni_mem_handle_t *remote_handle, uint64_t bytes)
{
    const struct gnip_mr *to = &regions[local_handle->qword1];
    const struct gnip_mr *from = &regions[remote_handle->qword1];

    assert_true(remote % 4 == 0 && bytes % 4 == 0 && bytes > 0);
    assert_true(to->uses > 0 && from->uses > 0 && to->access == FI_RECV);
    assert_true(local >= to->address && local + bytes <= to->address + to->bytes);
    assert_true(remote >= from->address && remote + bytes <= from->address + from->bytes);
    memcpy((void *)(uintptr_t)local, (const void *)(uintptr_t)remote, bytes);
    gets++;
    if (bytes > largest_get)
        largest_get = (uint32_t)bytes;
}

static gni_return_t transfer(gni_post_descriptor_t *post, bool chained)
{
    struct gnip_txd *txd = gnip_container(post, struct gnip_transfer, post)->txd;
    const gni_ct_get_post_descriptor_t *more;

    if (not_now())
        return GNI_RC_ERROR_RESOURCE;
    get(post->local_addr, &post->local_mem_hndl, post->remote_addr, &post->remote_mem_hndl,
        post->length);
    assert_true(chained == (post->next_descr != NULL));
    for (more = post->next_descr; more != NULL; more = more->next_descr)
        get(more->local_addr, &more->local_mem_hndl, more->remote_addr, &more->remote_mem_hndl,
            more->length);
    events[event_count++] = txd;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_PostRdma(gni_ep_handle_t handle, gni_post_descriptor_t *post)
{
    assert_int_equal(post->type, GNI_POST_RDMA_GET);
    return transfer(post, false);
}

gni_return_t GNI_PostFma(gni_ep_handle_t handle, gni_post_descriptor_t *post)
{
    assert_int_equal(post->type, GNI_POST_FMA_GET);
    return transfer(post, false);
}

gni_return_t GNI_CtPostFma(gni_ep_handle_t handle, gni_post_descriptor_t *post)
{
    assert_int_equal(post->type, GNI_POST_FMA_GET);
    return transfer(post, true);
}

/* The connection: messages in order. */
#define WIRE 1024
static struct {
    _Alignas(8) uint8_t bytes[20000];
} * wire;
static uint32_t wire_first, wire_count;
static uint32_t kinds[GNIP_KINDS];
static int broken; /* what sending says */
static uint32_t window_used, window_kept;

int gnip_vc_smsg(struct gnip_vc *on, struct gnip_txd *txd, uint32_t header_bytes, const void *data,
                 uint32_t data_bytes)
{
    uint8_t *to;

    if (broken != 0)
        return broken;
    if (wire_count == WIRE || not_now())
        return -FI_EAGAIN;
    assert_true(header_bytes + data_bytes <= on->message_bytes);
    to = wire[(wire_first + wire_count++) % WIRE].bytes;
    memcpy(to, txd->buffer, header_bytes);
    if (data_bytes > 0)
        memcpy(to + header_bytes, data, data_bytes);
    kinds[txd->buffer[0]]++;
    events[event_count++] = txd;
    return 0;
}

bool gnip_vc_rx_window(struct gnip_vc *on, uint32_t credits)
{
    return on->tx_credits_used + credits - (on->tx_credits - 64) <= 64;
}

void gnip_rx_window_kept(struct gnip_vc *on, uint32_t credits)
{
    window_kept += credits;
}

void gnip_rx_window_return(struct gnip_vc *on, uint32_t credits)
{
    on->tx_credits += credits;
    window_used += credits;
}

void gnip_nic_wake_helper(struct gnip_nic *on)
{
    (void)on;
}

void gnip_vc_doorbell(struct gnip_vc *on)
{
}

bool gnip_vc_was_idle(struct gnip_vc *on)
{
    return false;
}

fi_addr_t gnip_vc_source(struct gnip_vc *on)
{
    return 3;
}

int gnip_vc_find(struct gnip_ep *of, fi_addr_t peer, struct gnip_vc **found)
{
    *found = &vc;
    return peer == 3 ? 0 : -FI_EINVAL;
}

void gnip_vc_fail(struct gnip_vc *on, int error)
{
    fail();
}

void gnip_vc_schedule(struct gnip_vc *on)
{
}

void gnip_vc_op_done(struct gnip_vc *on, bool failed)
{
    assert_true(on->outstanding > 0);
    on->outstanding--;
}

bool gnip_vc_withdraw(struct gnip_vc *on, struct gnip_req *req)
{
    return gnip_queue_remove(&on->tx_queue, &req->link);
}

void gnip_vc_submit(struct gnip_vc *on, struct gnip_req *req)
{
    gnip_queue_append(&on->tx_queue, &req->link);
}

void gnip_vc_defer(struct gnip_vc *on, struct gnip_req *req)
{
    gnip_queue_append(&on->work, &req->link);
}

/* Completions, as they were written. */
#define ENTRIES 4096
static struct entry {
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;
    uint64_t olen;
    int err;
} entries[ENTRIES];
static uint32_t entry_count;

bool gnip_cq_reserve(struct gnip_cq *cq)
{
    if (cq->reserved == cq->capacity)
        return false;
    cq->reserved++;
    return true;
}

bool gnip_cq_reserve_always(struct gnip_cq *cq)
{
    cq->reserved++;
    return true;
}

void gnip_cq_add_nameless(struct gnip_cq *cq, int error)
{
    struct fi_cq_err_entry entry = {.err = error};

    cq->reserved++;
    gnip_cq_add_error(cq, &entry, NULL, 0);
}

void gnip_cq_unreserve(struct gnip_cq *cq)
{
    assert_true(cq->reserved > 0);
    cq->reserved--;
}

void gnip_cq_add(struct gnip_cq *cq, const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
    gnip_cq_unreserve(cq); /* as if it were read at once */
    assert_true(entry_count < ENTRIES);
    entries[entry_count++] = (struct entry){*entry, source, 0, 0};
}

void gnip_cq_add_error(struct gnip_cq *cq, const struct fi_cq_err_entry *entry, const void *data,
                       size_t data_bytes)
{
    struct fi_cq_tagged_entry plain = {entry->op_context, entry->flags, entry->len,
                                       entry->buf,        entry->data,  entry->tag};

    gnip_cq_unreserve(cq);
    assert_true(entry_count < ENTRIES);
    entries[entry_count++] = (struct entry){plain, 0, entry->olen, entry->err};
}

/* ---- its progress ---------------------------------------------------------------------------- */

static void deliver(void)
{
    const void *message = wire[wire_first].bytes;

    wire_first = (wire_first + 1) % WIRE;
    wire_count--;
    switch (*(const uint8_t *)message) {
    case GNIP_EAGER:
        gnip_eager_arrived(&vc, message);
        break;
    case GNIP_EAGER_ACK:
        gnip_eager_ack_arrived(&vc, message);
        break;
    case GNIP_RNDZV_RTS:
        gnip_rts_arrived(&vc, message);
        break;
    case GNIP_RNDZV_IOV_RTS:
        gnip_iov_rts_arrived(&vc, message);
        break;
    case GNIP_RNDZV_FIN:
        gnip_fin_arrived(&vc, message);
        break;
    default:
        fail();
    }
}

static void report(void)
{
    uint32_t i = chance(event_count);
    struct gnip_txd *txd = events[i];
    bool posted = txd->buffer[0] == 0;
    gni_return_t status = GNI_RC_SUCCESS;

    events[i] = events[--event_count];
    if (posted && chance(100) < fail_posts)
        status = GNI_RC_TRANSACTION_ERROR;
    txd->recoverable = true;
    txd->buffer[0] = 0; /* a header begins with its kind */
    txd->done(txd, status);
}

static void work_on(struct gnip_queue *queue, bool counts)
{
    struct gnip_qlink *link = gnip_queue_pop(queue);
    struct gnip_req *req;
    int rc;

    if (link == NULL)
        return;
    req = gnip_container(link, struct gnip_req, link);
    if (counts)
        vc.outstanding++;
    rc = req->issue(req);
    if (rc == 0)
        return;
    if (counts)
        vc.outstanding--;
    if (rc == -FI_EAGAIN)
        gnip_queue_prepend(queue, link);
    else
        gnip_req_drop(req, -rc);
}

static void progress_once(void)
{
    switch (chance(4)) {
    case 0:
        if (wire_count > 0)
            deliver();
        break;
    case 1:
        if (event_count > 0)
            report();
        break;
    case 2:
        work_on(&vc.work, false);
        break;
    default:
        work_on(&vc.tx_queue, true);
    }
    if (ep->mrecv_stalled)
        gnip_mrecv_retry(ep);
}

static void progress_until(uint32_t count)
{
    uint32_t turns = 0;

    while (entry_count < count) {
        progress_once();
        assert_true(++turns < 1000000);
    }
}

static void progress_all(void)
{
    uint32_t calm = 0;

    while (calm < 100) {
        bool busy = wire_count + event_count > 0 || !gnip_queue_empty(&vc.work) ||
                    !gnip_queue_empty(&vc.tx_queue);

        progress_once();
        calm = busy ? 0 : calm + 1;
    }
}

static void open_ep(uint64_t seed)
{
    struct gnip_lock elided = {.elided = true};

    state = seed;
    ep = calloc(1, sizeof *ep);
    memset(&vc, 0, sizeof vc);
    memset(&nic, 0, sizeof nic);
    memset(regions, 0, sizeof regions);
    memset(txds, 0, sizeof txds);
    memset(txd_used, 0, sizeof txd_used);
    memset(kinds, 0, sizeof kinds);
    wire_first = wire_count = event_count = entry_count = regions_used = 0;
    window_used = window_kept = gets = largest_get = 0;
    trouble = fail_posts = 0;
    broken = 0;
    domain.ctx = &ctx;
    domain.params = (struct gnip_params){.rma_rdma_threshold = 8192, .max_retransmits = 5};
    send_cq = (struct gnip_cq){.capacity = 10000, .format = FI_CQ_FORMAT_TAGGED};
    recv_cq = send_cq;
    nic.lock = elided;
    nic.params.mbox_message = 16384;
    ep->type = FI_EP_RDM;
    ep->domain = &domain;
    ep->nic = &nic;
    ep->caps = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV;
    ep->lock = elided;
    ep->fid.fid.fclass = FI_CLASS_EP;
    ep->fid.ops = (struct fi_ops_ep *)&gnip_ep_ops_table;
    ep->fid.msg = (struct fi_ops_msg *)&gnip_msg_ops;
    ep->fid.tagged = (struct fi_ops_tagged *)&gnip_tagged_ops;
    ep->send_cq = &send_cq;
    ep->recv_cq = &recv_cq;
    ep->source = true;
    ep->tx_flags = ep->rx_flags = FI_COMPLETION;
    ep->tx_enabled = ep->rx_enabled = true;
    ep->tx_size = ep->rx_size = 500;
    ep->min_multi_recv = 64;
    ep->tagged = gnip_match_new(4, false);
    ep->untagged = gnip_match_new(0, false);
    gnip_list_init(&ep->vcs);
    gnip_list_append(&ep->vcs, &vc.ep_link);
    vc.ep = ep;
    vc.nic = &nic;
    vc.state = GNIP_VC_CONNECTED;
    vc.message_bytes = 16384;
    vc.eager_max = 16352;
    vc.tx_credits = 64;
}

/* Nothing may be left of what has ended. */
static void close_ep(void)
{
    uint32_t place = 0, i, bounces = 0;

    trouble = 0;
    progress_all();
    assert_null(gnip_req_each(ep, &place));
    assert_int_equal(vc.outstanding, 0);
    assert_int_equal(ep->tx_used + ep->rx_used + ep->own_used, 0);
    assert_int_equal(send_cq.reserved + recv_cq.reserved, 0);
    assert_int_equal(vc.tx_credits - 64, vc.tx_credits_used);
    for (i = 0; i < REGIONS; i++) /* pools of bounce buffers stay */
        bounces += regions[i].uses != 0 && regions[i].bytes == 128 * 64;
    assert_int_equal(regions_used, bounces);
    gnip_unexpected_free_all(ep);
    gnip_req_pool_free(ep);
    gnip_bounce_free_all(ep);
    assert_int_equal(regions_used, 0);
    gnip_match_free(ep->tagged);
    gnip_match_free(ep->untagged);
    free(ep);
}

/* ---- messages -------------------------------------------------------------------------------- */

#define AREA (1u << 18)
#define GUARD 0xee

static uint8_t *source_area, *target_area;

static uint8_t pattern(uint64_t place)
{
    return (uint8_t)(place * 131 + (place >> 8) * 7 + 1);
}

/* Cuts `bytes` into pieces that lie apart, begin anywhere, and may be empty. Returns their number.
 */
static size_t cut(uint8_t *area, uint64_t bytes, size_t pieces, struct iovec *iov)
{
    uint64_t left = bytes, at = chance(8);
    size_t i;

    for (i = 0; i < pieces; i++) {
        uint64_t part = i == pieces - 1 ? left : chance((uint32_t)left + 1);

        if (chance(3) == 0 && i < pieces - 1)
            part = chance(9) < left ? chance(9) % (left + 1) : left;
        iov[i].iov_base = area + at;
        iov[i].iov_len = part;
        left -= part;
        at += part + 1 + chance(9);
    }
    return pieces;
}

static void fill(const struct iovec *iov, size_t count)
{
    uint64_t place = 0;
    size_t i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < iov[i].iov_len; k++)
            ((uint8_t *)iov[i].iov_base)[k] = pattern(place++);
}

/* The first `bytes` bytes are there, and nothing else was written. */
static void check(const struct iovec *iov, size_t count, uint64_t bytes)
{
    uint8_t *area = target_area;
    uint64_t place = 0;
    size_t i, k;

    for (i = 0; i < count; i++) {
        for (; area < (uint8_t *)iov[i].iov_base; area++)
            assert_int_equal(*area, GUARD);
        for (k = 0; k < iov[i].iov_len; k++, area++) {
            if (place < bytes)
                assert_int_equal(*area, pattern(place++));
            else
                assert_int_equal(*area, GUARD);
        }
    }
    for (k = 0; k < 64; k++)
        assert_int_equal(area[k], GUARD);
    assert_int_equal(place, bytes);
}

static int a_send, a_receive;

static const struct entry *entry_of(const void *context)
{
    const struct entry *found = NULL;
    uint32_t i;

    for (i = 0; i < entry_count; i++) {
        if (entries[i].entry.op_context != context)
            continue;
        assert_null(found);
        found = &entries[i];
    }
    assert_non_null(found);
    return found;
}

struct shape {
    uint64_t bytes, room; /* of the message, of the receive */
    size_t from, to; /* pieces */
    bool early; /* the message comes first */
    uint64_t flags;
};

static void one_message(const struct shape *shape)
{
    uint64_t arrives = shape->bytes < shape->room ? shape->bytes : shape->room;
    struct iovec from[8], to[8];
    struct fi_msg_tagged send = {.msg_iov = from,
                                 .iov_count = cut(source_area, shape->bytes, shape->from, from),
                                 .addr = 3,
                                 .tag = 77,
                                 .context = &a_send,
                                 .data = 4321};
    struct fi_msg_tagged receive;
    const struct entry *entry;

    memset(target_area, GUARD, shape->room + 1024);
    receive = (struct fi_msg_tagged){.msg_iov = to,
                                     .iov_count = cut(target_area, shape->room, shape->to, to),
                                     .tag = 77,
                                     .context = &a_receive};
    fill(from, send.iov_count);
    entry_count = 0;
    if (!shape->early)
        assert_int_equal(fi_trecvmsg(&ep->fid, &receive, 0), 0);
    assert_int_equal(fi_tsendmsg(&ep->fid, &send, FI_REMOTE_CQ_DATA | shape->flags), 0);
    if (shape->early) {
        while (gnip_match_first(ep->tagged, NULL) == NULL)
            progress_once();
        assert_int_equal(fi_trecvmsg(&ep->fid, &receive, 0), 0);
    }
    progress_until(2);
    entry = entry_of(&a_send);
    assert_int_equal(entry->err, 0);
    assert_int_equal(entry->entry.flags, FI_MSG | FI_SEND | FI_TAGGED);
    assert_int_equal(entry->entry.len, 0);
    entry = entry_of(&a_receive);
    assert_int_equal(entry->err, shape->bytes > shape->room ? FI_ETRUNC : 0);
    assert_int_equal(entry->olen, shape->bytes - arrives);
    assert_int_equal(entry->entry.len, arrives);
    assert_int_equal(entry->entry.flags, FI_MSG | FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
    assert_int_equal(entry->entry.tag, 77);
    assert_int_equal(entry->entry.data, 4321);
    if (entry->err == 0)
        assert_int_equal(entry->source, 3);
    check(to, receive.iov_count, arrives);
}

static int areas(void **unused)
{
    source_area = calloc(1, AREA);
    target_area = malloc(AREA);
    wire = malloc(WIRE * sizeof *wire);
    return source_area == NULL || target_area == NULL || wire == NULL ? -1 : 0;
}

static int no_areas(void **unused)
{
    free(source_area);
    free(target_area);
    free(wire);
    return 0;
}

/* All alignments of both sides against all short lengths, whole and truncated, by rendezvous. */
static void gni_76_every_alignment(void **unused)
{
    uint64_t bytes, room;
    uint32_t from, to;

    open_ep(1);
    vc.eager_max = 0;
    for (from = 0; from < 4; from++) {
        for (to = 0; to < 4; to++) {
            for (bytes = 1; bytes <= 19; bytes++) {
                for (room = bytes > 6 ? bytes - 6 : 0; room <= bytes + 1; room++) {
                    struct iovec source = {source_area + 64 + from, bytes};
                    struct iovec target = {target_area + 64 + to, room};
                    uint64_t arrives = bytes < room ? bytes : room;

                    memset(target_area, GUARD, 256);
                    fill(&source, 1);
                    entry_count = 0;
                    assert_int_equal(fi_recv(&ep->fid, target.iov_base, room, NULL, 0, &a_receive),
                                     0);
                    assert_int_equal(fi_send(&ep->fid, source.iov_base, bytes, NULL, 3, &a_send),
                                     0);
                    progress_until(2);
                    assert_int_equal(entry_of(&a_receive)->err, bytes > room ? FI_ETRUNC : 0);
                    assert_int_equal(entry_of(&a_receive)->entry.len, arrives);
                    assert_int_equal(entry_of(&a_send)->err, 0);
                    check(&target, 1, arrives);
                }
            }
        }
    }
    assert_int_equal(kinds[GNIP_EAGER], 0);
    assert_true(gets > 0);
    close_ep();
}

/* Vectors on both sides, every protocol, with everything refusing now and then. */
static void vectors(uint64_t seed, bool rendezvous, bool automatic)
{
    uint32_t i;

    open_ep(seed);
    nic.automatic = automatic;
    trouble = (uint32_t)(seed % 3) * 20;
    if (rendezvous)
        vc.eager_max = 0;
    for (i = 0; i < 300; i++) {
        struct shape shape = {.from = chance(9), .to = chance(9), .early = chance(2) == 0};

        if (shape.from > 0)
            shape.bytes = chance(4) == 0 ? chance(60000) : chance(200);
        if (shape.to > 0)
            shape.room =
                chance(3) == 0 ? chance((uint32_t)shape.bytes + 1) : shape.bytes + chance(3);
        if (chance(4) == 0)
            shape.flags = FI_DELIVERY_COMPLETE;
        one_message(&shape);
    }
    close_ep();
}

static void gni_61_vectors_eager(void **unused)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++)
        vectors(seed, false, false);
    assert_true(largest_get >= 16384);
}

static void gni_64_vectors_by_rendezvous(void **unused)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++)
        vectors(seed, true, seed % 2 == 0);
}

/* A message that does not fit the window goes by rendezvous, which needs one slot. */
static void gni_66_no_window(void **unused)
{
    struct shape shape = {.bytes = 3000, .room = 3000, .from = 1, .to = 1, .early = true};

    open_ep(5);
    vc.tx_credits_used = 62; /* two slots are left */
    one_message(&shape);
    assert_int_equal(kinds[GNIP_RNDZV_RTS], 1);
    shape.bytes = shape.room = 200;
    one_message(&shape);
    assert_int_equal(kinds[GNIP_EAGER], 1);
    vc.tx_credits_used -= 62;
    close_ep();
}

/* ---- two receives at once, failures ---------------------------------------------------------- */

static void gni_61_interleaved(void **unused)
{
    struct iovec from[4][8], to[4][8];
    int sends[4], receives[4];
    uint64_t seed;
    size_t i;

    for (seed = 1; seed <= 30; seed++) {
        open_ep(seed);
        vc.eager_max = 0;
        trouble = 25;
        memset(target_area, GUARD, AREA);
        for (i = 0; i < 4; i++) {
            size_t pieces = cut(target_area + i * 8192, 5000, 1 + chance(8), to[i]);
            struct fi_msg_tagged receive = {
                .msg_iov = to[i], .iov_count = pieces, .tag = i, .context = &receives[i]};

            assert_int_equal(fi_trecvmsg(&ep->fid, &receive, 0), 0);
        }
        for (i = 0; i < 4; i++) {
            size_t pieces = cut(source_area + i * 8192, 5000, 1 + chance(8), from[i]);
            struct fi_msg_tagged send = {
                .msg_iov = from[i], .iov_count = pieces, .addr = 3, .tag = i, .context = &sends[i]};

            fill(from[i], pieces);
            assert_int_equal(fi_tsendmsg(&ep->fid, &send, 0), 0);
        }
        progress_until(8);
        for (i = 0; i < 4; i++) {
            uint64_t place = 0;
            size_t k, n;

            assert_int_equal(entry_of(&receives[i])->err, 0);
            for (k = 0; to[i] + k < to[i] + 8 && place < 5000; k++)
                for (n = 0; n < to[i][k].iov_len; n++)
                    assert_int_equal(((uint8_t *)to[i][k].iov_base)[n], pattern(place++));
        }
        close_ep();
    }
}

static void gni_142_transfers_fail_sometimes(void **unused)
{
    uint32_t failed = 0, i;
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++) {
        open_ep(seed);
        vc.eager_max = 0;
        trouble = seed % 2 == 0 ? 30 : 0;
        fail_posts = 30;
        for (i = 0; i < 50; i++) {
            struct iovec source[8], target[8];
            size_t from = cut(source_area, 5000, 1 + chance(8), source);
            size_t to = cut(target_area, 5000, 1 + chance(8), target);
            const struct entry *received;

            memset(target_area, GUARD, 6000);
            fill(source, from);
            entry_count = 0;
            assert_int_equal(fi_recvv(&ep->fid, target, NULL, to, 0, &a_receive), 0);
            assert_int_equal(fi_sendv(&ep->fid, source, NULL, from, 3, &a_send), 0);
            progress_until(2); /* both sides hear the same */
            received = entry_of(&a_receive);
            assert_int_equal(entry_of(&a_send)->err, received->err);
            assert_true(received->err == 0 || received->err == FI_EIO);
            failed += received->err != 0;
            if (received->err == 0)
                check(target, to, 5000);
        }
        close_ep();
    }
    assert_in_range(failed, 1, 900);
}

static void injected(int32_t count, enum fi_ep_type type, int expected)
{
    struct iovec source = {source_area + 1, 20000}, target = {target_area + 2, 20000};

    open_ep(7);
    ep->type = type;
    ep->msg_vc = &vc;
    ep->conn_state = GNIP_CONNECTED;
    domain.params.error_inject = count;
    memset(target_area, GUARD, 21000);
    fill(&source, 1);
    assert_int_equal(fi_recv(&ep->fid, target.iov_base, 20000, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_send(&ep->fid, source.iov_base, 20000, NULL, 3, &a_send), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_receive)->err, expected);
    assert_int_equal(entry_of(&a_send)->err, expected);
    if (expected == 0)
        check(&target, 1, 20000);
    close_ep();
}

static void gni_142_injected_failures(void **unused)
{
    injected(4, FI_EP_RDM, 0);
    injected(4, FI_EP_MSG, 0);
    injected(5, FI_EP_RDM, FI_EIO);
    injected(1, FI_EP_DGRAM, FI_EIO); /* no replay */
}

/* An eager send fails where replays would not help; those that do help are uGNI's. */
static void gni_142_injected_eager(void **unused)
{
    int32_t count;

    for (count = 4; count <= 5; count++) {
        open_ep(7);
        domain.params.error_inject = count;
        assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
        assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
        progress_until(count == 4 ? 2 : 1);
        assert_int_equal(entry_of(&a_send)->err, count == 4 ? 0 : FI_EIO);
        if (count == 5)
            assert_int_equal(fi_cancel(&ep->fid.fid, &a_receive), 0);
        close_ep();
    }
}

/* The connection is lost while the receiver waits for resources, and the sender for its FIN. */
static void gni_144_lost_connection(void **unused)
{
    open_ep(3);
    vc.eager_max = 0;
    assert_int_equal(fi_send(&ep->fid, source_area, 5000, NULL, 3, &a_send), 0);
    while (gnip_match_first(ep->untagged, NULL) == NULL)
        progress_once();
    while (event_count > 0)
        report();
    trouble = 100;
    assert_int_equal(fi_recv(&ep->fid, target_area, 5000, NULL, 0, &a_receive), 0);
    assert_false(gnip_queue_empty(&vc.work));
    broken = -FI_ENOTCONN;
    trouble = 0;
    gnip_req_drop(gnip_container(gnip_queue_pop(&vc.work), struct gnip_req, link), FI_ENOTCONN);
    gnip_req_vc_lost(&vc, FI_ENOTCONN);
    assert_int_equal(entry_of(&a_receive)->err, FI_EIO);
    assert_int_equal(entry_of(&a_send)->err, FI_ENOTCONN);
    close_ep();
}

/* ---- completions ----------------------------------------------------------------------------- */

static void gni_69_delivery_complete(void **unused)
{
    struct iovec iov = {source_area, 100};
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = 3, .context = &a_send};

    open_ep(9);
    assert_int_equal(fi_sendmsg(&ep->fid, &msg, FI_DELIVERY_COMPLETE), 0);
    progress_all();
    assert_int_equal(entry_count, 0); /* not received yet */
    assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_send)->err, 0);
    assert_int_equal(kinds[GNIP_EAGER_ACK], 1);
    close_ep();
}

static void gni_60_inject(void **unused)
{
    struct gnip_cntr cntr = {.value = 0};
    uint32_t i;

    open_ep(9);
    ep->send_cntr = &cntr;
    for (i = 0; i < 64; i++)
        source_area[i] = (uint8_t)i;
    assert_int_equal(fi_inject(&ep->fid, source_area, 65, 3), -FI_EINVAL);
    assert_int_equal(fi_inject(&ep->fid, source_area, 64, 3), 0);
    memset(source_area, 0, 64);
    assert_int_equal(fi_recv(&ep->fid, target_area, 64, NULL, 0, &a_receive), 0);
    progress_all();
    assert_int_equal(entry_count, 1);
    assert_ptr_equal(entries[0].entry.op_context, &a_receive);
    for (i = 0; i < 64; i++)
        assert_int_equal(target_area[i], i);
    assert_int_equal(cntr.value, 1);
    close_ep();
}

static void gni_62_no_segments(void **unused)
{
    struct fi_msg_tagged msg = {.addr = 3, .tag = 1, .context = &a_send};
    struct iovec nine[9] = {{0}};

    open_ep(2);
    assert_int_equal(fi_sendv(&ep->fid, nine, NULL, 9, 3, &a_send), -FI_EINVAL);
    assert_int_equal(fi_trecv(&ep->fid, NULL, 0, NULL, 0, 1, 0, &a_receive), 0);
    assert_int_equal(fi_tsendmsg(&ep->fid, &msg, 0), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_receive)->entry.len, 0);
    assert_int_equal(entry_of(&a_receive)->err, 0);
    close_ep();
}

static void gni_74_selective(void **unused)
{
    struct gnip_cntr cntr = {.value = 0};

    open_ep(2);
    ep->tx_flags = ep->rx_flags = 0;
    ep->tx_selective = ep->rx_selective = true;
    ep->recv_cntr = &cntr;
    assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_recv(&ep->fid, target_area, 10, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
    progress_all();
    assert_int_equal(entry_count, 1); /* the error only */
    assert_int_equal(entries[0].err, FI_ETRUNC);
    assert_int_equal(cntr.value, 1);
    assert_int_equal(cntr.errors, 1);
    close_ep();
}

static void gni_75_notify_flags(void **unused)
{
    open_ep(2);
    ep->notify_flags_only = true;
    assert_int_equal(fi_recv(&ep->fid, target_area, 100, NULL, 0, &a_receive), 0);
    assert_int_equal(fi_senddata(&ep->fid, source_area, 100, NULL, 5, 3, &a_send), 0);
    progress_until(2);
    assert_int_equal(entry_of(&a_send)->entry.flags, 0);
    assert_int_equal(entry_of(&a_receive)->entry.flags, FI_REMOTE_CQ_DATA);
    close_ep();
}

static void gni_43_cancel(void **unused)
{
    open_ep(2);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_send), -FI_ENOENT);
    assert_int_equal(fi_trecv(&ep->fid, target_area, 100, NULL, 0, 8, 0, &a_receive), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 50, NULL, 3, &a_send), 0);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_send), 0); /* is queued */
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_receive), 0);
    assert_int_equal(entry_of(&a_send)->err, FI_ECANCELED);
    assert_ptr_equal(entry_of(&a_send)->entry.buf, source_area);
    assert_int_equal(entry_of(&a_send)->entry.len, 50);
    assert_int_equal(entry_of(&a_receive)->err, FI_ECANCELED);
    assert_ptr_equal(entry_of(&a_receive)->entry.buf, target_area);
    assert_int_equal(entry_of(&a_receive)->entry.len, 100);
    assert_int_equal(entry_of(&a_receive)->entry.tag, 8);
    close_ep();
}

/* A late answer names a request that has ended: its slot is used again, but the id is another. */
static void gni_45_stale_answers(void **unused)
{
    struct gnip_fin fin = {.h = {.kind = GNIP_RNDZV_FIN}};
    uint64_t ignored = ctx.counts.ignored;
    struct gnip_req *req;
    uint32_t old;

    open_ep(2);
    vc.eager_max = 0;
    req = gnip_req_get(ep, GNIP_REQ_SEND, false);
    old = req->id;
    assert_ptr_equal(gnip_req_of_id(ep, old), req);
    gnip_req_put(req);
    assert_null(gnip_req_of_id(ep, old));
    assert_int_equal(fi_send(&ep->fid, source_area, 50, NULL, 3, &a_send), 0);
    progress_all();
    assert_int_equal(kinds[GNIP_RNDZV_RTS], 1); /* in the same slot */
    fin.h.a = old;
    gnip_fin_arrived(&vc, &fin);
    fin.h.a = 0;
    gnip_fin_arrived(&vc, &fin);
    fin.h.a = ~0ull;
    gnip_fin_arrived(&vc, &fin);
    assert_int_equal(ctx.counts.ignored - ignored, 3);
    assert_int_equal(entry_count, 0);
    assert_int_equal(fi_recv(&ep->fid, target_area, 50, NULL, 0, &a_receive), 0);
    progress_until(2);
    close_ep();
}

static void gni_66_limits(void **unused)
{
    uint32_t accepted = 0;
    int rc;

    open_ep(2);
    while ((rc = (int)fi_send(&ep->fid, source_area, 8, NULL, 3, &a_send)) == 0)
        accepted++;
    assert_int_equal(rc, -FI_EAGAIN);
    assert_int_equal(accepted, 500);
    recv_cq.capacity = 10;
    for (accepted = 0; fi_recv(&ep->fid, target_area, 8, NULL, 0, &a_receive) == 0;)
        accepted++;
    assert_int_equal(accepted, 10);
    progress_until(20);
    while (entry_count < 1000) { /* entries are read, so all get through in the end */
        if (fi_recv(&ep->fid, target_area, 8, NULL, 0, &a_receive) == -FI_EAGAIN)
            progress_once();
        if (entry_count >= 990)
            break;
    }
    progress_all();
    while (fi_cancel(&ep->fid.fid, &a_receive) == 0)
        ;
    close_ep();
}

/* ---- multi-receive --------------------------------------------------------------------------- */

static int a_buffer;

static void post_buffer(uint8_t *buffer, size_t bytes, int *context)
{
    struct iovec iov = {buffer, bytes};
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .context = context};

    assert_int_equal(fi_recvmsg(&ep->fid, &msg, FI_MULTI_RECV), 0);
}

/* Entries of the buffer: data of increasing length, side by side; then, last, the release. */
static void check_buffer(const uint64_t *lengths, uint32_t count, bool released)
{
    uint32_t seen = 0, releases = 0, i, k;
    uint64_t total = 0;

    for (i = 0; i < entry_count; i++) {
        const struct entry *entry = &entries[i];

        if (entry->entry.op_context != &a_buffer)
            continue;
        assert_int_equal(releases, 0);
        if (entry->entry.flags == FI_MULTI_RECV) {
            assert_int_equal(entry->entry.len, 0);
            assert_null(entry->entry.buf);
            releases++;
            continue;
        }
        assert_int_equal(entry->entry.flags, FI_MSG | FI_RECV);
        for (k = 0; k < entry->entry.len; k++)
            assert_int_equal(((uint8_t *)entry->entry.buf)[k], pattern(k));
        total += entry->entry.len;
        seen++;
    }
    assert_int_equal(seen, count);
    assert_int_equal(releases, released);
    for (i = 0; i < count; i++)
        total -= lengths[i];
    assert_int_equal(total, 0);
}

static void parts(uint64_t seed, bool early)
{
    uint64_t lengths[40], sum = 0;
    struct gnip_cntr cntr = {.value = 0};
    uint32_t count = 20 + chance(20), i;
    int sends;

    open_ep(seed);
    ep->recv_cntr = &cntr;
    vc.eager_max = seed % 2 == 0 ? 100 : 16352;
    trouble = (uint32_t)(seed % 3) * 20;
    for (i = 0; i < 4096; i++)
        source_area[i] = pattern(i);
    for (i = 0; i < count; i++)
        sum += lengths[i] = chance(700);
    memset(target_area, GUARD, AREA);
    entry_count = 0;
    if (!early)
        post_buffer(target_area + 3, sum + 63, &a_buffer);
    for (i = 0; i < count; i++)
        assert_int_equal(fi_send(&ep->fid, source_area, lengths[i], NULL, 3, &sends), 0);
    for (i = 0; early && i < 200; i++)
        progress_once();
    if (early)
        post_buffer(target_area + 3, sum + 63, &a_buffer);
    progress_until(2 * count + 1);
    check_buffer(lengths, count, true);
    for (i = 0; i < 63; i++)
        assert_int_equal(target_area[3 + sum + i], GUARD);
    assert_int_equal(cntr.value, count);
    close_ep();
}

static void gni_87_parts_do_not_touch(void **unused)
{
    uint64_t seed;

    for (seed = 1; seed <= 30; seed++) {
        parts(seed, false);
        parts(seed, true);
    }
}

static void gni_88_last_is_truncated(void **unused)
{
    uint32_t truncated = 0, released = 0, i;
    int sends;

    open_ep(1);
    memset(target_area, GUARD, 400);
    post_buffer(target_area, 200, &a_buffer);
    assert_int_equal(fi_send(&ep->fid, source_area, 120, NULL, 3, &sends), 0);
    assert_int_equal(fi_send(&ep->fid, source_area, 120, NULL, 3, &sends), 0);
    progress_until(5);
    for (i = 0; i < entry_count; i++) {
        if (entries[i].entry.op_context != &a_buffer)
            assert_int_equal(entries[i].err, 0);
        else if (entries[i].err == FI_ETRUNC) {
            assert_ptr_equal(entries[i].entry.buf, target_area + 120);
            assert_int_equal(entries[i].entry.len, 80);
            assert_int_equal(entries[i].olen, 40);
            truncated++;
        } else if (entries[i].entry.flags == FI_MULTI_RECV) {
            assert_int_equal(truncated, 1);
            released++;
        }
    }
    assert_int_equal(released, 1);
    assert_int_equal(target_area[200], GUARD);
    close_ep();
}

/* No CQ entries: messages wait, in order, and get on when entries are read. */
static void gni_86_few_entries(void **unused)
{
    uint64_t lengths[30];
    uint32_t i;
    int sends;

    open_ep(4);
    entry_count = 0;
    for (i = 0; i < 4096; i++)
        source_area[i] = pattern(i);
    post_buffer(target_area, 30 * 70 + 63, &a_buffer);
    recv_cq.capacity = 1; /* the buffer's own entry */
    for (i = 0; i < 30; i++) {
        lengths[i] = 70;
        assert_int_equal(fi_send(&ep->fid, source_area, 70, NULL, 3, &sends), 0);
    }
    progress_all();
    assert_true(ep->mrecv_stalled);
    assert_int_equal(entry_count, 30); /* of the sends */
    recv_cq.capacity = 3;
    progress_all();
    check_buffer(lengths, 30, true);
    assert_false(ep->mrecv_stalled);
    close_ep();
}

static void gni_91_cancel_buffer(void **unused)
{
    open_ep(4);
    entry_count = 0;
    vc.eager_max = 0;
    post_buffer(target_area, 1000, &a_buffer);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_buffer), 0);
    assert_int_equal(entry_count, 1);
    assert_int_equal(entry_of(&a_buffer)->err, FI_ECANCELED);
    entry_count = 0;
    post_buffer(target_area, 1000, &a_buffer);
    assert_int_equal(fi_send(&ep->fid, source_area, 100, NULL, 3, &a_send), 0);
    while (ep->own_used == 0)
        progress_once();
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_buffer), -FI_ENOENT); /* a part is under way */
    progress_until(2);
    assert_int_equal(fi_cancel(&ep->fid.fid, &a_buffer), 0);
    close_ep();
}

/* ---- peek, claim, discard -------------------------------------------------------------------- */

static void send_tagged(uint64_t bytes, uint64_t tag, int *context)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        source_area[i] = pattern(i);
    assert_int_equal(fi_tsend(&ep->fid, source_area, bytes, NULL, 3, tag, context), 0);
    progress_all();
    entry_count = 0;
}

static ssize_t peek(uint64_t tag, uint64_t flags, void *buffer, size_t bytes, void *context)
{
    struct iovec iov = {buffer, bytes};
    struct fi_msg_tagged msg = {.msg_iov = buffer == NULL ? NULL : &iov,
                                .iov_count = buffer != NULL,
                                .tag = tag,
                                .context = context};

    entry_count = 0;
    return fi_trecvmsg(&ep->fid, &msg, flags);
}

static void peeked(uint64_t bytes)
{
    struct gnip_cntr cntr = {.value = 0};

    open_ep(6);
    ep->recv_cntr = &cntr;
    assert_int_equal(peek(9, FI_PEEK, target_area, 30, &a_receive), 0);
    assert_int_equal(entry_of(&a_receive)->err, FI_ENOMSG);
    assert_ptr_equal(entry_of(&a_receive)->entry.buf, target_area);
    assert_int_equal(entry_of(&a_receive)->entry.len, 30);
    assert_int_equal(entry_of(&a_receive)->entry.tag, 9);
    send_tagged(bytes, 9, &a_send);
    memset(target_area, GUARD, 64);
    assert_int_equal(peek(9, FI_PEEK, target_area, 30, &a_receive), 0);
    assert_int_equal(entry_of(&a_receive)->err, 0);
    assert_int_equal(entry_of(&a_receive)->entry.len, bytes);
    assert_int_equal(entry_of(&a_receive)->entry.flags, FI_MSG | FI_RECV | FI_TAGGED | FI_PEEK);
    if (bytes > vc.eager_max) {
        assert_null(entry_of(&a_receive)->entry.buf);
        assert_int_equal(target_area[0], GUARD);
    } else {
        assert_ptr_equal(entry_of(&a_receive)->entry.buf, target_area);
        assert_int_equal(target_area[29], pattern(29));
        assert_int_equal(target_area[30], GUARD);
    }
    assert_int_equal(peek(9, FI_PEEK, NULL, 0, &a_receive), 0);
    assert_int_equal(entry_of(&a_receive)->entry.len, bytes);
    assert_null(entry_of(&a_receive)->entry.buf);
    recv_cq.format = FI_CQ_FORMAT_MSG;
    memset(target_area, GUARD, 64);
    assert_int_equal(peek(9, FI_PEEK, target_area, 30, &a_receive), 0);
    assert_int_equal(target_area[0], GUARD);
    entry_count = 0;
    assert_int_equal(fi_trecv(&ep->fid, target_area, bytes, NULL, 0, 9, 0, &a_receive), 0);
    progress_all();
    assert_int_equal(entry_of(&a_receive)->entry.len, bytes);
    assert_int_equal(cntr.value, 1); /* peeks are not counted */
    assert_int_equal(cntr.errors, 0);
    close_ep();
}

static void gni_81_peek(void **unused)
{
    peeked(100);
    peeked(20000);
}

static void claimed(uint64_t bytes)
{
    struct fi_context mine, other;

    open_ep(6);
    send_tagged(bytes, 9, &a_send);
    assert_int_equal(peek(9, FI_CLAIM | FI_PEEK, NULL, 0, NULL), -FI_EINVAL);
    assert_int_equal(peek(9, FI_CLAIM | FI_PEEK, NULL, 0, &mine), 0);
    assert_int_equal(entry_of(&mine)->entry.len, bytes);
    assert_int_equal(peek(9, FI_PEEK, NULL, 0, &other), 0);
    assert_int_equal(entry_of(&other)->err, FI_ENOMSG); /* nobody else sees it */
    assert_int_equal(peek(9, FI_CLAIM, target_area, bytes, &other), -FI_EINVAL);
    assert_int_equal(peek(9, FI_CLAIM, target_area, bytes, &mine), 0);
    progress_all();
    assert_int_equal(entry_of(&mine)->err, 0);
    assert_int_equal(entry_of(&mine)->entry.len, bytes);
    assert_int_equal(entry_of(&mine)->entry.flags, FI_MSG | FI_RECV | FI_TAGGED | FI_CLAIM);
    assert_int_equal(target_area[bytes - 1], pattern(bytes - 1));
    assert_int_equal(peek(9, FI_CLAIM, target_area, bytes, &mine), -FI_EINVAL);
    /* Dropped, at once or after it was claimed. */
    send_tagged(bytes, 10, &a_send);
    assert_int_equal(peek(10, FI_CLAIM | FI_PEEK, NULL, 0, &mine), 0);
    assert_int_equal(peek(10, FI_CLAIM | FI_DISCARD, NULL, 0, &mine), 0);
    assert_int_equal(entry_of(&mine)->entry.len, 0);
    assert_int_equal(entry_of(&mine)->entry.flags,
                     FI_MSG | FI_RECV | FI_TAGGED | FI_CLAIM | FI_DISCARD);
    send_tagged(bytes, 11, &a_send);
    assert_int_equal(peek(11, FI_PEEK | FI_DISCARD, NULL, 0, &mine), 0);
    assert_int_equal(peek(11, FI_PEEK, NULL, 0, &mine), 0);
    assert_int_equal(entry_of(&mine)->err, FI_ENOMSG);
    progress_all();
    close_ep(); /* the senders of what was dropped have completed */
}

static void gni_82_claim_and_discard(void **unused)
{
    claimed(100);
    claimed(20000);
}

static void gni_83_flags(void **unused)
{
    open_ep(6);
    assert_int_equal(peek(1, FI_DISCARD, NULL, 0, &a_receive), -FI_EINVAL);
    assert_int_equal(peek(1, FI_CLAIM, NULL, 0, NULL), -FI_EINVAL);
    assert_int_equal(peek(1, FI_PEEK | FI_FENCE, NULL, 0, &a_receive), -FI_EINVAL);
    assert_int_equal(peek(1, FI_MULTI_RECV, target_area, 100, &a_receive), -FI_EINVAL);
    close_ep();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_76_every_alignment),
        cmocka_unit_test(gni_61_vectors_eager),
        cmocka_unit_test(gni_64_vectors_by_rendezvous),
        cmocka_unit_test(gni_66_no_window),
        cmocka_unit_test(gni_61_interleaved),
        cmocka_unit_test(gni_142_transfers_fail_sometimes),
        cmocka_unit_test(gni_142_injected_failures),
        cmocka_unit_test(gni_142_injected_eager),
        cmocka_unit_test(gni_144_lost_connection),
        cmocka_unit_test(gni_69_delivery_complete),
        cmocka_unit_test(gni_60_inject),
        cmocka_unit_test(gni_62_no_segments),
        cmocka_unit_test(gni_74_selective),
        cmocka_unit_test(gni_75_notify_flags),
        cmocka_unit_test(gni_43_cancel),
        cmocka_unit_test(gni_45_stale_answers),
        cmocka_unit_test(gni_66_limits),
        cmocka_unit_test(gni_87_parts_do_not_touch),
        cmocka_unit_test(gni_88_last_is_truncated),
        cmocka_unit_test(gni_86_few_entries),
        cmocka_unit_test(gni_91_cancel_buffer),
        cmocka_unit_test(gni_81_peek),
        cmocka_unit_test(gni_82_claim_and_discard),
        cmocka_unit_test(gni_83_flags),
    };

    return cmocka_run_group_tests(tests, areas, no_areas);
}
