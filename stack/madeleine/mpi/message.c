/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, and the types that say where their bytes are. */
#include <stdlib.h>
#include <string.h>

#include "process.h"

/*
 * From this size on messages are copied through blocks of the process (staging.c). The provider
 * sends smaller ones by a mailbox, which registers no memory of the program.
 */
enum { STAGED_BYTES = 1024 };

const struct mad_smpi_type mad_smpi_byte = {.bytes = 1}, mad_smpi_int = {.bytes = sizeof(int)};

/* ---- types ----------------------------------------------------------------------------------- */

int MPI_Get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

static void pieces_free(struct mad_smpi_type *type)
{
    free(type->lengths);
    free(type->places);
}

static int pieces_copy(struct mad_smpi_type *type, int count, const int lengths[],
                       const MPI_Aint places[])
{
    *type = (struct mad_smpi_type){.count = count,
                                   .lengths = malloc((size_t)count * sizeof(*lengths)),
                                   .places = malloc((size_t)count * sizeof(*places))};
    if (type->lengths == NULL || type->places == NULL) {
        pieces_free(type);
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < count; i++) {
        type->lengths[i] = lengths[i];
        type->places[i] = places[i];
        type->bytes += (size_t)lengths[i];
    }
    return MPI_SUCCESS;
}

int MPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint places[],
                             MPI_Datatype of, MPI_Datatype *type)
{
    struct mad_smpi_type *created = malloc(sizeof(*created));
    int code;

    (void)of;
    if (created == NULL)
        return MPI_ERR_NO_MEM;
    code = pieces_copy(created, count, lengths, places);
    if (code != MPI_SUCCESS)
        free(created);
    else
        *type = created;
    return code;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    struct mad_smpi_type *own = (struct mad_smpi_type *)(uintptr_t)*type;

    pieces_free(own);
    free(own);
    *type = NULL;
    return MPI_SUCCESS;
}

static void gather(char *to, const struct mad_smpi_type *type)
{
    for (int i = 0; i < type->count; i++) {
        memcpy(to, (const void *)type->places[i], (size_t)type->lengths[i]);
        to += type->lengths[i];
    }
    port_spend(PORT_COST_COPY, type->bytes);
}

static void scatter(const char *from, size_t bytes, const struct mad_smpi_type *type)
{
    port_spend(PORT_COST_COPY, bytes);
    for (int i = 0; i < type->count && bytes != 0; i++) {
        size_t length = (size_t)type->lengths[i] < bytes ? (size_t)type->lengths[i] : bytes;

        memcpy((void *)type->places[i], from, length);
        from += length;
        bytes -= length;
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

int mad_smpi_stage(struct mad_smpi_request *request, void *bytes, int count, MPI_Datatype type,
                   struct iovec *place)
{
    bool pieces = type->count != 0 && count != 0;

    *place = (struct iovec){.iov_base = bytes, .iov_len = (size_t)count * type->bytes};
    if (!pieces && place->iov_len < STAGED_BYTES)
        return MPI_SUCCESS;
    request->staged = mad_smpi_block_get(mad_smpi_process(), place->iov_len);
    request->staged_bytes = place->iov_len;
    if (request->staged == NULL)
        return MPI_ERR_NO_MEM;
    place->iov_base = request->staged;
    if (request->kind == MAD_SMPI_SEND) {
        if (pieces) {
            gather(request->staged, type);
        } else {
            port_spend(PORT_COST_COPY, place->iov_len);
            memcpy(request->staged, bytes, place->iov_len);
        }
        return MPI_SUCCESS;
    }
    if (pieces)
        return pieces_copy(&request->type, type->count, type->lengths, type->places);
    request->bytes_at = bytes;
    return MPI_SUCCESS;
}

void mad_smpi_request_drop(struct mad_smpi_request *request)
{
    mad_smpi_block_put(mad_smpi_process(), request->staged, request->staged_bytes);
    if (request->type.count != 0)
        pieces_free(&request->type);
    free(request);
}

static void unstage(const struct mad_smpi_request *request)
{
    if (request->type.count != 0) {
        scatter(request->staged, request->bytes, &request->type);
        return;
    }
    port_spend(PORT_COST_COPY, request->bytes);
    memcpy(request->bytes_at, request->staged, request->bytes);
}

/* The result of a request that has ended; frees it. */
static int finish(struct mad_smpi_request *request, MPI_Status *status)
{
    int code = request->code;

    if (status != MPI_STATUS_IGNORE)
        *status = (MPI_Status){request->source, (int)(request->tag & MAD_SMPI_ANY_TAG), code,
                               request->bytes};
    if (request->kind == MAD_SMPI_RECEIVE && request->staged != NULL && code == MPI_SUCCESS)
        unstage(request);
    mad_smpi_request_drop(request);
    return code;
}

/* With the lock. Something that waits for a peer that has gone ends. */
static bool has_ended(struct mad_smpi_process *process, struct mad_smpi_request *request)
{
    mad_smpi_progress(process);
    if (request->done)
        return true;
    mad_smpi_probe_peer(process, request->peer);
    if (process->peers[request->peer].dead && !request->cancelled) {
        request->cancelled = true;
        fi_cancel(&process->ep->fid, request);
        mad_smpi_progress(process);
    }
    return request->done;
}

int mad_smpi_wait(struct mad_smpi_process *process, MPI_Request request, MPI_Status *status)
{
    unsigned pass = 0;
    bool done;

    for (;;) {
        port_mutex_lock(&process->lock);
        done = has_ended(process, request);
        port_mutex_unlock(&process->lock);
        if (done)
            return finish(request, status);
        mad_smpi_pause(&pass);
    }
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    struct mad_smpi_process *process = mad_smpi_process();
    MPI_Request own = *request;

    port_mutex_lock(&process->lock);
    *done = has_ended(process, own);
    port_mutex_unlock(&process->lock);
    if (!*done)
        return MPI_SUCCESS;
    *request = MPI_REQUEST_NULL;
    return finish(own, status);
}

int MPI_Request_free(MPI_Request *request)
{
    struct mad_smpi_process *process = mad_smpi_process();

    port_mutex_lock(&process->lock);
    if ((*request)->done)
        mad_smpi_request_drop(*request);
    else
        (*request)->freed = true;
    port_mutex_unlock(&process->lock);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    *count = status->bytes % type->bytes == 0 ? (int)(status->bytes / type->bytes) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- send and receive ------------------------------------------------------------------------ */

static struct mad_smpi_request *request_new(enum mad_smpi_kind kind, int peer)
{
    struct mad_smpi_request *request = calloc(1, sizeof(*request));

    if (request != NULL) {
        request->kind = kind;
        request->peer = request->source = peer;
    }
    return request;
}

/* With the lock. */
static int start(struct mad_smpi_process *process, struct mad_smpi_request *request,
                 const struct iovec *place, uint64_t tag)
{
    fi_addr_t address;
    ssize_t rc;
    int code = mad_smpi_peer_address(process, request->peer, &address);

    if (code != MPI_SUCCESS)
        return code;
    if (request->kind == MAD_SMPI_SEND)
        rc = fi_tsend(process->ep, place->iov_base, place->iov_len, NULL, address, tag, request);
    else
        rc = fi_trecv(process->ep, place->iov_base, place->iov_len, NULL, address, tag, 0, request);
    process->operations += rc == 0 && request->kind == MAD_SMPI_SEND;
    return rc == 0 ? MPI_SUCCESS : rc == -FI_EAGAIN ? -FI_EAGAIN : MPI_ERR_OTHER;
}

static int begin(struct mad_smpi_process *process, struct mad_smpi_request *request, void *bytes,
                 int count, MPI_Datatype type, uint64_t tag)
{
    struct iovec place;
    unsigned pass = 0;
    int code = mad_smpi_stage(request, bytes, count, type, &place);

    while (code == MPI_SUCCESS) {
        port_mutex_lock(&process->lock);
        code = start(process, request, &place, tag);
        if (code == -FI_EAGAIN)
            mad_smpi_progress(process);
        port_mutex_unlock(&process->lock);
        if (code != -FI_EAGAIN)
            return code;
        mad_smpi_pause(&pass);
        code = MPI_SUCCESS;
    }
    return code;
}

static int operate(struct mad_smpi_process *process, enum mad_smpi_kind kind, void *bytes,
                   int count, MPI_Datatype type, int peer, uint64_t tag, MPI_Request *request)
{
    struct mad_smpi_request *own = request_new(kind, peer);
    int code;

    if (own == NULL)
        return MPI_ERR_NO_MEM;
    code = begin(process, own, bytes, count, type, tag);
    if (code == MPI_SUCCESS)
        *request = own;
    else
        mad_smpi_request_drop(own);
    return code;
}

int mad_smpi_send(struct mad_smpi_process *process, const void *bytes, int count, MPI_Datatype type,
                  int to, uint64_t tag, MPI_Request *request)
{
    return operate(process, MAD_SMPI_SEND, (void *)(uintptr_t)bytes, count, type, to, tag, request);
}

int mad_smpi_receive(struct mad_smpi_process *process, void *bytes, int count, MPI_Datatype type,
                     int from, uint64_t tag, MPI_Request *request)
{
    return operate(process, MAD_SMPI_RECEIVE, bytes, count, type, from, tag, request);
}

static uint64_t tag_of(MPI_Comm comm, int tag)
{
    return comm->context << MAD_SMPI_CONTEXT_SHIFT | (uint32_t)tag;
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return mad_smpi_send(mad_smpi_process(), bytes, count, type, comm->group->ranks[to],
                         tag_of(comm, tag), request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    int code = mad_smpi_receive(mad_smpi_process(), bytes, count, type, comm->group->ranks[from],
                                tag_of(comm, tag), request);

    if (code == MPI_SUCCESS)
        (*request)->source = from;
    return code;
}

int MPI_Recv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    MPI_Request request;
    int code = MPI_Irecv(bytes, count, type, from, tag, comm, &request);

    return code == MPI_SUCCESS ? mad_smpi_wait(mad_smpi_process(), request, status) : code;
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* With the lock: the message that a receive would get. The answer is there at once. */
static int peek(struct mad_smpi_process *process, struct mad_smpi_request *request, uint64_t tag,
                uint64_t ignore, uint64_t flags)
{
    struct fi_msg_tagged message = {.tag = tag, .ignore = ignore, .context = request};
    int code = mad_smpi_peer_address(process, request->peer, &message.addr);

    if (code == MPI_ERR_RANK)
        return code;
    message.addr = process->peers[request->peer].address; /* what a dead peer had sent is there */
    mad_smpi_progress(process);
    if (fi_trecvmsg(process->ep, &message, flags) != 0)
        return MPI_ERR_OTHER; /* no room: as if there were no message yet */
    while (!request->done)
        mad_smpi_progress(process);
    if (request->code != MPI_SUCCESS)
        mad_smpi_probe_peer(process, request->peer);
    return request->code != MPI_SUCCESS && code == MPIX_ERR_PROC_FAILED ? code : MPI_SUCCESS;
}

static int probe(struct mad_smpi_request *request, int from, int tag, MPI_Comm comm, uint64_t flags,
                 int *found, MPI_Status *status)
{
    struct mad_smpi_process *process = mad_smpi_process();
    uint64_t ignore = tag == MPI_ANY_TAG ? MAD_SMPI_ANY_TAG : 0;
    int code;

    request->kind = MAD_SMPI_PEEK;
    request->peer = comm->group->ranks[from];
    request->source = from;
    request->code = MPI_ERR_OTHER;
    port_mutex_lock(&process->lock);
    code = peek(process, request, tag_of(comm, tag == MPI_ANY_TAG ? 0 : tag), ignore, flags);
    port_mutex_unlock(&process->lock);
    *found = code == MPI_SUCCESS && request->done && request->code == MPI_SUCCESS;
    if (*found && status != MPI_STATUS_IGNORE)
        *status =
            (MPI_Status){from, (int)(request->tag & MAD_SMPI_ANY_TAG), MPI_SUCCESS, request->bytes};
    return code == MPI_ERR_OTHER ? MPI_SUCCESS : code;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    struct mad_smpi_request request = {.done = false};

    return probe(&request, from, tag, comm, FI_PEEK, found, status);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *found, MPI_Message *message,
                MPI_Status *status)
{
    struct mad_smpi_request *request = calloc(1, sizeof(*request));
    int code;

    if (request == NULL)
        return MPI_ERR_NO_MEM;
    code = probe(request, from, tag, comm, FI_PEEK | FI_CLAIM, found, status);
    if (*found)
        *message = request;
    else
        free(request);
    return code;
}

int MPI_Mrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    struct mad_smpi_process *process = mad_smpi_process();
    struct mad_smpi_request *request = *message;
    struct iovec place;
    struct fi_msg_tagged claimed = {.msg_iov = &place, .iov_count = 1, .context = request};
    unsigned pass = 0;
    ssize_t rc;
    int code;

    request->kind = MAD_SMPI_RECEIVE;
    request->done = false;
    code = mad_smpi_stage(request, bytes, count, type, &place);
    if (code != MPI_SUCCESS)
        return code;
    *message = NULL;
    for (;;) {
        port_mutex_lock(&process->lock);
        rc = fi_trecvmsg(process->ep, &claimed, FI_CLAIM);
        port_mutex_unlock(&process->lock);
        if (rc != -FI_EAGAIN)
            break;
        mad_smpi_pause(&pass);
    }
    if (rc == 0)
        return mad_smpi_wait(process, request, status);
    mad_smpi_request_drop(request);
    return MPI_ERR_OTHER;
}
