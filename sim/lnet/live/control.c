/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control socket of a live node, which `jacquard lnetctl` asks. A connection is one request, a
 * line of at most REQUEST_MAX bytes, and one answer: "ok\n" and the text, or "error: TEXT\n". A
 * thread of its own answers one connection after the other; a slow client costs it REQUEST_MS for
 * each of the two at most.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/internal.h"
#include "lnet/live.h"
#include "loop.h"

#define REQUEST_MAX 256
#define REQUEST_MS 5000 /* for the request, and for the answer */
#define PING_MS 5000
#define RETRY_MS 100
#define IDS_MAX 64

static struct control {
    bool on;
    bool stop;
    int socket;
    pthread_t thread;
    pthread_mutex_t mutex; /* of: */
    int client; /* that is being served; -1: none */
    struct sockaddr_un address;
} control = {.mutex = PTHREAD_MUTEX_INITIALIZER, .client = -1};

/* ---- requests -------------------------------------------------------------------------------- */

/* What somebody wrote, inside of a quoted text of YAML. */
static void write_quoted(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        fputc(*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\' ? *text : '?', out);
}

char *lnet_live_ping(const char *nid, unsigned timeout_ms, int *status)
{
    struct lnet_process_id ids[IDS_MAX];
    struct libcfs_ioctl_data data = {
        .ioc_hdr = {sizeof(data), LIBCFS_IOCTL_VERSION},
        .ioc_nid = libcfs_str2nid(nid),
        .ioc_u32 = {LNET_PID_ANY, timeout_ms},
        .ioc_plen1 = sizeof(ids),
        .ioc_pbuf1 = ids,
    };
    char *text = NULL;
    size_t length;
    uint32_t i;
    FILE *out;

    *status = data.ioc_nid != LNET_NID_ANY ? LNetCtl(IOC_LIBCFS_PING, &data) : -EINVAL;
    out = open_memstream(&text, &length);
    if (out == NULL)
        abort();
    if (*status < 0) {
        fprintf(out, "    - errno: %d\n      descr: \"failed to ping ", *status);
        write_quoted(out, nid);
        fprintf(out, ": %s\"\n", strerror(-*status));
    } else {
        fprintf(out, "    - primary nid: %s\n      Multi-Rail: False\n      peer ni:\n", nid);
        for (i = 0; i < data.ioc_count && i < IDS_MAX; i++)
            if (ids[i].nid != LNET_NID_LO_0)
                fprintf(out, "        - nid: %s\n", libcfs_nid2str(ids[i].nid));
    }
    fclose(out);
    return text;
}

static char *ping(const char *nid)
{
    struct lnet_node *node = lnet_host_current();
    char *text, *full;
    int status = node != NULL ? lnet_instance_join(node) : -ENETDOWN;

    if (status != 0)
        return strdup("error: LNet is down\n");
    text = lnet_live_ping(nid, PING_MS, &status);
    if (asprintf(&full, "ok\nping:\n%s", text) < 0)
        full = NULL;
    free(text);
    LNetNIFini(); /* the program may have ended its own use meanwhile */
    return full;
}

static char *change(struct lnet_node *node, const char *request)
{
    int rc = lnet_node_command(node, request);
    char *text;

    if (rc == 0)
        return strdup("ok\n");
    return asprintf(&text, "error: %s: %s\n", request, strerror(-rc)) < 0 ? NULL : text;
}

static char *answer(const char *request)
{
    struct lnet_node *node = lnet_host_current();
    char *text, *full = NULL;

    if (strncmp(request, "ping ", 5) == 0)
        return ping(request + 5 + strspn(request + 5, " "));
    if (node != NULL && lnet_command_known(request))
        return change(node, request);
    text = node != NULL ? lnet_node_show(node, request) : NULL;
    if (text == NULL)
        return strdup("error: there are net, peer, route, routing, stats and global show, "
                      "export, ping NID, and net, route and peer add and del, with lnetctl's "
                      "options\n");
    if (asprintf(&full, "ok\n%s", text) < 0)
        full = NULL;
    free(text);
    return full;
}

/* Only the user of this process, or root. */
static bool allowed(int client)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* False: the client is not ready in time, however many bytes it took or gave before. */
static bool ready(int client, short events, int64_t deadline)
{
    struct pollfd poll_of = {.fd = client, .events = events};
    int64_t left = deadline - now_ms();

    return left > 0 && poll(&poll_of, 1, (int)left) == 1;
}

/* The request's line. NULL: it is none. */
static char *read_line(int client, char *request, size_t room)
{
    int64_t deadline = now_ms() + REQUEST_MS;
    size_t have = 0;

    while (have < room && ready(client, POLLIN, deadline)) {
        ssize_t part = recv(client, request + have, room - have, MSG_DONTWAIT);
        char *end;

        if (part <= 0)
            return NULL;
        have += (size_t)part;
        end = memchr(request, '\n', have);
        if (end == NULL)
            continue;
        *end = '\0';
        return strlen(request) == (size_t)(end - request) ? request : NULL;
    }
    return NULL;
}

static void write_all(int client, const char *text)
{
    int64_t deadline = now_ms() + REQUEST_MS;
    size_t left = strlen(text);

    while (left > 0 && ready(client, POLLOUT, deadline)) {
        ssize_t part = send(client, text, left, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (part <= 0)
            return;
        text += part;
        left -= (size_t)part;
    }
}

static void serve(int client)
{
    char request[REQUEST_MAX], *text;

    if (read_line(client, request, sizeof(request)) == NULL)
        return;
    text = answer(request);
    if (text != NULL)
        write_all(client, text);
    free(text);
}

/* Between the two calls lnet_live_control_end may end what the client keeps waiting. */
static void set_client(int client)
{
    pthread_mutex_lock(&control.mutex);
    control.client = client;
    pthread_mutex_unlock(&control.mutex);
}

static bool stopping(void)
{
    return __atomic_load_n(&control.stop, __ATOMIC_RELAXED);
}

static void *run(void *unused)
{
    (void)unused;
    while (!stopping()) {
        int client = accept4(control.socket, NULL, NULL, SOCK_CLOEXEC);

        if (client < 0) { /* no descriptors are left, say: the client waits */
            if (errno != EINTR && errno != ECONNABORTED && !stopping())
                poll(NULL, 0, RETRY_MS);
            continue;
        }
        set_client(client);
        if (!stopping() && allowed(client))
            serve(client);
        set_client(-1);
        close(client);
    }
    return NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* A socket that nobody listens to any more is in the way. */
static void remove_stale(void)
{
    struct stat status;
    int probe;

    if (lstat(control.address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return;
    probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 &&
        connect(probe, (struct sockaddr *)&control.address, sizeof(control.address)) != 0 &&
        errno == ECONNREFUSED)
        unlink(control.address.sun_path);
    if (probe >= 0)
        close(probe);
}

/* Signals are the program's. */
static int start_thread(void)
{
    sigset_t all, before;
    int failure;

    control.stop = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failure = pthread_create(&control.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

bool lnet_live_control(const char *path, char **error)
{
    int failure = 0;

    if (control.on) {
        *error = lnet_text("%s: the process has a control socket already", path);
        return false;
    }
    control.address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(control.address.sun_path)) {
        *error = lnet_text("%s: the path is longer than %zu bytes", path,
                           sizeof(control.address.sun_path) - 1);
        return false;
    }
    memcpy(control.address.sun_path, path, strlen(path) + 1);
    remove_stale();
    control.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (control.socket < 0 ||
        bind(control.socket, (struct sockaddr *)&control.address, sizeof(control.address)) != 0) {
        failure = errno;
    } else {
        if (chmod(path, 0600) != 0 || listen(control.socket, 16) != 0)
            failure = errno;
        else
            failure = start_thread();
        if (failure != 0)
            unlink(path);
    }
    if (failure != 0) {
        if (control.socket >= 0)
            close(control.socket);
        *error = lnet_text("%s: %s", path, strerror(failure));
        return false;
    }
    control.on = true;
    return true;
}

void lnet_live_control_end(void)
{
    if (!control.on)
        return;
    unlink(control.address.sun_path);
    __atomic_store_n(&control.stop, true, __ATOMIC_RELAXED);
    shutdown(control.socket, SHUT_RDWR); /* accept4 returns */
    pthread_mutex_lock(&control.mutex);
    if (control.client >= 0)
        shutdown(control.client, SHUT_RDWR);
    pthread_mutex_unlock(&control.mutex);
    pthread_join(control.thread, NULL);
    close(control.socket);
    control.on = false;
}
