/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to msg_cm_unit.c. */
#ifndef GNI_MSG_CM_FRAME_H
#define GNI_MSG_CM_FRAME_H

/*
 * Connections of MSG endpoints by themselves: one listener, clients that connect, shut down and
 * close at random, a network that loses, doubles and reorders messages, and a clock of its own.
 * Whatever happens, both sides end with the same result, and nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "cm_nic.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "msg_cm.h"
#include "msg_ep.h"
#include "name.h"
#include "pep.h"
#include "progress.h"
#include "proto.h"
#include "req.h"
#include "vc.h"
#include "wait.h"
#include "waitable.h"

#define MS 1000000ull
#define STEP (MS / 2)

static __attribute__((unused)) uint64_t now, random_state, loss, doubling;

static inline uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (random_state >> 33) % below;
}

/* ---- a port with a clock that stands still ----------------------------------------------------
 */

void port_mutex_init(struct port_mutex *mutex)
{
    mutex->opaque[0] = 0;
}

void port_mutex_destroy(struct port_mutex *mutex)
{
    assert_int_equal(mutex->opaque[0], 0);
}

void port_mutex_lock(struct port_mutex *mutex)
{
    assert_int_equal(mutex->opaque[0]++, 0); /* one thread: anything else is a deadlock */
}

void port_mutex_unlock(struct port_mutex *mutex)
{
    assert_int_equal(--mutex->opaque[0], 0);
}

static __attribute__((unused)) int timers;

void port_timer_start(struct port_timer *timer, uint64_t nanoseconds)
{
    timers++;
    timer->opaque[0] = nanoseconds == UINT64_MAX ? UINT64_MAX : now + nanoseconds;
}

bool port_timer_rang(const struct port_timer *timer)
{
    return now >= timer->opaque[0];
}

void port_timer_stop(struct port_timer *timer)
{
    timers--;
}

static inline void step(void);

void port_poll_memory(void)
{
}

void port_idle(struct port_timer *timer, bool polled)
{
    step();
}

void port_idle_break(void)
{
}

struct port_thread *port_thread_self(void)
{
    return NULL;
}

void port_thread_wake(struct port_thread *thread)
{
}

int port_event_open(void)
{
    return -1;
}

void port_event_set(int event)
{
}

void port_event_clear(int event)
{
}

void port_event_close(int event)
{
}

void port_spend(enum port_cost cost, uint64_t amount)
{
}

uint64_t port_random(void)
{
    return draw(UINT32_MAX);
}

void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...)
{
}

/* ---- the rest of the provider ---------------------------------------------------------------- */

static __attribute__((unused)) struct gnip_ctx ctx = {.incarnation = 77};

static __attribute__((
    unused)) struct gnip_cm_nic nics[3]; /* of the listener, of its domain, of the clients */

static __attribute__((unused)) struct gnip_work *works[3];

static __attribute__((unused)) struct message {
    struct gnip_cm_nic *from, *to; /* to NULL: free */
    uint64_t due;
    uint8_t bytes[GNIP_CM_BYTES];
    uint32_t count;
} network[512];

const struct fi_ops_cm gnip_ep_cm_ops;

void gnip_progress_list_init(struct gnip_progress_list *list, bool elided)
{
}

void gnip_progress_list_fini(struct gnip_progress_list *list)
{
}

uint32_t gnip_progress_list_run(struct gnip_progress_list *list)
{
    return 1;
}

const char *gnip_strerror(int prov_errno)
{
    return "";
}

int gnip_wait_check(enum fi_wait_obj type, struct fid_wait *set, struct gnip_fabric *of)
{
    return 0;
}

int gnip_waitable_open(struct gnip_waitable *waitable, enum fi_wait_obj type, struct fid_wait *set,
                       struct fid *object, struct fid_wait **joined)
{
    *joined = NULL;
    return gnip_waitable_init(waitable, type == FI_WAIT_FD);
}

void gnip_waitable_close(struct gnip_waitable *waitable, struct fid_wait *joined,
                         struct fid *object)
{
    gnip_waitable_fini(waitable);
}

void gnip_name_write(const struct gnip_name *name, uint32_t addr_format, void *buffer)
{
    memcpy(buffer, name, sizeof(*name));
}

int gnip_name_read(struct gnip_name *name, uint32_t addr_format, const void *buffer)
{
    memcpy(name, buffer, sizeof(*name));
    return 0;
}

int gnip_name_copy(const struct gnip_name *name, uint32_t addr_format, void *buffer, size_t *bytes)
{
    memcpy(buffer, name, sizeof(*name));
    return 0;
}

int gnip_ep_enable(struct gnip_ep *ep, uint64_t directions, bool strict)
{
    ep->tx_enabled = true;
    return 0;
}

void gnip_ep_flush_receives(struct gnip_ep *ep, int error)
{
}

static inline void transmit(struct gnip_cm_nic *from, struct gnip_cm_nic *to, const void *message,
                            uint32_t bytes)
{
    struct message *slot = network;

    while (slot->to != NULL)
        slot++;
    assert_true(slot < network + 512);
    *slot = (struct message){.from = from,
                             .to = to,
                             .due = now + draw(draw(20) != 0 ? 2 * MS : 500 * MS),
                             .count = bytes};
    memcpy(slot->bytes, message, bytes);
}

int gnip_cm_send(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                 const void *message, uint32_t bytes)
{
    struct gnip_cm_nic *to = &nics[device_addr - 1];

    assert_true(device_addr >= 1 && device_addr <= 3 && to->name.cdm_id == cdm_id);
    if (draw(4) == 0)
        return -FI_EAGAIN;
    if (draw(100) >= loss)
        transmit(cm_nic, to, message, bytes);
    if (draw(100) < doubling)
        transmit(cm_nic, to, message, bytes);
    return 0;
}

void gnip_cm_work_add(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    works[cm_nic - nics] = work;
}

void gnip_cm_work_remove(struct gnip_cm_nic *cm_nic, struct gnip_work *work)
{
    works[cm_nic - nics] = NULL;
}

uint32_t gnip_cm_nic_progress(struct gnip_cm_nic *cm_nic, uint32_t *polls)
{
    ++*polls;
    return 0;
}

/* A VC knows whose mailbox it was given. */
struct gnip_vc *gnip_vc_new(struct gnip_ep *ep, const struct gnip_name *peer)
{
    struct gnip_vc *vc = calloc(1, sizeof(*vc));

    vc->ep = ep;
    vc->peer = *peer;
    vc->state = GNIP_VC_NONE;
    return vc;
}

int gnip_vc_describe(struct gnip_vc *vc, struct gnip_conn *ours)
{
    ours->mailbox.buffer = (uintptr_t)vc->ep;
    ours->source_vc = vc->ep->name.cdm_id;
    vc->state = GNIP_VC_CONNECTING;
    return draw(20) == 0 ? -FI_EAGAIN : 0;
}

int gnip_vc_establish(struct gnip_vc *vc, const struct gnip_conn *theirs)
{
    assert_int_equal(vc->state, GNIP_VC_CONNECTING);
    if (draw(10) == 0)
        return -FI_EAGAIN;
    assert_true(theirs->incarnation == ctx.incarnation && theirs->mailbox.buffer != 0);
    vc->peer_id = theirs->source_vc;
    vc->state = GNIP_VC_CONNECTED;
    return 0;
}

void gnip_vc_fail(struct gnip_vc *vc, int error)
{
    vc->state = GNIP_VC_ERROR;
}

void gnip_vcs_drain(struct gnip_ep *ep)
{
}

void gnip_vc_close(struct gnip_vc *vc)
{
    vc->state = GNIP_VC_TERMINATED;
}

uint32_t gnip_vc_wind_up(struct gnip_vc *vc)
{
    assert_int_equal(vc->state, GNIP_VC_TERMINATED);
    return 0;
}

bool gnip_vc_close_done(struct gnip_vc *vc)
{
    return vc->peer_gone || draw(5) == 0;
}

void gnip_vc_free(struct gnip_vc *vc)
{
    free(vc);
}

uint32_t gnip_vc_progress(struct gnip_vc *vc)
{
    return 0;
}

static inline void step(void)
{
    uint32_t i;

    now += STEP;
    for (i = 0; i < 512; i++) {
        struct message message = network[i];

        if (message.to == NULL || message.due > now)
            continue;
        network[i].to = NULL;
        gnip_msg_cm_receive(message.to, message.from->name.device_addr, message.from->name.cdm_id,
                            message.bytes, message.count);
    }
    for (i = 0; i < 3; i++) {
        struct gnip_work *work = works[i];

        works[i] = NULL;
        if (work != NULL && work->run(work) != 0)
            works[i] = work;
    }
}

#endif
