/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to cq_unit.c, eq_unit.c, wait_unit.c. */
#ifndef GNI_QUEUES_FRAME_H
#define GNI_QUEUES_FRAME_H

/*
 * Completion and event queues, wait and poll sets, and the messages of MSG connections by
 * themselves, with real threads: against a model, and with a thread that adds entries while others
 * wait.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "cm_nic.h"
#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "msg_cm.h"
#include "nic.h"
#include "nosys.h"
#include "progress.h"
#include "proto.h"
#include "req.h"
#include "vc.h"
#include "wait.h"
#include "waitable.h"

/* ---- what the files under test call ---------------------------------------------------------- */

void gnip_progress_list_init(struct gnip_progress_list *list, bool elided)
{
    memset(list, 0, sizeof(*list));
}

void gnip_progress_list_fini(struct gnip_progress_list *list)
{
}

uint32_t gnip_progress_list_run(struct gnip_progress_list *list)
{
    return 0; /* there is nothing to be polled: a thread that waits sleeps until it is woken */
}

const char *gnip_strerror(int prov_errno)
{
    return "an error";
}

int gnip_no_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
    return -FI_ENOSYS;
}

int gnip_no_control(struct fid *fid, int command, void *argument)
{
    return -FI_ENOSYS;
}

int gnip_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    return -FI_ENOSYS;
}

void gnip_vc_schedule(struct gnip_vc *vc)
{
    vc->rx_ready = true;
}

void gnip_gate_notify(struct gnip_gate *gate)
{
}

static __attribute__((unused)) struct {
    uint8_t message[GNIP_CM_BYTES];
    uint32_t bytes;
} sent[64];

static __attribute__((unused)) uint32_t sent_count;

static __attribute__((unused)) bool busy;

int gnip_cm_send(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                 const void *message, uint32_t bytes)
{
    if (busy)
        return -FI_EAGAIN;
    assert_true(sent_count < 64 && bytes <= GNIP_CM_BYTES);
    memcpy(sent[sent_count].message, message, bytes);
    sent[sent_count++].bytes = bytes;
    return 0;
}

/* ---- fixture --------------------------------------------------------------------------------- */

static __attribute__((unused)) struct gnip_fabric fabric = {.fid.api_version = FI_VERSION(1, 17)};

static __attribute__((unused)) struct gnip_domain domain = {.fabric = &fabric,
                                                            .api_version = FI_VERSION(1, 17)};

void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...)
{
}

static inline struct gnip_cq *open_cq(const struct fi_cq_attr *attr)
{
    struct fi_cq_attr copy = *attr;
    struct fid_cq *cq;

    if (domain.cqs.next == NULL) {
        port_mutex_init(&domain.lock);
        port_list_init(&domain.cqs);
    }
    assert_int_equal(gnip_cq_open(&domain.fid, &copy, &cq, NULL), 0);
    return gnip_container(cq, struct gnip_cq, fid);
}

static __attribute__((unused)) uint64_t random_state = 88172645463325252ull;

static inline uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static inline void add(struct gnip_cq *cq, uint64_t number)
{
    const struct fi_cq_tagged_entry entry = {.op_context = (void *)(uintptr_t)number,
                                             .flags = number + 1,
                                             .len = number + 2,
                                             .buf = (void *)(uintptr_t)(number + 3),
                                             .data = number + 4,
                                             .tag = number + 5};

    gnip_cq_add(cq, &entry, number + 6);
}

/* ---- memory that is short -------------------------------------------------------------------- */

static __attribute__((unused)) bool no_memory;

void *__real_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return no_memory ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* ---- waiting --------------------------------------------------------------------------------- */

#define ENTRIES 20000u

struct waiting {
    struct gnip_cq *cq;
    uint32_t read;
    bool descriptor;
};

static inline void *add_all(void *argument)
{
    struct waiting *waiting = argument;
    uint32_t i;

    for (i = 0; i < ENTRIES; i++) {
        while (!gnip_cq_reserve(waiting->cq))
            ;
        add(waiting->cq, i);
        if (i % 64 == 0)
            sched_yield();
    }
    return NULL;
}

#endif
