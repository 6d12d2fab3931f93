/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the small MPI share. */
#ifndef JACQUARD_MADELEINE_MPI_PROCESS_H
#define JACQUARD_MADELEINE_MPI_PROCESS_H

#include <mpi.h>
#include <stdbool.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "port/port.h"

/* A tag of libfabric: the communicator, and MPI's tag in the low 32 bits. */
enum { MAD_SMPI_CONTEXT_SHIFT = 32 };
#define MAD_SMPI_ANY_TAG UINT64_C(0xffffffff)
#define MAD_SMPI_AGREE (UINT64_C(1) << 62) /* the number of a new communicator */

struct mad_smpi_type {
    size_t bytes;
    int count; /* of pieces; 0: bytes in a row */
    int *lengths;
    MPI_Aint *places;
};

struct mad_smpi_group {
    int size;
    int ranks[]; /* in MPI_COMM_WORLD */
};

struct mad_smpi_communicator {
    uint64_t context;
    int rank;
    struct mad_smpi_group *group;
};

enum mad_smpi_kind { MAD_SMPI_SEND, MAD_SMPI_RECEIVE, MAD_SMPI_PEEK, MAD_SMPI_PING };

/* An operation of libfabric, which has its address as context. */
struct mad_smpi_request {
    enum mad_smpi_kind kind;
    bool done, freed, cancelled;
    int code, peer, source; /* peer: in MPI_COMM_WORLD; source: in the communicator */
    size_t bytes;
    uint64_t tag;
    char *staged; /* a copy of the message, or NULL */
    size_t staged_bytes;
    void *bytes_at; /* where a receive of bytes in a row puts them, if they are staged */
    struct mad_smpi_type type; /* of a receive into pieces, with memory of its own */
};

struct mad_smpi_peer {
    fi_addr_t address;
    bool known, dead;
    bool pinging;
    uint64_t word, key; /* of the peer's memory */
    uint64_t alive_at; /* port_now() when it last answered */
    struct mad_smpi_request ping;
};

enum { MAD_SMPI_CLASSES = 40 }; /* of blocks of memory */

struct mad_smpi_process {
    struct port_mutex lock; /* of all that follows */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct mad_smpi_communicator *world;
    struct mad_smpi_peer *peers;
    struct fid_mr *memory; /* of `word` */
    uint64_t *word; /* peers read it */
    struct mad_smpi_block *blocks[MAD_SMPI_CLASSES]; /* free ones, by size */
    uint64_t next_copy, next_part; /* numbers of communicators */
    unsigned operations; /* sends and pings that have not ended */
    bool started_pmi;
    char job[256];
};

#pragma GCC visibility push(hidden)

/* The calling process; NULL: MPI is not started. */
struct mad_smpi_process *mad_smpi_process(void);

/* These need the lock. */
void mad_smpi_progress(struct mad_smpi_process *process);
/* An error of MPI; `address` is set on MPI_SUCCESS. */
int mad_smpi_peer_address(struct mad_smpi_process *process, int rank, fi_addr_t *address);
/* A process waits for the peer: asks from time to time whether it is still there. */
void mad_smpi_probe_peer(struct mad_smpi_process *process, int rank);

/* One fruitless pass of a loop that polls: sleeps. *nanoseconds is 0 before the first one. Without
 * the lock. */
void mad_smpi_pause(unsigned *nanoseconds);

/* `to`, `from`: in MPI_COMM_WORLD. `tag`: with the communicator. */
int mad_smpi_send(struct mad_smpi_process *process, const void *bytes, int count, MPI_Datatype type,
                  int to, uint64_t tag, MPI_Request *request);
int mad_smpi_receive(struct mad_smpi_process *process, void *bytes, int count, MPI_Datatype type,
                     int from, uint64_t tag, MPI_Request *request);
/* Waits for the request and frees it. */
int mad_smpi_wait(struct mad_smpi_process *process, MPI_Request request, MPI_Status *status);
/* Where a message goes; a receive into pieces keeps a copy of them. */
int mad_smpi_stage(struct mad_smpi_request *request, void *bytes, int count, MPI_Datatype type,
                   struct iovec *place);
void mad_smpi_request_drop(struct mad_smpi_request *request);

/* Memory for the network, with whole pages of its own; NULL: there is none. `bytes` as at the get.
 */
void *mad_smpi_block_get(struct mad_smpi_process *process, size_t bytes);
void mad_smpi_block_put(struct mad_smpi_process *process, void *memory, size_t bytes);
void mad_smpi_blocks_free(struct mad_smpi_process *process);

#pragma GCC visibility pop

#endif
