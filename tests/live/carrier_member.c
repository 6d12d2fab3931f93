/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Joining and leaving: private fabrics, forks, ends of peers, refusals. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "carrier.h"

#define AT_ONCE 12u

enum { DATA = 1 };

/* ---- joining --------------------------------------------------------------------------------- */

static int join_and_wait(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_member member;
    uint32_t slot;

    for (slot = 0; slot < AT_ONCE; slot++) /* all in one fabric */
        while (!shm_member(shm, slot, &member))
            pause_us(1000);
    atomic_fetch_add((_Atomic unsigned *)arg, 1);
    while (atomic_load((_Atomic unsigned *)arg) < AT_ONCE) /* all have seen all */
        pause_us(1000);
    shm_leave(shm);
    return 0;
}

static void many_start_it_at_once(void **state)
{
    _Atomic unsigned *arrived = shared_counter();
    pid_t children[AT_ONCE];
    unsigned i;

    fresh_fabric();
    for (i = 0; i < AT_ONCE; i++)
        children[i] = run(join_and_wait, (void *)arrived);
    for (i = 0; i < AT_ONCE; i++)
        ended_well(children[i]);
    fabric_is_over();
}

static int join_often(void *arg)
{
    unsigned i;

    for (i = 0; i < 40; i++) {
        shm_leave(join_fabric());
        pause_us(i % 4 * 70000); /* tested: joining about when the daemon ends */
    }
    return 0;
}

static void joining_while_it_ends(void **state)
{
    pid_t children[2];

    fresh_fabric();
    children[0] = run(join_often, NULL);
    children[1] = run(join_often, NULL);
    ended_well(children[0]);
    ended_well(children[1]);
    fabric_is_over();
}

/* ---- a private fabric ------------------------------------------------------------------------ */

static int join_the_parents(void *arg)
{
    struct shm *shm;
    struct shm_member member;

    if (arg != NULL)
        shm_leave(arg);
    shm = join_fabric();
    must(strcmp(shm_facts(shm)->path, getenv("JACQUARD_FABRIC")) == 0);
    must(shm_member(shm, 0, &member) && member.pid == getppid());
    must(shm_self(shm)->slot != 0 && shm_self(shm)->node == 0);
    shm_leave(shm);
    return 0;
}

static void a_private_fabric_has_the_children(void **state)
{
    struct shm *shm;
    char *folder;
    unsigned tries;

    alarm(WATCHDOG_S);
    unsetenv("JACQUARD_FABRIC");
    shm = join_fabric();
    assert_non_null(getenv("JACQUARD_FABRIC"));
    folder = strdup(getenv("JACQUARD_FABRIC"));
    *strrchr(folder, '/') = 0;
    assert_int_equal(access(folder, X_OK), 0);
    ended_well(run(join_the_parents, shm));
    ended_well(run(join_the_parents, shm));
    shm_leave(shm);
    for (tries = 0; access(folder, F_OK) == 0 && tries < 1000; tries++)
        pause_us(10000);
    assert_int_equal(access(folder, F_OK), -1);
    shm_leave(join_fabric()); /* the same path again: the folder is made anew */
    for (tries = 0; access(folder, F_OK) == 0 && tries < 1000; tries++)
        pause_us(10000);
    assert_int_equal(access(folder, F_OK), -1);
    free(folder);
}

/* ---- forks ----------------------------------------------------------------------------------- */

static int until_noticed[2]; /* a pipe: the test closes it when it has seen the parent's end */

static int live_on(void *arg)
{
    char nothing;

    must(shm_forked(arg));
    shm_leave(arg);
    close(until_noticed[1]);
    must(read(until_noticed[0], &nothing, 1) == 0);
    return 0;
}

static int fork_and_die(void *arg)
{
    struct seen seen = {0};
    struct shm *shm = join_as(&carrier_watch, &seen);
    pid_t child;

    must(!shm_forked(shm));
    carrier_poll_until(shm, &seen.met, 1);
    child = fork();
    if (child == 0)
        _exit(live_on(shm));
    raise(SIGKILL);
    return 1;
}

static void a_child_has_an_incarnation_of_its_own(void **state)
{
    struct seen seen = {0};
    struct shm *shm;
    int status;
    pid_t child;

    fresh_fabric();
    assert_int_equal(pipe(until_noticed), 0);
    shm = join_as(&carrier_watch, &seen);
    child = run(fork_and_die, NULL);
    peer_of_pid(shm, child);
    assert_int_equal(waitpid(child, &status, 0), child);
    carrier_poll_until(shm, &seen.gone, 1);
    close(until_noticed[1]);
    close(until_noticed[0]);
    assert_false(shm_forked(shm));
    shm_leave(shm);
    fabric_is_over();
}

/* ---- ends ------------------------------------------------------------------------------------ */

static int send_and_end(void *arg)
{
    struct shm *shm = join_fabric();
    struct shm_peer *peer = peer_of_pid(shm, getppid());
    uint64_t n;
    uint64_t *room;

    for (n = 0; n < 100; n++) {
        room = shm_reserve(peer, SHM_REQUEST, 8);
        must(room != NULL);
        *room = n;
        shm_publish(peer, SHM_REQUEST, DATA, 8);
    }
    if (arg != NULL)
        raise(SIGKILL);
    shm_leave(shm);
    return 0;
}

static void the_last_records(void *how)
{
    struct seen seen = {0};
    struct shm_record record;
    struct shm *shm;
    struct shm_peer *peer = NULL;
    uint64_t n = 0, value;
    pid_t child;

    fresh_fabric();
    shm = join_as(&carrier_watch, &seen);
    child = run(send_and_end, how);
    waitpid(child, NULL, 0); /* dead before we look for the first time */
    while (seen.gone == 0) {
        if (!shm_next(shm, &record)) {
            shm_poll_daemon(shm);
            continue;
        }
        memcpy(&value, record.bytes, 8);
        assert_int_equal(value, n++);
        peer = record.from;
        shm_release(shm);
    }
    assert_int_equal(n, 100);
    assert_int_equal(seen.met, 1);
    assert_int_equal(seen.gone_slot, 1);
    assert_ptr_equal(shm_known(shm, 1, seen.gone_generation), peer);
    assert_null(shm_known(shm, 1, 0));
    shm_drop(shm, peer);
    assert_null(shm_known(shm, 1, seen.gone_generation));
    shm_leave(shm);
    fabric_is_over();
}

static void what_was_published_before_the_end_is_executed(void **state)
{
    static int killed;

    the_last_records(NULL);
    the_last_records(&killed);
}

static void the_slot_of_the_dead_is_used_again(void **state)
{
    struct seen seen = {0};
    struct shm_record record;
    struct shm *shm;
    uint32_t last = 0;
    unsigned round, records = 0;
    pid_t child;

    fresh_fabric();
    setenv("JACQUARD_PROCESSES", "2", 1);
    shm = join_as(&carrier_watch, &seen);
    for (round = 1; round <= 20; round++) {
        child = run(send_and_end, round % 2 ? &seen : NULL);
        while (seen.gone < round) {
            if (shm_next(shm, &record)) {
                records++;
                assert_int_equal(record.from->slot, 1);
                shm_release(shm);
            } else {
                shm_poll_daemon(shm);
            }
        }
        assert_int_equal(records, 100 * round);
        assert_true(seen.gone_generation > last);
        last = seen.gone_generation;
        if (round % 3 == 0)
            shm_drop(shm, shm_known(shm, 1, last));
        waitpid(child, NULL, 0);
    }
    shm_leave(shm);
    fabric_is_over();
}

static int wait_for_the_end(void *arg)
{
    struct shm *shm = join_fabric();

    for (;;)
        pause(); /* until it is killed */
    shm_leave(shm);
    return 0;
}

/* A member without an event handler is informed of all ends, and can drop all dead peers. */
static void a_peer_without_an_event_handler_is_dropped(void **state)
{
    enum { MANY = 3 };
    struct shm_peer *peers[MANY];
    uint32_t slots[MANY], generations[MANY];
    struct shm_member member;
    pid_t children[MANY];
    struct shm *shm;
    unsigned i, gone;

    fresh_fabric();
    shm = join_fabric();
    for (i = 0; i < MANY; i++)
        children[i] = run(wait_for_the_end, NULL);
    for (i = 0; i < MANY; i++) {
        peers[i] = peer_of_pid(shm, children[i]);
        slots[i] = peers[i]->slot;
        generations[i] = peers[i]->generation;
    }
    for (i = 0; i < MANY; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    for (i = 0; i < MANY; i++) /* so that one look finds all of them */
        while (shm_member(shm, slots[i], &member))
            pause_us(1000);
    for (gone = 0; gone < MANY;) {
        shm_poll_daemon(shm);
        for (i = gone = 0; i < MANY; i++)
            gone += peers[i]->gone;
    }
    for (i = 0; i < MANY; i++) {
        shm_drop(shm, peers[i]);
        assert_null(shm_known(shm, slots[i], generations[i]));
    }
    shm_leave(shm);
    fabric_is_over();
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refused(int error, const char *text)
{
    struct shm_options options = {.node = SHM_NODE_ANY};
    char why[SHM_WHY_BYTES];
    struct shm *shm;

    assert_int_equal(shm_join(&options, &shm, why), error);
    assert_null(shm);
    if (strstr(why, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, why);
}

static void refusals_say_why(void **state)
{
    struct shm *shm, *other;
    char name[200];

    fresh_fabric();
    setenv("JACQUARD_NODE", "seven", 1);
    refused(-EINVAL, "JACQUARD_NODE is \"seven\"");
    setenv("JACQUARD_NODE", "16", 1);
    refused(-EINVAL, "no node 16: the fabric at ");
    setenv("JACQUARD_NODE", "7", 1);
    shm = join_fabric();
    assert_int_equal(shm_self(shm)->node, 7);
    unsetenv("JACQUARD_NODE");
    other = join_fabric();
    assert_int_equal(shm_self(other)->node, 0);
    shm_leave(other);
    shm_leave(shm);
    fabric_is_over();

    fresh_fabric();
    setenv("JACQUARD_NODES", "many", 1);
    refused(-EINVAL, "JACQUARD_NODES: \"many\" is not a number from 1 to 1048576");
    unsetenv("JACQUARD_NODES");
    setenv("JACQUARD_PROCESSES", "1", 1);
    unlink(getenv("JACQUARD_FABRIC"));
    shm = join_fabric();
    refused(-EUSERS, "is full: it has room for 1 processes");
    shm_leave(shm);
    fabric_is_over();

    memset(name, 'x', sizeof(name));
    name[0] = '/';
    name[sizeof(name) - 1] = 0;
    setenv("JACQUARD_FABRIC", name, 1);
    refused(-ENAMETOOLONG, "");
    setenv("JACQUARD_FABRIC", "/tmp/no-such-folder-of-jacquard/fabric", 1);
    refused(-ENOENT, "/tmp/no-such-folder-of-jacquard/fabric.lock");
    setenv("JACQUARD_FABRIC", "/tmp/no-such-folder-of-jacquard/fabric", 1);
    setenv("JACQUARD_FABRICD", "/bin/no-such-program", 1);
    refused(-ENOENT, "jacquard-fabricd");
    unsetenv("JACQUARD_FABRICD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_start_it_at_once),
        cmocka_unit_test(joining_while_it_ends),
        cmocka_unit_test(a_private_fabric_has_the_children),
        cmocka_unit_test(a_child_has_an_incarnation_of_its_own),
        cmocka_unit_test(what_was_published_before_the_end_is_executed),
        cmocka_unit_test(the_slot_of_the_dead_is_used_again),
        cmocka_unit_test(a_peer_without_an_event_handler_is_dropped),
        cmocka_unit_test(refusals_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
