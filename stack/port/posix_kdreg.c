/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A range is watched from a write of REGISTRATION_MONITOR to one of REGISTRATION_UNMONITOR. When it
 * is unmapped, the module adds 1 to a counter that it shares with the process, and read() returns
 * the range's cookie. A range may end while its event is on the way; a cookie therefore has a
 * generation besides the index in the table of ranges.
 */
#include "posix_kdreg.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <kdreg_pub.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICE "/dev/kdreg"
#define RANGES_FIRST 64u

struct range {
    uint64_t address, bytes; /* bytes 0: not in use */
    uint32_t generation;
    uint32_t next_free;
};

static struct {
    pthread_mutex_t lock;
    int device;
    __typeof__(((kdreg_get_user_delta_args_t *)0)->user_delta) pending; /* events to read */
    struct range *ranges; /* index 0 is not used */
    uint32_t count, free;
    bool failed;
} kdreg = {.lock = PTHREAD_MUTEX_INITIALIZER, .device = -1};

bool port_kdreg_open(void)
{
    kdreg_get_user_delta_args_t delta = {.user_delta = NULL};
    int device = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);

    assert(kdreg.device < 0);
    if (device < 0)
        return false;
    if (ioctl(device, KDREG_IOC_GET_USER_DELTA, &delta) < 0 || delta.user_delta == NULL) {
        close(device);
        return false;
    }
    kdreg.pending = delta.user_delta;
    kdreg.device = device;
    return true;
}

static bool grow(void)
{
    uint32_t count = kdreg.count != 0 ? 2 * kdreg.count : RANGES_FIRST, i;
    struct range *ranges = realloc(kdreg.ranges, count * sizeof(*ranges));

    if (ranges == NULL)
        return false;
    kdreg.ranges = ranges;
    for (i = count - 1; i >= kdreg.count && i > 0; i--) {
        ranges[i] = (struct range){.next_free = kdreg.free};
        kdreg.free = i;
    }
    kdreg.count = count;
    return true;
}

static uint64_t cookie_of(uint32_t index)
{
    return (uint64_t)kdreg.ranges[index].generation << 32 | index;
}

/* NULL: that range has ended. */
static struct range *find(uint64_t cookie)
{
    uint32_t index = (uint32_t)cookie;

    if (index == 0 || index >= kdreg.count || kdreg.ranges[index].bytes == 0 ||
        cookie_of(index) != cookie)
        return NULL;
    return &kdreg.ranges[index];
}

static bool write_request(const struct registration_monitor *request)
{
    return write(kdreg.device, request, sizeof(*request)) == (ssize_t)sizeof(*request);
}

static void release(struct range *range)
{
    range->bytes = 0;
    range->generation++;
    range->next_free = kdreg.free;
    kdreg.free = (uint32_t)(range - kdreg.ranges);
}

uint64_t port_kdreg_begin(uint64_t address, uint64_t bytes)
{
    struct registration_monitor request = {.type = REGISTRATION_MONITOR};
    struct range *range;
    uint64_t cookie = 0;

    assert(kdreg.device >= 0 && bytes > 0);
    pthread_mutex_lock(&kdreg.lock);
    if (kdreg.free != 0 || grow()) {
        range = &kdreg.ranges[kdreg.free];
        kdreg.free = range->next_free;
        range->address = address;
        range->bytes = bytes;
        cookie = cookie_of((uint32_t)(range - kdreg.ranges));
        request.u.mon.addr = address;
        request.u.mon.len = bytes;
        request.u.mon.user_cookie = cookie;
        if (!write_request(&request)) {
            release(range);
            cookie = 0;
        }
    }
    if (cookie == 0)
        kdreg.failed = true; /* its changes would be missed */
    pthread_mutex_unlock(&kdreg.lock);
    return cookie;
}

void port_kdreg_end(uint64_t cookie)
{
    struct registration_monitor request = {.type = REGISTRATION_UNMONITOR};
    struct range *range;

    pthread_mutex_lock(&kdreg.lock);
    range = find(cookie);
    if (range != NULL) {
        request.u.unmon.user_cookie = cookie;
        write_request(&request); /* fails if it was unmapped: then the module has ended it */
        release(range);
    }
    pthread_mutex_unlock(&kdreg.lock);
}

bool port_kdreg_read(void (*changed)(const volatile void *address, size_t bytes))
{
    struct registration_event event;
    const struct range *range;
    ssize_t got;
    bool works;

    if (*kdreg.pending == 0)
        return !__atomic_load_n(&kdreg.failed, __ATOMIC_RELAXED);
    pthread_mutex_lock(&kdreg.lock);
    while (!kdreg.failed && *kdreg.pending > 0) {
        got = read(kdreg.device, &event, sizeof(event));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        kdreg.failed = got != (ssize_t)sizeof(event);
        if (kdreg.failed || event.type != REGISTRATION_MUNMAP)
            continue;
        range = find(event.u.munmap.user_cookie);
        if (range !=
            NULL) /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the process */
            changed((const volatile void *)(uintptr_t)range->address, range->bytes);
    }
    works = !kdreg.failed;
    pthread_mutex_unlock(&kdreg.lock);
    return works;
}
