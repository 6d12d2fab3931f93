/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies between the memories of two processes. */
#include <sched.h>
#include <unistd.h>
#include "carrier.h"

enum { DATA = 1, STOP = 2 };

static int offer_memory(void *arg)
{
    static uint8_t memory[100000];
    struct shm *shm = join_fabric();
    struct shm_peer *parent = peer_of_pid(shm, getppid());
    struct shm_record record;
    uint64_t address = (uintptr_t)memory;

    carrier_fill(memory, sizeof(memory), 4);
    memcpy(shm_segment(shm), &address, 8);
    memcpy(carrier_reserve(parent, SHM_REQUEST, 8), &address, 8);
    shm_publish(parent, SHM_REQUEST, DATA, 8);
    while (!shm_next(shm, &record))
        sched_yield();
    must(carrier_is_filled(memory, 8000, 5));
    shm_release(shm);
    shm_leave(shm);
    return 0;
}

static void copies_between_processes(void **state)
{
    static uint8_t memory[100000];
    struct shm *shm;
    struct shm_record record;
    struct shm_peer *peer;
    uint64_t address;
    pid_t child;

    fresh_fabric();
    shm = join_fabric();
    child = run(offer_memory, NULL);
    while (!shm_next(shm, &record))
        ;
    peer = record.from;
    memcpy(&address, record.bytes, 8);
    shm_release(shm);
    assert_int_equal(peer->segment_bytes, 4096);
    assert_memory_equal(peer->segment, &address, 8);
    assert_int_equal(shm_copy_from(peer, address, memory, sizeof(memory)), 0);
    assert_true(carrier_is_filled(memory, 8000, 4));
    carrier_fill(memory, 8000, 5);
    assert_int_equal(shm_copy_to(peer, address, memory, sizeof(memory)), 0);
    assert_int_equal(shm_copy_to(peer, 4096, memory, 8), -14 /* EFAULT */);
    carrier_reserve(peer, SHM_REQUEST, 0);
    shm_publish(peer, SHM_REQUEST, STOP, 0);
    ended_well(child);
    while (!peer->gone)
        shm_next(shm, &record);
    assert_int_equal(shm_copy_to(peer, address, memory, 8), -3 /* ESRCH */);
    shm_leave(shm);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_between_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
