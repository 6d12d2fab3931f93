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

typedef enum {
    ALPS_APP_LLI_ALPS_REQ_APID = 1, /* answer: uint64_t */
    ALPS_APP_LLI_ALPS_REQ_GNI = 2, /* answer: alpsAppLLIGni_t */
    ALPS_APP_LLI_ALPS_REQ_START = 3, /* answer: none */
    ALPS_APP_LLI_ALPS_REQ_EXITING = 4, /* answer: none */
} alpsAppLLIReq_t;

#define ALPS_APP_LLI_ALPS_STAT_OK 0
#define ALPS_APP_LLI_ALPS_STAT_FAIL 1 /* no such request */

/* A credential for the high-speed network. */
typedef struct {
    int device_id;
    int local_addr; /* PE address of the caller's NIC */
    uint8_t ptag;
    uint32_t cookie;
} alpsAppGni_t;

typedef struct {
    int count;
    union {
        alpsAppGni_t *ptr;
        char buf[sizeof(void *)]; /* the array of `count` credentials starts here */
    } u;
} alpsAppLLIGni_t;

int alps_app_lli_lock(void);
int alps_app_lli_unlock(void);
int alps_app_lli_put_request(int request, void *data, size_t bytes);
/* *count: bytes of the answer. */
int alps_app_lli_get_response(int *status, size_t *count);
int alps_app_lli_get_response_bytes(void *buffer, size_t bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
