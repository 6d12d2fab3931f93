/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Properties of a whole program: it may be a forked child, and it runs the same again. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- item 18 --------------------------------------------------------------------------------- */

static void hello_main(struct rank *rank)
{
    static uint64_t words[2];
    uint32_t peer = rank->id ^ 1;
    gni_post_descriptor_t descr;
    struct domain domain;
    gni_mem_handle_t handle;

    words[rank->id] = 0x1000 + rank->id;
    domain_open(rank, &domain, 0);
    handle = domain_register(&domain, &words[rank->id], 8, domain.target, 0);
    publish(rank, handle, &words[rank->id]);
    descr = describe_put(GNI_POST_RDMA_PUT, &words[rank->id], handle, published_address(rank, peer),
                         published_handle(rank, peer), 8);
    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    if (rank->id == 0) {
        assert_ok(post(domain_connect(rank, &domain, peer), &descr));
        complete(domain.source, &descr);
    } else {
        good_event(domain.target);
        assert_int_equal(words[1], 0x1000);
    }
    machine_barrier(rank);
    domain_close(&domain);
}

/*
 * The first calls are those of a child, followed by those of its parent. Calls of a child that was
 * forked during a run are not defined.
 */
static void ugni_18_child_forked_before_the_first_call(void **state)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        machine_run(&(struct machine){.main = hello_main});
        _exit(23);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 23);
    machine_run(&(struct machine){.main = hello_main});
}

/* ---- item 138 -------------------------------------------------------------------------------- */

#define RESULTS 4096
#define STEPS 300

struct history { /* of one rank */
    uint64_t count;
    struct {
        uint32_t call, result;
        uint64_t value;
        sim_time_t at;
    } results[RESULTS];
};

static struct history *histories; /* of the run that goes on */

static void note(const struct rank *rank, uint32_t call, uint32_t result, uint64_t value)
{
    struct history *history = &histories[rank->id];

    assert_true(history->count < RESULTS);
    history->results[history->count].call = call;
    history->results[history->count].result = result;
    history->results[history->count].value = value;
    history->results[history->count].at = sim_clock_read();
    history->count++;
}

struct client {
    struct rank *rank;
    struct domain domain;
    gni_ep_handle_t ep[4];
    gni_post_descriptor_t descr[16];
    gni_mem_handle_t handle;
    uint8_t *memory;
    uint64_t random;
    bool busy[16];
};

#define MEMORY (64u << 10)

static uint32_t draw(struct client *client, uint32_t below)
{
    client->random = client->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(client->random >> 33) % below;
}

static void post_something(struct client *client)
{
    static const gni_post_type_t types[] = {GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET, GNI_POST_FMA_PUT,
                                            GNI_POST_FMA_GET, GNI_POST_AMO};
    uint32_t which = draw(client, 16), peer = draw(client, 4), type = draw(client, 5);
    uint32_t length = 4 + draw(client, 2000) * 4, place = draw(client, MEMORY / 8) * 4;
    gni_post_descriptor_t *descr = &client->descr[which];
    uint64_t remote = published_address(client->rank, peer) + MEMORY / 2 + place / 2 / 8 * 8;

    if (client->busy[which] || client->ep[peer] == NULL)
        return;
    if (type == 4)
        *descr = describe_amo(GNI_FMA_ATOMIC_FADD, 1, 0, client->memory + which * 8, client->handle,
                              remote, published_handle(client->rank, peer));
    else
        *descr = describe_put(types[type], client->memory + place, client->handle, remote,
                              published_handle(client->rank, peer), length);
    descr->post_id = which;
    client->busy[which] = post(client->ep[peer], descr) == GNI_RC_SUCCESS;
    note(client->rank, 1, client->busy[which], which << 16 | peer << 8 | type);
}

static void collect(struct client *client)
{
    gni_post_descriptor_t *done = NULL;
    gni_cq_entry_t entry;
    gni_return_t rc = GNI_CqGetEvent(client->domain.source, &entry);

    note(client->rank, 2, rc, entry);
    if (rc == GNI_RC_NOT_DONE)
        return;
    rc = GNI_GetCompleted(client->domain.source, entry, &done);
    note(client->rank, 3, rc, done->post_id);
    client->busy[done->post_id] = false;
}

static void client_main(struct rank *rank)
{
    struct client client = {.rank = rank, .random = 7 + rank->id};
    uint32_t peer, step;

    /* Wherever the memory lies: each run has other memory. */
    client.memory = aligned_alloc(64, MEMORY);
    assert_non_null(client.memory);
    memset(client.memory, (int)rank->id, MEMORY);
    domain_open(rank, &client.domain, GNI_CDM_MODE_ERR_NO_KILL);
    client.handle = domain_register(&client.domain, client.memory, MEMORY, NULL, 0);
    publish(rank, client.handle, client.memory);
    for (peer = 0; peer < 4; peer++)
        if (peer != rank->id)
            client.ep[peer] = domain_connect(rank, &client.domain, peer);
    for (step = 0; step < STEPS; step++) {
        post_something(&client);
        collect(&client);
        note(rank, 4, GNI_EpIdle(client.ep[rank->id ^ 1]), 0);
    }
    for (step = 0; step < 16; step++)
        while (client.busy[step])
            collect(&client);
    machine_barrier(rank);
    domain_close(&client.domain);
    free(client.memory);
}

static void lose_some(struct machine *machine)
{
    struct sim_fault_rule rule = packet_rule(SIM_FAULT_CORRUPT, SIM_FAULT_ANY);

    rule.count_max = 0;
    rule.probability = 0.01;
    sim_random_init(&rule.random, machine->seed, "fault", 0);
    packet_rule_add(&rule);
}

static struct history *run_with(uint64_t seed)
{
    struct machine machine = {
        .ranks = 4, .seed = seed, .prepare = lose_some, .main = client_main, .unbalanced = true};

    histories = calloc(4, sizeof *histories);
    assert_non_null(histories);
    machine_run(&machine);
    return histories;
}

static void ugni_138_same_seed_same_results(void **state)
{
    struct history *first = run_with(5), *second, *other;
    void *hole = malloc(123456); /* later allocations get other addresses */

    second = run_with(5);
    assert_true(first[0].count > STEPS);
    assert_memory_equal(first, second, 4 * sizeof *first);
    other = run_with(6);
    assert_true(memcmp(first, other, 4 * sizeof *first) != 0);
    free(hole);
    free(first);
    free(second);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_18_child_forked_before_the_first_call), /* first */
        cmocka_unit_test(ugni_138_same_seed_same_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
