/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Published names at a name server (pmnameserver), which several pmruns share. It is connected with
 * the first request. What is asked while it cannot be reached fails, and the next request tries
 * again. When the connection breaks, the name server removes the names published over it.
 */
#ifndef JACQUARD_PMRUN_NAMES_H
#define JACQUARD_PMRUN_NAMES_H

#include "names_wire.h"

struct pmrun_names;
struct pmrun_names_config {
    uv_loop_t *loop;
    struct pmi2_server *server; /* gets the answers */
    const char *where; /* host:port, or host */
    const uint8_t *key;
    void (*say)(void *owner, const char *text); /* what the user should know */
    void *owner;
};
/* NULL: `where` is malformed. */
struct pmrun_names *pmrun_names_new(const struct pmrun_names_config *config);
void pmrun_names_request(struct pmrun_names *names, const struct pmi2_name_request *request);
void pmrun_names_job_end(struct pmrun_names *names, const char *job); /* NULL: nothing */
void pmrun_names_close(struct pmrun_names *names); /* NULL: nothing. Frees itself in the loop. */

#endif
