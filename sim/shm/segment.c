/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "internal.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

int shm_memory_file(const char *name, size_t bytes, void **mapping)
{
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), error;
    void *at;

    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)bytes) != 0) {
        error = -errno;
        goto err_file;
    }
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (at == MAP_FAILED) {
        error = -errno;
        goto err_file;
    }
    /* From here on no process can create a writable mapping, including this one; the mapping above
     * stays writable. */
    if (fcntl(file, F_ADD_SEALS, SEALS) != 0) {
        error = errno == EINVAL ? -ENOSYS : -errno;
        goto err_mapping;
    }
    madvise(at, bytes, MADV_DONTFORK);
    *mapping = at;
    return file;

err_mapping:
    munmap(at, bytes);
err_file:
    close(file);
    return error;
}

bool shm_memory_is_safe(int file, size_t bytes)
{
    int seals = fcntl(file, F_GET_SEALS);
    struct stat stat;

    return seals >= 0 && (seals & SEALS) == SEALS && fstat(file, &stat) == 0 &&
           S_ISREG(stat.st_mode) && (uint64_t)stat.st_size == bytes;
}

int shm_map_segment(struct shm *shm, size_t segment_bytes)
{
    void *mapping = NULL;
    int file;

    shm->segment_bytes = segment_bytes;
    shm->at = segment_layout(shm->facts.processes_max, segment_bytes);
    file = shm_memory_file("jacquard-segment", shm->at.total, &mapping);
    if (mapping == NULL)
        return file;
    shm->segment = mapping;
    shm->head = mapping;
    shm->head->magic = SHM_MAGIC;
    shm->head->version = SHM_VERSION;
    shm->head->pid = getpid();
    return file;
}

/* Checks the offsets in the daemon's segment. The daemon is trusted, but a daemon of another
 * version must not make this process read outside the mapping. */
static bool fabric_fits(const struct fabric_segment *fabric, size_t bytes)
{
    uint64_t members = (uint64_t)fabric->processes_max * sizeof(struct fabric_member);
    uint64_t names = (uint64_t)fabric->names_capacity * sizeof(struct fabric_name);

    return fabric->total == bytes && fabric->processes_max > 0 &&
           fabric->processes_max <= SHM_PROCESSES_MAX && fabric->nodes > 0 &&
           fabric->names_capacity > 0 &&
           (fabric->names_capacity & (fabric->names_capacity - 1)) == 0 &&
           fabric->members_at <= bytes && members <= bytes - fabric->members_at &&
           fabric->names_at <= bytes && names <= bytes - fabric->names_at &&
           fabric->scenario_at < bytes && fabric->scenario_bytes < bytes - fabric->scenario_at &&
           memchr(fabric->name, 0, FABRIC_NAME_BYTES) != NULL &&
           memchr(fabric->preset, 0, FABRIC_NAME_BYTES) != NULL;
}

int shm_map_fabric(struct shm *shm, int file, char *why)
{
    const struct fabric_segment *fabric;
    struct stat stat;
    size_t bytes;
    void *mapping;

    if (fstat(file, &stat) != 0 || stat.st_size < (off_t)sizeof(*fabric) ||
        !shm_memory_is_safe(file, (size_t)stat.st_size)) {
        shm_why(why, "what listens at %s is no fabric of this version", shm->path);
        return -EPROTO;
    }
    bytes = (size_t)stat.st_size;
    mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) {
        shm_why(why, "cannot map the fabric at %s: %s", shm->path, strerror(errno));
        return -errno;
    }
    madvise(mapping, bytes, MADV_DONTFORK);
    fabric = shm->fabric = mapping;
    shm->fabric_bytes = bytes;
    if (fabric->magic != SHM_MAGIC || fabric->version != SHM_VERSION ||
        !fabric_fits(fabric, bytes)) {
        shm_why(why, "what listens at %s is no fabric of this version", shm->path);
        return -EPROTO;
    }
    shm->facts = (struct shm_facts){.nodes = fabric->nodes,
                                    .processes_max = fabric->processes_max,
                                    .seed = fabric->seed,
                                    .began_ns = fabric->began_ns,
                                    .ticks_per_us = fabric->ticks_per_us,
                                    .name = fabric->name,
                                    .preset = fabric->preset,
                                    .scenario = (const char *)mapping + fabric->scenario_at,
                                    .scenario_bytes = fabric->scenario_bytes,
                                    .path = shm->path};
    return 0;
}
