/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shared memory driver: segments, doorbells, and how processes find those of the others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"
#include "shm.h"

static const mad_configuration_t *configuration_of(p_mad_channel_t channel)
{
    return &channel->adapter->driver->madeleine->configuration;
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- doorbells: pipes, of which one byte wakes the reader ------------------------------------ */

int mad_shm_doorbell_make(int doorbell[2])
{
    return pipe2(doorbell, O_CLOEXEC | O_NONBLOCK) == 0 ? MAD_OK : MAD_EDRIVER;
}

int mad_shm_doorbell_open(int pid, int number)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
    return open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
}

void mad_shm_ring(int doorbell)
{
    ssize_t written;

    do
        written = write(doorbell, "", 1);
    while (written < 0 && errno == EINTR); /* a full pipe wakes the reader as well */
}

void mad_shm_drain(int doorbell)
{
    char bytes[256];
    ssize_t got;

    do
        got = read(doorbell, bytes, sizeof(bytes));
    while (got == (ssize_t)sizeof(bytes) || (got < 0 && errno == EINTR));
}

/* ---- the own segment ------------------------------------------------------------------------- */

static size_t segment_bytes(int size)
{
    return sizeof(struct shm_segment) + (size_t)size * sizeof(struct shm_mailbox);
}

static int segment_make(p_mad_channel_t channel, struct shm_channel *own)
{
    int size = configuration_of(channel)->size;

    own->bytes = segment_bytes(size);
    own->fd = memfd_create("madeleine", MFD_CLOEXEC);
    if (own->fd < 0 || ftruncate(own->fd, (off_t)own->bytes) != 0)
        return MAD_EDRIVER;
    own->segment = mmap(NULL, own->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own->fd, 0);
    if (own->segment == MAP_FAILED) {
        own->segment = NULL;
        return MAD_ENOMEM;
    }
    own->segment->job = mad_job_hash(channel->adapter->driver->madeleine);
    own->segment->channel = (uint64_t)channel->id;
    own->segment->rank = (uint32_t)configuration_of(channel)->local_host_id;
    own->segment->size = (uint32_t)size;
    own->segment->magic = SHM_MAGIC;
    return mad_shm_doorbell_make(own->doorbell);
}

int mad_shm_channel_init(p_mad_channel_t channel)
{
    struct shm_channel *own = calloc(1, sizeof(*own));
    int size = configuration_of(channel)->size;

    if (own == NULL)
        return MAD_ENOMEM;
    own->fd = own->doorbell[0] = own->doorbell[1] = -1;
    own->last_served = size - 1; /* rank 0 is the first */
    channel->specific = own;
    own->descriptors = calloc((size_t)size + 1, sizeof(*own->descriptors));
    own->ranks = calloc((size_t)size, sizeof(*own->ranks));
    if (own->descriptors == NULL || own->ranks == NULL)
        return MAD_ENOMEM;
    return segment_make(channel, own);
}

int mad_shm_channel_exit(p_mad_channel_t channel)
{
    struct shm_channel *own = channel->specific;

    if (own == NULL)
        return MAD_OK;
    if (own->segment != NULL)
        munmap(own->segment, own->bytes);
    close_descriptor(&own->fd);
    close_descriptor(&own->doorbell[0]);
    close_descriptor(&own->doorbell[1]);
    free(own->descriptors);
    free(own->ranks);
    free(own);
    return MAD_OK;
}

int mad_shm_publish(p_mad_channel_t channel)
{
    struct mad_boot *boot = ((struct mad_session *)channel->adapter->driver->madeleine)->boot;
    const struct shm_channel *own = channel->specific;
    char key[MAD_KEY_MAX], value[64];

    snprintf(key, sizeof(key), "mad.c.%s.%d", channel->name, boot->rank);
    snprintf(value, sizeof(value), "%d,%d", own->fd, own->doorbell[0]);
    return boot->ops->put(boot, key, value);
}

/* ---- those of peers -------------------------------------------------------------------------- */

int mad_shm_connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct shm_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->process = peer->doorbell = peer->own_doorbell[0] = peer->own_doorbell[1] = -1;
    for (int i = 0; i < SHM_LANES; i++)
        peer->sender_doorbell[i] = peer->sender_number[i] = -1;
    in->specific = out->specific = peer;
    in->nb_link = out->nb_link = SHM_LANES;
    return MAD_OK;
}

int mad_shm_connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    struct shm_peer *peer = in->specific;

    out->specific = NULL;
    if (peer == NULL)
        return MAD_OK;
    if (peer->segment != NULL)
        munmap(peer->segment, peer->bytes);
    close_descriptor(&peer->process);
    close_descriptor(&peer->doorbell);
    close_descriptor(&peer->own_doorbell[0]);
    close_descriptor(&peer->own_doorbell[1]);
    for (int i = 0; i < SHM_LANES; i++)
        close_descriptor(&peer->sender_doorbell[i]);
    free(peer);
    return MAD_OK;
}

static bool is_the_peers(const struct shm_segment *segment, p_mad_connection_t out)
{
    const mad_configuration_t *configuration = configuration_of(out->channel);

    return segment->magic == SHM_MAGIC &&
           segment->job == mad_job_hash(out->channel->adapter->driver->madeleine) &&
           segment->channel == (uint64_t)out->channel->id &&
           segment->rank == (uint32_t)out->remote_host_id &&
           segment->size == (uint32_t)configuration->size;
}

static int map_segment(struct shm_peer *peer, int number, p_mad_connection_t out)
{
    struct stat status;
    char path[64];
    void *memory;
    int fd;

    peer->bytes = segment_bytes(configuration_of(out->channel)->size);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", peer->pid, number);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return MAD_EDRIVER;
    if (fstat(fd, &status) != 0 || (size_t)status.st_size != peer->bytes) {
        close(fd);
        return MAD_EWIRE;
    }
    memory = mmap(NULL, peer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return MAD_ENOMEM;
    peer->segment = memory;
    return is_the_peers(peer->segment, out) ? MAD_OK : MAD_EWIRE;
}

static int connect_peer(p_mad_connection_t out)
{
    struct mad_boot *boot = ((struct mad_session *)out->channel->adapter->driver->madeleine)->boot;
    struct shm_peer *peer = mad_shm_peer(out);
    char key[MAD_KEY_MAX], value[MAD_VALUE_MAX + 1];
    int number, doorbell, error;

    error = mad_adapter_parameter(out->channel->adapter, out->remote_host_id, value, sizeof(value));
    if (error != MAD_OK)
        return error;
    peer->pid = atoi(value);
    snprintf(key, sizeof(key), "mad.c.%s.%d", out->channel->name, out->remote_host_id);
    error = boot->ops->get(boot, out->remote_host_id, key, value, sizeof(value));
    if (error != MAD_OK)
        return error;
    if (sscanf(value, "%d,%d", &number, &doorbell) != 2)
        return MAD_EWIRE;
    error = map_segment(peer, number, out);
    if (error != MAD_OK)
        return error;
    peer->process = (int)syscall(SYS_pidfd_open, peer->pid, 0);
    peer->doorbell = mad_shm_doorbell_open(peer->pid, doorbell);
    return peer->doorbell >= 0 ? MAD_OK : MAD_EDRIVER;
}

int mad_shm_connect(p_mad_channel_t channel)
{
    const mad_configuration_t *configuration = configuration_of(channel);
    int error = MAD_OK, rank;

    for (rank = 0; rank < configuration->size && error == MAD_OK; rank++)
        if (rank != configuration->local_host_id && mad_channel_has(channel, rank))
            error = connect_peer(channel->output_connection[rank]);
    if (error != MAD_OK)
        mad_channel_fail(channel, error, "the shared memory of a peer cannot be opened");
    return error;
}
