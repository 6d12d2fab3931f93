/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The socket of the driver's daemon: a thread for it, and one for each connection. */
#define _GNU_SOURCE
#include "m0/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/connection.h"
#include "lib/cond.h"
#include "lib/memory.h"
#include "lnet/live.h"

enum { FILES = 256, RETRY_MS = 100 };

struct client {
    struct client *next;
    int socket; /* -1: closed */
    bool over; /* its thread is about to end */
    struct port_thread *thread;
};

static struct {
    bool on, stop; /* stop: atomic */
    int socket;
    struct sockaddr_un address;
    struct port_thread *thread;
    struct m0_mutex mutex; /* of: */
    uint32_t room; /* for clients */
    struct client *clients;
    struct nlx_kcore_host host;
    struct nlx_dd *driver;
} m0d;

/* ---- clients --------------------------------------------------------------------------------- */

static void run_client(void *argument)
{
    struct client *client = argument;

    bool waits = m0_connection_serve(m0d.driver, &m0d.host, client->socket);

    m0_mutex_lock(&m0d.mutex);
    m0d.room++; /* before the process knows that its domain has gone */
    if (waits)
        m0_connection_answer(client->socket, 0);
    close(client->socket);
    client->socket = -1;
    client->over = true;
    m0_mutex_unlock(&m0d.mutex);
}

/* Joins those that have ended, or, with `all`, every one. */
static void reap(bool all)
{
    struct client **link = &m0d.clients, *client;

    m0_mutex_lock(&m0d.mutex);
    while ((client = *link) != NULL) {
        if (!client->over && !all) {
            link = &client->next;
            continue;
        }
        *link = client->next;
        if (client->socket >= 0)
            shutdown(client->socket, SHUT_RDWR);
        m0_mutex_unlock(&m0d.mutex);
        port_thread_join(client->thread);
        m0_free(client);
        m0_mutex_lock(&m0d.mutex);
        link = &m0d.clients;
    }
    m0_mutex_unlock(&m0d.mutex);
}

/* Only the user of this process, or root. */
static bool allowed(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static int admit(int socket)
{
    struct client *client;
    int rc = 0;

    if (!allowed(socket))
        return -EACCES;
    M0_ALLOC_PTR(client);
    if (client == NULL)
        return -ENOMEM;
    client->socket = socket;
    m0_mutex_lock(&m0d.mutex);
    if (m0d.room == 0)
        rc = -EMFILE;
    else
        client->thread = port_thread_start("m0net client", run_client, client);
    if (client->thread != NULL) {
        client->next = m0d.clients;
        m0d.clients = client;
        m0d.room--;
    } else if (rc == 0) {
        rc = -ENOMEM;
    }
    m0_mutex_unlock(&m0d.mutex);
    if (rc != 0)
        m0_free(client);
    return rc;
}

static bool stopping(void)
{
    return __atomic_load_n(&m0d.stop, __ATOMIC_RELAXED);
}

static void run(void *unused)
{
    (void)unused;
    while (!stopping()) {
        int client = accept4(m0d.socket, NULL, NULL, SOCK_CLOEXEC), rc;

        if (client < 0) { /* no descriptors are left, say: the client waits */
            if (errno != EINTR && errno != ECONNABORTED && !stopping())
                poll(NULL, 0, RETRY_MS);
            continue;
        }
        reap(false);
        rc = admit(client);
        if (rc != 0) {
            m0_connection_answer(client, rc);
            close(client);
        }
    }
    reap(true);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* A socket that nobody listens to any more is in the way. */
static void remove_stale(void)
{
    struct stat status;
    int probe;

    if (lstat(m0d.address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return;
    probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, (struct sockaddr *)&m0d.address, sizeof(m0d.address)) != 0 &&
        errno == ECONNREFUSED)
        unlink(m0d.address.sun_path);
    if (probe >= 0)
        close(probe);
}

/* Nobody else may connect at any moment. */
static int listen_there(void)
{
    mode_t before;
    int rc = 0;

    remove_stale();
    m0d.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (m0d.socket < 0)
        return -errno;
    before = umask(0177);
    if (bind(m0d.socket, (struct sockaddr *)&m0d.address, sizeof(m0d.address)) != 0)
        rc = -errno;
    umask(before);
    if (rc == 0 && listen(m0d.socket, FILES) != 0) {
        rc = -errno;
        unlink(m0d.address.sun_path);
    }
    if (rc != 0)
        close(m0d.socket);
    return rc;
}

static int start(const struct m0_daemon_options *options)
{
    const struct nlx_dd_cfg bounds = {
        .dc_max_files = options->max_files,
        .dc_max_tms = options->max_tms,
        .dc_max_bufs = options->max_bufs,
        .dc_max_bevs = options->max_bevs,
        .dc_max_pinned_pages = options->max_pages,
    };
    int rc;

    nlx_kcore_host_init(&m0d.host, NULL, NULL);
    m0_mutex_init(&m0d.mutex);
    m0d.driver = nlx_dd_new(&m0d.host, &bounds);
    rc = m0d.driver == NULL ? -ENOMEM : listen_there();
    if (rc == 0) {
        m0d.thread = port_thread_start("m0net socket", run, NULL);
        if (m0d.thread != NULL)
            return 0;
        rc = -ENOMEM;
        unlink(m0d.address.sun_path);
        close(m0d.socket);
    }
    if (m0d.driver != NULL)
        nlx_dd_free(m0d.driver);
    m0_mutex_fini(&m0d.mutex);
    nlx_kcore_host_fini(&m0d.host);
    return rc;
}

char *m0_daemon_start(const char *path, const struct m0_daemon_options *options)
{
    char *error = NULL;
    int rc;

    m0d.address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(m0d.address.sun_path)) {
        if (asprintf(&error, "%s: the path is longer than %zu bytes", path,
                     sizeof(m0d.address.sun_path) - 1) < 0)
            abort();
        return error;
    }
    memcpy(m0d.address.sun_path, path, strlen(path) + 1);
    m0d.stop = false;
    m0d.room = options->max_files != 0 ? options->max_files : FILES;
    lnet_live_set_unlocked(m0_connection_ring);
    rc = start(options);
    m0d.on = rc == 0;
    if (rc != 0 && asprintf(&error, "%s: %s", path, strerror(-rc)) < 0)
        abort();
    return error;
}

void m0_daemon_stop(void)
{
    if (!m0d.on)
        return;
    unlink(m0d.address.sun_path);
    __atomic_store_n(&m0d.stop, true, __ATOMIC_RELAXED);
    shutdown(m0d.socket, SHUT_RDWR); /* accept4 returns */
    port_thread_join(m0d.thread);
    close(m0d.socket);
    nlx_dd_free(m0d.driver);
    nlx_kcore_host_fini(&m0d.host);
    m0_mutex_fini(&m0d.mutex);
    lnet_live_set_unlocked(NULL);
    m0d.on = false;
}
