/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry of names: owners, shares, and what is left when somebody dies. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "carrier.h"
#include "server/internal.h"

#define KEYS 400u
#define STEPS 6000u
#define KIND 7u

static struct shm_key key_of(uint64_t n)
{
    return (struct shm_key){.node = (uint32_t)n % 3, .kind = KIND, .key = {n / 3, n * n}};
}

static void claims_and_lookups(void **state)
{
    struct shm *shm, *other;
    struct shm_key key = {.node = 3, .kind = 1, .key = {5, 6}}, near = key;
    struct shm_name name, found;

    fresh_fabric();
    shm = join_fabric();
    other = join_fabric();
    assert_int_equal(shm_lookup(shm, &key, &name), -ENOENT);
    assert_int_equal(shm_claim(shm, &key, 42, &found), 0);
    assert_int_equal(found.value, 42);
    assert_int_equal(shm_claim(other, &key, 43, &found), -EEXIST);
    assert_int_equal(found.value, 42);
    assert_int_equal(found.slot, shm_self(shm)->slot);
    assert_int_equal(found.generation, shm_self(shm)->generation);
    assert_int_equal(shm_claim(shm, &key, 44, NULL), -EEXIST);
    assert_int_equal(shm_lookup(other, &key, &name), 0);
    assert_memory_equal(&name, &found, sizeof(name));
    near.key[1]++;
    assert_int_equal(shm_lookup(other, &near, &name), -ENOENT);
    near = key;
    near.node++;
    assert_int_equal(shm_lookup(other, &near, &name), -ENOENT);
    near = key;
    near.kind++;
    assert_int_equal(shm_lookup(other, &near, &name), -ENOENT);
    assert_int_equal(shm_unclaim(other, &key), -ENOENT);
    assert_int_equal(shm_unclaim(shm, &key), 0);
    assert_int_equal(shm_unclaim(shm, &key), -ENOENT);
    assert_int_equal(shm_lookup(other, &key, &name), -ENOENT);
    assert_int_equal(shm_claim(other, &key, 43, NULL), 0);
    shm_leave(other);
    while (shm_lookup(shm, &key, &name) == 0)
        pause_us(1000);
    shm_leave(shm);
    fabric_is_over();
}

static void shared_names_end_with_the_last_claim(void **state)
{
    struct shm *shm, *other;
    struct shm_key key = {.kind = 2, .key = {1, 1}};
    struct shm_name name;

    fresh_fabric();
    shm = join_fabric();
    other = join_fabric();
    assert_int_equal(shm_claim_shared(shm, &key, 10, &name), 0);
    assert_int_equal(shm_claim_shared(other, &key, 11, &name), 0);
    assert_int_equal(name.value, 10);
    assert_int_equal(shm_claim_shared(other, &key, 12, &name), 0);
    assert_int_equal(shm_claim(other, &key, 1, NULL), -EEXIST);
    assert_int_equal(shm_unclaim(shm, &key), 0);
    assert_int_equal(shm_unclaim(shm, &key), -ENOENT);
    assert_int_equal(shm_lookup(shm, &key, &name), 0);
    assert_int_equal(name.value, 10);
    assert_int_equal(name.slot, shm_self(other)->slot);
    assert_int_equal(shm_unclaim(other, &key), 0);
    assert_int_equal(shm_lookup(shm, &key, &name), 0);
    assert_int_equal(shm_unclaim(other, &key), 0);
    assert_int_equal(shm_lookup(shm, &key, &name), -ENOENT);
    assert_int_equal(shm_claim(other, &key, 1, NULL), 0);
    assert_int_equal(shm_claim_shared(shm, &key, 1, NULL), -EEXIST);
    shm_leave(other);
    shm_leave(shm);
    fabric_is_over();
}

static void the_first_free_one(void **state)
{
    struct shm *shm, *other;
    struct shm_key key = {.kind = 3, .key = {100, 0}};
    uint64_t n;

    fresh_fabric();
    shm = join_fabric();
    other = join_fabric();
    for (n = 0; n < 10; n++) {
        key.key[0] = 100;
        assert_int_equal(shm_claim_free(n % 2 ? shm : other, &key, 10, n), 0);
        assert_int_equal(key.key[0], 100 + n);
    }
    key.key[0] = 100;
    assert_int_equal(shm_claim_free(shm, &key, 10, n), -EEXIST);
    assert_int_equal(shm_claim_free(shm, &key, 65537, n), -EINVAL);
    key.key[0] = 104;
    assert_int_equal(shm_unclaim(other, &key), 0);
    key.key[0] = 100;
    assert_int_equal(shm_claim_free(shm, &key, 10, n), 0);
    assert_int_equal(key.key[0], 104);
    shm_leave(other);
    shm_leave(shm);
    fabric_is_over();
}

static int die_with_names(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_key key;
    uint64_t n;

    for (n = 0; n < 50; n++) {
        key = key_of(n);
        must(shm_claim(shm, &key, n, NULL) == 0);
    }
    raise(SIGKILL);
    return 1;
}

/* Claimed again at once by a successor: nobody waits until the daemon has noticed. */
static void names_of_the_dead_are_free(void **state)
{
    struct shm *shm;
    struct shm_key key;
    unsigned round;
    uint64_t n;
    pid_t child;

    fresh_fabric();
    shm = join_fabric();
    for (round = 0; round < 20; round++) {
        child = run(die_with_names, NULL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        for (n = 0; n < 50; n++) {
            key = key_of(n);
            assert_int_equal(shm_claim(shm, &key, n, NULL), 0);
        }
        for (n = 0; n < 50; n++) {
            key = key_of(n);
            assert_int_equal(shm_unclaim(shm, &key), 0);
        }
    }
    shm_leave(shm);
    fabric_is_over();
}

/* Looks names up all the time: whatever it finds is whole. */
static int find_names(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_key key, last = {.kind = KIND + 1};
    struct shm_name name;
    uint64_t random = 9, n;

    while (shm_lookup(shm, &last, &name) != 0) {
        n = random_next(&random) % KEYS;
        key = key_of(n);
        if (shm_lookup(shm, &key, &name) == 0)
            must(name.value == n * 1000 + name.slot);
    }
    shm_leave(shm);
    return 0;
}

static void a_model_of_the_registry(void **state)
{
    static uint8_t owner[KEYS]; /* 0: nobody */
    struct shm *members[2];
    struct shm_key key, last = {.kind = KIND + 1};
    struct shm_name name;
    uint64_t random = 11, n;
    uint32_t step, who;
    pid_t child;
    int result;

    fresh_fabric();
    memset(owner, 0, sizeof(owner));
    child = run(find_names, NULL);
    members[0] = join_fabric();
    members[1] = join_fabric();
    for (step = 0; step < STEPS; step++) {
        n = random_next(&random) % KEYS;
        who = (uint32_t)(random_next(&random) % 2);
        key = key_of(n);
        if (random_next(&random) % 2 == 0) {
            result = shm_claim(members[who], &key, n * 1000 + shm_self(members[who])->slot, NULL);
            assert_int_equal(result, owner[n] == 0 ? 0 : -EEXIST);
            owner[n] = owner[n] == 0 ? (uint8_t)(who + 1) : owner[n];
        } else {
            result = shm_unclaim(members[who], &key);
            assert_int_equal(result, owner[n] == who + 1 ? 0 : -ENOENT);
            owner[n] = owner[n] == who + 1 ? 0 : owner[n];
        }
        n = random_next(&random) % KEYS;
        key = key_of(n);
        result = shm_lookup(members[who], &key, &name);
        assert_int_equal(result, owner[n] == 0 ? -ENOENT : 0);
        if (result == 0)
            assert_int_equal(name.slot, shm_self(members[owner[n] - 1])->slot);
    }
    assert_int_equal(shm_claim(members[0], &last, 0, NULL), 0);
    ended_well(child);
    shm_leave(members[1]);
    shm_leave(members[0]);
    fabric_is_over();
}

/* ---- a daemon that loses the processor while it writes --------------------------------------- */

struct daemon {
    uv_loop_t loop;
    uv_async_t stop;
    struct shm_server *server;
    pthread_t thread;
    bool dies_writing; /* ends in the middle of a change of both tables */
};

/* The daemon begins to change both tables. */
static void begin_to_write(const struct daemon *daemon)
{
    shm_seq_write_begin(&daemon->server->segment->names_version);
    shm_seq_write_begin(&daemon->server->table[0].version);
}

/* The daemon has changed both tables. */
static void end_of_write(const struct daemon *daemon)
{
    shm_seq_write_end(&daemon->server->segment->names_version);
    shm_seq_write_end(&daemon->server->table[0].version);
}

static void daemon_stop(uv_async_t *async)
{
    struct daemon *daemon = async->data;

    shm_server_stop(daemon->server);
    if (daemon->dies_writing) /* its segment is unmapped later, when all handles are closed */
        begin_to_write(daemon);
    uv_close((uv_handle_t *)async, NULL);
}

static void *daemon_main(void *arg)
{
    uv_run(&((struct daemon *)arg)->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void daemon_begin(struct daemon *daemon)
{
    struct shm_server_options options = {
        .path = getenv("JACQUARD_FABRIC"), .socket = -1, .nodes = 4};
    char why[SHM_WHY_BYTES];

    uv_loop_init(&daemon->loop);
    assert_int_equal(shm_server_start(&daemon->loop, &options, &daemon->server, why), 0);
    uv_async_init(&daemon->loop, &daemon->stop, daemon_stop);
    daemon->stop.data = daemon;
    assert_int_equal(pthread_create(&daemon->thread, NULL, daemon_main, daemon), 0);
}

static void daemon_end(struct daemon *daemon)
{
    uv_async_send(&daemon->stop);
    assert_int_equal(pthread_join(daemon->thread, NULL), 0);
    assert_int_equal(uv_loop_close(&daemon->loop), 0);
}

static void *write_rest(void *arg)
{
    pause_us(200000); /* tested: the reader waits for a writer that takes so long */
    end_of_write(arg);
    return NULL;
}

/* A reader waits until a change is complete, but not for a daemon that is dead. */
static void what_is_half_written(void **state)
{
    struct shm_key key = {.node = 3, .kind = 1, .key = {5, 6}}, none = {.kind = 2};
    struct shm_member member;
    struct shm_name name;
    struct daemon daemon = {.server = NULL};
    struct shm *shm;
    pthread_t writer;
    unsigned round;

    fresh_fabric();
    daemon_begin(&daemon);
    shm = join_fabric();
    assert_int_equal(shm_self(shm)->slot, 0);
    assert_int_equal(shm_claim(shm, &key, 42, NULL), 0);
    for (round = 0; round < 3; round++) {
        begin_to_write(&daemon);
        assert_int_equal(pthread_create(&writer, NULL, write_rest, &daemon), 0);
        if (round == 0)
            assert_int_equal(shm_lookup(shm, &key, &name), 0);
        else if (round == 1)
            assert_int_equal(shm_lookup(shm, &none, &name), -ENOENT);
        else
            assert_true(shm_member(shm, 0, &member));
        assert_int_equal(pthread_join(writer, NULL), 0);
    }
    assert_int_equal(name.value, 42);
    assert_int_equal(member.pid, getpid());
    daemon.dies_writing = true;
    daemon_end(&daemon);
    assert_int_equal(shm_lookup(shm, &key, &name), -ENOTCONN);
    assert_false(shm_member(shm, 0, &member));
    shm_leave(shm);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_and_lookups),
        cmocka_unit_test(shared_names_end_with_the_last_claim),
        cmocka_unit_test(the_first_free_one),
        cmocka_unit_test(names_of_the_dead_are_free),
        cmocka_unit_test(a_model_of_the_registry),
        cmocka_unit_test(what_is_half_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
