/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Changes a byte on the receiving side, once: loaded before the other libraries of mad_ping. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { BYTE = 1234, MESSAGE = 5000, WHICH = 11 };

ssize_t recv(int fd, void *buffer, size_t length, int flags)
{
    ssize_t (*real)(int, void *, size_t, int) =
        (ssize_t(*)(int, void *, size_t, int))(uintptr_t)dlsym(RTLD_NEXT, "recv");
    ssize_t got = real(fd, buffer, length, flags);
    static int count;

    if (got > BYTE && length == MESSAGE && ++count == WHICH)
        ((char *)buffer)[BYTE] ^= 1;
    return got;
}
