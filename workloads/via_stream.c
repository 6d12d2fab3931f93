/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rank 0 sends numbered messages to rank 1 through one VI, without a library above it. On a
 * reliable service all of them arrive in order, whatever frames are lost; on the unreliable one
 * some may be missing, but none is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include <vipl.h>
#include "run/workload.h"
#include "support/pattern.h"

enum { PAGE = 4096, SLOT_HEAD = 256, ADDRESS_BYTES = 64, QUIET_MS = 50 };

static const struct workload_arg args[] = {
    {"messages", ARG_COUNT, "100", "1", "100000", NULL, "that are sent"},
    {"bytes", ARG_BYTES, "5000", "1", "32000", NULL, "of a message, at most"},
    {"window", ARG_COUNT, "8", "1", "64", NULL, "messages that are sent at once"},
    {"service", ARG_CHOICE, "delivery", NULL, NULL, "unreliable|delivery|reception",
     "reliability level of the VI"},
    {NULL},
};

union address {
    VIP_NET_ADDRESS address;
    unsigned char room[ADDRESS_BYTES];
};

struct stream {
    struct rank *rank;
    uint32_t messages, bytes, window;
    VIP_RELIABILITY_LEVEL service;
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE tag;
    VIP_VI_HANDLE vi;
    VIP_MEM_HANDLE handle;
    unsigned char *arena; /* a descriptor and a message for each place of the window */
    size_t slot, room;
    union address *addresses; /* by rank */
    uint32_t received, next; /* the number that may come next */
};

static int fail(const struct stream *stream, const char *what, VIP_RETURN rc)
{
    return rank_fail(stream->rank, "VIA: %s: %d", what, (int)rc);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int open_nic(struct stream *stream, union address *own)
{
    VIP_NIC_ATTRIBUTES attributes;
    VIP_RETURN rc = VipOpenNic("/dev/via_eth0", &stream->nic);

    if (rc == VIP_SUCCESS)
        rc = VipQueryNic(stream->nic, &attributes);
    if (rc == VIP_SUCCESS)
        rc = VipCreatePtag(stream->nic, &stream->tag);
    if (rc != VIP_SUCCESS)
        return fail(stream, "the NIC", rc);
    memset(own, 0, sizeof(*own));
    own->address.HostAddressLen = attributes.NicAddressLen;
    own->address.DiscriminatorLen = 1;
    memcpy(own->address.HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    own->address.HostAddress[attributes.NicAddressLen] = 's';
    return 0;
}

static int make_memory(struct stream *stream)
{
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = stream->tag};
    VIP_RETURN rc;

    stream->slot = (SLOT_HEAD + stream->bytes + 63) / 64 * 64;
    stream->room = (stream->window * stream->slot + PAGE - 1) / PAGE * PAGE;
    stream->arena = aligned_alloc(PAGE, stream->room);
    if (stream->arena == NULL)
        return rank_fail(stream->rank, "no memory");
    memset(stream->arena, 0, stream->room);
    rc = VipRegisterMem(stream->nic, stream->arena, stream->room, &attributes, &stream->handle);
    return rc == VIP_SUCCESS ? 0 : fail(stream, "a registration", rc);
}

static VIP_RETURN request(struct stream *stream)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_RETURN rc;

    do {
        rc = VipConnectRequest(stream->vi, &stream->addresses[0].address,
                               &stream->addresses[1].address, VIP_INFINITE, &attributes);
    } while (rc == VIP_NO_MATCH); /* the other rank does not wait yet */
    return rc;
}

static VIP_RETURN await_request(struct stream *stream)
{
    union address from = {.room = {0}};
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE connection;
    VIP_RETURN rc = VipConnectWait(stream->nic, &stream->addresses[1].address, VIP_INFINITE,
                                   &from.address, &attributes, &connection);

    return rc == VIP_SUCCESS ? VipConnectAccept(connection, stream->vi) : rc;
}

static int connect_vi(struct stream *stream)
{
    VIP_VI_ATTRIBUTES attributes = {
        .ReliabilityLevel = stream->service, .MaxTransferSize = stream->bytes, .Ptag = stream->tag};
    VIP_RETURN rc = VipCreateVi(stream->nic, &attributes, NULL, NULL, &stream->vi);

    if (rc != VIP_SUCCESS)
        return fail(stream, "a VI", rc);
    rc = rank_id(stream->rank) == 0 ? request(stream) : await_request(stream);
    return rc == VIP_SUCCESS ? 0 : fail(stream, "a connection", rc);
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint32_t length_of(const struct stream *stream, uint32_t number)
{
    return number * 977 % stream->bytes + 1;
}

static VIP_DESCRIPTOR *descriptor_at(const struct stream *stream, uint32_t place, uint32_t length)
{
    unsigned char *at = stream->arena + place * stream->slot;
    VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)(void *)at;

    memset(descriptor, 0, sizeof(*descriptor));
    descriptor->Control.SegCount = 1;
    descriptor->Control.Length = length;
    descriptor->Data[0].Data.Address = at + SLOT_HEAD;
    descriptor->Data[0].Handle = stream->handle;
    descriptor->Data[0].Length = length;
    return descriptor;
}

/* The messages `from` to `end`, all at once. */
static int send_window(struct stream *stream, uint32_t from, uint32_t end)
{
    VIP_RETURN rc = VIP_SUCCESS;
    uint32_t i;

    for (i = from; i < end && rc == VIP_SUCCESS; i++) {
        uint32_t length = length_of(stream, i);
        VIP_DESCRIPTOR *descriptor = descriptor_at(stream, i - from, length);

        wl_pattern_fill(descriptor->Data[0].Data.Address, length, i);
        descriptor->Control.Control = VIP_CONTROL_IMMEDIATE;
        descriptor->Control.ImmediateData = i;
        rc = VipPostSend(stream->vi, descriptor, stream->handle);
    }
    for (i = from; i < end && rc == VIP_SUCCESS; i++) {
        VIP_DESCRIPTOR *done = NULL;

        rc = VipSendWait(stream->vi, VIP_INFINITE, &done);
        if (rc == VIP_SUCCESS && done->Control.ImmediateData != i)
            return rank_fail(stream->rank, "VIA: sends end in another order");
    }
    return rc == VIP_SUCCESS ? 0 : fail(stream, "a send", rc);
}

static int check(struct stream *stream, const VIP_DESCRIPTOR *done)
{
    uint32_t number = done->Control.ImmediateData;
    bool in_order =
        stream->service == VIP_SERVICE_UNRELIABLE ? number >= stream->next : number == stream->next;

    if ((done->Control.Status & VIP_STATUS_IMMEDIATE) == 0 || !in_order ||
        number >= stream->messages)
        return rank_fail(stream->rank, "VIA: message %u where %u is next", number, stream->next);
    if (done->Control.Length != length_of(stream, number) ||
        wl_pattern_differs(done->Data[0].Data.Address, done->Control.Length, number) != 0)
        return rank_fail(stream->rank, "VIA: message %u is wrong", number);
    stream->next = number + 1;
    stream->received++;
    rank_progress(stream->rank);
    return 0;
}

/* Receives are posted in the order of their places, so they are used in this order, too. */
static int post_receives(struct stream *stream, uint32_t posted, uint32_t end)
{
    VIP_RETURN rc = VIP_SUCCESS;

    for (; posted < end && rc == VIP_SUCCESS; posted++)
        rc = VipPostRecv(stream->vi, descriptor_at(stream, posted % stream->window, stream->bytes),
                         stream->handle);
    return rc == VIP_SUCCESS ? 0 : fail(stream, "a receive", rc);
}

/* Takes the messages that have arrived, until none has come for QUIET_MS. */
static int receive_window(struct stream *stream, uint32_t end)
{
    VIP_RETURN rc = VIP_SUCCESS;

    while (stream->next < end && rc == VIP_SUCCESS) {
        VIP_DESCRIPTOR *done = NULL;

        rc = VipRecvWait(stream->vi, QUIET_MS, &done);
        if (rc == VIP_SUCCESS && check(stream, done) != 0)
            return -1;
    }
    return rc == VIP_SUCCESS || rc == VIP_TIMEOUT ? 0 : fail(stream, "receiving", rc);
}

static int transfer(struct stream *stream)
{
    uint32_t from, end, posted = 0;

    for (from = 0; from < stream->messages; from = end) {
        end = from + stream->window < stream->messages ? from + stream->window : stream->messages;
        if (rank_id(stream->rank) == 1 &&
            post_receives(stream, posted, stream->received + stream->window) != 0)
            return -1;
        posted = stream->received + stream->window;
        rank_barrier(stream->rank);
        if (rank_id(stream->rank) == 0 ? send_window(stream, from, end) != 0
                                       : receive_window(stream, end) != 0)
            return -1;
        rank_barrier(stream->rank);
    }
    return 0;
}

static int run(struct rank *rank)
{
    const char *service = rank_arg_choice(rank, "service");
    struct stream stream = {
        .rank = rank,
        .messages = (uint32_t)rank_arg_count(rank, "messages"),
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .window = (uint32_t)rank_arg_count(rank, "window"),
        .service = strcmp(service, "delivery") == 0    ? VIP_SERVICE_RELIABLE_DELIVERY
                   : strcmp(service, "reception") == 0 ? VIP_SERVICE_RELIABLE_RECEPTION
                                                       : VIP_SERVICE_UNRELIABLE,
    };
    union address own;
    int rc;

    if (rank_id(rank) > 1)
        return 0;
    stream.addresses = calloc(rank_size(rank), sizeof(own));
    if (stream.addresses == NULL)
        return rank_fail(rank, "no memory");
    rc = open_nic(&stream, &own);
    rank_allgather(rank, &own, stream.addresses, sizeof(own));
    if (rc == 0)
        rc = make_memory(&stream);
    if (rc == 0)
        rc = connect_vi(&stream);
    if (rc == 0)
        rc = transfer(&stream);
    if (rank_id(rank) == 1) {
        rank_count(rank, "received", stream.received);
        rank_count(rank, "lost", stream.messages - stream.received);
    }
    if (stream.nic != NULL)
        VipCloseNic(stream.nic); /* with all that belongs to it */
    free(stream.arena);
    free(stream.addresses);
    return rc == 0 ? 0 : 1;
}

static const struct workload via_stream = {
    .name = "via_stream",
    .meaning = "two ranks: numbered messages through one VI of VIA, of any reliability level",
    .metrics = "received, lost (count)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(via_stream)
