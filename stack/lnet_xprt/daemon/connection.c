/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "daemon/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/memory.h"
#include "live/poll.h"
#include "live/wire.h"

enum { RINGS = 32, ATTACH_S = 5, SEALS = F_SEAL_SHRINK | F_SEAL_SEAL };

struct connection {
    int socket;
    struct nlx_dd *dd;
    const struct nlx_kcore_host *host;
    struct nlx_dd_file *file;
    bool closing; /* the last request has come */
    struct m0_live_poll poll;
    /* The shared memory: here, and where the process has it. */
    char *arena;
    uint64_t address, bytes;
    /* The request under way: what the verb reads and writes of the process's private memory. */
    struct m0_live_region regions[M0_LIVE_REGIONS_MAX];
    const char *region_data[M0_LIVE_REGIONS_MAX];
    uint32_t region_count;
    uint64_t out_address, out_room, out_bytes;
    char request[M0_LIVE_REQUEST_MAX + 1];
    uint64_t params[M0_LIVE_PARAMS_MAX / sizeof(uint64_t)];
    char out[M0_LIVE_OUT_MAX];
};

/* ---- the process as the driver sees it ------------------------------------------------------- */

static int copy_in(const struct nlx_dd_proc *proc, void *to, uint64_t from, size_t bytes)
{
    const struct connection *connection = proc->dp_context;
    uint32_t i;

    for (i = 0; i < connection->region_count; i++)
        if (connection->regions[i].lg_address == from && connection->regions[i].lg_bytes >= bytes) {
            memcpy(to, connection->region_data[i], bytes);
            return 0;
        }
    return -EFAULT;
}

static int copy_out(const struct nlx_dd_proc *proc, uint64_t to, const void *from, size_t bytes)
{
    struct connection *connection = proc->dp_context;

    if (to != connection->out_address || bytes > connection->out_room)
        return -EFAULT;
    memcpy(connection->out, from, bytes);
    connection->out_bytes = bytes;
    return 0;
}

/* The file cannot shrink, so all pages of it are there. They stay mapped until the process has gone
 * and the driver has released everything. */
static int pin(const struct nlx_dd_proc *proc, uint64_t address, struct page **page)
{
    const struct connection *connection = proc->dp_context;

    if (address - connection->address >= connection->bytes)
        return -EFAULT;
    *page = virt_to_page(connection->arena + (address - connection->address));
    return 0;
}

static void nothing(struct page *page)
{
    (void)page;
}

static void *map(struct page *page)
{
    return page_address(page);
}

/* A process that is woken may take the processor from the thread that wakes it, which has LNet's
 * lock. So it is woken when the thread has released that. The memory may have gone by then: the
 * system call fails. */
static _Thread_local struct {
    unsigned count;
    int64_t *words[RINGS];
} rings;

static void wake(int64_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void ring(struct m0_atomic64 *count)
{
    if (rings.count == RINGS)
        wake(&count->a_value);
    else
        rings.words[rings.count++] = &count->a_value;
}

void m0_connection_ring(void)
{
    while (rings.count > 0)
        wake(rings.words[--rings.count]);
}

static uint64_t process_of(int socket)
{
    struct ucred peer = {.pid = 0};
    socklen_t length = sizeof(peer);

    (void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return (uint64_t)peer.pid;
}

/* ---- the shared memory ----------------------------------------------------------------------- */

/* A file in memory that cannot shrink and that nothing but memory is behind: no access to it waits
 * for somebody, or fails. */
static int check_file(int file, uint64_t bytes)
{
    struct statfs system;
    struct stat status;
    int seals = fcntl(file, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS || fstatfs(file, &system) != 0 ||
        system.f_type != TMPFS_MAGIC || fstat(file, &status) != 0)
        return -EACCES;
    return status.st_size >= 0 && (uint64_t)status.st_size == bytes ? 0 : -EINVAL;
}

static int attach(struct connection *connection,
                  const struct m0_lnet_dev_arena_attach_params *params, int file)
{
    uint64_t bytes = params->daa_bytes;
    void *memory;
    int rc;

    if (bytes == 0 || bytes % PAGE_SIZE != 0 || bytes > M0_LIVE_ARENA_MAX ||
        params->daa_address % PAGE_SIZE != 0 || params->daa_address + bytes < bytes)
        return -EINVAL;
    rc = check_file(file, bytes);
    if (rc != 0)
        return rc;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (memory == MAP_FAILED)
        return errno == EACCES || errno == EPERM ? -EACCES : -ENOMEM;
    (void)madvise(memory, bytes, MADV_DONTDUMP);
    connection->arena = memory;
    connection->address = params->daa_address;
    connection->bytes = bytes;
    return 0;
}

static int open_file(struct connection *connection)
{
    const struct nlx_dd_proc proc = {
        .dp_id = process_of(connection->socket),
        .dp_context = connection,
        .dp_copy_in = copy_in,
        .dp_copy_out = copy_out,
        .dp_pin = pin,
        .dp_unpin = nothing,
        .dp_map = map,
        .dp_unmap = nothing,
        .dp_ring = ring,
    };

    return nlx_dd_open(connection->dd, &proc, O_RDWR | O_CLOEXEC, &connection->file);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* False: the process does not listen any more, or, with MSG_DONTWAIT, has left too many replies. */
static bool reply(int socket, unsigned cmd, long rc, void *params, char *out, uint64_t out_bytes,
                  int flags)
{
    struct m0_live_reply head = {rc, out_bytes};
    struct iovec parts[] = {{&head, sizeof(head)},
                            {params, (_IOC_DIR(cmd) & _IOC_READ) != 0 ? _IOC_SIZE(cmd) : 0},
                            {out, out_bytes}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    ssize_t sent;

    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

/* A submission failed whose success nobody waits for. */
static bool reply_late(int socket, long rc)
{
    const struct m0_live_reply head = {rc, M0_LIVE_LATE};

    return send(socket, &head, sizeof(head), MSG_NOSIGNAL) >= 0;
}

/* Takes the message apart. False: it is none. */
static bool parse(struct connection *connection, size_t bytes, unsigned *cmd)
{
    const char *at = connection->request, *end = at + bytes;
    struct m0_live_request head;

    if (bytes < sizeof(head) || bytes > M0_LIVE_REQUEST_MAX)
        return false;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    if (_IOC_SIZE(head.lr_cmd) > M0_LIVE_PARAMS_MAX ||
        _IOC_SIZE(head.lr_cmd) > (size_t)(end - at) || head.lr_regions > M0_LIVE_REGIONS_MAX)
        return false;
    memcpy(connection->params, at, _IOC_SIZE(head.lr_cmd));
    at += _IOC_SIZE(head.lr_cmd);
    for (connection->region_count = 0; connection->region_count < head.lr_regions;
         connection->region_count++) {
        struct m0_live_region *region = &connection->regions[connection->region_count];

        if (sizeof(*region) > (size_t)(end - at))
            return false;
        memcpy(region, at, sizeof(*region));
        at += sizeof(*region);
        if (region->lg_bytes > M0_LIVE_REGION_BYTES || region->lg_bytes > (size_t)(end - at))
            return false;
        connection->region_data[connection->region_count] = at;
        at += region->lg_bytes;
    }
    *cmd = head.lr_cmd;
    return at == end;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void stats(const struct connection *connection, struct m0_lnet_dev_live_stats_params *params)
{
    struct nlx_dd_stats now;
    unsigned i;

    nlx_dd_stats_get(connection->dd, &now);
    *params = (struct m0_lnet_dev_live_stats_params){
        .dls_files = now.ds_files,
        .dls_tms = now.ds_tms,
        .dls_bufs = now.ds_bufs,
        .dls_bevs = now.ds_bevs,
        .dls_pinned_pages = now.ds_pins - now.ds_unpins,
        .dls_operations = now.ds_operations,
        .dls_internal_errors =
            __atomic_load_n(&connection->host->kh_internal_errors, __ATOMIC_RELAXED),
    };
    for (i = 0; i <= M0_LNET_IOC_MAX_NR; i++)
        params->dls_verbs += now.ds_verbs[i];
}

static long verb(struct connection *connection, unsigned cmd)
{
    void *params = connection->params;
    const struct m0_lnet_dev_nidstrs_get_params *get = params;

    switch (cmd) {
    case M0_LNET_LIVE_STATS:
        stats(connection, params);
        return 0;
    case M0_LNET_BUF_EVENT_WAIT: /* of the process's own */
    case M0_LNET_SQ_SUBMIT_AND_WAIT:
    case M0_LNET_ARENA_ATTACH: /* only once */
        return -ENOTTY;
    case M0_LNET_NIDSTRS_GET:
        connection->out_address = (uintptr_t)get->dng_buf;
        connection->out_room = get->dng_size < M0_LIVE_OUT_MAX ? get->dng_size : M0_LIVE_OUT_MAX;
        return nlx_dd_ioctl(connection->file, cmd, params);
    case M0_LNET_LIVE_SUBMIT:
        return nlx_dd_ioctl(connection->file, M0_LNET_SQ_SUBMIT, params);
    default:
        return nlx_dd_ioctl(connection->file, cmd, params);
    }
}

/* The first request may bring a file. Others that come with it are closed. */
static ssize_t receive_first(struct connection *connection, int *file)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    struct iovec part = {connection->request, sizeof(connection->request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t bytes = recvmsg(connection->socket, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head;
    size_t count, i;
    int files[2];

    *file = -1;
    head = bytes < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return bytes;
    count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); /* the padding has room for a second */
    memcpy(files, CMSG_DATA(head), count * sizeof(int));
    for (i = 1; i < count; i++)
        close(files[i]);
    if (count > 0)
        *file = files[0];
    return bytes;
}

/* Until the process has a domain's file, or asked its question. True: it has one. */
static bool begin(struct connection *connection)
{
    const struct timeval limit = {ATTACH_S, 0}, none = {0, 0};
    ssize_t bytes;
    unsigned cmd;
    int file, rc;

    setsockopt(connection->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    bytes = receive_first(connection, &file);
    if (bytes <= 0 || !parse(connection, (size_t)bytes, &cmd)) {
        if (file >= 0)
            close(file);
        return false;
    }
    setsockopt(connection->socket, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
    if (cmd == M0_LNET_LIVE_STATS)
        rc = (int)verb(connection, cmd);
    else if (cmd != M0_LNET_ARENA_ATTACH)
        rc = -ENOTTY;
    else if (file < 0)
        rc = -EBADF;
    else
        rc = attach(connection, (const void *)connection->params, file);
    if (file >= 0)
        close(file);
    if (rc == 0 && cmd == M0_LNET_ARENA_ATTACH)
        rc = open_file(connection);
    return reply(connection->socket, cmd, rc, connection->params, NULL, 0, 0) &&
           connection->file != NULL;
}

static ssize_t receive(struct connection *connection, int flags)
{
    ssize_t bytes;

    do
        bytes = recv(connection->socket, connection->request, sizeof(connection->request), flags);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? -errno : bytes;
}

static bool serve_one(struct connection *connection)
{
    ssize_t bytes;
    unsigned cmd;
    long rc;

    bytes = receive(connection, MSG_DONTWAIT);
    m0_live_poll_begin(&connection->poll);
    while (bytes == -EAGAIN && m0_live_poll_again(&connection->poll))
        bytes = receive(connection, MSG_DONTWAIT);
    if (bytes == -EAGAIN) {
        m0_live_poll_sleep(&connection->poll);
        bytes = receive(connection, 0);
        m0_live_poll_woken(&connection->poll);
    }
    if (bytes <= 0 || !parse(connection, (size_t)bytes, &cmd))
        return false;
    connection->closing = cmd == M0_LNET_LIVE_CLOSE;
    if (connection->closing)
        return false;
    connection->out_bytes = connection->out_room = 0;
    rc = verb(connection, cmd);
    m0_connection_ring(); /* of operations that were refused without LNet */
    if (cmd == M0_LNET_LIVE_SUBMIT)
        return rc >= 0 || reply_late(connection->socket, rc);
    return reply(connection->socket, cmd, rc, connection->params, connection->out,
                 connection->out_bytes, 0);
}

bool m0_connection_serve(struct nlx_dd *dd, const struct nlx_kcore_host *host, int socket)
{
    struct connection *connection;
    bool closing;

    M0_ALLOC_PTR(connection);
    if (connection == NULL) {
        m0_connection_answer(socket, -ENOMEM);
        return false;
    }
    connection->socket = socket;
    connection->dd = dd;
    connection->host = host;
    if (begin(connection))
        while (serve_one(connection)) {
        }
    if (connection->file != NULL)
        nlx_dd_close(connection->file);
    if (connection->arena != NULL)
        munmap(connection->arena, connection->bytes);
    closing = connection->closing;
    m0_free(connection);
    return closing;
}

void m0_connection_answer(int socket, int rc)
{
    (void)reply(socket, 0, rc, NULL, NULL, 0, MSG_DONTWAIT);
}
