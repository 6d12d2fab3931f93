/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ALPS's low-level interface: requests of an application's process to the daemon of its node.
 *
 *   lock ─▶ put_request ─▶ get_response ─▶ get_response_bytes ─▶ … ─▶ unlock
 *
 * All functions return 0 for success. Outside an application they fail as on a node without ALPS.
 */
#ifndef JACQUARD_ALPS_LIBALPSLLI_H
#define JACQUARD_ALPS_LIBALPSLLI_H

#include <alps/alps.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Numbers and records are those of Cray's library, also for programs that were compiled for it. */
#define ALPS_APP_LLI_ALPS_REQ_SIGNAL 1 /* int32_t[2]: a signal, and a rank or -1; always fails */
#define ALPS_APP_LLI_ALPS_REQ_EXITING 2 /* answer: none */
#define ALPS_APP_LLI_ALPS_REQ_APID 3 /* answer: uint64_t */
#define ALPS_APP_LLI_ALPS_REQ_START 5 /* answer: none */
#define ALPS_APP_LLI_ALPS_REQ_GNI 7 /* answer: alpsAppLLIGni_t */

#define ALPS_APP_LLI_ALPS_STAT_OK 0
#define ALPS_APP_LLI_ALPS_STAT_REQ 1 /* no such request */
#define ALPS_APP_LLI_ALPS_STAT_FAIL 5 /* it was not done */

/* A credential for the high-speed network. */
typedef struct {
    uint32_t device_id;
    int32_t local_addr; /* PE address of the caller's NIC */
    uint32_t cookie;
    uint32_t ptag;
} alpsAppGni_t;

typedef struct {
    int count;
    union {
        int64_t align;
        char buf[1]; /* the array of `count` credentials starts here */
    } u;
} alpsAppLLIGni_t;

int alps_app_lli_lock(void);
int alps_app_lli_unlock(void);
int alps_app_lli_put_request(int32_t request, const void *data, size_t bytes);
/* A request without an answer, with locking; -1: it was not done. */
int alps_app_lli_put_simple_request(int32_t request, const void *data, size_t bytes);
/* *count: bytes of the answer. */
int alps_app_lli_get_response(int *status, size_t *count);
int alps_app_lli_get_response_bytes(void *buffer, size_t bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
