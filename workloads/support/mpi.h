/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages as an MPI library sends them over uGNI: short ones through mailboxes (eager), long ones
 * announced there (RTS) and fetched by the receiver with a BTE GET (rendezvous), which ends with a
 * FIN. Between ranks of one node the announcement goes the same way, and the receiver copies the
 * data. The library's own time, and that of copies, are arguments of the workload.
 *
 * Communication has phases: a rank starts its messages of a phase and then waits for all of them
 * and for those that it expects. Nothing is matched besides the phase. A message that is early
 * waits for its phase.
 */
#ifndef JACQUARD_WORKLOADS_MPI_H
#define JACQUARD_WORKLOADS_MPI_H

#include "gni.h"

/* The arguments that wl_mpi_open() reads. Times are those of either end of a message. */
#define WL_MPI_ARGS                                                                                  \
    {"software", ARG_TIME, "210ns", "0", "1ms", NULL, "MPI: a message between nodes"},               \
        {"software_long", ARG_TIME, "90ns", "0", "1ms", NULL, "besides, above 512 bytes"},           \
        {"software_shared",                                                                          \
         ARG_TIME,                                                                                   \
         "0",                                                                                        \
         "0",                                                                                        \
         "1ms",                                                                                      \
         NULL,                                                                                       \
         "besides, for each other rank of the node that sends to other nodes"},                      \
        {"software_get", ARG_TIME, "520ns", "0", "1ms", NULL, "MPI: a rendezvous, at the receiver"}, \
        {"software_local",                                                                           \
         ARG_TIME,                                                                                   \
         "100ns",                                                                                    \
         "0",                                                                                        \
         "1ms",                                                                                      \
         NULL,                                                                                       \
         "MPI: a message inside a node whose ranks all communicate"},                                \
        {"software_quiet",                                                                           \
         ARG_TIME,                                                                                   \
         "100ns",                                                                                    \
         "0",                                                                                        \
         "1ms",                                                                                      \
         NULL,                                                                                       \
         "the same in a ping-pong and in collectives, which do not compete for the queues"},         \
        {"eager", ARG_BYTES, "4KiB", "8", "60000", NULL, "the longest message without rendezvous"},  \
        {"mailbox_cache",                                                                            \
         ARG_BYTES,                                                                                  \
         "2MB",                                                                                      \
         "1",                                                                                        \
         NULL,                                                                                       \
         NULL,                                                                                       \
         "of a node: when messages of all connections need more, mailboxes are cold"},               \
        {"mailbox_miss",                                                                             \
         ARG_TIME,                                                                                   \
         "0",                                                                                        \
         "0",                                                                                        \
         "1ms",                                                                                      \
         NULL,                                                                                       \
         "besides, of a message into a cold mailbox, for each rank of the node"},                    \
        {"copy_GBps",                                                                                \
         ARG_REAL,                                                                                   \
         "4",                                                                                        \
         "0.01",                                                                                     \
         "1000",                                                                                     \
         NULL,                                                                                       \
         "a rank copies from another one of its node, in the cache"},                                \
        {"copy_alone_GBps",                                                                          \
         ARG_REAL,                                                                                   \
         "11",                                                                                       \
         "0.01",                                                                                     \
         "1000",                                                                                     \
         NULL,                                                                                       \
         "the same, when the other ranks of the node are idle"},                                     \
        {"copy_far_GBps", ARG_REAL, "1.5", "0.01", "1000", NULL, "the same, in memory"},             \
    {                                                                                                \
        "cache", ARG_BYTES, "64MiB", "1", NULL, NULL,                                                \
            "of a node: larger buffers are partly, from twice the size on wholly in memory"          \
    }

struct wl_mpi_get;

#define WL_MPI_PHASES 64 /* a rank is at most so many phases ahead of another one */

struct wl_mpi {
    struct wl_domain domain;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    uint64_t software, software_long, software_get, software_local; /* ps */
    uint64_t eager, buffer; /* bytes: the longest eager message, the longest of all */
    double copy_time; /* ps per byte */
    bool quiet; /* as in wl_mpi_use */
    uint32_t phase, received, unfinished; /* messages of this phase */
    uint32_t early[WL_MPI_PHASES]; /* complete messages of later phases */
    struct wl_mpi_get *gets, *later; /* under way; announced for later phases */
    uint32_t *fins; /* ranks that wait for one */
    uint32_t fin_count, fin_room;
    uint8_t *out;
};

struct wl_mpi_use { /* what is going to happen */
    uint64_t longest; /* bytes of a message */
    uint32_t slots; /* mailboxes */
    uint64_t footprint; /* bytes of the buffers of all ranks of a node */
    uint32_t senders; /* ranks of a node that send to other nodes at a time */
    uint64_t connections; /* of all ranks of a node with other nodes; 0: few */
    bool alone; /* the other ranks of the node are idle */
    bool quiet; /* see the argument software_quiet */
    const char *software; /* argument: time of a message between nodes */
};

int wl_mpi_open(struct wl_mpi *mpi, struct rank *rank, const struct wl_mpi_use *use);
void wl_mpi_close(struct wl_mpi *mpi);
/* Starts a message of this phase. */
int wl_mpi_start(struct wl_mpi *mpi, uint32_t peer, uint64_t bytes);
/* Until at most so many of the messages that were started are unfinished. */
void wl_mpi_throttle(struct wl_mpi *mpi, uint32_t unfinished);
/* Handles what has arrived, if anything. */
void wl_mpi_progress(struct wl_mpi *mpi);
/* Until all messages of this phase that were started are finished, and so many have arrived. */
void wl_mpi_wait(struct wl_mpi *mpi, uint32_t receives);
bool wl_mpi_is_local(const struct wl_mpi *mpi, uint32_t peer);

#endif
