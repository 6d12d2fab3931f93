/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The other side: frames on a socket between the two processes. */
#include "internal.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define SKIPPED 77

/* Everything on the socket is a frame. */
struct frame {
    uint32_t kind, size;
};
enum { FRAME_DATA = 1, FRAME_SKIP = 2 };

static void write_all(struct side *side, const void *bytes, size_t size)
{
    const char *at = bytes;
    ssize_t done;

    while (size > 0) {
        done = send(side->socket, at, size, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            fail("the other side does not listen any more: %s", strerror(errno));
        at += done;
        size -= (size_t)done;
    }
}

static void read_all(struct side *side, void *bytes, size_t size)
{
    char *at = bytes;
    ssize_t done;

    while (size > 0) {
        done = recv(side->socket, at, size, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            fail("the other side has ended");
        at += done;
        size -= (size_t)done;
    }
}

static void end_skipped(const char *why)
{
    printf("skipped: %s\n", why);
    fflush(stdout);
    _exit(SKIPPED);
}

void skip(struct side *side, const char *format, ...)
{
    char why[256];
    struct frame frame = {.kind = FRAME_SKIP};
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    frame.size = (uint32_t)strlen(why);
    /* The other side may have come to the same conclusion, and be gone. */
    if (send(side->socket, &frame, sizeof(frame), MSG_NOSIGNAL) == (ssize_t)sizeof(frame) &&
        send(side->socket, why, frame.size, MSG_NOSIGNAL) < 0)
        perror("send");
    end_skipped(why);
    abort();
}

static void skip_too(struct side *side, const struct frame *frame)
{
    char why[256] = "";

    HOLDS(frame->kind == FRAME_SKIP && frame->size < sizeof(why));
    read_all(side, why, frame->size);
    end_skipped(why);
}

void side_send(struct side *side, const void *bytes, size_t size)
{
    const struct frame frame = {FRAME_DATA, (uint32_t)size};

    write_all(side, &frame, sizeof(frame));
    write_all(side, bytes, size);
}

size_t side_receive(struct side *side, void *bytes, size_t size)
{
    struct pollfd readable = {.fd = side->socket, .events = POLLIN};
    struct frame frame;

    while (poll(&readable, 1, 0) == 0)
        drive(side);
    read_all(side, &frame, sizeof(frame));
    if (frame.kind != FRAME_DATA)
        skip_too(side, &frame);
    HOLDS(frame.size <= size);
    read_all(side, bytes, frame.size);
    return frame.size;
}

void side_exchange(struct side *side, const void *mine, void *theirs, size_t bytes)
{
    side_send(side, mine, bytes);
    HOLDS(side_receive(side, theirs, bytes) == bytes);
}

void side_sync(struct side *side)
{
    char here = 1, there;

    side_exchange(side, &here, &there, 1);
}

void peer_poll(struct side *side)
{
    struct pollfd readable = {.fd = side->socket, .events = POLLIN};
    struct frame frame;
    ssize_t found;

    if (poll(&readable, 1, 0) <= 0)
        return;
    found = recv(side->socket, &frame, sizeof(frame), MSG_PEEK | MSG_DONTWAIT);
    if (found == 0)
        fail("the other side has ended");
    if (found == (ssize_t)sizeof(frame) && frame.kind == FRAME_SKIP) {
        read_all(side, &frame, sizeof(frame));
        skip_too(side, &frame);
    }
}

/* ---- by TCP -----------------------------------------------------------------------------------
 */

int peer_listen(const char *port)
{
    const struct addrinfo hints = {
        .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    int listener, one = 1, end;

    if (getaddrinfo(NULL, port, &hints, &found) != 0)
        fail("not a port: %s", port);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, 1) != 0)
        fail("port %s: %s", port, strerror(errno));
    end = accept(listener, NULL, NULL);
    if (end < 0)
        fail("port %s: %s", port, strerror(errno));
    freeaddrinfo(found);
    close(listener);
    return end;
}

int peer_connect(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int end;

    if (getaddrinfo(host, port, &hints, &found) != 0)
        fail("no such host: %s", host);
    for (;;) { /* until the server is there, or the time is up */
        end = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(end, found->ai_addr, found->ai_addrlen) == 0)
            break;
        close(end);
        usleep(20000);
    }
    freeaddrinfo(found);
    return end;
}
