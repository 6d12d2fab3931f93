/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several processes of the system on one emulated fabric, each a plain program that calls uGNI. A
 * test is a function that every rank runs; ranks meet in memory that they share outside of it.
 */
#ifndef JACQUARD_TESTS_LIVE_TEST_H
#define JACQUARD_TESTS_LIVE_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gni_pub.h"

#define LT_RANKS_MAX 16u
#define LT_NOTE_BYTES 4096u
#define LT_PTAG 17

struct lt_shared {
    uint32_t arrived, epoch, alive; /* barrier */
    int32_t pids[LT_RANKS_MAX];
    uint64_t note[LT_RANKS_MAX][LT_NOTE_BYTES / 8]; /* of each rank, for the others */
};

extern struct lt_shared *lt_shared;
extern uint32_t lt_rank, lt_ranks;
extern uint32_t lt_stride; /* from a rank's node to the next one's; 1 */

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: rank %u: %s\n", __FILE__, __LINE__, lt_rank, #condition); \
            _exit(1);                                                                         \
        }                                                                                     \
    } while (0)
#define CHECK_RC(call, wanted)                                                              \
    do {                                                                                    \
        gni_return_t check_rc = (call);                                                     \
        if (check_rc != (wanted)) {                                                         \
            fprintf(stderr, "%s:%d: rank %u: %s: %s\n", __FILE__, __LINE__, lt_rank, #call, \
                    gni_err_str[check_rc]);                                                 \
            _exit(1);                                                                       \
        }                                                                                   \
    } while (0)
#define OK(call) CHECK_RC(call, GNI_RC_SUCCESS)

/* All ranks that are alive have come here: lt_shared->alive. */
void lt_barrier(void);
double lt_seconds(void);

/*
 * Runs `main` in `ranks` processes, rank r on node r % nodes * lt_stride, and reports. A rank that
 * is killed by SIGKILL counts as one that did what it should. 0: all well.
 */
int lt_run(const char *name, uint32_t ranks, uint32_t nodes, void (*main)(void));
/* The same on the fabric that the environment names. */
int lt_run_there(const char *name, uint32_t ranks, uint32_t nodes, void (*main)(void));

/* ---- what most ranks need -------------------------------------------------------------------- */

struct lt_peer {
    uint32_t pe, id;
    uint64_t address; /* of its memory */
    gni_mem_handle_t handle, mailbox;
    uint64_t mailboxes; /* where its mailboxes lie, one for each rank */
};

struct lt {
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx; /* events of sends and posts; of arrivals */
    uint32_t pe;
    uint8_t *memory; /* registered with rx */
    uint64_t bytes;
    gni_mem_handle_t handle;
    uint8_t *mailboxes;
    uint32_t mailbox_bytes;
    gni_mem_handle_t mailbox_handle;
    gni_smsg_attr_t attributes;
    gni_ep_handle_t eps[LT_RANKS_MAX];
    struct lt_peer peers[LT_RANKS_MAX];
};

/* Attaches, registers `bytes` of memory, tells the others, makes an endpoint to each. */
void lt_start(struct lt *lt, uint64_t bytes);
/* The same with the first `ranks` ones only; the others come to the barriers. */
void lt_start_among(struct lt *lt, uint64_t bytes, uint32_t ranks);
/* SMSG connections to all. */
void lt_connect(struct lt *lt);
/* Polls for the end of a post; its status. */
gni_return_t lt_completed(struct lt *lt, gni_post_descriptor_t **descriptor);
gni_return_t lt_post(struct lt *lt, uint32_t peer, gni_post_descriptor_t *descriptor, bool rdma);
void lt_end(struct lt *lt);

#endif
