/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records between processes: contents, order, room, acknowledgement. */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include "carrier.h"
#include "layout.h"

#define RECORDS 60000u
#define MANY 12u /* processes: more rings than are always looked at */
#define MANY_RECORDS 300u

enum { DATA = 1, STOP = 2, GET = 3, GO = 4 };

/* What the n-th record of a pair is: both sides know. */
static uint32_t length_of(uint64_t n)
{
    uint64_t state = n * 2654435761u + 1;
    uint32_t pick = (uint32_t)random_next(&state) % 16;

    if (pick < 8)
        return (uint32_t)random_next(&state) % (SHM_RECORD_SMALL + 1);
    if (pick < 15)
        return (uint32_t)random_next(&state) % 1000;
    return (uint32_t)random_next(&state) % (SHM_RECORD_MAX + 1);
}

static void wait_executed(struct shm *shm, struct shm_peer *peer)
{
    struct shm_record record;

    while (shm_executed(peer, SHM_REQUEST) != shm_sent(peer, SHM_REQUEST)) {
        must(!shm_next(shm, &record));
        sched_yield();
    }
}

/* ---- contents and order ---------------------------------------------------------------------- */

static int take_all(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_record record;
    uint64_t n = 0;

    for (;;) {
        if (!shm_next(shm, &record)) {
            sched_yield();
            continue;
        }
        if (record.kind == STOP)
            break;
        must(record.kind == DATA && record.channel == SHM_REQUEST);
        must(record.count == length_of(n));
        must(carrier_is_filled(record.bytes, record.count, n));
        n++;
        shm_release(shm);
    }
    must(n == RECORDS);
    shm_release(shm);
    shm_leave(shm);
    return 0;
}

static void records_of_all_sizes_arrive_in_order(void **state)
{
    struct shm *shm;
    struct shm_peer *peer;
    uint64_t n, position = 0;
    pid_t child;

    fresh_fabric();
    child = run(take_all, NULL);
    shm = join_fabric();
    peer = peer_of_pid(shm, child);
    for (n = 0; n < RECORDS; n++) {
        carrier_fill(carrier_reserve(peer, SHM_REQUEST, length_of(n)), length_of(n), n);
        assert_true(shm_publish(peer, SHM_REQUEST, DATA, length_of(n)) > position);
        position = shm_sent(peer, SHM_REQUEST);
        assert_true(shm_executed(peer, SHM_REQUEST) <= position);
    }
    carrier_reserve(peer, SHM_REQUEST, 0);
    shm_publish(peer, SHM_REQUEST, STOP, 0);
    wait_executed(shm, peer);
    ended_well(child);
    shm_leave(shm);
    fabric_is_over();
}

/* Payload that is made of valid words of all positions, in records of all lengths, some of them
 * reserved and filled only: none of it may be taken for a record. */
static int take_forged(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_record record;
    uint64_t n = 0, value;

    for (;;) {
        if (!shm_next(shm, &record)) {
            sched_yield();
            continue;
        }
        if (record.kind == STOP)
            break;
        must(record.kind == DATA && record.count >= 8);
        memcpy(&value, record.bytes, 8);
        must(value == n);
        n++;
        shm_release(shm);
    }
    shm_release(shm);
    shm_leave(shm);
    return 0;
}

static void forge(uint64_t *words, uint32_t bytes, uint64_t n, uint64_t position)
{
    uint32_t i;

    for (i = 0; i < bytes / 8; i++) /* the slots after this one, in this lap or a later one */
        words[i] = record_word(position + (i + 1) / 8 + n % 3 * SHM_RING_SLOTS, 0, 8, GET, 0);
    words[0] = n;
}

static void payload_is_never_taken_for_a_record(void **state)
{
    struct shm *shm;
    struct shm_peer *peer;
    uint64_t n, random = 5;
    uint32_t bytes, less;
    uint64_t *room;
    pid_t child;

    fresh_fabric();
    child = run(take_forged, NULL);
    shm = join_fabric();
    peer = peer_of_pid(shm, child);
    for (n = 0; n < RECORDS; n++) {
        bytes = 8 + (uint32_t)random_next(&random) % (n % 4 == 0 ? 4000 : 300) / 8 * 8;
        room = (uint64_t *)(void *)carrier_reserve(peer, SHM_REQUEST, bytes);
        forge(room, bytes, n, shm_sent(peer, SHM_REQUEST));
        if (n % 5 == 0) { /* a smaller one instead: what was written stays behind it */
            room = (uint64_t *)(void *)carrier_reserve(peer, SHM_REQUEST, 8);
            room[0] = n;
            bytes = 8;
        }
        less = n % 7 == 0 ? 8 : bytes;
        shm_publish(peer, SHM_REQUEST, DATA, less);
    }
    carrier_reserve(peer, SHM_REQUEST, 0);
    shm_publish(peer, SHM_REQUEST, STOP, 0);
    ended_well(child);
    shm_leave(shm);
    fabric_is_over();
}

/* ---- room ------------------------------------------------------------------------------------ */

static int release_on_request(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_peer *parent = peer_of_pid(shm, getppid());
    struct shm_record record;
    uint64_t n = 0;

    while (shm_reserve(parent, SHM_REPLY, 0) == NULL)
        ;
    while (!shm_next(shm, &record)) /* takes one, and does not release it */
        sched_yield();
    while (atomic_load((_Atomic unsigned *)arg) == 0) /* the ring is full */
        sched_yield();
    shm_publish(parent, SHM_REPLY, GO, 0);
    for (;;) {
        if (!shm_next(shm, &record)) {
            sched_yield();
            continue;
        }
        if (record.kind == STOP)
            break;
        must(carrier_is_filled(record.bytes, record.count, n++));
        shm_release(shm);
    }
    shm_release(shm);
    shm_leave(shm);
    return 0;
}

static void a_full_ring_says_so(void **state)
{
    struct shm *shm;
    struct shm_peer *peer;
    _Atomic unsigned *full = shared_counter();
    struct shm_record record;
    uint64_t n = 0;
    void *room;
    pid_t child;

    fresh_fabric();
    shm = join_fabric();
    child = run(release_on_request, (void *)full);
    peer = peer_of_pid(shm, child);
    while ((room = shm_reserve(peer, SHM_REQUEST, 8)) != NULL) {
        carrier_fill(room, 8, n++);
        shm_publish(peer, SHM_REQUEST, DATA, 8);
    }
    assert_int_equal(n, SHM_RING_SLOTS);
    assert_null(shm_reserve(peer, SHM_REQUEST, SHM_RECORD_MAX));
    assert_null(shm_reserve(peer, SHM_REQUEST, SHM_RECORD_MAX + 1));
    assert_int_equal(shm_executed(peer, SHM_REQUEST), 0);
    atomic_store(full, 1);
    while (!shm_next(shm, &record))
        ;
    assert_int_equal(record.kind, GO);
    assert_int_equal(record.channel, SHM_REPLY);
    shm_release(shm);
    for (; n < 2000; n++) {
        carrier_fill(carrier_reserve(peer, SHM_REQUEST, 8), 8, n);
        shm_publish(peer, SHM_REQUEST, DATA, 8);
    }
    carrier_reserve(peer, SHM_REQUEST, 0);
    shm_publish(peer, SHM_REQUEST, STOP, 0);
    wait_executed(shm, peer);
    ended_well(child);
    shm_leave(shm);
    fabric_is_over();
}

static int take_until_stopped(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_record record = {.kind = DATA};

    while (record.kind != STOP) {
        if (!shm_next(shm, &record)) {
            sched_yield();
            continue;
        }
        shm_release(shm);
    }
    shm_leave(shm);
    return 0;
}

/* A sender that polls only after the peer has ended still reads what the peer had executed. */
static void what_was_executed_before_the_end_counts(void **state)
{
    struct shm *shm;
    struct shm_peer *peer;
    struct shm_record record;
    pid_t child;
    unsigned i;

    fresh_fabric();
    shm = join_fabric();
    child = run(take_until_stopped, NULL);
    peer = peer_of_pid(shm, child);
    for (i = 0; i < 10; i++) {
        carrier_reserve(peer, SHM_REQUEST, 8);
        shm_publish(peer, SHM_REQUEST, i < 9 ? DATA : STOP, 8);
    }
    ended_well(child);
    while (!peer->gone)
        assert_false(shm_next(shm, &record));
    assert_int_equal(shm_executed(peer, SHM_REQUEST), shm_sent(peer, SHM_REQUEST));
    shm_leave(shm);
    fabric_is_over();
}

/* ---- answers --------------------------------------------------------------------------------- */

struct getter {
    struct shm *shm;
    struct shm_peer *peer;
    uint64_t asked, answered, served, position[RECORDS];
    bool other_done;
};

/* One step of both roles: answers what it can, takes the other's answers. */
static void get_step(struct getter *getter)
{
    struct shm_record record;
    uint64_t value, executed;
    uint64_t *room;

    while (shm_next(getter->shm, &record)) {
        if (record.channel == SHM_REPLY) {
            memcpy(&value, record.bytes, 8);
            must(value == getter->answered);
            getter->answered++;
            shm_release(getter->shm);
        } else if (record.kind == STOP) {
            getter->other_done = true;
            shm_release(getter->shm);
        } else if ((room = shm_reserve(record.from, SHM_REPLY, 1000)) == NULL) {
            shm_set_aside(getter->shm);
        } else {
            memset(room, 0, 1000);
            memcpy(room, record.bytes, 8);
            shm_publish(record.from, SHM_REPLY, GET, 1000);
            shm_release(getter->shm);
            getter->served++;
        }
    }
    /* Nothing counts as executed whose answer was not taken. */
    executed = shm_executed(getter->peer, SHM_REQUEST);
    if (getter->answered < getter->asked)
        must(executed < getter->position[getter->answered]);
}

static void get_all(struct getter *getter)
{
    uint64_t *room;

    while (getter->answered < RECORDS / 4 || !getter->other_done) {
        while (getter->asked < RECORDS / 4 &&
               (room = shm_reserve(getter->peer, SHM_REQUEST, 8)) != NULL) {
            *room = getter->asked;
            getter->position[getter->asked++] = shm_publish(getter->peer, SHM_REQUEST, GET, 8);
        }
        get_step(getter);
        if (getter->answered == RECORDS / 4 && getter->asked == RECORDS / 4 &&
            shm_reserve(getter->peer, SHM_REQUEST, 0) != NULL) {
            shm_publish(getter->peer, SHM_REQUEST, STOP, 0);
            getter->position[getter->asked++] = UINT64_MAX;
        }
        sched_yield();
    }
}

static int get_from_parent(void *arg)
{
    static struct getter getter;

    getter.shm = join_fabric();
    getter.peer = peer_of_pid(getter.shm, getppid());
    get_all(&getter);
    while (!getter.peer->gone) { /* it may need answers still */
        get_step(&getter);
        sched_yield();
    }
    must(getter.served == RECORDS / 4);
    shm_leave(getter.shm);
    return 0;
}

static void both_ask_until_everything_is_full_and_go_on(void **state)
{
    static struct getter getter;
    pid_t child;

    fresh_fabric();
    getter.shm = join_fabric();
    child = run(get_from_parent, NULL);
    getter.peer = peer_of_pid(getter.shm, child);
    get_all(&getter);
    assert_int_equal(getter.answered, RECORDS / 4);
    shm_leave(getter.shm);
    ended_well(child);
    fabric_is_over();
}

/* The last record is acknowledged to its sender at once, without another poll of the receiver. */
static void the_last_record_is_acknowledged_at_once(void **state)
{
    struct shm *shm;
    struct shm_peer *self;
    struct shm_record record;
    uint64_t i;

    fresh_fabric();
    shm = join_fabric();
    self = shm_self(shm);
    for (i = 0; i < 3; i++) {
        carrier_fill(carrier_reserve(self, SHM_REQUEST, 8), 8, i);
        shm_publish(self, SHM_REQUEST, DATA, 8);
    }
    for (i = 0; i < 3; i++) {
        assert_int_equal(shm_executed(self, SHM_REQUEST), 0);
        assert_true(shm_next(shm, &record));
        assert_true(carrier_is_filled(record.bytes, 8, i));
        assert_int_equal(shm_release(shm), i < 2);
    }
    assert_int_equal(shm_executed(self, SHM_REQUEST), shm_sent(self, SHM_REQUEST));
    assert_false(shm_release(shm)); /* there is none */
    shm_leave(shm);
    fabric_is_over();
}

static void records_to_oneself(void **state)
{
    struct shm *shm;
    struct shm_peer *self;
    struct shm_record record;
    uint64_t n;

    fresh_fabric();
    shm = join_fabric();
    self = shm_self(shm);
    assert_true(self->self);
    assert_ptr_equal(self->segment, shm_segment(shm));
    for (n = 0; n < 3000; n++) {
        carrier_fill(carrier_reserve(self, SHM_REQUEST, length_of(n)), length_of(n), n);
        shm_publish(self, SHM_REQUEST, DATA, length_of(n));
        while (!shm_next(shm, &record))
            ;
        assert_ptr_equal(record.from, self);
        assert_int_equal(record.count, length_of(n));
        assert_true(carrier_is_filled(record.bytes, record.count, n));
        shm_release(shm);
    }
    assert_false(shm_next(shm, &record));
    assert_int_equal(shm_executed(self, SHM_REQUEST), shm_sent(self, SHM_REQUEST));
    shm_leave(shm);
    fabric_is_over();
}

/* ---- many ------------------------------------------------------------------------------------ */

struct many {
    struct shm *shm;
    uint64_t from[SHM_PROCESSES_MAX];
    uint32_t stops;
};

static void many_take(struct many *many)
{
    struct shm_record record;
    uint64_t value;

    while (shm_next(many->shm, &record)) {
        if (record.kind == STOP) {
            many->stops++;
        } else {
            memcpy(&value, record.bytes, 8);
            must(value == many->from[record.from->slot]++);
            must(memcmp((const char *)record.bytes + 8, &record.from->slot, 4) == 0);
        }
        shm_release(many->shm);
    }
}

static void many_send(struct many *many, struct shm_peer *peer, uint32_t kind, uint64_t n)
{
    char *room;

    while ((room = shm_reserve(peer, SHM_REQUEST, 12)) == NULL) {
        many_take(many);
        sched_yield();
    }
    memcpy(room, &n, 8);
    memcpy(room + 8, &shm_self(many->shm)->slot, 4);
    shm_publish(peer, SHM_REQUEST, kind, 12);
}

static int one_of_many(void *arg)
{
    static struct many many;
    struct shm_peer *peers[MANY];
    struct shm_member member;
    uint32_t count = 0, slot, i;
    uint64_t n;

    many.shm = join_fabric();
    for (slot = 0; slot < MANY; slot++) { /* the first MANY slots, all used */
        while (!shm_member(many.shm, slot, &member))
            pause_us(1000);
        if (slot != shm_self(many.shm)->slot)
            peers[count++] = shm_peer(many.shm, slot, 0, NULL);
    }
    for (n = 0; n < MANY_RECORDS; n++)
        for (i = 0; i < count; i++)
            many_send(&many, peers[i], DATA, n);
    for (i = 0; i < count; i++)
        many_send(&many, peers[i], STOP, 0);
    while (many.stops < count) {
        many_take(&many);
        sched_yield();
    }
    for (i = 0; i < count; i++) {
        must(many.from[peers[i]->slot] == MANY_RECORDS);
        while (shm_executed(peers[i], SHM_REQUEST) != shm_sent(peers[i], SHM_REQUEST) &&
               !peers[i]->gone) {
            many_take(&many);
            sched_yield();
        }
    }
    shm_leave(many.shm);
    return 0;
}

static void everybody_to_everybody(void **state)
{
    pid_t children[MANY];
    unsigned i;

    fresh_fabric();
    for (i = 0; i < MANY; i++)
        children[i] = run(one_of_many, NULL);
    for (i = 0; i < MANY; i++)
        ended_well(children[i]);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_all_sizes_arrive_in_order),
        cmocka_unit_test(payload_is_never_taken_for_a_record),
        cmocka_unit_test(a_full_ring_says_so),
        cmocka_unit_test(what_was_executed_before_the_end_counts),
        cmocka_unit_test(both_ask_until_everything_is_full_and_go_on),
        cmocka_unit_test(the_last_record_is_acknowledged_at_once),
        cmocka_unit_test(records_to_oneself),
        cmocka_unit_test(everybody_to_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
