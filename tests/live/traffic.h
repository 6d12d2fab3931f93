/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process that exchanges messages, transfers, atomics and datagrams with others and verifies all
 * data that it receives, and the program that starts such processes. Shared memory says where each
 * process is and what memory it has. Each word of it has one writer. What a process writes for
 * another one is valid for the present incarnations of both.
 */
#ifndef JACQUARD_TESTS_LIVE_TRAFFIC_H
#define JACQUARD_TESTS_LIVE_TRAFFIC_H

#include <sys/types.h>
#include "guarded.h"
#include "live_test.h"

enum {
    RANKS = 5,
    STEADY = 2, /* the first ones are never killed */
    NODES = 2,
    WINDOW = 256 << 10,
    FIRST = 64, /* offset of data in a window */
    MAILBOX_MAX = 8192,
    ROUNDS_AT_END = 20,
    WATCHDOG_S = 400,
};

#define PTAG 17
#define COOKIE 0x12340000
#define QUEUE_MESSAGE 64u
#define QUEUE_CREDITS 16u
#define PTAG_APART 18 /* with the distrusted one */
#define COOKIE_APART 0x56780000
#define NOBODY UINT32_MAX
#define MAGIC UINT64_C(0x6b696c6c73)

/* ---- what all share -------------------------------------------------------------------------- */

struct card { /* of one process for another one */
    uint64_t incarnations; /* the writer's << 32 | the reader's; written last */
    uint32_t pe;
    uint64_t mailbox, window, counters;
    gni_mem_handle_t mailbox_handle, window_handle, counters_handle;
};

struct shared {
    uint64_t seed;
    uint32_t kills; /* done */
    uint32_t phase; /* 0: kills; 1: the last lives recover; 2: the end */
    uint32_t drained, checked;
    uint32_t incarnation[RANKS]; /* attached and ready */
    uint32_t killed[RANKS]; /* the last life that was or is being killed */
    uint32_t warm[RANKS]; /* the life that has finished a round with a steady one */
    uint32_t recovered[RANKS];
    uint32_t pid[RANKS];
    uint32_t pe0; /* of node 0 */
    uint32_t asked; /* the distrusted one, to help with transfers */
    struct card cards[RANKS][RANKS]; /* of whom, for whom */
    gni_mem_handle_t queues[RANKS]; /* of the mailboxes of message queues, for the distrusted one */
    uint64_t added[RANKS][RANKS], adding[RANKS][RANKS]; /* by whom, at whom: acknowledged, begun */
    uint64_t messages[RANKS], rounds[RANKS], deaths[RANKS], datagrams[RANKS];
};

extern struct shared *shared;
extern uint32_t incarnation; /* the own one */
extern uint32_t ranks; /* of RANKS */
extern uint32_t
    distrusted; /* one that may send anything: to it by a domain of its own; or NOBODY */

static inline uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

#define MUST(condition)                                                                   \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: rank %u, life %u, %u kills, JACQUARD_SEED=%lu: %s\n", \
                    __FILE__, __LINE__, lt_rank, incarnation, load(&shared->kills),       \
                    (unsigned long)shared->seed, #condition);                             \
            _exit(1);                                                                     \
        }                                                                                 \
    } while (0)

/* ---- a process ------------------------------------------------------------------------------- */

struct message {
    uint64_t magic, number, check;
    uint32_t from, incarnation, to_incarnation, bytes;
};

struct domain {
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx;
    uint32_t pe;
};

struct talk { /* with one peer */
    struct domain *domain;
    uint32_t rank, peer_incarnation; /* 0: its card is not there yet */
    uint32_t prepared; /* the life for which the own card is written */
    bool connected, lost, busy;
    gni_ep_handle_t ep, datagrams;
    struct card card;
    struct guarded mailbox, window, out, in;
    gni_mem_handle_t mailbox_handle, window_handle, out_handle, in_handle;
    gni_post_descriptor_t post;
    double posted_at;
    uint32_t stage, bytes, offset; /* of the round: PUT, GET, atomic */
    uint64_t pattern, adds, base;
    uint64_t sent, received, rounds;
    bool offered;
    uint64_t offer;
    struct message data_out, data_in;
};

struct me {
    uint64_t random;
    struct domain domain, apart;
    gni_smsg_attr_t attributes;
    uint32_t mailbox_bytes;
    struct guarded counters;
    gni_mem_handle_t counters_handle;
    struct talk talks[RANKS];
};
extern struct me me;

/* Attaches, registers, says that it is there. */
void begin(void);
void register_area(const struct domain *domain, const struct guarded *area, gni_cq_handle_t cq,
                   gni_mem_handle_t *handle);
/* The life of a process: begins, talks with all until the end, checks. */
void shm(void);
bool is_of_death(uint32_t status);

/* ---- who starts them ------------------------------------------------------------------------- */

uint64_t number_of(const char *name, uint64_t otherwise); /* of the environment */
pid_t spawn(uint32_t rank, uint32_t which, uint32_t seconds, void (*main_of_rank)(void));
void rest(uint64_t microseconds);
bool ended_well(pid_t pid);
bool all_ended_well(const pid_t *pids, uint32_t count); /* waits for all */
/* Somebody ended who should not have: then everything ends. */
bool someone_failed(const pid_t *pids, uint32_t count);

struct done {
    uint64_t messages, rounds, datagrams, deaths; /* deaths: that somebody saw */
};
/* Once those that were left get on with all others they end, well or not. */
bool finish(const pid_t *pids, uint32_t count, struct done *done);
int run(const char *name, int (*test)(void));

#endif
