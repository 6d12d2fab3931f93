/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the small clients: start-up by PMI, an allgather, and CHECK. Each client does
 * everything else in the style of the project that it represents.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <gni_pub.h>
#include <pmi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Weak, so that a client of several source files has one instance. */
__attribute__((weak, visibility("hidden"))) int my_rank, job_size;

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "rank %d: %s:%d: %s\n", my_rank, __FILE__, __LINE__, #condition); \
            PMI_Abort(99, #condition);                                                        \
        }                                                                                     \
    } while (0)
#define CHECK_RC(expected, call)                                                            \
    do {                                                                                    \
        gni_return_t check_rc = (call);                                                     \
        if (check_rc != (expected)) {                                                       \
            fprintf(stderr, "rank %d: %s:%d: %s: %s\n", my_rank, __FILE__, __LINE__, #call, \
                    gni_err_str[check_rc]);                                                 \
            PMI_Abort(98, #call);                                                           \
        }                                                                                   \
    } while (0)
#define OK(call) CHECK_RC(GNI_RC_SUCCESS, call)

static inline void client_start(void)
{
    int spawned, initialized;

    CHECK(PMI_Initialized(&initialized) == PMI_SUCCESS);
    if (!initialized)
        CHECK(PMI_Init(&spawned) == PMI_SUCCESS);
    CHECK(PMI_Get_rank(&my_rank) == PMI_SUCCESS && PMI_Get_size(&job_size) == PMI_SUCCESS);
}

/*
 * Returns the data in the order of ranks. PMI_Allgather promises no order, so each rank sends its
 * number along.
 */
static inline void *client_allgather(const void *mine, size_t bytes)
{
    size_t each = sizeof(int) + bytes;
    char *out = malloc(each), *in = malloc(each * (size_t)job_size), *sorted;
    int i, rank;

    sorted = malloc(bytes * (size_t)job_size);
    CHECK(out != NULL && in != NULL && sorted != NULL);
    memcpy(out, &my_rank, sizeof(int));
    memcpy(out + sizeof(int), mine, bytes);
    CHECK(PMI_Allgather(out, in, (int)each) == PMI_SUCCESS);
    for (i = 0; i < job_size; i++) {
        memcpy(&rank, in + (size_t)i * each, sizeof(int));
        CHECK(rank >= 0 && rank < job_size);
        memcpy(sorted + (size_t)rank * bytes, in + (size_t)i * each + sizeof(int), bytes);
    }
    free(in);
    free(out);
    return sorted;
}

/* Element `index` of a list such as "5:6" (the last one when it is shorter), cut in place by strtok
 * as the projects do. */
static inline uint32_t client_env_element(const char *name, int index)
{
    char *list = getenv(name), *token;
    uint32_t value = 0;

    CHECK(list != NULL);
    for (token = strtok(list, ":"); token != NULL && index >= 0; token = strtok(NULL, ":"), index--)
        value = (uint32_t)strtoul(token, NULL, 10);
    return value;
}

/* The PE address: that of device 0 in PMI_GNI_LOC_ADDR. */
static inline uint32_t client_local_address(void)
{
    char *devices = getenv("PMI_GNI_DEV_ID"), *token;
    uint32_t address = 0, cpu = 0;
    int index = 0;

    if (devices == NULL) {
        OK(GNI_CdmGetNicAddress(0, &address, &cpu));
        return address;
    }
    for (token = strtok(devices, ":"); token != NULL && atoi(token) != 0; token = strtok(NULL, ":"))
        index++;
    CHECK(token != NULL);
    return client_env_element("PMI_GNI_LOC_ADDR", index);
}

static inline void *client_pages(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    CHECK(memory != NULL);
    memset(memory, 0, (bytes + 4095) / 4096 * 4096);
    return memory;
}

static inline int client_done(const char *name)
{
    CHECK(PMI_Barrier() == PMI_SUCCESS);
    if (my_rank == 0)
        printf("%s: all %d ranks succeeded\n", name, job_size);
    PMI_Finalize();
    return 0;
}

#endif
