/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Start and end of MPI, its peers, and the progress of operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "pmi2.h"
#include "process.h"

enum { ENTRIES = 1024, READ_ENTRIES = 16, NAME_BYTES = 64, PASS_NS_MAX = 1000000 };

/* A process that waits asks so often whether its peer is there. */
static const uint64_t ping_ns = 100000000;
/* The end waits so long for operations, as the network needs to find that a packet was lost. */
static const uint64_t end_ns = 20000000000;

struct mad_smpi_process *mad_smpi_process(void)
{
    return mad_process()->mpi;
}

MPI_Comm mad_smpi_world(void)
{
    struct mad_smpi_process *process = mad_smpi_process();

    return process != NULL ? process->world : NULL;
}

/* ---- peers ----------------------------------------------------------------------------------- */

/* A process publishes this in the process manager's store, in hexadecimal digits. */
struct card {
    uint64_t word, key; /* for pings */
    unsigned char name[NAME_BYTES];
};

static int hex_digit(char digit)
{
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

static bool look_up(struct mad_smpi_process *process, int rank)
{
    struct mad_smpi_peer *peer = &process->peers[rank];
    char key[32], text[2 * sizeof(struct card) + 1] = "";
    struct card card;
    unsigned char *bytes = (unsigned char *)&card;
    int length = 0;

    snprintf(key, sizeof(key), "mpi.card.%d", rank);
    if (PMI2_KVS_Get(process->job, rank, key, text, sizeof(text), &length) != PMI2_SUCCESS ||
        length != (int)sizeof(text) - 1)
        return false;
    for (size_t i = 0; i < sizeof(card); i++)
        bytes[i] = (unsigned char)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    if (fi_av_insert(process->av, card.name, 1, &peer->address, 0, NULL) != 1)
        return false;
    peer->word = card.word;
    peer->key = card.key;
    peer->known = true;
    peer->alive_at = port_now();
    return true;
}

int mad_smpi_peer_address(struct mad_smpi_process *process, int rank, fi_addr_t *address)
{
    struct mad_smpi_peer *peer = &process->peers[rank];

    if (!peer->known && !look_up(process, rank))
        return MPI_ERR_RANK;
    if (peer->dead)
        return MPIX_ERR_PROC_FAILED;
    *address = peer->address;
    return MPI_SUCCESS;
}

/* Reads a word of the peer's memory, which fails when its process or node has gone. */
static void ping(struct mad_smpi_process *process, int rank)
{
    struct mad_smpi_peer *peer = &process->peers[rank];

    peer->ping = (struct mad_smpi_request){.kind = MAD_SMPI_PING, .peer = rank};
    if (fi_read(process->ep, process->word, sizeof(*process->word), fi_mr_desc(process->memory),
                peer->address, peer->word, peer->key, &peer->ping) != 0)
        return; /* the next pass tries again */
    peer->pinging = true;
    process->operations++;
}

void mad_smpi_probe_peer(struct mad_smpi_process *process, int rank)
{
    struct mad_smpi_peer *peer = &process->peers[rank];

    if (rank != process->world->rank && peer->known && !peer->dead && !peer->pinging &&
        port_now() - peer->alive_at >= ping_ns)
        ping(process, rank);
}

/* ---- completions ----------------------------------------------------------------------------- */

static int code_of(struct mad_smpi_process *process, struct mad_smpi_request *request, int error)
{
    switch (error) {
    case 0:
        return MPI_SUCCESS;
    case FI_ETRUNC:
        return MPI_ERR_TRUNCATE;
    case FI_ENOMSG:
        return MPI_ERR_OTHER;
    default:
        process->peers[request->peer].dead = true;
        return MPIX_ERR_PROC_FAILED;
    }
}

static void complete(struct mad_smpi_process *process, struct mad_smpi_request *request,
                     size_t bytes, uint64_t tag, int error)
{
    struct mad_smpi_peer *peer = &process->peers[request->peer];

    request->code = code_of(process, request, error);
    request->bytes = bytes;
    request->tag = tag;
    request->done = true;
    if (request->kind == MAD_SMPI_SEND || request->kind == MAD_SMPI_PING)
        process->operations--;
    if (error == 0 && request->kind != MAD_SMPI_PEEK)
        peer->alive_at = port_now();
    if (request->kind == MAD_SMPI_PING)
        peer->pinging = false;
    else if (request->freed)
        mad_smpi_request_drop(request);
}

void mad_smpi_progress(struct mad_smpi_process *process)
{
    struct fi_cq_tagged_entry entries[READ_ENTRIES];
    struct fi_cq_err_entry error;
    ssize_t found;

    do {
        found = fi_cq_read(process->cq, entries, READ_ENTRIES);
        for (ssize_t i = 0; i < found; i++)
            complete(process, entries[i].op_context, entries[i].len, entries[i].tag, 0);
        if (found != -FI_EAVAIL)
            continue;
        error = (struct fi_cq_err_entry){.err = 0};
        if (fi_cq_readerr(process->cq, &error, 0) == 1)
            complete(process, error.op_context, error.len, error.tag, error.err);
    } while (found == READ_ENTRIES || found == -FI_EAVAIL);
}

/*
 * A pass costs virtual time, also where the network's own thread polls. The longer the wait has
 * been, the longer a pass is.
 */
void mad_smpi_pause(unsigned *nanoseconds)
{
    struct port_semaphore never;

    *nanoseconds += *nanoseconds / 16 + 50;
    if (*nanoseconds > PASS_NS_MAX)
        *nanoseconds = PASS_NS_MAX;
    port_semaphore_init(&never);
    port_semaphore_wait(&never, *nanoseconds);
    port_semaphore_destroy(&never);
}

/* ---- start and end --------------------------------------------------------------------------- */

static bool open_endpoint(struct mad_smpi_process *process)
{
    struct fi_cq_attr cq = {.size = ENTRIES, .format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_info *hints = fi_allocinfo();
    int error;

    if (hints == NULL)
        return false;
    hints->caps = FI_TAGGED | FI_RMA | FI_DIRECTED_RECV;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("gni");
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    error = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &process->info);
    fi_freeinfo(hints);
    return error == 0 && fi_fabric(process->info->fabric_attr, &process->fabric, NULL) == 0 &&
           fi_domain(process->fabric, process->info, &process->domain, NULL) == 0 &&
           fi_cq_open(process->domain, &cq, &process->cq, NULL) == 0 &&
           fi_av_open(process->domain, &av, &process->av, NULL) == 0 &&
           fi_endpoint(process->domain, process->info, &process->ep, NULL) == 0 &&
           fi_ep_bind(process->ep, &process->cq->fid, FI_TRANSMIT | FI_RECV) == 0 &&
           fi_ep_bind(process->ep, &process->av->fid, 0) == 0 && fi_enable(process->ep) == 0 &&
           fi_mr_reg(process->domain, process->word, sizeof(*process->word),
                     FI_READ | FI_REMOTE_READ, 0, 0, 0, &process->memory, NULL) == 0;
}

static bool publish(struct mad_smpi_process *process)
{
    struct card card = {.word = (uintptr_t)process->word, .key = fi_mr_key(process->memory)};
    const unsigned char *each = (const unsigned char *)&card;
    char key[32], text[2 * sizeof(card) + 1];
    size_t bytes = sizeof(card.name);

    if (fi_getname(&process->ep->fid, card.name, &bytes) != 0)
        return false;
    for (size_t i = 0; i < sizeof(card); i++)
        snprintf(text + 2 * i, 3, "%02x", each[i]);
    snprintf(key, sizeof(key), "mpi.card.%d", process->world->rank);
    return PMI2_KVS_Put(key, text) == PMI2_SUCCESS && PMI2_KVS_Fence() == PMI2_SUCCESS;
}

/* Numbers in MPI_COMM_WORLD are those of the process manager. */
static bool meet(struct mad_smpi_process *process)
{
    int spawned, size = 0, rank = 0, appnum;
    struct mad_smpi_communicator *world = calloc(1, sizeof(*world));

    process->world = world;
    if (world == NULL)
        return false;
    if (!PMI2_Initialized()) {
        if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS)
            return false;
        process->started_pmi = true;
    }
    if (PMI2_Job_GetId(process->job, sizeof(process->job)) != PMI2_SUCCESS ||
        PMI2_Job_GetRank(&world->rank) != PMI2_SUCCESS || PMI2_Info_GetSize(&size) != PMI2_SUCCESS)
        return false;
    world->group = malloc(sizeof(*world->group) + (size_t)size * sizeof(int));
    process->peers = calloc((size_t)size, sizeof(*process->peers));
    if (world->group == NULL || process->peers == NULL)
        return false;
    world->group->size = size;
    for (int i = 0; i < size; i++)
        world->group->ranks[i] = i;
    return true;
}

static void close_one(struct fid *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

static void end(struct mad_smpi_process *process)
{
    close_one(process->ep != NULL ? &process->ep->fid : NULL);
    close_one(process->memory != NULL ? &process->memory->fid : NULL);
    close_one(process->av != NULL ? &process->av->fid : NULL);
    close_one(process->cq != NULL ? &process->cq->fid : NULL);
    close_one(process->domain != NULL ? &process->domain->fid : NULL);
    close_one(process->fabric != NULL ? &process->fabric->fid : NULL);
    if (process->info != NULL)
        fi_freeinfo(process->info);
    if (process->started_pmi)
        PMI2_Finalize();
    if (process->world != NULL)
        free(process->world->group);
    free(process->world);
    free(process->peers);
    mad_smpi_block_put(process, process->word, sizeof(*process->word));
    mad_smpi_blocks_free(process);
    port_mutex_destroy(&process->lock);
    mad_process()->mpi = NULL;
    free(process);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    struct mad_smpi_process *process = calloc(1, sizeof(*process));

    (void)argc;
    (void)argv;
    (void)required;
    if (process == NULL)
        return MPI_ERR_NO_MEM;
    port_mutex_init(&process->lock);
    process->next_copy = process->next_part = 1;
    process->word = mad_smpi_block_get(process, sizeof(*process->word));
    if (process->word != NULL)
        *process->word = 0;
    if (process->word == NULL || !meet(process) || !open_endpoint(process) || !publish(process)) {
        end(process);
        return MPI_ERR_OTHER;
    }
    mad_process()->mpi = process;
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    *flag = mad_smpi_process() != NULL;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

/* What was begun to a peer that has gone may never end. */
int MPI_Finalize(void)
{
    struct mad_smpi_process *process = mad_smpi_process();
    uint64_t begun = port_now();
    unsigned pass = 0, operations;

    for (;;) {
        port_mutex_lock(&process->lock);
        mad_smpi_progress(process);
        operations = process->operations;
        port_mutex_unlock(&process->lock);
        if (operations == 0 || port_now() - begun > end_ns)
            break;
        mad_smpi_pause(&pass);
    }
    end(process);
    return MPI_SUCCESS;
}

int MPI_Error_class(int code, int *class_of_code)
{
    *class_of_code = code;
    return MPI_SUCCESS;
}

double MPI_Wtime(void)
{
    return (double)port_now() * 1e-9;
}
