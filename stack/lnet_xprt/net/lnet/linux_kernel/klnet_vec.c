/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The page vector of a buffer: made and checked when it is registered. */
#include <errno.h>

#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_pvt.h"

static struct page *own_page(void *arg, uint64_t address, int *rc)
{
    (void)arg;
    *rc = 0;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the kernel */
    return virt_to_page((const void *)(uintptr_t)address);
}

static void own_page_done(void *arg, struct page *page)
{
    (void)arg;
    (void)page;
}

/* How many fragments the segments make, or an error. */
static int count_fragments(const struct nlx_kcore_limits *limits, uint32_t nr,
                           const m0_bcount_t *counts, void *const *addresses, m0_bcount_t *size)
{
    uint64_t fragments = 0, total = 0;
    uint32_t i;

    if (nr == 0)
        return -EINVAL;
    if (nr > (uint32_t)limits->kl_max_segments)
        return -EFBIG;
    for (i = 0; i < nr; i++) {
        if (counts[i] == 0 || addresses[i] == NULL)
            return -EINVAL;
        if (counts[i] > limits->kl_max_segment_size)
            return -EFBIG;
        total += counts[i];
        fragments +=
            (((uintptr_t)addresses[i] & ~PAGE_MASK) + counts[i] + PAGE_SIZE - 1) >> PAGE_SHIFT;
    }
    if (total > limits->kl_max_buffer_size || fragments > LNET_MAX_IOV)
        return -EFBIG;
    *size = total;
    return (int)fragments;
}

/* Only the first fragment begins inside of a page, and only the last ends before its end. */
static bool shape_is_right(const lnet_kiov_t *kiov, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if ((i > 0 && kiov[i].kiov_offset != 0) ||
            (i + 1 < count && kiov[i].kiov_offset + kiov[i].kiov_len != PAGE_SIZE))
            return false;
    return true;
}

int nlx_kcore_kiov_build(struct nlx_kcore_domain *kd, struct nlx_kcore_buffer *kb, uint32_t nr,
                         const m0_bcount_t *counts, void *const *addresses,
                         struct page *(*pin)(void *arg, uint64_t address, int *rc),
                         void (*unpin)(void *arg, struct page *page), void *arg)
{
    m0_bcount_t size;
    int fragments = count_fragments(&kd->kd_host->kh_limits, nr, counts, addresses, &size), rc = 0;
    uint32_t i, filled = 0, pinned;
    lnet_kiov_t *kiov;

    if (fragments < 0)
        return fragments;
    if (pin == NULL) {
        pin = own_page;
        unpin = own_page_done;
    }
    M0_ALLOC_ARR(kiov, (size_t)fragments);
    if (kiov == NULL)
        return -ENOMEM;
    for (i = 0; i < nr; i++) {
        uintptr_t at = (uintptr_t)addresses[i], end = at + counts[i];

        while (at < end) {
            uintptr_t stop = (at & PAGE_MASK) + PAGE_SIZE;

            kiov[filled].kiov_offset = (unsigned)(at & ~PAGE_MASK);
            kiov[filled++].kiov_len = (unsigned)((stop < end ? stop : end) - at);
            at = stop;
        }
    }
    M0_ASSERT(filled == (uint32_t)fragments);
    if (!shape_is_right(kiov, filled))
        rc = -EINVAL;

    for (i = 0, pinned = 0; rc == 0 && i < nr; i++) {
        uintptr_t at = (uintptr_t)addresses[i], end = at + counts[i];

        for (; rc == 0 && at < end; at = (at & PAGE_MASK) + PAGE_SIZE) {
            kiov[pinned].kiov_page = pin(arg, at, &rc);
            pinned += rc == 0;
        }
    }
    if (rc != 0) {
        while (pinned > 0)
            unpin(arg, kiov[--pinned].kiov_page);
        m0_free(kiov);
        return rc;
    }
    kb->kb_kiov = kiov;
    kb->kb_kiov_len = filled;
    kb->kb_size = size;
    return 0;
}

void nlx_kcore_kiov_free(struct nlx_kcore_buffer *kb)
{
    m0_free(kb->kb_kiov);
    kb->kb_kiov = NULL;
    kb->kb_kiov_len = 0;
}

void nlx_kcore_kiov_trim(struct nlx_kcore_buffer *kb, struct lnet_md *umd, m0_bcount_t length)
{
    m0_bcount_t before = 0;
    uint32_t last = 0;

    M0_PRE(length > 0 && length <= kb->kb_size);
    while (before + kb->kb_kiov[last].kiov_len < length)
        before += kb->kb_kiov[last++].kiov_len;
    kb->kb_kiov_adj_idx = last;
    kb->kb_kiov_orig_len = kb->kb_kiov[last].kiov_len;
    kb->kb_kiov[last].kiov_len = (unsigned)(length - before);
    umd->length = last + 1;
}

void nlx_kcore_kiov_restore(struct nlx_kcore_buffer *kb)
{
    kb->kb_kiov[kb->kb_kiov_adj_idx].kiov_len = kb->kb_kiov_orig_len;
}
