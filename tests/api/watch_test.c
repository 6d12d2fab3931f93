/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that watch memory while they poll queues: idle polling must not be simulated so cleverly
 * that they miss a write (part of item 72).
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

struct watched {
    struct domain domain;
    volatile uint64_t *memory;
    gni_mem_handle_t handle;
};

static void watched_open(struct rank *rank, struct watched *watched)
{
    domain_open(rank, &watched->domain, 0);
    watched->memory = aligned_alloc(4096, 4096);
    memset((void *)watched->memory, 0, 4096);
    watched->handle =
        domain_register(&watched->domain, (void *)watched->memory, 4096, NULL, GNI_MEM_READWRITE);
    publish(rank, watched->handle, (void *)watched->memory);
}

static void watched_close(struct rank *rank, struct watched *watched)
{
    machine_barrier(rank);
    domain_close(&watched->domain);
    free((void *)watched->memory);
}

/* Long after the peer has begun to idle. */
static void write_late(struct rank *rank, struct watched *watched, gni_post_descriptor_t *descr)
{
    gni_ep_handle_t ep = domain_connect(rank, &watched->domain, 1);

    sim_sleep_until(sim_local_time() + 100 * SIM_US);
    descr->remote_addr = published_address(rank, 1);
    descr->remote_mem_hndl = published_handle(rank, 1);
    assert_ok(post(ep, descr));
    complete(watched->domain.source, descr);
}

/* Looks after each poll, after each third, after each sixteenth. */
static void await_word(struct watched *watched, uint64_t value)
{
    static const unsigned polls[] = {1, 3, 16};
    gni_cq_entry_t event;
    unsigned i = (unsigned)(value - 1), n;

    while (*watched->memory < value)
        for (n = 0; n < polls[i]; n++)
            assert_rc(GNI_CqGetEvent(watched->domain.source, &event), GNI_RC_NOT_DONE);
}

static void put_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct watched watched;
    uint64_t value;

    watched_open(rank, &watched);
    for (value = 1; value <= 3; value++) {
        if (rank->id == 0) {
            descr = describe_put(GNI_POST_FMA_PUT, &value, watched.handle, 0, watched.handle, 8);
            write_late(rank, &watched, &descr);
        } else {
            await_word(&watched, value);
        }
    }
    watched_close(rank, &watched);
}

static void ugni_72_put_into_watched_memory(void **state)
{
    machine_run(&(struct machine){.main = put_main});
}

static void amo_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct watched watched;
    uint64_t value;

    watched_open(rank, &watched);
    for (value = 1; value <= 3; value++) {
        if (rank->id == 0) {
            descr = describe_amo(GNI_FMA_ATOMIC_ADD, 1, 0, NULL, watched.handle, 0, watched.handle);
            write_late(rank, &watched, &descr);
        } else {
            await_word(&watched, value);
        }
    }
    watched_close(rank, &watched);
}

static void ugni_83_add_to_watched_memory(void **state)
{
    machine_run(&(struct machine){.main = amo_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_72_put_into_watched_memory),
        cmocka_unit_test(ugni_83_add_to_watched_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
