/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Assigns slots and nodes, and writes the table of members. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "internal.h"

static void publish_member(struct shm_server *server, uint32_t slot, const struct shm_member *is)
{
    struct fabric_member *entry = &server->table[slot];

    shm_seq_write_begin(&entry->version);
    atomic_store_explicit(&entry->generation, is->generation, memory_order_relaxed);
    atomic_store_explicit(&entry->node, is->node, memory_order_relaxed);
    atomic_store_explicit(&entry->pid, (uint32_t)is->pid, memory_order_relaxed);
    shm_seq_write_end(&entry->version);
}

static void refuse(struct member *member, int error, const char *text)
{
    struct wire head = {.kind = WIRE_REFUSED, .error = error};

    shm_member_send(member, &head, text, strlen(text), NULL, 0);
    shm_member_end(member);
}

/* Other members write to it to wake this one, so it must not block them. */
static bool is_doorbell(int file)
{
    char link[32], target[64];
    int flags = fcntl(file, F_GETFL);
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0 || flags < 0 || !(flags & O_NONBLOCK))
        return false;
    target[length] = 0;
    return strcmp(target, "anon_inode:[eventfd]") == 0;
}

/* Other members open the memory of the process that the pidfd refers to, by this process id. */
static bool is_pidfd_of(int file, int32_t pid)
{
    char path[40], line[64];
    int32_t of = 0;
    FILE *info;

    if (file < 0)
        return true;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file);
    info = fopen(path, "re");
    if (info == NULL)
        return false;
    while (of == 0 && fgets(line, sizeof(line), info) != NULL)
        if (strncmp(line, "Pid:", 4) == 0)
            of = (int32_t)strtol(line + 4, NULL, 10);
    fclose(info);
    return of == pid;
}

void shm_member_join(struct member *member, struct wire_packet *packet)
{
    struct shm_server *server = member->server;
    struct wire joined = {.kind = WIRE_JOINED};
    uint64_t bytes = packet->head.bytes;
    char text[SHM_WHY_BYTES];
    uint32_t slot;

    if (bytes > SHM_SEGMENT_MAX ||
        !shm_memory_is_safe(packet->fds[WIRE_SEGMENT],
                            segment_layout(server->options.processes_max, bytes).total) ||
        !is_doorbell(packet->fds[WIRE_DOORBELL]) ||
        !is_pidfd_of(packet->fds[WIRE_PIDFD], member->is.pid)) {
        refuse(member, -EINVAL, "the segment, the doorbell or the pidfd is invalid");
        return;
    }
    if (packet->head.node != SHM_NODE_ANY && packet->head.node >= server->options.nodes) {
        snprintf(text, sizeof(text), "no node %u: the fabric at %.100s has nodes 0 to %u",
                 packet->head.node, server->path, server->options.nodes - 1);
        refuse(member, -EINVAL, text);
        return;
    }
    if (g_queue_is_empty(&server->free_slots)) {
        snprintf(text, sizeof(text), "the fabric at %.100s is full: it has room for %u processes",
                 server->path, server->options.processes_max);
        refuse(member, -EUSERS, text);
        return;
    }
    slot = GPOINTER_TO_UINT(g_queue_pop_head(&server->free_slots));
    member->joined = true;
    member->segment = packet->fds[WIRE_SEGMENT];
    member->doorbell = packet->fds[WIRE_DOORBELL];
    member->own_pidfd = packet->fds[WIRE_PIDFD];
    packet->fds[WIRE_SEGMENT] = packet->fds[WIRE_DOORBELL] = packet->fds[WIRE_PIDFD] = -1;
    member->segment_bytes = bytes;
    member->is.slot = slot;
    member->is.generation = ++server->generations[slot];
    /* All processes are on one node, unless they ask for another one. */
    member->is.node = packet->head.node != SHM_NODE_ANY ? packet->head.node : 0;
    server->slots[slot] = member;
    server->count++;
    publish_member(server, slot, &member->is);
    joined.slot = slot;
    joined.generation = member->is.generation;
    joined.node = member->is.node;
    joined.pid = member->is.pid;
    if (server->options.events.joined != NULL)
        server->options.events.joined(server->options.arg, &member->is);
    shm_member_send(member, &joined, NULL, 0, NULL, 0);
}

void shm_member_leave_slot(struct member *member)
{
    struct shm_server *server = member->server;
    struct shm_member nobody = {0};
    struct wire gone = {.kind = WIRE_GONE,
                        .slot = member->is.slot,
                        .generation = member->is.generation,
                        .node = member->is.node};
    uint32_t slot;

    server->count--;
    if (server->options.events.left != NULL) /* the handler can read the segment a last time */
        server->options.events.left(server->options.arg, &member->is);
    server->slots[member->is.slot] = NULL;
    publish_member(server, member->is.slot, &nobody);
    shm_names_forget(server->names, member);
    /* A slot whose generations are used up is not used again. */
    if (member->is.generation < UINT32_MAX)
        g_queue_push_tail(&server->free_slots, GUINT_TO_POINTER(member->is.slot));
    for (slot = 0; slot < server->options.processes_max; slot++)
        if (server->slots[slot] != NULL)
            shm_member_send(server->slots[slot], &gone, NULL, 0, NULL, 0);
}
