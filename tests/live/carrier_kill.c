/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that are killed at any instruction, while the others go on: what arrives is whole and
 * in order, the dead are told once, their names and slots are free, their successors are reached.
 * JACQUARD_KILLS says how many (100).
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "carrier.h"

#define STEADY 2u /* workers that are not killed */
#define VICTIMS 2u /* at a time */
#define SLOTS 8u

enum { DATA = 1, ECHO = 2 };

struct talk { /* with one peer */
    uint64_t got, sent;
    struct talk *next;
};

struct worker {
    struct shm *shm;
    bool end, steady;
    uint64_t random;
    uint64_t taken, gone, met;
    struct talk *talks;
};

struct message {
    uint64_t number;
    uint32_t from, generation, check, bytes;
};

static uint32_t check_of(const struct message *message)
{
    return (uint32_t)(message->number * 2654435761u) ^ message->from * 40503u ^
           message->generation * 977u ^ message->bytes;
}

static void met(void *arg, struct shm_peer *peer)
{
    ((struct worker *)arg)->met++;
}

static void gone(void *arg, struct shm_peer *peer)
{
    struct worker *worker = arg;

    worker->gone++;
    shm_drop(worker->shm, peer);
}

static void order(void *arg, const void *bytes, size_t count)
{
}

static void lost(void *arg)
{
    ((struct worker *)arg)->end = true;
}

static const struct shm_events events = {met, gone, order, lost};

static struct talk *talk_with(struct worker *worker, struct shm_peer *peer)
{
    struct talk *talk = peer->user;

    if (talk == NULL) {
        talk = calloc(1, sizeof(*talk));
        must(talk != NULL);
        talk->next = worker->talks;
        peer->user = worker->talks = talk;
    }
    return talk;
}

static void leave(struct worker *worker)
{
    struct talk *talk;

    shm_leave(worker->shm);
    while ((talk = worker->talks) != NULL) {
        worker->talks = talk->next;
        free(talk);
    }
}

static void take(struct worker *worker)
{
    struct shm_record record;
    struct message message;
    const uint8_t *tail;
    uint32_t i;

    while (shm_next(worker->shm, &record)) {
        must(record.count >= sizeof(message) && record.kind == DATA);
        memcpy(&message, record.bytes, sizeof(message));
        must(message.check == check_of(&message));
        must(message.bytes == record.count);
        must(message.from == record.from->slot && message.generation == record.from->generation);
        must(message.number == talk_with(worker, record.from)->got++);
        tail = (const uint8_t *)record.bytes + sizeof(message);
        for (i = 0; i < record.count - sizeof(message); i++)
            must(tail[i] == (uint8_t)(message.number + i));
        worker->taken++;
        shm_release(worker->shm);
    }
}

static void give(struct worker *worker, struct shm_peer *peer)
{
    struct message message;
    uint8_t *room, *tail;
    uint32_t i, bytes = sizeof(message);

    if (random_next(&worker->random) % 4 == 0)
        bytes += (uint32_t)(random_next(&worker->random) % 3000);
    room = shm_reserve(peer, SHM_REQUEST, bytes);
    if (room == NULL)
        return;
    message = (struct message){.number = talk_with(worker, peer)->sent++,
                               .from = shm_self(worker->shm)->slot,
                               .generation = shm_self(worker->shm)->generation,
                               .bytes = bytes};
    message.check = check_of(&message);
    memcpy(room, &message, sizeof(message));
    tail = room + sizeof(message);
    for (i = 0; i < bytes - sizeof(message); i++)
        tail[i] = (uint8_t)(message.number + i);
    shm_publish(peer, SHM_REQUEST, DATA, bytes);
}

static void rest(struct worker *worker)
{
    if (shm_sleep_begin(worker->shm)) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        shm_sleep(worker->shm, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + 300000);
        shm_sleep_end(worker->shm);
    }
}

/* Talks to whomever there is; names come and go meanwhile. */
static void work(struct worker *worker)
{
    struct shm_member member;
    struct shm_peer *peer;
    struct shm_key key = {.kind = 1};
    uint32_t burst;

    take(worker);
    if (shm_member(worker->shm, (uint32_t)(random_next(&worker->random) % SLOTS), &member) &&
        member.slot != shm_self(worker->shm)->slot &&
        (peer = shm_peer(worker->shm, member.slot, member.generation, NULL)) != NULL)
        for (burst = (uint32_t)(random_next(&worker->random) % 20); burst > 0; burst--)
            give(worker, peer);
    if (random_next(&worker->random) % 16 == 0) {
        key.key[0] = random_next(&worker->random) % 16;
        if (shm_claim(worker->shm, &key, 1, NULL) == 0 && random_next(&worker->random) % 2)
            shm_unclaim(worker->shm, &key);
    }
    if (random_next(&worker->random) % 4 == 0)
        rest(worker);
    else
        sched_yield();
}

static int one_worker(void *arg)
{
    static struct worker worker;
    struct shm_key name = {.kind = 2, .key = {(uintptr_t)arg, 0}}, end = {.kind = 3};
    struct shm_name found;

    worker.random = (uint64_t)getpid() * 7919 + 1;
    worker.steady = (uintptr_t)arg < STEADY;
    worker.shm = join_as(&events, &worker);
    /* The predecessor with this name was reaped before this one was forked. */
    must(shm_claim(worker.shm, &name, 0, NULL) == 0);
    while (!worker.end && shm_lookup(worker.shm, &end, &found) != 0)
        work(&worker);
    if (worker.steady)
        must(worker.taken > 0 && worker.gone > 0);
    leave(&worker);
    return 0;
}

static unsigned kills(void)
{
    const char *text = getenv("JACQUARD_KILLS");
    unsigned count = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 100;

    return count > 0 ? count : 100;
}

static void killed_at_any_instruction(void **state)
{
    static struct worker worker;
    pid_t steady[STEADY], victims[VICTIMS];
    struct shm_key end = {.kind = 3};
    unsigned round, most = kills();
    uintptr_t i;
    int status;

    fresh_fabric();
    setenv("JACQUARD_PROCESSES", "8", 1); /* slots are used again soon */
    alarm(WATCHDOG_S + most);
    memset(&worker, 0, sizeof(worker));
    for (i = 0; i < STEADY; i++)
        steady[i] = run(one_worker, (void *)i);
    for (i = 0; i < VICTIMS; i++)
        victims[i] = run(one_worker, (void *)(STEADY + i));
    worker.random = 12345;
    worker.shm = join_as(&events, &worker);
    for (round = 0; round < most; round++) {
        uint64_t polls = random_next(&worker.random) % 40;

        while (polls-- > 0)
            work(&worker);
        pause_us((unsigned)(random_next(&worker.random) % 8000));
        i = round % VICTIMS;
        kill(victims[i], SIGKILL);
        assert_int_equal(waitpid(victims[i], &status, 0), victims[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        victims[i] = run(one_worker, (void *)(STEADY + i));
    }
    assert_int_equal(shm_claim(worker.shm, &end, 0, NULL), 0);
    for (i = 0; i < STEADY; i++)
        ended_well(steady[i]);
    for (i = 0; i < VICTIMS; i++)
        ended_well(victims[i]);
    assert_true(worker.taken > 0);
    leave(&worker);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_any_instruction)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
