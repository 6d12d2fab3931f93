/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies between processes. When a process has ended, the kernel may give its process id to another
 * process at any time, also between a check and a system call that uses the id. So:
 *
 * - Writes use a descriptor of the peer's memory (/proc/PID/mem). The descriptor stays bound to
 * that memory, whoever gets the id later. It is opened by id, and is used only if the peer's pidfd
 * says afterwards that the process lives: then the id was the peer's when the descriptor was
 * opened.
 * - Reads use the process id, because process_vm_readv moves whole ranges of pages and the
 * descriptor one page at a time (13 GB/s against 8). The bytes count only if the pidfd says
 * afterwards that the process lives.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>
#include "internal.h"

static bool process_alive(const struct peer *peer)
{
    struct pollfd end = {.fd = peer->pidfd, .events = POLLIN};

    assert(peer->pidfd >= 0);
    return poll(&end, 1, 0) == 0;
}

bool shm_process_exists(const struct shm_peer *peer)
{
    return peer->self || peer_of(peer)->pidfd < 0 || process_alive(peer_of(peer));
}

/* Takes the fork lock: otherwise a child could inherit a descriptor that it does not know. */
static int open_memory(struct peer *peer)
{
    char path[40];
    int memory;

    shm_fork_hold();
    memory = atomic_load(&peer->memory);
    if (memory < 0) {
        snprintf(path, sizeof(path), "/proc/%d/mem", peer->to.pid);
        memory = open(path, O_RDWR | O_CLOEXEC);
        if (memory < 0) {
            memory = errno == EACCES ? -EPERM : errno == ENOENT ? -ESRCH : -errno;
        } else if (!process_alive(peer)) {
            close(memory);
            memory = -ESRCH;
        } else {
            atomic_store(&peer->memory, memory);
        }
    }
    shm_fork_release();
    return memory;
}

/* pwrite returns 0 when the process whose memory this is has ended, and fails with EIO or EINVAL
 * when the address is not mapped. */
static ssize_t write_piece(struct peer *peer, uint64_t address, const void *from, size_t bytes)
{
    int memory = atomic_load_explicit(&peer->memory, memory_order_relaxed);
    ssize_t moved;

    if (memory < 0)
        memory = open_memory(peer);
    if (memory < 0)
        return memory;
    moved = pwrite(memory, from, bytes, (off_t)address);
    if (moved == 0)
        return -ESRCH;
    if (moved < 0)
        return errno == EIO || errno == EINVAL ? -EFAULT : -errno;
    return moved;
}

static ssize_t read_piece(const struct peer *peer, uint64_t address, void *to, size_t bytes)
{
    struct iovec own = {to, bytes}, other = {(void *)(uintptr_t)address, bytes};
    ssize_t moved = process_vm_readv(peer->to.pid, &own, 1, &other, 1, 0);

    if (moved == 0)
        return -EFAULT;
    return moved < 0 ? -errno : moved;
}

/* Copies within this process. The own process id cannot be reused. */
static int copy_here(uint64_t address, void *memory, size_t bytes, bool writes)
{
    struct iovec own = {memory, bytes}, other = {(void *)(uintptr_t)address, bytes};
    ssize_t moved;

    while (own.iov_len > 0) {
        moved = writes ? process_vm_writev(getpid(), &own, 1, &other, 1, 0)
                       : process_vm_readv(getpid(), &own, 1, &other, 1, 0);
        if (moved <= 0)
            return moved < 0 ? -errno : -EFAULT;
        own.iov_base = (char *)own.iov_base + moved;
        other.iov_base = (char *)other.iov_base + moved;
        own.iov_len = other.iov_len -= (size_t)moved;
    }
    return 0;
}

int shm_copy_to(const struct shm_peer *to, uint64_t address, const void *from, size_t bytes)
{
    struct peer *peer = peer_of(to);
    ssize_t moved;

    if (to->self)
        return copy_here(address, (void *)(uintptr_t)from, bytes, true);
    if (peer->pidfd < 0)
        return -ENOSYS;
    /* The kernel moves at most 2 GiB at once, and less where memory is missing: then the next piece
     * fails. */
    for (; bytes > 0; bytes -= (size_t)moved) {
        moved = to->gone ? -ESRCH : write_piece(peer, address, from, bytes);
        if (moved < 0)
            return (int)moved;
        assert((size_t)moved <= bytes);
        from = (const char *)from + moved;
        address += (uint64_t)moved;
    }
    return 0;
}

int shm_copy_from(const struct shm_peer *from, uint64_t address, void *to, size_t bytes)
{
    const struct peer *peer = peer_of(from);
    ssize_t moved;

    if (from->self)
        return copy_here(address, to, bytes, false);
    if (peer->pidfd < 0)
        return -ENOSYS;
    for (; bytes > 0; bytes -= (size_t)moved) {
        moved = from->gone ? -ESRCH : read_piece(peer, address, to, bytes);
        if (moved < 0)
            return (int)moved;
        assert((size_t)moved <= bytes);
        to = (char *)to + moved;
        address += (uint64_t)moved;
    }
    return process_alive(peer) ? 0 : -ESRCH;
}
