/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of the carrier share: a fabric in a folder of its own, and other processes. */
#ifndef JACQUARD_TESTS_LIVE_CARRIER_H
#define JACQUARD_TESTS_LIVE_CARRIER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <cmocka.h>
#include "shm/shm.h"

#define WATCHDOG_S 400 /* a test that hangs dies of SIGALRM */

/* A fresh folder; JACQUARD_FABRIC names a socket in it, where nobody listens. */
void fresh_fabric(void);
/* The daemon there has ended, its files are gone; removes the folder. */
void fabric_is_over(void);

/* Joins, or the process ends with a message. */
struct shm *join_as(const struct shm_events *events, void *arg);
struct shm *join_fabric(void);

/* A child runs that; it ends with its result, or by _exit(99) when an assertion there fails. */
pid_t run(int (*function)(void *arg), void *arg);
void ended_well(pid_t child);
/* In children, where cmocka's assertions do not belong. */
#define must(condition) must_be((condition), #condition, __FILE__, __LINE__)
void must_be(bool good, const char *text, const char *file, int line);

/* The member that is this process; waits for it to come. */
struct shm_peer *peer_of_pid(struct shm *shm, pid_t pid);

/* What the events of a member have counted; the argument of join_as(&carrier_watch, …). */
struct seen {
    unsigned met, gone, lost, orders;
    uint32_t gone_slot, gone_generation;
    char order[64];
};
extern const struct shm_events carrier_watch;
/* Until *what is at least that: releases all records unread. */
void carrier_poll_until(struct shm *shm, const unsigned *what, unsigned count);

/* Bytes that depend on n, and their check. */
void carrier_fill(uint8_t *room, uint32_t bytes, uint64_t n);
bool carrier_is_filled(const uint8_t *bytes, uint32_t count,
                       uint64_t n); /* at most SHM_RECORD_MAX */
/* Waits for room. */
uint8_t *carrier_reserve(struct shm_peer *peer, enum shm_channel channel, uint32_t bytes);

/* xorshift: the same numbers for the same seed (not 0). */
uint64_t random_next(uint64_t *state);

/* A counter that this process and the children that it runs share; 0 at first. */
_Atomic unsigned *shared_counter(void);

/* 1000000 is a second. Between two checks of a condition, or where the pause itself is tested. */
void pause_us(unsigned us);

#endif
