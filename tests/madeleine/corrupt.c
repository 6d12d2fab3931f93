/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Changes a byte on the receiving side, once: loaded before the other libraries of mad_ping. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { BYTE = 1234, MESSAGE = 5000, WHICH = 11 };

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t (*real)(int, struct msghdr *, int) =
        (ssize_t(*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
    static int count;
    char *start = message->msg_iov[0].iov_base;
    ssize_t got = real(fd, message, flags);

    if (got > BYTE && message->msg_iov[0].iov_len == MESSAGE && ++count == WHICH)
        start[BYTE] ^= 1;
    return got;
}
