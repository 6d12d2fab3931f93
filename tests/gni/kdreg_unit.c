/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Watched memory through kdreg, on a stand-in for its device. */
#include <errno.h>
#include <kdreg_pub.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <cmocka.h>
#include "port/port.h"

#define DEVICE 1000
#define RANGES 1000u

/* ---- the device ------------------------------------------------------------------------------ */

static struct {
    uint64_t pending;
    struct registration_event events[8];
    uint32_t written, read; /* of events */
    struct registration_monitor last; /* what was written to the device */
    int monitored; /* ranges */
    bool broken; /* refuses all */
} device;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    return strcmp(path, "/dev/kdreg") == 0 ? DEVICE : __real_open(path, flags, 0);
}

int __wrap_ioctl(int file, unsigned long request, void *argument);
int __wrap_ioctl(int file, unsigned long request, void *argument)
{
    assert_int_equal(file, DEVICE);
    assert_true(request == KDREG_IOC_GET_USER_DELTA);
    ((kdreg_get_user_delta_args_t *)argument)->user_delta = &device.pending;
    return 0;
}

ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count)
{
    if (file != DEVICE)
        return __real_write(file, bytes, count);
    assert_int_equal(count, sizeof(device.last));
    if (device.broken) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(&device.last, bytes, count);
    device.monitored += device.last.type == REGISTRATION_MONITOR ? 1 : -1;
    return (ssize_t)count;
}

ssize_t __real_read(int file, void *bytes, size_t count);
ssize_t __wrap_read(int file, void *bytes, size_t count);
ssize_t __wrap_read(int file, void *bytes, size_t count)
{
    if (file != DEVICE)
        return __real_read(file, bytes, count);
    assert_int_equal(count, sizeof(device.events[0]));
    if (device.read == device.written) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(bytes, &device.events[device.read++], count);
    device.pending--;
    return (ssize_t)count;
}

static void unmap(uint64_t cookie)
{
    struct registration_event event = {.type = REGISTRATION_MUNMAP};

    if (device.read == device.written)
        device.read = device.written = 0;
    event.u.munmap.user_cookie = cookie;
    assert_true(device.written < 8);
    device.events[device.written++] = event;
    device.pending++;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static uint64_t place;

static void nothing_changed(void)
{
    uint64_t address, bytes;

    assert_int_equal(port_memory_changed(&place, &address, &bytes), 0);
}

static void changed(uint64_t expected, uint64_t expected_bytes)
{
    uint64_t address, bytes;

    assert_int_equal(port_memory_changed(&place, &address, &bytes), 1);
    assert_int_equal(address, expected);
    assert_int_equal(bytes, expected_bytes);
}

static void gni_134_kdreg_names_the_unmapped_range(void **state)
{
    uint64_t first, second, elsewhere = 0, address, bytes;

    (void)state;
    assert_int_equal(port_memory_watch(), 0);
    first = port_memory_watch_begin(0x10000, 0x1000);
    assert_true(device.last.type == REGISTRATION_MONITOR && device.last.u.mon.addr == 0x10000 &&
                device.last.u.mon.len == 0x1000 && device.last.u.mon.user_cookie == first);
    second = port_memory_watch_begin(0x40000, 0x3000);
    assert_true(first != 0 && second != 0 && first != second);
    nothing_changed();
    unmap(second);
    changed(0x40000, 0x3000);
    nothing_changed();
    /* another reader learns it, too */
    assert_int_equal(port_memory_changed(&elsewhere, &address, &bytes), 1);
    assert_int_equal(address, 0x40000);
    unmap(first);
    unmap(second);
    changed(0x10000, 0x1000);
    changed(0x40000, 0x3000);
    port_memory_watch_end(first);
    port_memory_watch_end(second);
    assert_int_equal(device.monitored, 0);
}

static void gni_134_kdreg_event_of_an_ended_range(void **state)
{
    uint64_t ended = port_memory_watch_begin(0x10000, 0x1000), next;

    (void)state;
    port_memory_watch_end(ended);
    assert_true(device.last.type == REGISTRATION_UNMONITOR &&
                device.last.u.unmon.user_cookie == ended);
    next = port_memory_watch_begin(0x90000, 0x1000); /* in the place of the ended one */
    assert_true(next != ended);
    unmap(ended);
    unmap(0);
    unmap(~0ull);
    nothing_changed();
    unmap(next);
    changed(0x90000, 0x1000);
    port_memory_watch_end(next);
    port_memory_watch_end(next); /* has no effect */
    port_memory_watch_end(0);
    assert_int_equal(device.monitored, 0);
}

static void gni_134_kdreg_many_ranges(void **state)
{
    static uint64_t ranges[RANGES];
    uint32_t i;

    (void)state;
    for (i = 0; i < RANGES; i++)
        ranges[i] = port_memory_watch_begin(0x1000ull * (i + 1), 0x1000);
    for (i = 0; i < RANGES; i += 7) {
        unmap(ranges[i]);
        changed(0x1000ull * (i + 1), 0x1000);
    }
    for (i = 0; i < RANGES; i++)
        port_memory_watch_end(ranges[i]);
    assert_int_equal(device.monitored, 0);
    nothing_changed();
}

/* The last test: the port does not use the device afterwards. */
static void gni_134_kdreg_refuses_a_range(void **state)
{
    uint64_t address, bytes;

    (void)state;
    device.broken = true;
    assert_int_equal(port_memory_watch_begin(0x10000, 0x1000), 0);
    assert_int_equal(port_memory_changed(&place, &address, &bytes), -1);
    device.broken = false;
    assert_int_equal(port_memory_changed(&place, &address, &bytes), -1);
    assert_int_equal(port_memory_watch(), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_134_kdreg_names_the_unmapped_range),
        cmocka_unit_test(gni_134_kdreg_event_of_an_ended_range),
        cmocka_unit_test(gni_134_kdreg_many_ranges),
        cmocka_unit_test(gni_134_kdreg_refuses_a_range),
    };

    return cmocka_run_group_tests_name("kdreg", tests, NULL, NULL);
}
