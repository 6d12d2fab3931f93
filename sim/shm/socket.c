/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The Unix socket of a fabric: listening, connecting, requests and their answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "internal.h"

#define ANSWER_MS 60000 /* a daemon that does not answer for so long counts as dead */
#define LOCK_MS 10000
#define SLICE_MS 100
#define WRITE_RETRIES 10000u /* before the reader lets the writer have the processor */
#define WRITE_NAPS 60000u /* of one millisecond each; together ANSWER_MS */

void shm_why(char *why, const char *format, ...)
{
    va_list args;

    if (why == NULL)
        return;
    va_start(args, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, one line above
    vsnprintf(why, SHM_WHY_BYTES, format, args);
    va_end(args);
}

uint64_t shm_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int address_of(const char *path, struct sockaddr_un *address)
{
    if (strlen(path) >= sizeof(address->sun_path))
        return -ENAMETOOLONG;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

/* Connects to a daemon of the same user. A daemon of another user could read the memory that this
 * process registers. */
int shm_connect(const char *path)
{
    struct sockaddr_un address;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int error = address_of(path, &address), end;

    if (error != 0)
        return error;
    end = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (end < 0)
        return -errno;
    if (connect(end, (struct sockaddr *)&address, sizeof(address)) != 0)
        error = -errno;
    else if (getsockopt(end, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        error = -errno;
    else if (peer.uid != geteuid())
        error = -EACCES;
    if (error == 0)
        return end;
    close(end);
    return error;
}

/* A process checks whether the socket is in use, and replaces it, only while it holds the lock
 * file. The daemon removes that file when it ends, so the locked file may have been replaced by
 * another one: the loop checks that. */
static int lock_path(const char *path, char *why)
{
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
    const struct timespec pause = {.tv_nsec = 2000000};
    struct stat held, there;
    int file, tries;

    snprintf(name, sizeof(name), "%s.lock", path);
    for (tries = 0; tries < LOCK_MS / 2; tries++) {
        file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0) {
            int error = -errno;

            shm_why(why, "cannot create %s: %s", name, strerror(-error));
            return error;
        }
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &held) == 0 &&
            lstat(name, &there) == 0 && held.st_ino == there.st_ino && held.st_dev == there.st_dev)
            return file;
        close(file);
        nanosleep(&pause, NULL);
    }
    shm_why(why, "%s is locked by another process for too long", name);
    return -ETIMEDOUT;
}

static void unlock_path(int file)
{
    flock(file, LOCK_UN);
    close(file);
}

int shm_listen(const char *path, bool *busy, char *why)
{
    struct sockaddr_un address;
    int lock, end, error = address_of(path, &address);

    *busy = false;
    if (error != 0) {
        shm_why(why, "the path of a fabric may have %zu characters: %s",
                sizeof(address.sun_path) - 1, path);
        return error;
    }
    lock = lock_path(path, why);
    if (lock < 0)
        return lock;
    end = shm_connect(path);
    if (end >= 0 || (end != -ECONNREFUSED && end != -ENOENT)) {
        *busy = end >= 0;
        error = end >= 0 ? -EADDRINUSE : end;
        shm_why(why, end >= 0 ? "a fabric is already up at %s" : "%s cannot be used: %s", path,
                strerror(-error));
        if (end >= 0)
            close(end);
        goto out;
    }
    if (end == -ECONNREFUSED)
        unlink(path); /* a killed daemon left this socket */
    end = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* bind creates the file with the socket's mode. So there is no moment at which other users may
     * connect, and the umask of the process need not change. */
    if (end < 0 || fchmod(end, 0600) != 0 ||
        bind(end, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(end, 256) != 0) {
        error = -errno;
        shm_why(why, "cannot listen at %s: %s", path, strerror(errno));
        if (end >= 0)
            close(end);
    }
out:
    unlock_path(lock);
    return error == 0 ? end : error;
}

void shm_unlisten(const char *path)
{
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
    int lock = lock_path(path, NULL);

    unlink(path);
    if (lock < 0)
        return;
    snprintf(name, sizeof(name), "%s.lock", path);
    unlink(name);
    unlock_path(lock);
}

bool shm_unlisten_dead(const char *path)
{
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
    struct stat there;
    int lock, end;

    if (lstat(path, &there) != 0 || !S_ISSOCK(there.st_mode) || there.st_uid != geteuid())
        return false;
    lock = lock_path(
        path,
        NULL); /* a process that has bound the socket but does not listen yet holds this lock */
    if (lock < 0)
        return false;
    end = shm_connect(path);
    if (end >= 0)
        close(end);
    if (end == -ECONNREFUSED || end == -ENOENT) {
        unlink(path);
        snprintf(name, sizeof(name), "%s.lock", path);
        unlink(name);
    }
    unlock_path(lock);
    return end == -ECONNREFUSED || end == -ENOENT;
}

int shm_receive_within(int socket, void *buffer, struct wire_packet *packet, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = socket, .events = POLLIN};
    uint64_t began, waited;
    int result, left_ms = timeout_ms;

    /* Waits in slices, and counts at most the nominal length of each. When the whole machine stands
     * still (suspended, a frozen container), the daemon had no time to answer either. */
    for (;;) {
        result = shm_wire_receive(socket, buffer, packet, MSG_DONTWAIT);
        if (result != -EAGAIN)
            return result;
        if (left_ms <= 0)
            return -ETIMEDOUT;
        began = shm_now_ns();
        poll(&poll_fd, 1, SLICE_MS);
        waited = (shm_now_ns() - began) / 1000000u;
        left_ms -= waited < SLICE_MS ? (int)waited : SLICE_MS;
    }
}

bool shm_wait_for_writer(const struct shm *shm, uint32_t *retries)
{
    struct pollfd end = {.fd = shm->socket, .events = POLLRDHUP};

    if (++*retries < WRITE_RETRIES)
        return true;
    return !shm->lost && *retries - WRITE_RETRIES < WRITE_NAPS && poll(&end, 1, 1) <= 0;
}

/* Other messages that arrive meanwhile are deferred for shm_poll_daemon: no event handler is called
 * here. */
int shm_request(struct shm *shm, struct wire *request, struct wire_packet *answer)
{
    int result;

    if (shm->lost)
        return -ENOTCONN;
    request->magic = SHM_MAGIC;
    request->version = SHM_VERSION;
    if (++shm->ids == 0)
        shm->ids = 1;
    request->id = shm->ids;
    result = shm_wire_send(shm->socket, request, NULL, 0, NULL, 0, 0);
    while (result == 0) {
        result = shm_receive_within(shm->socket, shm->buffer, answer, ANSWER_MS);
        if (result == 1 && answer->head.id == request->id)
            return 0;
        if (result == -EMFILE && answer->head.id == request->id)
            return result;
        if (result == 1) {
            shm_defer_message(shm, answer);
            result = 0;
        } else if (result == -EMFILE) {
            result = 0;
        } else if (result == 0) {
            result = -ENOTCONN;
        }
    }
    shm->lost = true; /* the next poll reports it */
    atomic_store_explicit(&shm->attention, true, memory_order_relaxed);
    return result == -EPIPE || result == -ECONNRESET ? -ENOTCONN : result;
}
