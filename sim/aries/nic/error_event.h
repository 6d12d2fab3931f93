/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Subscriptions to error events: the structure that several files of api/ use. */
#ifndef JACQUARD_ARIES_ERROR_EVENT_H
#define JACQUARD_ARIES_ERROR_EVENT_H

#include "nic/interface.h"

struct gni_err {
    uint32_t magic;
    uint32_t refs; /* the handle, plus one for each thread blocked in it */
    struct aries_nic *hw;
    struct gni_nic *nic; /* NULL: the subscription covers the whole device */
    struct aries_process *process;
    gni_error_mask_t mask;
    uint8_t ptag; /* 0: all */
    uint32_t capacity, head, count;
    gni_error_event_t *ring; /* `capacity` events; allocated at the first event */
    struct sim_fiber **waiters;
    uint32_t waiters_count;
    struct aries_list hw_link, process_link;
};

/* Removes a thread that has ended from the waiters. */
void aries_errors_forget(struct aries_process *process, const struct sim_fiber *fiber);

#endif
