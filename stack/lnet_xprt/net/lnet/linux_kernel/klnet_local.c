/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device "sim:": user processes and their kernel are in one address space, as in a simulation.
 * A crossing is a call of the driver of the calling thread's host. A page is where it is; it stays
 * until the test or the simulation frees it.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "net/lnet/linux_kernel/klnet_local.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/lnet/ulnet_core.h"

static struct nlx_dd *(*find_driver)(void);

/* Whether memory is at all these addresses. */
static int check(uint64_t address, size_t bytes)
{
    uint64_t page = address & PAGE_MASK, end = address + bytes;
    unsigned char resident;

    if (end < address)
        return -EFAULT;
    for (; page < end; page += PAGE_SIZE)
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): only asked for */
        if (mincore((void *)(uintptr_t)page, PAGE_SIZE, &resident) != 0)
            return -EFAULT;
    return 0;
}

/* Whether the byte can be written: the same value is written again. */
static int check_writable(uint64_t address)
{
    uint8_t byte;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): only handed on */
    struct iovec local = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};

    if (process_vm_readv(getpid(), &local, 1, &there, 1, 0) == 1 &&
        process_vm_writev(getpid(), &local, 1, &there, 1, 0) == 1)
        return 0;
    return errno == EFAULT ? -EFAULT : check(address, 1); /* the system forbids such calls */
}

static int copy_in(const struct nlx_dd_proc *proc, void *to, uint64_t from, size_t bytes)
{
    int rc = check(from, bytes);

    (void)proc;
    if (rc == 0)
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the process */
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return rc;
}

static int copy_out(const struct nlx_dd_proc *proc, uint64_t to, const void *from, size_t bytes)
{
    int rc = check(to, bytes);

    (void)proc;
    if (rc == 0)
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the process */
        memcpy((void *)(uintptr_t)to, from, bytes);
    return rc;
}

static int pin(const struct nlx_dd_proc *proc, uint64_t address, struct page **page)
{
    int rc = check_writable(address);

    (void)proc;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the process */
    *page = rc == 0 ? virt_to_page((const void *)(uintptr_t)address) : NULL;
    return rc;
}

static void nothing(struct page *page)
{
    (void)page;
}

static void *map(struct page *page)
{
    return page_address(page);
}

void nlx_dd_local_proc(struct nlx_dd_proc *proc)
{
    *proc = (struct nlx_dd_proc){
        .dp_id = port_process(),
        .dp_copy_in = copy_in,
        .dp_copy_out = copy_out,
        .dp_pin = pin,
        .dp_unpin = nothing,
        .dp_map = map,
        .dp_unmap = nothing,
    };
}

static int local_open(const char *name, void **handle)
{
    struct nlx_dd *dd = find_driver != NULL ? find_driver() : NULL;
    struct nlx_dd_file *file;
    struct nlx_dd_proc proc;
    int rc;

    (void)name;
    if (dd == NULL)
        return -ENOENT;
    nlx_dd_local_proc(&proc);
    rc = nlx_dd_open(dd, &proc, O_RDWR | O_CLOEXEC, &file);
    if (rc == 0)
        *handle = file;
    return rc;
}

static void local_close(void *handle)
{
    nlx_dd_close(handle);
}

/* The number of the process's call in which it exits, times two, and one more: after it. 0: none.
 */
static uintptr_t *exit_call(void)
{
    return (uintptr_t *)(void *)port_slot(PORT_SLOT_M0_EXIT);
}

void nlx_dd_local_exit_at(uint64_t number, bool after)
{
    *exit_call() = (uintptr_t)(2 * number) | (number > 0 && after);
}

static long local_ioctl(void *handle, unsigned cmd, void *arg)
{
    uintptr_t *exits = exit_call(), left = *exits;
    long rc;

    if (left >= 2)
        left = __atomic_sub_fetch(exits, 2, __ATOMIC_RELAXED);
    else
        left = UINTPTR_MAX;
    if (left == 0)
        port_exit(0);
    rc = nlx_dd_ioctl(handle, cmd, arg);
    if (left == 1)
        port_exit(0);
    return rc;
}

static struct nlx_ucore_device device = {
    .ud_prefix = "sim:", .ud_open = local_open, .ud_close = local_close, .ud_ioctl = local_ioctl};

void nlx_dd_local_set(struct nlx_dd *(*find)(void))
{
    find_driver = find;
    nlx_ucore_device_add(&device);
}
