/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
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
