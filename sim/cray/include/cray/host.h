/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host that runs the processes of a job, as the libraries of this folder see it. sim-run is the
 * host of its ranks (cray_host_set). Without a host the libraries use the environment that the
 * launcher of a live fabric sets. A program without a launcher is a job of one process, without
 * ALPS.
 */
#ifndef JACQUARD_CRAY_HOST_H
#define JACQUARD_CRAY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRAY_CREDENTIALS_MAX 2

struct cray_credential {
    uint8_t ptag;
    uint32_t cookie;
};

struct udreg_cache;
struct alps_request;

/* A job: the same object for all its processes. */
struct cray_job {
    uint64_t apid;
    uint32_t size; /* processes */
    uint32_t credentials;
    struct cray_credential credential[CRAY_CREDENTIALS_MAX];
};

/* A process. The pointers belong to the libraries, start as NULL and are freed by
 * cray_process_clear. */
struct cray_process {
    struct cray_job *job;
    uint32_t rank;
    uint32_t address; /* PE address of its NIC */
    struct udreg_cache *udreg;
    struct alps_request *alps;
    bool alps_locked;
};

struct cray_host {
    struct cray_process *(*self)(void); /* of the caller; NULL: it is in no job */
    uint32_t (*nid_of)(const struct cray_process *self, uint32_t rank); /* node of a rank */
    uint32_t (*nodes)(const struct cray_process *self); /* of the machine: 0 … nodes-1 */
    bool (*node_up)(const struct cray_process *self, uint32_t nid);
    bool one_memory; /* all processes share one address space, so XPMEM is available */
};

void cray_host_set(const struct cray_host *host); /* NULL: none */
const struct cray_host *cray_host(void); /* never NULL: without a host, that of a single process */
struct cray_process *cray_process_in_job(void); /* NULL: the caller is in no job of a host */
struct cray_process *cray_process_self(void); /* never NULL: a job of one when there is no host */

void cray_process_clear(struct cray_process *process);

#endif
