/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Execution of a request at its target, in simulation and live mode: the checks and their order,
 * access to memory, atomics, the remote event, and the status of the response. sim/ calls this for
 * a chunk of a transaction when the chunk arrives, live/ in the process that owns the memory.
 */
#ifndef JACQUARD_ARIES_TARGET_H
#define JACQUARD_ARIES_TARGET_H

#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"
#include "nic/event_queue.h"
#include "nic/registration.h"

struct aries_target { /* the memory that a request names */
    struct aries_nic *hw;
    gni_mem_handle_t handle;
    uint64_t address, length;
    uint8_t ptag;
};

/* Each of the following returns 0 or an A_STATUS code; on success *mr is the registration. */

/* Whether a PUT may write there, and to its flag at `flag_address` (NULL: no flag). */
static inline uint8_t aries_target_check_put(const struct aries_target *target,
                                             enum aries_access access, const uint64_t *flag_address,
                                             struct aries_mr **mr)
{
    uint8_t status = aries_mr_check(target->hw, target->ptag, target->handle, target->address,
                                    target->length, access, mr);

    if (sim_unlikely(flag_address != NULL) && status == 0)
        status = aries_mr_check(target->hw, target->ptag, target->handle, *flag_address, 8,
                                ARIES_WRITE, mr);
    return status;
}

/* Reads the data of a GET. */
uint8_t aries_target_get(const struct aries_target *target, void *data, struct aries_mr **mr);
/*
 * Applies an atomic operation to each element in memory, and stores the previous values in `old`.
 * A_STATUS_AT_PF_WR_PERMISSION_ERR: the memory could be read but not written.
 */
uint8_t aries_target_amo(const struct aries_target *target, uint32_t command,
                         const uint64_t operand[2], void *old, struct aries_mr **mr);
/* Finds the registration whose queue gets a CQ write. Without a length there are no bounds. */
uint8_t aries_target_cqwrite(const struct aries_target *target, struct aries_mr **mr);

/* The status of a request that wants a remote event. The data is written in any case. */
static inline uint8_t aries_target_event_status(const struct aries_mr *mr, bool optional)
{
    return mr->cq == NULL && !optional ? A_STATUS_CQ_ERR : A_STATUS_OKAY;
}

/* Delivers the remote event, if the region has a queue. False: the queue was full. */
static inline bool aries_target_event(const struct aries_mr *mr, enum aries_cq_info info,
                                      uint32_t event, const void *reader_data)
{
    return mr->cq == NULL ||
           aries_cq_push_for(mr->cq, aries_cq_entry_remote(info, 0, event), reader_data);
}

#endif
