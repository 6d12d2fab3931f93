/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device "unix:": a connection to a daemon for each domain. Verbs cross one after the other;
 * waits do not cross. A thread notices the end of the daemon, so that waits end, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/assert.h"
#include "lib/memory.h"
#include "live/arena.h"
#include "live/poll.h"
#include "live/wire.h"
#include "m0/live.h"
#include "net/lnet/ulnet_core.h"
#include "port/port.h"

#define PREFIX "unix:"
#define ARENA_MIB 4096u

/* A started machine. */
struct machine {
    struct machine *next;
    struct nlx_core_transfer_mc *ctm;
    const void *reference; /* the daemon's */
    uint32_t woken; /* atomic */
    struct m0_live_poll poll; /* of the one thread that waits */
};

struct connection {
    int socket, stop; /* stop: an event for the watching thread */
    bool lost; /* atomic: the daemon has ended */
    struct port_mutex request_lock; /* of the socket, and: */
    int refused; /* a late reply to a submission; 0: none was read */
    bool doubted; /* atomic: no event came after a submission; there may be such a reply */
    struct port_mutex lock; /* of the list */
    struct machine *machines;
    struct port_thread *watcher;
};

/* ---- waiting --------------------------------------------------------------------------------- */

static uint32_t *word_of(const struct machine *machine)
{
    return (uint32_t *)(void *)&machine->ctm->ctm_bevq.cbcq_count.a_value;
}

/* A waiting thread looks at everything again. */
static void rouse(struct machine *machine)
{
    const struct timespec moment = {0, 100000};

    while (__atomic_load_n(&machine->ctm->ctm_asleep, __ATOMIC_SEQ_CST) != 0) {
        syscall(SYS_futex, word_of(machine), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        if (__atomic_load_n(&machine->ctm->ctm_asleep, __ATOMIC_SEQ_CST) != 0)
            nanosleep(&moment, NULL); /* it was between its look and its sleep */
    }
}

static struct machine *find(const struct connection *connection, const void *reference)
{
    struct machine *machine = connection->machines;

    while (machine != NULL && machine->reference != reference)
        machine = machine->next;
    return machine;
}

/* Also before the watching thread has seen it. An answer that nobody has read does not count. */
static bool find_lost(struct connection *connection)
{
    struct pollfd polled = {.fd = connection->socket, .events = POLLRDHUP};

    if (poll(&polled, 1, 0) == 1)
        __atomic_store_n(&connection->lost, true, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&connection->lost, __ATOMIC_SEQ_CST);
}

static bool unix_is_lost(void *handle)
{
    const struct connection *connection = handle;

    return __atomic_load_n(&connection->lost, __ATOMIC_ACQUIRE);
}

static int ring_poll(const struct connection *connection, struct machine *machine,
                     m0_time_t timeout)
{
    if (__atomic_load_n(&connection->lost, __ATOMIC_SEQ_CST))
        return -ECONNRESET;
    if (m0_atomic64_get(&machine->ctm->ctm_bevq.cbcq_count) != 0)
        return 0;
    if (__atomic_exchange_n(&machine->woken, 0, __ATOMIC_SEQ_CST) != 0)
        return -EINTR;
    if (timeout == 0 || (timeout != M0_TIME_NEVER && m0_time_now() >= timeout))
        return -ETIMEDOUT;
    return -EAGAIN;
}

static long event_wait(struct connection *connection,
                       const struct m0_lnet_dev_buf_event_wait_params *params)
{
    struct timespec until = {(time_t)(params->dbw_timeout / 1000000000u),
                             (long)(params->dbw_timeout % 1000000000u)};
    struct machine *machine;
    int rc;

    port_mutex_lock(&connection->lock);
    machine = find(connection, params->dbw_ktm);
    port_mutex_unlock(&connection->lock);
    if (machine == NULL) /* a daemon that ends takes its references back */
        return find_lost(connection) ? -ECONNRESET : -EBADR;
    m0_live_poll_begin(&machine->poll);
    do
        rc = ring_poll(connection, machine, params->dbw_timeout);
    while (rc == -EAGAIN && m0_live_poll_again(&machine->poll));
    if (rc != -EAGAIN)
        return rc;
    __atomic_store_n(&machine->ctm->ctm_asleep, 1, __ATOMIC_SEQ_CST);
    m0_live_poll_sleep(&machine->poll);
    while ((rc = ring_poll(connection, machine, params->dbw_timeout)) == -EAGAIN)
        syscall(SYS_futex, word_of(machine), FUTEX_WAIT_BITSET, 0,
                params->dbw_timeout == M0_TIME_NEVER ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
    m0_live_poll_woken(&machine->poll);
    __atomic_store_n(&machine->ctm->ctm_asleep, 0, __ATOMIC_SEQ_CST);
    return rc;
}

static long tm_wake(struct connection *connection, const void *reference)
{
    struct machine *machine;

    port_mutex_lock(&connection->lock);
    machine = find(connection, reference);
    if (machine != NULL) {
        __atomic_store_n(&machine->woken, 1, __ATOMIC_SEQ_CST);
        rouse(machine);
    }
    port_mutex_unlock(&connection->lock);
    return machine != NULL ? 0 : -EBADR;
}

static void watch(void *argument)
{
    struct connection *connection = argument;
    struct pollfd polled[] = {{.fd = connection->socket, .events = POLLRDHUP},
                              {.fd = connection->stop, .events = POLLIN}};
    struct machine *machine;

    while (polled[0].revents == 0 && polled[1].revents == 0)
        if (poll(polled, 2, -1) < 0)
            polled[0].revents = polled[1].revents = 0;
    if (polled[1].revents != 0)
        return;
    __atomic_store_n(&connection->lost, true, __ATOMIC_SEQ_CST);
    port_mutex_lock(&connection->lock);
    for (machine = connection->machines; machine != NULL; machine = machine->next)
        rouse(machine);
    port_mutex_unlock(&connection->lock);
}

/* ---- crossings ------------------------------------------------------------------------------- */

struct call {
    struct iovec out[3 + 2 * M0_LIVE_REGIONS_MAX], in[3];
    struct m0_live_request request;
    struct m0_live_region regions[M0_LIVE_REGIONS_MAX];
    struct m0_live_reply reply;
    size_t outs, ins;
    int file; /* that goes along; -1: none */
};

static void call_init(struct call *call, unsigned cmd, void *params)
{
    size_t bytes = _IOC_SIZE(cmd);

    call->request = (struct m0_live_request){.lr_cmd = cmd};
    call->file = -1;
    call->out[0] = (struct iovec){&call->request, sizeof(call->request)};
    call->out[1] = (struct iovec){params, bytes};
    call->outs = 2;
    call->in[0] = (struct iovec){&call->reply, sizeof(call->reply)};
    call->in[1] = (struct iovec){params, (_IOC_DIR(cmd) & _IOC_READ) != 0 ? bytes : 0};
    call->ins = 2;
}

static void add_region(struct call *call, void *memory, size_t bytes)
{
    struct m0_live_region *region = &call->regions[call->request.lr_regions++];

    *region = (struct m0_live_region){(uintptr_t)memory, bytes};
    call->out[call->outs++] = (struct iovec){region, sizeof(*region)};
    call->out[call->outs++] = (struct iovec){memory, bytes};
}

static int request_send(int socket, struct call *call)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = call->out, .msg_iovlen = call->outs};
    ssize_t done;

    if (call->file >= 0) {
        control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &call->file, sizeof(int));
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
    }
    do
        done = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    return done < 0 ? -errno : 0;
}

/* >= 0, a negative errno of the verb, or -ECONNRESET: there is no daemon. `refused`: where the
 * error of an earlier submission goes. */
static long call_make(int socket, struct call *call, int *refused)
{
    struct msghdr message = {.msg_iov = call->in, .msg_iovlen = call->ins};
    unsigned resets = 0;
    ssize_t done;
    bool late;

    /* A daemon that refuses the connection has said why before it read the request. */
    (void)request_send(socket, call);
    /* If it closed the connection with the request unread, the first recvmsg() fails with
     * ECONNRESET and the second one gets its reply. */
    do {
        done = recvmsg(socket, &message, 0);
        late = done >= (ssize_t)sizeof(call->reply) && call->reply.lp_bytes == M0_LIVE_LATE;
        if (late)
            *refused = (int)call->reply.lp_rc;
    } while (late || (done < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0))));
    if (done < (ssize_t)sizeof(call->reply))
        return -ECONNRESET;
    return call->reply.lp_rc;
}

/* The error of an earlier submission, once; 0: there is none yet. The lock is held. */
static int take_refused(struct connection *connection)
{
    struct m0_live_reply reply;
    int rc;

    if (connection->refused == 0 &&
        recv(connection->socket, &reply, sizeof(reply), MSG_DONTWAIT) == (ssize_t)sizeof(reply))
        connection->refused = (int)reply.lp_rc;
    rc = connection->refused;
    connection->refused = 0;
    return rc;
}

static long verb(struct connection *connection, unsigned cmd, void *params)
{
    struct call call;
    long rc;

    call_init(&call, cmd, params);
    if (cmd == M0_LNET_BUF_REGISTER) {
        struct m0_lnet_dev_buf_register_params *reg = params;
        size_t nr = reg->dbr_bvec.ov_vec.v_nr;

        /* The driver refuses more without looking at them. */
        if (nr > 0 && nr * sizeof(m0_bcount_t) <= M0_LIVE_REGION_BYTES) {
            add_region(&call, reg->dbr_bvec.ov_vec.v_count, nr * sizeof(m0_bcount_t));
            add_region(&call, reg->dbr_bvec.ov_buf, nr * sizeof(void *));
        }
    } else if (cmd == M0_LNET_NIDSTRS_GET) {
        const struct m0_lnet_dev_nidstrs_get_params *get = params;

        call.in[call.ins++] = (struct iovec){get->dng_buf, get->dng_size};
    }
    if (__atomic_load_n(&connection->lost, __ATOMIC_RELAXED))
        return -ECONNRESET;
    port_mutex_lock(&connection->request_lock);
    rc = call_make(connection->socket, &call, &connection->refused);
    port_mutex_unlock(&connection->request_lock);
    /* The daemon may have carried out what it did not answer. */
    if (rc == -ECONNRESET)
        find_lost(connection);
    return rc;
}

/* A submission of a thread that then waits for events: the daemon answers only if it fails. Then no
 * event comes, the ring stays as it is, and the next submission looks for the reason. */
static int submit(struct connection *connection, void *reference)
{
    struct m0_lnet_dev_tm_params params = {reference};
    struct call call;
    int rc = 0;

    if (__atomic_load_n(&connection->lost, __ATOMIC_RELAXED))
        return -ECONNRESET;
    call_init(&call, M0_LNET_LIVE_SUBMIT, &params);
    port_mutex_lock(&connection->request_lock);
    if (connection->refused != 0 ||
        __atomic_exchange_n(&connection->doubted, false, __ATOMIC_RELAXED))
        rc = take_refused(connection);
    if (rc == 0)
        rc = request_send(connection->socket, &call);
    port_mutex_unlock(&connection->request_lock);
    return rc == -EPIPE ? -ECONNRESET : rc;
}

/* ---- machines -------------------------------------------------------------------------------- */

static long tm_start(struct connection *connection, struct m0_lnet_dev_tm_start_params *params)
{
    struct machine *machine;
    long rc;

    M0_ALLOC_PTR(machine);
    if (machine == NULL)
        return -ENOMEM;
    rc = verb(connection, M0_LNET_TM_START, params);
    if (rc != 0) {
        m0_free(machine);
        return rc;
    }
    machine->ctm = params->dts_ctm;
    machine->reference = params->dts_ctm->ctm_kpvt;
    port_mutex_lock(&connection->lock);
    machine->next = connection->machines;
    connection->machines = machine;
    port_mutex_unlock(&connection->lock);
    return 0;
}

static long tm_stop(struct connection *connection, struct m0_lnet_dev_tm_stop_params *params)
{
    long rc = verb(connection, M0_LNET_TM_STOP, params);
    struct machine **link, *machine;

    if (rc == -EBADR || rc == -EBUSY)
        return rc;
    port_mutex_lock(&connection->lock);
    for (link = &connection->machines; (machine = *link) != NULL; link = &machine->next)
        if (machine->reference == params->dts_ktm) {
            *link = machine->next;
            m0_free(machine);
            break;
        }
    port_mutex_unlock(&connection->lock);
    return rc;
}

/* ---- the device ------------------------------------------------------------------------------ */

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd, rc;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    rc = -errno;
    close(fd);
    return rc;
}

static int attach(int socket)
{
    struct m0_lnet_dev_arena_attach_params params;
    struct call call;
    int none;

    call_init(&call, M0_LNET_ARENA_ATTACH, &params);
    call.file = m0_live_arena_file(&params.daa_address, &params.daa_bytes);
    return (int)call_make(socket, &call, &none); /* nothing was submitted */
}

static void connection_free(struct connection *connection)
{
    struct machine *machine;

    while ((machine = connection->machines) != NULL) { /* that a lost daemon left */
        connection->machines = machine->next;
        m0_free(machine);
    }
    if (connection->stop >= 0)
        close(connection->stop);
    if (connection->socket >= 0)
        close(connection->socket);
    port_mutex_destroy(&connection->lock);
    port_mutex_destroy(&connection->request_lock);
    m0_free(connection);
}

static int unix_open(const char *name, void **handle)
{
    struct connection *connection;
    int rc;

    M0_ALLOC_PTR(connection);
    if (connection == NULL)
        return -ENOMEM;
    port_mutex_init(&connection->lock);
    port_mutex_init(&connection->request_lock);
    connection->stop = eventfd(0, EFD_CLOEXEC);
    rc = connection->stop < 0 ? -errno : 0;
    connection->socket = connect_to(name + strlen(PREFIX));
    if (rc == 0)
        rc = connection->socket < 0 ? connection->socket : attach(connection->socket);
    if (rc == 0) {
        connection->watcher = port_thread_start("m0net daemon", watch, connection);
        rc = connection->watcher == NULL ? -ENOMEM : 0;
    }
    if (rc != 0) {
        connection_free(connection);
        return rc;
    }
    *handle = connection;
    return 0;
}

/* Addresses and bounds of the domain are free when it returns, unless there is no daemon. */
static void unix_close(void *handle)
{
    struct connection *connection = handle;
    uint64_t one = 1;

    (void)verb(connection, M0_LNET_LIVE_CLOSE, NULL);
    if (write(connection->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
        port_thread_join(connection->watcher);
    connection_free(connection);
}

static long unix_ioctl(void *handle, unsigned cmd, void *arg)
{
    struct connection *connection = handle;
    long rc;

    switch (cmd) {
    case M0_LNET_BUF_EVENT_WAIT:
        return event_wait(connection, arg);
    case M0_LNET_SQ_SUBMIT_AND_WAIT:
        rc = submit(connection, ((struct m0_lnet_dev_buf_event_wait_params *)arg)->dbw_ktm);
        rc = rc < 0 ? rc : event_wait(connection, arg);
        if (rc == -ETIMEDOUT)
            __atomic_store_n(&connection->doubted, true, __ATOMIC_RELAXED);
        return rc;
    case M0_LNET_TM_WAKE:
        return tm_wake(connection, ((struct m0_lnet_dev_tm_params *)arg)->dtp_ktm);
    case M0_LNET_TM_START:
        return tm_start(connection, arg);
    case M0_LNET_TM_STOP:
        return tm_stop(connection, arg);
    default:
        return verb(connection, cmd, arg);
    }
}

static struct nlx_ucore_device device = {
    .ud_prefix = PREFIX,
    .ud_open = unix_open,
    .ud_close = unix_close,
    .ud_ioctl = unix_ioctl,
    .ud_reaches = m0_live_arena_has,
    .ud_is_lost = unix_is_lost,
};

/* ---- the process ----------------------------------------------------------------------------- */

int m0_live_begin(const char *socket)
{
    static char name[sizeof(PREFIX) + sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    const char *memory = getenv("JACQUARD_M0_MEMORY");
    unsigned long mib = ARENA_MIB;
    char *end;
    int rc;

    if (strlen(socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return -ENAMETOOLONG;
    if (memory != NULL) {
        mib = strtoul(memory, &end, 10);
        if (end == memory || *end != '\0' || mib == 0 || mib > M0_LIVE_ARENA_MAX >> 20)
            return -EINVAL;
    }
    rc = m0_live_arena_begin((size_t)mib << 20);
    if (rc != 0)
        return rc;
    snprintf(name, sizeof(name), PREFIX "%s", socket);
    nlx_ucore_device_add(&device);
    nlx_ucore_dev_name = name;
    return 0;
}

int m0_live_stats(const char *socket, struct m0_live_stats *stats)
{
    struct m0_lnet_dev_live_stats_params params = {0};
    struct call call;
    int fd = connect_to(socket), none;
    long rc;

    if (fd < 0)
        return fd;
    call_init(&call, M0_LNET_LIVE_STATS, &params);
    rc = call_make(fd, &call, &none);
    close(fd);
    *stats = (struct m0_live_stats){params.dls_files,        params.dls_tms,
                                    params.dls_bufs,         params.dls_bevs,
                                    params.dls_pinned_pages, params.dls_verbs,
                                    params.dls_operations,   params.dls_internal_errors};
    return (int)rc;
}
