/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver's side of the submission ring. The kernel keeps its own position: what the process
 * writes into the shared head has no effect, and a tail that is too far ahead ends the machine's
 * use of the ring.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lib/assert.h"
#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_drv_pvt.h"

/* Copies bytes of the ring, which lies in several pages, to or from the kernel's memory. */
static void copy(struct nlx_dd_file *file, const struct drv_sq *sq, size_t offset, void *kernel,
                 size_t bytes, bool out)
{
    char *at = kernel;

    while (bytes > 0) {
        size_t inside = offset % PAGE_SIZE,
               part = bytes < PAGE_SIZE - inside ? bytes : PAGE_SIZE - inside;
        struct page *page = sq->sq_pages[offset / PAGE_SIZE];
        char *mapped = nlx_drv_map(file, page);

        if (out)
            memcpy(mapped + inside, at, part);
        else
            memcpy(at, mapped + inside, part);
        nlx_drv_unmap(file, page);
        at += part;
        offset += part;
        bytes -= part;
    }
}

static size_t offset_of(const struct drv_sq *sq, uint64_t index)
{
    return sizeof(struct nlx_core_sq) +
           (size_t)(index & (sq->sq_nr - 1)) * sizeof(struct nlx_core_sqe);
}

void nlx_drv_sq_free(struct nlx_dd_file *file, struct drv_tm *tm)
{
    struct drv_sq *sq = &tm->dt_sq;

    while (sq->sq_page_count > 0)
        nlx_drv_unpin(file, sq->sq_pages[--sq->sq_page_count]);
    m0_free(sq->sq_pages);
    sq->sq_pages = NULL;
}

int nlx_drv_sq_setup(struct nlx_dd_file *file, const struct m0_lnet_dev_sq_setup_params *params)
{
    struct drv_tm *tm = nlx_drv_object(file, params->dss_ktm, DRV_TM);
    uint64_t nr = params->dss_nr, at = (uintptr_t)params->dss_sq;
    struct nlx_core_sq head = {.sq_magic = M0_NET_LNET_SQ_MAGIC};
    uint32_t pages;
    struct drv_sq *sq;
    int rc = 0;

    if (tm == NULL || tm->dt_sq.sq_pages != NULL || at % PAGE_SIZE != 0 || nr == 0 ||
        (nr & (nr - 1)) != 0 || nr > file->df_dd->dd_cfg.dc_sq_nr)
        return -EBADR;
    sq = &tm->dt_sq;
    pages =
        (uint32_t)((sizeof(head) + nr * sizeof(struct nlx_core_sqe) + PAGE_SIZE - 1) / PAGE_SIZE);
    M0_ALLOC_ARR(sq->sq_pages, pages);
    if (sq->sq_pages == NULL)
        return -ENOMEM;
    sq->sq_nr = (uint32_t)nr;
    sq->sq_head = 0;
    for (; rc == 0 && sq->sq_page_count < pages; sq->sq_page_count += rc == 0)
        rc = nlx_drv_pin(file, at + (uint64_t)sq->sq_page_count * PAGE_SIZE,
                         &sq->sq_pages[sq->sq_page_count]);
    if (rc != 0) {
        nlx_drv_sq_free(file, tm);
        return rc;
    }
    head.sq_nr = sq->sq_nr;
    head.sq_mask = sq->sq_nr - 1;
    copy(file, sq, 0, &head, sizeof(head), true);
    return 0;
}

/* One entry: 0, or why it is refused. */
static int take(struct nlx_dd_file *file, struct drv_tm *tm, const struct nlx_core_sqe *entry,
                struct drv_buffer **buffer)
{
    const struct nlx_core_buffer cb = {
        .cb_length = entry->sq_length,
        .cb_min_receive_size = entry->sq_min_receive_size,
        .cb_max_operations = entry->sq_max_operations,
        .cb_match_bits = entry->sq_match_bits,
        .cb_addr = entry->sq_addr,
    };

    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a reference */
    *buffer = nlx_drv_object(file, (const void *)(uintptr_t)entry->sq_kb, DRV_BUFFER);
    return *buffer == NULL ? -EBADR : nlx_drv_operation(file, entry->sq_op, tm, *buffer, &cb);
}

int nlx_drv_sq_submit(struct nlx_dd_file *file, struct drv_tm *tm)
{
    struct drv_sq *sq = &tm->dt_sq;
    uint64_t tail;
    int taken = 0;

    if (sq->sq_pages == NULL || tm->dt_ktm.ktm_poisoned)
        return -EBADR;
    copy(file, sq, offsetof(struct nlx_core_sq, sq_tail), &tail, sizeof(tail), false);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (tail - sq->sq_head > sq->sq_nr) {
        tm->dt_ktm.ktm_poisoned = true;
        return -EBADR;
    }
    while (sq->sq_head != tail) {
        size_t offset = offset_of(sq, sq->sq_head);
        struct drv_buffer *buffer;
        struct nlx_core_sqe entry;
        int rc;

        copy(file, sq, offset, &entry, sizeof(entry), false);
        sq->sq_head++;
        copy(file, sq, offsetof(struct nlx_core_sq, sq_head), &sq->sq_head, sizeof(sq->sq_head),
             true);
        taken++;
        if ((entry.sq_flags & NLX_SQE_SKIP) != 0)
            continue;
        rc = take(file, tm, &entry, &buffer);
        if (rc == 0)
            continue;
        copy(file, sq, offset + offsetof(struct nlx_core_sqe, sq_status), &rc, sizeof(rc), true);
        if (buffer != NULL)
            nlx_kcore_event_refused(&tm->dt_ktm, &buffer->db_kb, rc);
    }
    return taken;
}
