/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The start of a session by MPI: a fence exchanges what all processes have put. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi_module.h"

enum { BUSY_PASSES = 1000 };

struct texts { /* "key\0value\0key\0value\0…" */
    char *bytes;
    size_t length;
};

struct mpi_boot {
    struct mad_boot boot;
    MPI_Comm communicator;
    struct texts put, known;
};

static bool started_here;

static struct mad_mpi_refusals refusals;

static void init_refusals(void)
{
    port_mutex_init(&refusals.mutex);
}

struct mad_mpi_refusals *mad_mpi_refusals(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_refusals);
    return &refusals;
}

void mad_mpi_sleep(unsigned *passes)
{
    mad_event_t nothing = {.descriptors = NULL};
    int64_t most = 50000, timeout_ns = 0;

    if (++*passes > BUSY_PASSES)
        timeout_ns = (int64_t)(*passes - BUSY_PASSES) * 1000;
    mad_wait(&nothing, timeout_ns < most ? timeout_ns : most);
}

void mad_mpi_polled(unsigned *pass)
{
    (void)pass;
}

/* MPI ends with the process (end_with_process). */
void mad_mpi_stop(void)
{
}

bool mad_mpi_start(void)
{
    int started = 0, ended = 0, level = MPI_THREAD_SINGLE;

    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (ended)
        return false;
    if (!started) {
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
            return false;
        started_here = true;
        return level == MPI_THREAD_MULTIPLE;
    }
    return true;
}

/* MPI cannot be started again, so it ends with the process: several sessions may follow in turn. */
static void end_with_process(void)
{
    int ended = 0;

    MPI_Finalized(&ended);
    if (!ended)
        MPI_Finalize();
}

static int append(struct texts *texts, const char *bytes, size_t length)
{
    char *larger = realloc(texts->bytes, texts->length + length + 1);

    if (larger == NULL)
        return MAD_EBOOT;
    memcpy(larger + texts->length, bytes, length);
    texts->bytes = larger;
    texts->length += length;
    return MAD_OK;
}

static int put(struct mad_boot *boot, const char *key, const char *value)
{
    struct mpi_boot *own = (struct mpi_boot *)boot;
    int error = append(&own->put, key, strlen(key) + 1);

    return error == MAD_OK ? append(&own->put, value, strlen(value) + 1) : error;
}

static int exchange(struct mpi_boot *own, int *lengths, int *places)
{
    int length = (int)own->put.length, total = 0, error;
    char *all;

    if (MPI_Allgather(&length, 1, MPI_INT, lengths, 1, MPI_INT, own->communicator) != MPI_SUCCESS)
        return MAD_EBOOT;
    for (int rank = 0; rank < own->boot.size; rank++) {
        places[rank] = total;
        total += lengths[rank];
    }
    all = malloc((size_t)total + 1);
    if (all == NULL)
        return MAD_EBOOT;
    error = MPI_Allgatherv(own->put.bytes, length, MPI_CHAR, all, lengths, places, MPI_CHAR,
                           own->communicator);
    if (error == MPI_SUCCESS)
        error = append(&own->known, all, (size_t)total);
    free(all);
    own->put.length = 0;
    return error == MPI_SUCCESS ? MAD_OK : MAD_EBOOT;
}

static int fence(struct mad_boot *boot)
{
    struct mpi_boot *own = (struct mpi_boot *)boot;
    int *lengths = calloc((size_t)boot->size * 2, sizeof(*lengths));
    int error = lengths != NULL ? exchange(own, lengths, lengths + boot->size) : MAD_EBOOT;

    free(lengths);
    return error;
}

/* The last value counts, as a later channel may have the name of an earlier one. */
static int get(struct mad_boot *boot, int rank, const char *key, char *value, size_t size)
{
    const struct texts *known = &((struct mpi_boot *)boot)->known;
    size_t at = 0;

    (void)rank; /* keys contain the rank where that matters */
    value[0] = '\0';
    while (at < known->length) {
        const char *name = known->bytes + at, *text = name + strlen(name) + 1;

        if (strcmp(name, key) == 0)
            snprintf(value, size, "%s", text);
        at += (size_t)(text - name) + strlen(text) + 1;
    }
    return MAD_OK;
}

static void close_boot(struct mad_boot *boot)
{
    struct mpi_boot *own = (struct mpi_boot *)boot;

    MPI_Comm_free(&own->communicator);
    free(own->put.bytes);
    free(own->known.bytes);
    free(own);
}

struct mad_boot *mad_mpi_module_boot(void)
{
    static const struct mad_boot_ops ops = {put, fence, get, close_boot};
    const char *text = getenv("PMI_SIZE");
    long launched = text != NULL ? strtol(text, NULL, 10) : 1;
    struct mpi_boot *own;
    bool first = !started_here;

    if (!mad_mpi_start())
        return NULL;
    if (first && started_here)
        atexit(end_with_process);
    own = calloc(1, sizeof(*own));
    if (own == NULL || MPI_Comm_dup(MPI_COMM_WORLD, &own->communicator) != MPI_SUCCESS) {
        free(own);
        return NULL;
    }
    own->boot.ops = &ops;
    MPI_Comm_size(own->communicator, &own->boot.size);
    if (own->boot.size == 1 && launched > 1) {
        fprintf(stderr,
                "Madeleine: MPI was started as one process, its launcher has %ld; "
                "Open MPI needs pmrun --ompi or its own mpirun\n",
                launched);
        close_boot(&own->boot);
        return NULL;
    }
    MPI_Comm_rank(own->communicator, &own->boot.rank);
    snprintf(own->boot.job, sizeof(own->boot.job), "mpi-%ld-%ld", (long)getpid(), (long)time(NULL));
    MPI_Bcast(own->boot.job, sizeof(own->boot.job), MPI_CHAR, 0, own->communicator);
    return &own->boot;
}
