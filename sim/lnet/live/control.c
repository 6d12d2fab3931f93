/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control socket of a live node, which `jacquard lnetctl` asks. A connection is one request, a
 * line of at most REQUEST_MAX bytes, and one answer: "ok\n" and the text, or "error: TEXT\n". A
 * thread of its own answers one connection after the other; a silent client has REQUEST_SECONDS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/internal.h"
#include "lnet/live.h"
#include "loop.h"

#define REQUEST_MAX 256
#define REQUEST_SECONDS 5
#define IDS_MAX 64

static struct control {
    bool on;
    int socket;
    pthread_t thread;
    struct sockaddr_un address;
} control;

/* ---- requests -------------------------------------------------------------------------------- */

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
        fprintf(out, "    - errno: %d\n      descr: failed to ping %s: %s\n", *status, nid,
                strerror(-*status));
    } else {
        fprintf(out, "    - primary nid: %s\n      Multi-Rail: False\n      peer ni:\n", nid);
        for (i = 0; i < data.ioc_count && i < IDS_MAX; i++)
            if (ids[i].nid != LNET_NID_LO_0)
                fprintf(out, "        - nid: %s\n", libcfs_nid2str(ids[i].nid));
    }
    fclose(out);
    return text;
}

static char *answer(char *request)
{
    char *text, *full = NULL;

    if (strncmp(request, "ping ", 5) == 0) {
        int status;

        text = lnet_live_ping(request + 5 + strspn(request + 5, " "), 5000, &status);
        if (asprintf(&full, "ok\nping:\n%s", text) < 0)
            full = NULL;
    } else {
        struct lnet_node *node = lnet_host_current();

        text = node != NULL ? lnet_node_show(node, request) : NULL;
        if (text == NULL)
            return strdup("error: there are net, peer, route, routing, stats and global show, "
                          "export, and ping NID\n");
        if (asprintf(&full, "ok\n%s", text) < 0)
            full = NULL;
    }
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

static void serve(int client)
{
    const struct timeval limit = {.tv_sec = REQUEST_SECONDS};
    char request[REQUEST_MAX + 1], *end = NULL, *text;
    size_t have = 0, sent = 0, length;
    ssize_t part;

    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    while (end == NULL && have < REQUEST_MAX) {
        part = recv(client, request + have, REQUEST_MAX - have, 0);
        if (part <= 0)
            return;
        have += (size_t)part;
        request[have] = '\0';
        end = strchr(request, '\n');
    }
    if (end == NULL)
        return;
    *end = '\0';
    text = answer(request);
    for (length = text != NULL ? strlen(text) : 0; sent < length; sent += (size_t)part) {
        part = send(client, text + sent, length - sent, MSG_NOSIGNAL);
        if (part <= 0)
            break;
    }
    free(text);
}

static void *run(void *unused)
{
    (void)unused;
    for (;;) {
        int client = accept4(control.socket, NULL, NULL, SOCK_CLOEXEC);

        if (client < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (client < 0)
            return NULL; /* shut down */
        if (allowed(client))
            serve(client);
        close(client);
    }
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

bool lnet_live_control(const char *path, char **error)
{
    int failure = 0;

    assert(!control.on);
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
            failure = pthread_create(&control.thread, NULL, run, NULL);
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
    shutdown(control.socket, SHUT_RDWR); /* accept4 returns */
    pthread_join(control.thread, NULL);
    close(control.socket);
    control.on = false;
}
