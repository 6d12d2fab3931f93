/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stand-ins for everything that the files about messages call: memory, the NIC, VCs and queues. */
#ifndef GNI_MESSAGE_STANDIN_H
#define GNI_MESSAGE_STANDIN_H

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
#include "queue.h"
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

static __attribute__((unused)) uint64_t state;

static inline uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((state >> 33) % below);
}

static __attribute__((unused)) uint32_t trouble; /* of 100 calls so many say: not now */

static inline bool not_now(void)
{
    return chance(100) < trouble;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static __attribute__((unused)) struct gnip_ctx ctx;

static __attribute__((unused)) struct gnip_domain domain;

static __attribute__((unused)) struct gnip_fabric fabric;

static __attribute__((unused)) struct gnip_nic nic;

static __attribute__((unused)) struct gnip_vc vc;

static __attribute__((unused)) struct gnip_ep *ep;

static __attribute__((unused)) struct gnip_cq send_cq, recv_cq;

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

static __attribute__((unused)) struct gnip_mr regions[REGIONS];

static __attribute__((unused)) uint32_t regions_used;

bool gnip_mr_serves(const struct gnip_ep *endpoint, const struct gnip_mr *mr, const void *buffer,
                    uint64_t bytes, bool written)
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

/* Descriptors; events of posted transactions, in any order. */
#define TXDS 64

static __attribute__((unused)) struct gnip_txd txds[TXDS], *events[TXDS];

static __attribute__((unused)) struct gnip_transfer transfers[TXDS];

static __attribute__((unused)) bool txd_used[TXDS];

static __attribute__((unused)) uint32_t event_count;

static __attribute__((unused)) uint32_t fail_posts; /* of 100 transfers so many fail, recoverably */

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

static __attribute__((unused)) uint32_t gets, largest_get;

/* One GET: aligned, from what may be read (whole words around the region), to what may be written.
 */
static inline void get(uint64_t local, const gni_mem_handle_t *local_handle, uint64_t remote,
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

static inline gni_return_t transfer(gni_post_descriptor_t *post, bool chained)
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

static __attribute__((unused)) struct {
    _Alignas(8) uint8_t bytes[20000];
} * wire;

static __attribute__((unused)) uint32_t wire_first, wire_count;

static __attribute__((unused)) uint32_t kinds[GNIP_KINDS];

static __attribute__((unused)) int broken; /* what sending says */

static __attribute__((unused)) uint32_t window_used, window_kept;

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

void gnip_vc_begin_to_await(struct gnip_vc *on)
{
    on->awaits = true;
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

static __attribute__((unused)) struct entry {
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;
    uint64_t olen;
    int err;
} entries[ENTRIES];

static __attribute__((unused)) uint32_t entry_count;

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

#endif
