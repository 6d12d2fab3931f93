/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "layout.h"
#include "wire.h"

/* Whether a message carries the right number of descriptors. The answer to a request carries none
 * if it is an error. */
static bool fds_fit(const struct wire *head, unsigned count)
{
    switch (head->kind) {
    case WIRE_WELCOME:
        return count == 1;
    case WIRE_JOIN:
        return count == 2 || count == WIRE_FDS_MAX;
    case WIRE_PEER:
        return head->error == 0 ? count == 2 || count == WIRE_FDS_MAX : count == 0;
    default:
        return count == 0;
    }
}

static bool has_text(uint32_t kind)
{
    return kind == WIRE_REFUSED || kind == WIRE_ORDER || kind == WIRE_REPORT;
}

bool shm_wire_decode(const void *bytes, size_t count, const int *fds, unsigned fds_count,
                     struct wire_packet *packet)
{
    struct wire *head = &packet->head;
    unsigned i;

    if (count < sizeof(*head) || count > WIRE_BYTES_MAX || fds_count > WIRE_FDS_MAX)
        return false;
    memcpy(head, bytes, sizeof(*head));
    if (head->magic != SHM_MAGIC || head->version != SHM_VERSION)
        return false;
    if (head->kind == 0 || head->kind >= WIRE_KINDS || head->error > 0 || head->error < -4095)
        return false;
    packet->text_bytes = count - sizeof(*head);
    packet->text = (const char *)bytes + sizeof(*head);
    if (packet->text_bytes > 0 && !has_text(head->kind))
        return false;
    if (!fds_fit(head, fds_count))
        return false;
    for (i = 0; i < WIRE_FDS_MAX; i++)
        packet->fds[i] = i < fds_count ? fds[i] : -1;
    return true;
}

int shm_wire_send(int socket, const struct wire *head, const void *text, size_t text_bytes,
                  const int *fds, unsigned fds_count, int flags)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
    } control;
    struct iovec parts[2] = {{(void *)(uintptr_t)head, sizeof(*head)},
                             {(void *)(uintptr_t)text, text_bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = text_bytes > 0 ? 2 : 1};
    ssize_t sent;

    if (fds_count > 0) {
        memset(&control, 0, sizeof(control));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(fds_count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, fds_count * sizeof(int));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fds_count * sizeof(int));
    }
    do
        sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

/* Collects all descriptors of a received message, also unexpected ones. */
static unsigned take_fds(struct msghdr *message, int *fds, unsigned max)
{
    struct cmsghdr *part;
    unsigned count = 0, i, here;

    for (part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        here = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (i = 0; i < here && count < max; i++)
            memcpy(&fds[count++], CMSG_DATA(part) + i * sizeof(int), sizeof(int));
    }
    return count;
}

int shm_wire_receive(int socket, void *buffer, struct wire_packet *packet, int flags)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
    } control;
    struct iovec part = {buffer, WIRE_BYTES_MAX};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fds[WIRE_FDS_MAX];
    unsigned count, i;
    ssize_t received;

    do
        received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return -errno;
    count = take_fds(&message, fds, WIRE_FDS_MAX);
    if (received == 0 && count == 0)
        return 0;
    if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
        shm_wire_decode(buffer, (size_t)received, fds, count, packet))
        return 1;
    for (i = 0; i < count; i++)
        close(fds[i]);
    if (message.msg_flags & MSG_CTRUNC && (size_t)received >= sizeof(packet->head)) {
        memcpy(&packet->head, buffer, sizeof(packet->head));
        return -EMFILE;
    }
    return -EPROTO;
}

void shm_wire_close(struct wire_packet *packet)
{
    unsigned i;

    for (i = 0; i < WIRE_FDS_MAX; i++) {
        if (packet->fds[i] >= 0)
            close(packet->fds[i]);
        packet->fds[i] = -1;
    }
}
