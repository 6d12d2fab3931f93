/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long transfers. The initiator checks them against the table of registrations in the target's
 * shared segment, as the hardware would check them against its own table, and copies the bytes
 * itself. It copies an entry before it checks it. A process with wrong entries gets bytes into its
 * own memory, or its own bytes out: it cannot harm another process.
 */
#include "backend.h"

#include <assert.h>
#include <errno.h>
#include "nic/cq_entry.h"
#include "nic/mdd.h"
#include "nic/mem_handle.h"
#include "aries/misc/exceptions.h"
#include "shm/seqlock.h"

#define RETRIES 8u /* of an entry that is being changed */

/* ---- the own table --------------------------------------------------------------------------- */

void aries_hw_mr_changed(const struct aries_mr *mr)
{
    struct aries_live_mdd *mdd;
    uint8_t flags = ARIES_LIVE_MDD_VALID;

    if (aries_live.segment == NULL)
        return;
    if (mr->vmdh || mr->mdh >= ARIES_LIVE_MDDS) {
        if (!mr->live)
            aries_live_quiesce(mr);
        return;
    }
    mdd = &aries_live.segment[mr->mdh];
    if (mr->read_only)
        flags |= ARIES_LIVE_MDD_READ_ONLY;
    if (mr->segments_count == 0 && mr->pages == NULL && !mr->corrupt)
        flags |= ARIES_LIVE_MDD_PLAIN;
    shm_seq_write_begin(&mdd->sequence);
    mdd->flags = mr->live ? flags : 0;
    mdd->ptag = mr->ptag;
    mdd->base = mr->base;
    mdd->length = mr->length;
    mdd->address = mr->address;
    shm_seq_write_end(&mdd->sequence);
    /* Visible before the deregistration reads which peers copy, and before the program uses the
     * memory for something else. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!mr->live)
        aries_live_quiesce(mr);
}

/* ---- a peer's -------------------------------------------------------------------------------- */

static bool read_entry(const struct aries_live_link *link, uint32_t mdh,
                       struct aries_live_mdd *copy)
{
    const struct aries_live_mdd *entry = (const struct aries_live_mdd *)link->peer->segment + mdh;
    uint32_t sequence;
    unsigned retries;

    if (link->peer->segment_bytes < ARIES_LIVE_SEGMENT_BYTES)
        return false;
    for (retries = 0; retries < RETRIES; retries++) {
        if (!shm_seq_read_begin(&entry->sequence, &sequence))
            continue;
        memcpy(copy, entry, sizeof(*copy));
        copy->sequence = sequence;
        if (shm_seq_read_end(&entry->sequence, sequence))
            return true;
    }
    return false;
}

bool aries_live_mdd_same(const struct aries_live_link *link, uint32_t mdh, uint32_t sequence)
{
    const struct aries_live_mdd *entry = (const struct aries_live_mdd *)link->peer->segment + mdh;

    assert(mdh < ARIES_LIVE_MDDS && link->peer->segment_bytes >= ARIES_LIVE_SEGMENT_BYTES);
    return __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE) == sequence;
}

/* The checks of aries_mr_check(), in its order. */
static uint8_t check(const struct aries_live_mdd *mdd, const struct aries_work *work,
                     uint64_t address, uint64_t length, bool write)
{
    uint64_t offset = address - mdd->base;

    if (!(mdd->flags & ARIES_LIVE_MDD_VALID))
        return A_STATUS_AT_MDD_INV;
    if (write && (mdd->flags & ARIES_LIVE_MDD_READ_ONLY))
        return A_STATUS_AT_MDD_WR_PERMISSION_ERR;
    if (length > 0 && (offset > mdd->length || length > mdd->length - offset))
        return A_STATUS_AT_BOUNDS_ERR;
    if (mdd->ptag != work->ptag)
        return A_STATUS_AT_PROTECTION_ERR;
    return A_STATUS_OKAY;
}

/* The local side in one piece of memory. NULL and a status; NULL and status 0: it is in several
 * pieces. */
static void *local_side(const struct aries_live_op *op, uint8_t *status)
{
    const struct aries_work *work = &op->work;
    struct aries_mr *mr;

    *status = 0;
    if (work->local_is_va)
        return work->header_length == 0 ? (void *)(uintptr_t)work->local_addr : NULL;
    *status = aries_mr_check(aries_live.hw, work->ptag, work->local_handle, work->local_addr,
                             work->length, work->op == ARIES_GET ? ARIES_WRITE : ARIES_READ, &mr);
    return *status == 0 ? aries_mr_pointer(mr, work->local_addr, work->length) : NULL;
}

/* False: pages are missing on one side, or the peer is dying. The records that follow find out
 * which. */
static bool copied(struct aries_live_link *link, struct aries_live_op *op, int result)
{
    link->no_copies = result == -EPERM || result == -ENOSYS;
    return result == 0 && aries_live_landed(link, op);
}

void aries_live_copied(struct aries_live_link *link, struct aries_live_op *op, int result)
{
    if (!copied(link, op, result))
        aries_live_send_as_records(link, op);
}

/* The peer's deregistration waits while this copies. */
static bool bulk(struct aries_live_link *link, struct aries_live_op *op, uint32_t mdh)
{
    const struct aries_work *work = &op->work;
    bool get = work->op == ARIES_GET;
    uint8_t status;
    struct aries_live_mdd mdd;
    uint64_t address;
    void *local;
    int result;

    if (!read_entry(link, mdh, &mdd) || !(mdd.flags & ARIES_LIVE_MDD_PLAIN))
        return false;
    status = check(&mdd, work, work->remote_addr, work->length, !get);
    if (status != 0) {
        aries_live_op_end(op, status, ARIES_CQ_CPLTN_DREQ);
        return true;
    }
    local = local_side(op, &status);
    if (local == NULL) {
        if (status != 0)
            aries_live_op_end(op, status, get ? ARIES_CQ_CPLTN_SRSP : ARIES_CQ_CPLTN_SREQ);
        return status != 0;
    }
    address = mdd.address + (work->remote_addr - mdd.base);
    result = aries_live_share_copy(link, op, address, local, mdd.sequence);
    return result == ARIES_LIVE_PENDING || copied(link, op, result);
}

bool aries_live_bulk(struct aries_live_link *link, struct aries_live_op *op)
{
    uint32_t mdh = aries_mem_handle_mdh(&op->work.remote_handle);
    bool done;

    if (link->no_copies || (aries_mem_handle_flags(&op->work.remote_handle) & ARIES_MEM_VMDH) ||
        op->work.flag_response)
        return false;
    aries_live_copy_begin(link, mdh);
    done = bulk(link, op, mdh);
    aries_live_copy_end();
    return done;
}
