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
        return (uint32_t)random_next(&state) % (LIVE_RECORD_SMALL + 1);
    if (pick < 15)
        return (uint32_t)random_next(&state) % 1000;
    return (uint32_t)random_next(&state) % (LIVE_RECORD_MAX + 1);
}

static void fill(uint8_t *room, uint32_t bytes, uint64_t n)
{
    uint64_t state = n + 77;
    uint32_t i;

    for (i = 0; i < bytes; i++) {
        if (i % 8 == 0)
            random_next(&state);
        room[i] = (uint8_t)(state >> (i % 8 * 8));
    }
}

static bool is_filled(const uint8_t *bytes, uint32_t count, uint64_t n)
{
    static uint8_t expected[LIVE_RECORD_MAX];

    fill(expected, count, n);
    return memcmp(bytes, expected, count) == 0;
}

static uint8_t *reserve(struct live_peer *peer, enum live_channel channel, uint32_t bytes)
{
    void *room;

    while ((room = live_reserve(peer, channel, bytes)) == NULL)
        sched_yield();
    return room;
}

static void wait_executed(struct live *live, struct live_peer *peer)
{
    struct live_record record;

    while (live_executed(peer, LIVE_REQUEST) != live_sent(peer, LIVE_REQUEST)) {
        must(!live_next(live, &record));
        sched_yield();
    }
}

/* ---- contents and order ---------------------------------------------------------------------- */

static int take_all(void *arg)
{
    struct live *live = join_fabric();
    struct live_record record;
    uint64_t n = 0;

    for (;;) {
        if (!live_next(live, &record)) {
            sched_yield();
            continue;
        }
        if (record.kind == STOP)
            break;
        must(record.kind == DATA && record.channel == LIVE_REQUEST);
        must(record.count == length_of(n));
        must(is_filled(record.bytes, record.count, n));
        n++;
        live_release(live);
    }
    must(n == RECORDS);
    live_release(live);
    live_leave(live);
    return 0;
}

static void records_of_all_sizes_arrive_in_order(void **state)
{
    struct live *live;
    struct live_peer *peer;
    uint64_t n, position = 0;
    pid_t child;

    fresh_fabric();
    child = run(take_all, NULL);
    live = join_fabric();
    peer = peer_of_pid(live, child);
    for (n = 0; n < RECORDS; n++) {
        fill(reserve(peer, LIVE_REQUEST, length_of(n)), length_of(n), n);
        assert_true(live_publish(peer, LIVE_REQUEST, DATA, length_of(n)) > position);
        position = live_sent(peer, LIVE_REQUEST);
        assert_true(live_executed(peer, LIVE_REQUEST) <= position);
    }
    reserve(peer, LIVE_REQUEST, 0);
    live_publish(peer, LIVE_REQUEST, STOP, 0);
    wait_executed(live, peer);
    ended_well(child);
    live_leave(live);
    fabric_is_over();
}

/* Payload that is made of valid words of all positions, in records of all lengths, some of them
 * reserved and filled only: none of it may be taken for a record. */
static int take_forged(void *arg)
{
    struct live *live = join_fabric();
    struct live_record record;
    uint64_t n = 0, value;

    for (;;) {
        if (!live_next(live, &record)) {
            sched_yield();
            continue;
        }
        if (record.kind == STOP)
            break;
        must(record.kind == DATA && record.count >= 8);
        memcpy(&value, record.bytes, 8);
        must(value == n);
        n++;
        live_release(live);
    }
    live_release(live);
    live_leave(live);
    return 0;
}

static void forge(uint64_t *words, uint32_t bytes, uint64_t n, uint64_t position)
{
    uint32_t i;

    for (i = 0; i < bytes / 8; i++) /* the slots after this one, in this lap or a later one */
        words[i] = record_word(position + (i + 1) / 8 + n % 3 * LIVE_RING_SLOTS, 0, 8, GET, 0);
    words[0] = n;
}

static void payload_is_never_taken_for_a_record(void **state)
{
    struct live *live;
    struct live_peer *peer;
    uint64_t n, random = 5;
    uint32_t bytes, less;
    uint64_t *room;
    pid_t child;

    fresh_fabric();
    child = run(take_forged, NULL);
    live = join_fabric();
    peer = peer_of_pid(live, child);
    for (n = 0; n < RECORDS; n++) {
        bytes = 8 + (uint32_t)random_next(&random) % (n % 4 == 0 ? 4000 : 300) / 8 * 8;
        room = (uint64_t *)(void *)reserve(peer, LIVE_REQUEST, bytes);
        forge(room, bytes, n, live_sent(peer, LIVE_REQUEST));
        if (n % 5 == 0) { /* a smaller one instead: what was written stays behind it */
            room = (uint64_t *)(void *)reserve(peer, LIVE_REQUEST, 8);
            room[0] = n;
            bytes = 8;
        }
        less = n % 7 == 0 ? 8 : bytes;
        live_publish(peer, LIVE_REQUEST, DATA, less);
    }
    reserve(peer, LIVE_REQUEST, 0);
    live_publish(peer, LIVE_REQUEST, STOP, 0);
    ended_well(child);
    live_leave(live);
    fabric_is_over();
}

/* ---- room ------------------------------------------------------------------------------------ */

static int take_when_told(void *arg)
{
    struct live *live = join_fabric();
    struct live_peer *parent = peer_of_pid(live, getppid());
    struct live_record record;
    uint64_t n = 0;

    while (live_reserve(parent, LIVE_REPLY, 0) == NULL)
        ;
    while (!live_next(live, &record)) /* takes one, and does not release it */
        sched_yield();
    pause_us(100000);
    live_publish(parent, LIVE_REPLY, GO, 0);
    for (;;) {
        if (!live_next(live, &record)) {
            sched_yield();
            continue;
        }
        if (record.kind == STOP)
            break;
        must(is_filled(record.bytes, record.count, n++));
        live_release(live);
    }
    live_release(live);
    live_leave(live);
    return 0;
}

static void a_full_ring_says_so(void **state)
{
    struct live *live;
    struct live_peer *peer;
    struct live_record record;
    uint64_t n = 0;
    void *room;
    pid_t child;

    fresh_fabric();
    live = join_fabric();
    child = run(take_when_told, NULL);
    peer = peer_of_pid(live, child);
    while ((room = live_reserve(peer, LIVE_REQUEST, 8)) != NULL) {
        fill(room, 8, n++);
        live_publish(peer, LIVE_REQUEST, DATA, 8);
    }
    assert_int_equal(n, LIVE_RING_SLOTS);
    assert_null(live_reserve(peer, LIVE_REQUEST, LIVE_RECORD_MAX));
    assert_null(live_reserve(peer, LIVE_REQUEST, LIVE_RECORD_MAX + 1));
    assert_int_equal(live_executed(peer, LIVE_REQUEST), 0);
    while (!live_next(live, &record))
        ;
    assert_int_equal(record.kind, GO);
    assert_int_equal(record.channel, LIVE_REPLY);
    live_release(live);
    for (; n < 2000; n++) {
        fill(reserve(peer, LIVE_REQUEST, 8), 8, n);
        live_publish(peer, LIVE_REQUEST, DATA, 8);
    }
    reserve(peer, LIVE_REQUEST, 0);
    live_publish(peer, LIVE_REQUEST, STOP, 0);
    wait_executed(live, peer);
    ended_well(child);
    live_leave(live);
    fabric_is_over();
}

static int take_until_stopped(void *arg)
{
    struct live *live = join_fabric();
    struct live_record record = {.kind = DATA};

    while (record.kind != STOP) {
        if (!live_next(live, &record)) {
            sched_yield();
            continue;
        }
        live_release(live);
    }
    live_leave(live);
    return 0;
}

/* Whoever looks again only after the peer has ended learns all the same how far it had come. */
static void what_was_executed_before_the_end_counts(void **state)
{
    struct live *live;
    struct live_peer *peer;
    struct live_record record;
    pid_t child;
    unsigned i;

    fresh_fabric();
    live = join_fabric();
    child = run(take_until_stopped, NULL);
    peer = peer_of_pid(live, child);
    for (i = 0; i < 10; i++) {
        reserve(peer, LIVE_REQUEST, 8);
        live_publish(peer, LIVE_REQUEST, i < 9 ? DATA : STOP, 8);
    }
    ended_well(child);
    while (!peer->gone)
        assert_false(live_next(live, &record));
    assert_int_equal(live_executed(peer, LIVE_REQUEST), live_sent(peer, LIVE_REQUEST));
    live_leave(live);
    fabric_is_over();
}

/* ---- answers --------------------------------------------------------------------------------- */

struct getter {
    struct live *live;
    struct live_peer *peer;
    uint64_t asked, answered, served, position[RECORDS];
    bool other_done;
};

/* One step of both roles: answers what it can, takes the other's answers. */
static void get_step(struct getter *getter)
{
    struct live_record record;
    uint64_t value, executed;
    uint64_t *room;

    while (live_next(getter->live, &record)) {
        if (record.channel == LIVE_REPLY) {
            memcpy(&value, record.bytes, 8);
            must(value == getter->answered);
            getter->answered++;
            live_release(getter->live);
        } else if (record.kind == STOP) {
            getter->other_done = true;
            live_release(getter->live);
        } else if ((room = live_reserve(record.from, LIVE_REPLY, 1000)) == NULL) {
            live_set_aside(getter->live);
        } else {
            memset(room, 0, 1000);
            memcpy(room, record.bytes, 8);
            live_publish(record.from, LIVE_REPLY, GET, 1000);
            live_release(getter->live);
            getter->served++;
        }
    }
    /* Nothing counts as executed whose answer was not taken. */
    executed = live_executed(getter->peer, LIVE_REQUEST);
    if (getter->answered < getter->asked)
        must(executed < getter->position[getter->answered]);
}

static void get_all(struct getter *getter)
{
    uint64_t *room;

    while (getter->answered < RECORDS / 4 || !getter->other_done) {
        while (getter->asked < RECORDS / 4 &&
               (room = live_reserve(getter->peer, LIVE_REQUEST, 8)) != NULL) {
            *room = getter->asked;
            getter->position[getter->asked++] = live_publish(getter->peer, LIVE_REQUEST, GET, 8);
        }
        get_step(getter);
        if (getter->answered == RECORDS / 4 && getter->asked == RECORDS / 4 &&
            live_reserve(getter->peer, LIVE_REQUEST, 0) != NULL) {
            live_publish(getter->peer, LIVE_REQUEST, STOP, 0);
            getter->position[getter->asked++] = UINT64_MAX;
        }
        sched_yield();
    }
}

static int get_from_parent(void *arg)
{
    static struct getter getter;

    getter.live = join_fabric();
    getter.peer = peer_of_pid(getter.live, getppid());
    get_all(&getter);
    while (!getter.peer->gone) { /* it may need answers still */
        get_step(&getter);
        sched_yield();
    }
    must(getter.served == RECORDS / 4);
    live_leave(getter.live);
    return 0;
}

static void both_ask_until_everything_is_full_and_go_on(void **state)
{
    static struct getter getter;
    pid_t child;

    fresh_fabric();
    getter.live = join_fabric();
    child = run(get_from_parent, NULL);
    getter.peer = peer_of_pid(getter.live, child);
    get_all(&getter);
    assert_int_equal(getter.answered, RECORDS / 4);
    live_leave(getter.live);
    ended_well(child);
    fabric_is_over();
}

/* Whoever sends hears of the last record at once, without another look of the receiver's. */
static void the_last_of_a_ring_is_told(void **state)
{
    struct live *live;
    struct live_peer *self;
    struct live_record record;
    uint64_t i;

    fresh_fabric();
    live = join_fabric();
    self = live_self(live);
    for (i = 0; i < 3; i++) {
        fill(reserve(self, LIVE_REQUEST, 8), 8, i);
        live_publish(self, LIVE_REQUEST, DATA, 8);
    }
    for (i = 0; i < 3; i++) {
        assert_int_equal(live_executed(self, LIVE_REQUEST), 0);
        assert_true(live_next(live, &record));
        assert_true(is_filled(record.bytes, 8, i));
        assert_int_equal(live_release(live), i < 2);
    }
    assert_int_equal(live_executed(self, LIVE_REQUEST), live_sent(self, LIVE_REQUEST));
    assert_false(live_release(live)); /* there is none */
    live_leave(live);
    fabric_is_over();
}

static void records_to_oneself(void **state)
{
    struct live *live;
    struct live_peer *self;
    struct live_record record;
    uint64_t n;

    fresh_fabric();
    live = join_fabric();
    self = live_self(live);
    assert_true(self->self);
    assert_ptr_equal(self->board, live_board(live));
    for (n = 0; n < 3000; n++) {
        fill(reserve(self, LIVE_REQUEST, length_of(n)), length_of(n), n);
        live_publish(self, LIVE_REQUEST, DATA, length_of(n));
        while (!live_next(live, &record))
            ;
        assert_ptr_equal(record.from, self);
        assert_int_equal(record.count, length_of(n));
        assert_true(is_filled(record.bytes, record.count, n));
        live_release(live);
    }
    assert_false(live_next(live, &record));
    assert_int_equal(live_executed(self, LIVE_REQUEST), live_sent(self, LIVE_REQUEST));
    live_leave(live);
    fabric_is_over();
}

/* ---- many ------------------------------------------------------------------------------------ */

struct many {
    struct live *live;
    uint64_t from[LIVE_PROCESSES_MAX];
    uint32_t stops;
};

static void many_take(struct many *many)
{
    struct live_record record;
    uint64_t value;

    while (live_next(many->live, &record)) {
        if (record.kind == STOP) {
            many->stops++;
        } else {
            memcpy(&value, record.bytes, 8);
            must(value == many->from[record.from->slot]++);
            must(memcmp((const char *)record.bytes + 8, &record.from->slot, 4) == 0);
        }
        live_release(many->live);
    }
}

static void many_send(struct many *many, struct live_peer *peer, uint32_t kind, uint64_t n)
{
    char *room;

    while ((room = live_reserve(peer, LIVE_REQUEST, 12)) == NULL) {
        many_take(many);
        sched_yield();
    }
    memcpy(room, &n, 8);
    memcpy(room + 8, &live_self(many->live)->slot, 4);
    live_publish(peer, LIVE_REQUEST, kind, 12);
}

static int one_of_many(void *arg)
{
    static struct many many;
    struct live_peer *peers[MANY];
    struct live_member member;
    uint32_t count = 0, slot, i;
    uint64_t n;

    many.live = join_fabric();
    for (slot = 0; slot < MANY; slot++) { /* the first MANY slots, all used */
        while (!live_member(many.live, slot, &member))
            pause_us(1000);
        if (slot != live_self(many.live)->slot)
            peers[count++] = live_peer(many.live, slot, 0, NULL);
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
        while (live_executed(peers[i], LIVE_REQUEST) != live_sent(peers[i], LIVE_REQUEST) &&
               !peers[i]->gone) {
            many_take(&many);
            sched_yield();
        }
    }
    live_leave(many.live);
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

/* ---- copies ---------------------------------------------------------------------------------- */

static int offer_memory(void *arg)
{
    static uint8_t memory[100000];
    struct live *live = join_fabric();
    struct live_peer *parent = peer_of_pid(live, getppid());
    struct live_record record;
    uint64_t address = (uintptr_t)memory;

    fill(memory, sizeof(memory), 4);
    memcpy(live_board(live), &address, 8);
    memcpy(reserve(parent, LIVE_REQUEST, 8), &address, 8);
    live_publish(parent, LIVE_REQUEST, DATA, 8);
    while (!live_next(live, &record))
        sched_yield();
    must(is_filled(memory, 8000, 5));
    live_release(live);
    live_leave(live);
    return 0;
}

static void copies_between_processes(void **state)
{
    static uint8_t memory[100000];
    struct live *live;
    struct live_record record;
    struct live_peer *peer;
    uint64_t address;
    pid_t child;

    fresh_fabric();
    live = join_fabric();
    child = run(offer_memory, NULL);
    while (!live_next(live, &record))
        ;
    peer = record.from;
    memcpy(&address, record.bytes, 8);
    live_release(live);
    assert_int_equal(peer->board_bytes, 4096);
    assert_memory_equal(peer->board, &address, 8);
    assert_int_equal(live_copy_from(peer, address, memory, sizeof(memory)), 0);
    assert_true(is_filled(memory, 8000, 4));
    fill(memory, 8000, 5);
    assert_int_equal(live_copy_to(peer, address, memory, sizeof(memory)), 0);
    assert_int_equal(live_copy_to(peer, 4096, memory, 8), -14 /* EFAULT */);
    reserve(peer, LIVE_REQUEST, 0);
    live_publish(peer, LIVE_REQUEST, STOP, 0);
    ended_well(child);
    while (!peer->gone)
        live_next(live, &record);
    assert_int_equal(live_copy_to(peer, address, memory, 8), -3 /* ESRCH */);
    live_leave(live);
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
        cmocka_unit_test(the_last_of_a_ring_is_told),
        cmocka_unit_test(records_to_oneself),
        cmocka_unit_test(everybody_to_everybody),
        cmocka_unit_test(copies_between_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
