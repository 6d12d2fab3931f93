/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "carrier.h"
#include "folder.h"

static struct folder folder;

void fresh_fabric(void)
{
    alarm(WATCHDOG_S);
    assert_true(folder_new(&folder));
    setenv("JACQUARD_PROCESSES", "64", 1);
    unsetenv("JACQUARD_FABRIC_PRIVATE");
    unsetenv("JACQUARD_NODE");
    unsetenv("JACQUARD_NODES");
}

void fabric_is_over(void)
{
    assert_true(folder_remove(&folder));
    alarm(0);
}

struct shm *join_as(const struct shm_events *events, void *arg)
{
    struct shm_options options = {.node = SHM_NODE_ANY, .segment_bytes = 4096, .arg = arg};
    char why[SHM_WHY_BYTES];
    struct shm *shm;

    if (events != NULL)
        options.events = *events;
    if (shm_join(&options, &shm, why) == 0)
        return shm;
    fprintf(stderr, "shm_join: %s\n", why);
    abort();
}

struct shm *join_fabric(void)
{
    return join_as(NULL, NULL);
}

pid_t run(int (*function)(void *arg), void *arg)
{
    pid_t child = fork();

    if (child == 0) {
        alarm(WATCHDOG_S);
        _exit(function(arg));
    }
    assert_true(child > 0);
    return child;
}

void ended_well(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("a process of the test ended with status %x", (unsigned)status);
}

void must_be(bool good, const char *text, const char *file, int line)
{
    if (good)
        return;
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    _exit(99);
}

struct shm_peer *peer_of_pid(struct shm *shm, pid_t pid)
{
    struct shm_member member;
    struct shm_peer *peer;
    uint32_t slot;

    for (;;) {
        for (slot = 0; slot < shm_facts(shm)->processes_max; slot++) {
            if (!shm_member(shm, slot, &member) || member.pid != pid)
                continue;
            peer = shm_peer(shm, slot, member.generation, NULL);
            if (peer != NULL)
                return peer;
        }
        pause_us(1000);
    }
}

uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

_Atomic unsigned *shared_counter(void)
{
    void *page =
        mmap(NULL, sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(page != MAP_FAILED);
    return page;
}

void pause_us(unsigned us)
{
    const struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

    nanosleep(&pause, NULL);
}

/* ---- what a member has seen --------------------------------------------------------------------
 */

static void saw_met(void *arg, struct shm_peer *peer)
{
    ((struct seen *)arg)->met++;
}

static void saw_gone(void *arg, struct shm_peer *peer)
{
    struct seen *seen = arg;

    must(peer->gone);
    must(shm_reserve(peer, SHM_REQUEST, 0) == NULL);
    must(shm_publish(peer, SHM_REQUEST, 0, 0) == 0);
    seen->gone++;
    seen->gone_slot = peer->slot;
    seen->gone_generation = peer->generation;
}

static void saw_order(void *arg, const void *bytes, size_t count)
{
    struct seen *seen = arg;

    seen->orders++;
    must(count < sizeof(seen->order));
    memcpy(seen->order, bytes, count);
    seen->order[count] = 0;
}

static void saw_lost(void *arg)
{
    ((struct seen *)arg)->lost++;
}

const struct shm_events carrier_watch = {saw_met, saw_gone, saw_order, saw_lost};

void carrier_poll_until(struct shm *shm, const unsigned *what, unsigned count)
{
    struct shm_record record;

    while (*(volatile const unsigned *)what < count) {
        while (shm_next(shm, &record))
            shm_release(shm);
        shm_poll_daemon(shm);
        pause_us(500);
    }
}

/* ---- records -----------------------------------------------------------------------------------
 */

void carrier_fill(uint8_t *room, uint32_t bytes, uint64_t n)
{
    uint64_t state = n + 77;
    uint32_t i;

    for (i = 0; i < bytes; i++) {
        if (i % 8 == 0)
            random_next(&state);
        room[i] = (uint8_t)(state >> (i % 8 * 8));
    }
}

bool carrier_is_filled(const uint8_t *bytes, uint32_t count, uint64_t n)
{
    static uint8_t expected[SHM_RECORD_MAX];

    carrier_fill(expected, count, n);
    return memcmp(bytes, expected, count) == 0;
}

uint8_t *carrier_reserve(struct shm_peer *peer, enum shm_channel channel, uint32_t bytes)
{
    void *room;

    while ((room = shm_reserve(peer, channel, bytes)) == NULL)
        sched_yield();
    return room;
}
