/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A member that scribbles over every word of its own board (all that it can write), at full speed,
 * at random and with words that look right, while others talk with each other and with it. Their
 * own traffic stays correct; under the address sanitizer nothing is read or written outside.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "carrier.h"
#include "internal.h"

#define ROUNDS 60u /* memberships of the hostile one, or $JACQUARD_HOSTILE_ROUNDS */
#define HONEST_MAX 1000000u

enum { DATA = 1, STOP = 2 };

/* ---- the hostile one ------------------------------------------------------------------------- */

static void store(struct shm *shm, size_t at, uint64_t value)
{
    *(volatile uint64_t *)(void *)(shm->segment + at / 8 * 8) = value;
}

/* Where a reader will look next, and something that it might believe. */
static void lie(struct shm *shm, struct peer *peer, uint64_t *random)
{
    uint64_t dice = random_next(random);
    size_t ring = shm->at.rings + ((size_t)peer->to.slot * SHM_CHANNELS + dice % 2) * RING_BYTES;
    uint64_t position = peer->out[dice % 2].tail + (dice >> 8) % 200;

    switch ((dice >> 20) % 64) {
    case 0: /* over the ring's end */
        store(shm, ring + RING_BYTES - SHM_LINE,
              record_word(SHM_RING_SLOTS - 1, 0, SHM_RECORD_MAX, 1, 0));
        break;
    case 1: /* any flags */
        store(shm, ring + (position & RING_MASK) * SHM_LINE,
              record_word(position, 0, 0, 0, 1u << (dice >> 32) % 8));
        break;
    case 2: /* where its rings begin */
        store(shm, shm->at.starts + peer->to.slot * sizeof(struct ring_starts) + dice % 2 * 8,
              tagged(peer->to.generation, dice >> 40));
        break;
    case 3: /* too long */
        store(shm, ring + (position & RING_MASK) * SHM_LINE,
              record_word(position, 0, SHM_RECORD_MAX + 1 + (dice >> 40) % 50000, 1, 0));
        break;
    case 4:
    case 5:
    case 6:
    case 7: /* what it has executed */
        store(shm, shm->at.indices + peer->to.slot * sizeof(struct consumer_indices) + dice % 2 * 8,
              tagged(peer->to.generation, dice >> 40));
        break;
    default: /* a record of any length and kind */
        store(shm, ring + (position & RING_MASK) * SHM_LINE,
              record_word(position, dice >> 32, (uint32_t)(dice >> 40) % 2000, (dice >> 50) & 255,
                          0));
        break;
    }
}

static void scribble(struct shm *shm, uint64_t *random, unsigned steps)
{
    size_t used = shm->at.rings + 8u * SHM_CHANNELS * RING_BYTES; /* what others look at */
    struct peer *peer;

    while (steps-- > 0) {
        for (peer = shm->peers; peer != NULL; peer = peer->next)
            if (!peer->to.self)
                lie(shm, peer, random);
        if (steps % 8 == 0)
            store(shm, random_next(random) % used, random_next(random));
        if (steps % 64 == 0)
            sched_yield();
    }
}

static int scribbler(void *arg)
{
    uint64_t random = 4711;
    const char *text = getenv("JACQUARD_HOSTILE_ROUNDS");
    unsigned rounds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : ROUNDS, round, i;

    alarm(WATCHDOG_S + rounds);
    for (round = 0; round < rounds; round++) {
        struct shm *shm = join_fabric();
        struct shm_member member;
        uint32_t slot;

        for (slot = 0; slot < 8; slot++)
            if (shm_member(shm, slot, &member) && member.slot != shm_self(shm)->slot)
                shm_peer(shm, slot, 0, NULL);
        for (i = 0; i < 20; i++) {
            scribble(shm, &random, 300);
            shm_poll_daemon(shm);
        }
        /* Nobody else can map it to write, the owner neither. */
        must(mprotect((void *)(uintptr_t)shm->fabric, SHM_PAGE, PROT_READ | PROT_WRITE) != 0);
        shm_leave(shm);
    }
    return 0;
}

/* ---- the honest ones ------------------------------------------------------------------------- */

struct honest {
    struct shm *shm;
    struct shm_peer *friend_, *others[SHM_PROCESSES_MAX];
    uint64_t sent, got, strange;
    bool end, said_strange;
};

/* Names by which the processes of the first test find out about each other. */
static const struct shm_key scribbler_has_ended = {.kind = 9},
                            something_strange_came = {.kind = 10}, end_was_seen = {.kind = 11};

static bool is_named(struct shm *shm, const struct shm_key *key)
{
    struct shm_name name;

    return shm_lookup(shm, key, &name) == 0;
}

static void met(void *arg, struct shm_peer *peer)
{
    struct honest *honest = arg;

    honest->others[peer->slot] = peer;
}

static void gone(void *arg, struct shm_peer *peer)
{
    struct honest *honest = arg;

    if (peer == honest->friend_) {
        honest->end = true;
        return;
    }
    if (honest->others[peer->slot] == peer)
        honest->others[peer->slot] = NULL;
    shm_drop(honest->shm, peer);
}

static void take(struct honest *honest)
{
    static uint8_t copy[SHM_RECORD_MAX];
    struct shm_record record;
    uint64_t value;
    unsigned count = 0;

    while (count++ < 1000 && shm_next(honest->shm, &record)) {
        must(record.count <= SHM_RECORD_MAX);
        memcpy(copy, record.bytes, record.count);
        if (record.from == honest->friend_) {
            must(record.kind == DATA && record.count == 8);
            memcpy(&value, copy, 8);
            must(value == honest->got);
            honest->got++;
        } else {
            honest->strange++;
            if (copy[0] % 8 == 0)
                shm_set_aside(honest->shm);
        }
        shm_release(honest->shm);
    }
}

static void send_garbage_to_daemon(struct honest *honest, uint32_t slot)
{
    struct shm_peer *peer = honest->others[slot % 8];
    uint64_t executed;

    if (peer == NULL || peer == honest->friend_)
        return;
    executed = shm_executed(peer, SHM_REQUEST);
    if (shm_reserve(peer, SHM_REQUEST, slot % 900) != NULL)
        shm_publish(peer, SHM_REQUEST, DATA, slot % 800);
    must(shm_executed(peer, SHM_REQUEST) >= executed);
    must(shm_executed(peer, SHM_REQUEST) <= shm_sent(peer, SHM_REQUEST));
}

static void converse(struct honest *honest, bool (*over)(struct honest *))
{
    uint64_t *room, lap = 0;

    while (!honest->end && !over(honest)) {
        take(honest);
        if (honest->strange > 0 && !honest->said_strange) {
            honest->said_strange = true; /* the other one may have claimed the name already */
            shm_claim(honest->shm, &something_strange_came, 0, NULL);
        }
        send_garbage_to_daemon(honest, (uint32_t)lap++);
        if (honest->sent < HONEST_MAX && honest->sent < honest->got + 200 &&
            (room = shm_reserve(honest->friend_, SHM_REQUEST, 8)) != NULL) {
            *room = honest->sent++;
            shm_publish(honest->friend_, SHM_REQUEST, DATA, 8);
        }
        if (lap % 50 == 0 && shm_sleep_begin(honest->shm)) {
            shm_sleep(honest->shm, 1); /* only what belongs to it */
            shm_sleep_end(honest->shm);
        }
        if (lap % 8 == 0)
            sched_yield();
    }
}

static bool never(struct honest *honest)
{
    return false;
}

static bool is_over(struct honest *honest)
{
    return is_named(honest->shm, &scribbler_has_ended);
}

static const struct shm_events events = {.met = met, .gone = gone};

static int be_a_friend(void *arg)
{
    static struct honest honest;

    honest.shm = join_as(&events, &honest);
    honest.friend_ = peer_of_pid(honest.shm, getppid());
    converse(&honest, never);
    must(honest.got > 0);
    shm_leave(honest.shm);
    return 0;
}

/* Starts it again until one of the others has seen a record of it. */
static int wait_for_scribbler(void *arg)
{
    struct shm *shm = NULL;
    bool seen = false;

    while (!seen) {
        pid_t child = run(scribbler, NULL);

        ended_well(child);
        shm = join_fabric();
        seen = is_named(shm, &something_strange_came);
        if (!seen)
            shm_leave(shm);
    }
    must(shm_claim(shm, &scribbler_has_ended, 0, NULL) == 0);
    while (!is_named(shm, &end_was_seen)) /* the name ends with this process */
        pause_us(1000);
    shm_leave(shm);
    return 0;
}

static void a_hostile_member_harms_only_itself(void **state)
{
    static struct honest honest;
    pid_t friend_, hostile;

    fresh_fabric();
    setenv("JACQUARD_PROCESSES", "8", 1);
    memset(&honest, 0, sizeof(honest));
    honest.shm = join_as(&events, &honest);
    friend_ = run(be_a_friend, NULL);
    honest.friend_ = peer_of_pid(honest.shm, friend_);
    hostile = run(wait_for_scribbler, NULL);
    converse(&honest, is_over);
    assert_false(honest.end);
    assert_true(honest.got > 0);
    assert_int_equal(shm_claim(honest.shm, &end_was_seen, 0, NULL), 0);
    ended_well(hostile);
    shm_leave(honest.shm);
    ended_well(friend_);
    fabric_is_over();
}

/* ---- any bytes at all ------------------------------------------------------------------------ */

/* The reader of rings on memory that a random process wrote, without processes. */
/* Says all the time that it looks at its rings, and executes nothing. */
static int pretend_to_poll(void *arg)
{
    struct shm *shm = join_fabric();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        atomic_store(&shm->head->sleep_flag, SLEEP_FLAG_STEP);
        atomic_store(&shm->head->last_poll, shm_ticks());
        sched_yield();
    }
    shm_leave(shm);
    return 0;
}

static void a_member_that_polls_and_executes_nothing_is_dropped(void **state)
{
    struct shm_record record;
    struct shm_peer *peer;
    struct shm *shm;
    pid_t child;

    fresh_fabric();
    shm = join_fabric();
    child = run(pretend_to_poll, NULL);
    peer = peer_of_pid(shm, child);
    assert_non_null(shm_reserve(peer, SHM_REQUEST, 0));
    shm_publish(peer, SHM_REQUEST, DATA, 0);
    while (!peer->gone) /* else the watchdog ends the test */
        assert_false(shm_next(shm, &record));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    shm_leave(shm);
    fabric_is_over();
}

static void any_memory_is_read_safely(void **state)
{
    struct shm *shm, *other;
    struct shm_record record;
    static uint8_t copy[SHM_RECORD_MAX];
    struct shm_peer *peer;
    uint64_t random = 31, at, records = 0;
    unsigned round, i;

    fresh_fabric();
    for (round = 0; round < 60; round++) {
        shm = join_fabric();
        other = join_fabric();
        peer = shm_peer(shm, shm_self(other)->slot, 0, NULL);
        shm_poll_daemon(other);
        for (i = 0; i < 3000 && !peer->gone; i++) {
            at = other->at.rings + shm_self(shm)->slot * SHM_CHANNELS * RING_BYTES;
            store(other, at + random_next(&random) % (SHM_CHANNELS * RING_BYTES),
                  random_next(&random));
            lie(other, peer_of(shm_known(other, shm_self(shm)->slot, 0)), &random);
            while (shm_next(shm, &record)) {
                memcpy(copy, record.bytes, record.count);
                shm_release(shm);
                records++;
            }
        }
        shm_leave(other);
        shm_leave(shm);
    }
    fabric_is_over();
    assert_true(records > 0);
}

static void any_bytes_are_decoded_safely(void **state)
{
    struct wire_packet packet;
    struct wire head;
    uint8_t *bytes;
    uint64_t random = 17;
    uint32_t i, count, fds_count, good = 0;
    int fds[WIRE_FDS_MAX] = {-1, -1, -1};
    size_t j;

    for (i = 0; i < 200000; i++) {
        count = (uint32_t)random_next(&random) % 300;
        bytes = malloc(count > 0 ? count : 1); /* exactly: the sanitizer sees what is beyond */
        assert_non_null(bytes);
        for (j = 0; j < count; j++)
            bytes[j] = (uint8_t)random_next(&random);
        memset(&head, 0, sizeof(head));
        head.magic = SHM_MAGIC;
        head.version = SHM_VERSION;
        head.kind = (uint32_t)random_next(&random) % (WIRE_KINDS + 2);
        head.error = i % 4 == 0 ? (int32_t)random_next(&random) : 0;
        memcpy(bytes, &head, count < sizeof(head) ? count : sizeof(head));
        fds_count = i % 4;
        if (shm_wire_decode(bytes, count, fds, fds_count, &packet)) {
            good++;
            assert_true(packet.head.kind > 0 && packet.head.kind < WIRE_KINDS);
            assert_true(packet.text_bytes == count - sizeof(head));
        }
        free(bytes);
    }
    assert_true(good > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hostile_member_harms_only_itself),
        cmocka_unit_test(a_member_that_polls_and_executes_nothing_is_dropped),
        cmocka_unit_test(any_memory_is_read_safely),
        cmocka_unit_test(any_bytes_are_decoded_safely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
