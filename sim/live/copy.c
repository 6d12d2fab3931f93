/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include "internal.h"

typedef ssize_t copy_call(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                          unsigned long, unsigned long);

/* The kernel moves at most 2 GiB at once, and less where memory is missing: then the next piece
 * fails. */
static int copy(copy_call *call, const struct live_peer *peer, uint64_t address, void *memory,
                size_t bytes)
{
    struct iovec own, other;
    ssize_t moved;

    while (bytes > 0) {
        if (peer->gone)
            return -ESRCH;
        own = (struct iovec){memory, bytes};
        other = (struct iovec){(void *)(uintptr_t)address, bytes};
        moved = call(peer->pid, &own, 1, &other, 1, 0);
        if (moved < 0)
            return -errno;
        if (moved == 0)
            return -EFAULT;
        memory = (char *)memory + moved;
        address += (uint64_t)moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

int live_copy_to(const struct live_peer *peer, uint64_t address, const void *from, size_t bytes)
{
    return copy(process_vm_writev, peer, address, (void *)(uintptr_t)from, bytes);
}

int live_copy_from(const struct live_peer *peer, uint64_t address, void *to, size_t bytes)
{
    return copy(process_vm_readv, peer, address, to, bytes);
}
