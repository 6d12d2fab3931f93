/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Joining and leaving: the daemon that comes and goes, forks, ends of peers, refusals. That another
 * user is refused (SO_PEERCRED on both sides, mode 0600) cannot be shown by processes of one user:
 * the mode is checked here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "carrier.h"
#include "shm/server.h"
#include "layout.h"
#include "wire.h"

#define AT_ONCE 12u

enum { DATA = 1 };

struct seen {
    unsigned met, gone, lost, orders;
    uint32_t gone_slot, gone_generation;
    char order[64];
};

static void saw_met(void *arg, struct shm_peer *peer)
{
    ((struct seen *)arg)->met++;
}

static void saw_gone(void *arg, struct shm_peer *peer)
{
    struct seen *seen = arg;

    must(peer->gone);
    must(shm_reserve(peer, SHM_REQUEST, 0) == NULL);
    must(shm_publish(peer, SHM_REQUEST, 0, 0) == 0);
    seen->gone++;
    seen->gone_slot = peer->slot;
    seen->gone_generation = peer->generation;
}

static void saw_order(void *arg, const void *bytes, size_t count)
{
    struct seen *seen = arg;

    seen->orders++;
    must(count < sizeof(seen->order));
    memcpy(seen->order, bytes, count);
    seen->order[count] = 0;
}

static void saw_lost(void *arg)
{
    ((struct seen *)arg)->lost++;
}

static const struct shm_events watch = {saw_met, saw_gone, saw_order, saw_lost};

static void poll_until(struct shm *shm, const unsigned *what, unsigned count)
{
    struct shm_record record;

    while (*(volatile const unsigned *)what < count) {
        while (shm_next(shm, &record))
            shm_release(shm);
        shm_poll_daemon(shm);
        pause_us(500);
    }
}

static pid_t daemon_pid(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int end = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv("JACQUARD_FABRIC"));
    if (connect(end, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockopt(end, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        peer.pid = -1;
    close(end);
    return peer.pid; /* whoever called listen(): the library */
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static unsigned children_signals;

static void count_signal(int number)
{
    children_signals++;
}

static void the_daemon_comes_and_goes_unseen(void **state)
{
    struct sigaction action = {.sa_handler = count_signal}, before;
    struct shm *shm;
    struct stat stat_;
    int fd;

    fresh_fabric();
    sigaction(SIGCHLD, &action, &before);
    fd = open("/dev/null", O_RDONLY); /* without CLOEXEC: must not be kept open by the daemon */
    shm = join_fabric();
    assert_int_equal(stat(getenv("JACQUARD_FABRIC"), &stat_), 0);
    assert_true(S_ISSOCK(stat_.st_mode));
    assert_int_equal(stat_.st_mode & 0777, 0600);
    assert_int_equal(children_signals, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(shm_facts(shm)->nodes, 16);
    assert_int_equal(shm_facts(shm)->processes_max, 64);
    assert_string_equal(shm_facts(shm)->scenario, "");
    assert_true(shm_facts(shm)->ticks_per_us > 0);
    shm_leave(shm);
    close(fd);
    fabric_is_over();
    sigaction(SIGCHLD, &before, NULL);
    assert_int_equal(children_signals, 0);
}

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
    struct shm *shm = join_as(&watch, &seen);
    pid_t child;

    must(!shm_forked(shm));
    poll_until(shm, &seen.met, 1);
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
    shm = join_as(&watch, &seen);
    child = run(fork_and_die, NULL);
    peer_of_pid(shm, child);
    assert_int_equal(waitpid(child, &status, 0), child);
    poll_until(shm, &seen.gone, 1);
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
    shm = join_as(&watch, &seen);
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
    shm = join_as(&watch, &seen);
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

static int stay(void *arg)
{
    struct shm *shm = join_as(&watch, arg);

    poll_until(shm, &((struct seen *)arg)->lost, 1);
    must(((struct seen *)arg)->gone == 1);
    shm_leave(shm);
    return 0;
}

static pid_t run_daemon(const char *option, const char *value)
{
    pid_t child = fork();
    unsigned tries;

    if (child == 0) {
        execl(TEST_FABRICD, "jacquard-fabricd", option, value, getenv("JACQUARD_FABRIC"), NULL);
        _exit(127);
    }
    for (tries = 0; daemon_pid() != child && tries < 1000; tries++) /* until it listens */
        pause_us(10000);
    return child;
}

static void the_end_of_the_daemon_is_everybodys(void **state)
{
    struct seen seen = {0}, child_seen = {0};
    struct shm_record record;
    struct shm_key key = {.kind = 1};
    struct shm *shm;
    pid_t child, daemon_;

    fresh_fabric();
    daemon_ = run_daemon("--nodes", "4");
    shm = join_as(&watch, &seen);
    assert_int_equal(shm_facts(shm)->nodes, 4);
    child = run(stay, &child_seen);
    peer_of_pid(shm, child); /* the introduction is in the child's socket then */
    kill(daemon_, SIGKILL);
    waitpid(daemon_, NULL, 0);
    poll_until(shm, &seen.lost, 1);
    assert_int_equal(seen.gone, 1);
    assert_int_equal(shm_claim(shm, &key, 0, NULL), -ENOTCONN);
    assert_null(shm_peer(shm, 5, 0, NULL));
    assert_false(shm_next(shm, &record));
    ended_well(child);
    shm_leave(shm);
    shm_leave(join_fabric()); /* over the dead daemon's socket */
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

/* ---- the server in a program of its own ------------------------------------------------------ */

struct owner {
    uv_loop_t loop;
    uv_async_t stop;
    struct shm_server *server;
    unsigned joined, left, reports, ended;
    char report[64], last[16]; /* of the board of who left */
};

static void owner_joined(void *arg, const struct shm_member *member)
{
    ((struct owner *)arg)->joined++;
}

static void owner_left(void *arg, const struct shm_member *member)
{
    struct owner *owner = arg;
    const char *segment;
    size_t bytes;

    owner->left++;
    segment = shm_server_segment(owner->server, member->slot, &bytes);
    must(segment != NULL && bytes == 4096);
    memcpy(owner->last, segment, sizeof(owner->last));
    must(shm_server_segment(owner->server, member->slot + 1, &bytes) == NULL && bytes == 0);
}

static void owner_report(void *arg, const struct shm_member *member, const void *bytes,
                         size_t count)
{
    struct owner *owner = arg;

    memcpy(owner->report, bytes, count < 64 ? count : 63);
    owner->reports++;
    shm_server_order(owner->server, member->slot, "well", 4);
    shm_server_order(owner->server, SHM_ALL_MEMBERS, "all", 3);
}

static void owner_ended(void *arg)
{
    ((struct owner *)arg)->ended++;
}

static void owner_stop(uv_async_t *async)
{
    struct owner *owner = async->data;

    shm_server_stop(owner->server);
    uv_close((uv_handle_t *)async, NULL);
}

static void *serve(void *arg)
{
    uv_run(&((struct owner *)arg)->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void a_program_runs_a_fabric(void **state)
{
    static const char scenario[] = "name: incast\n";
    struct owner owner = {.joined = 0};
    struct shm_server_options options = {
        .path = NULL,
        .socket = -1,
        .nodes = 3,
        .seed = 99,
        .name = "incast",
        .preset = "xc",
        .scenario = scenario,
        .scenario_bytes = strlen(scenario),
        .events = {owner_joined, owner_left, owner_report, owner_ended},
        .arg = &owner};
    struct shm_server *second;
    struct seen seen = {0};
    struct shm *shm;
    char why[SHM_WHY_BYTES];
    pthread_t thread;

    fresh_fabric();
    options.path = getenv("JACQUARD_FABRIC");
    uv_loop_init(&owner.loop);
    options.nodes = 1u << 30;
    assert_int_equal(shm_server_start(&owner.loop, &options, &owner.server, why), -EINVAL);
    assert_string_equal(why, "1073741824 nodes are too many: at most 1048576");
    options.nodes = 3;
    assert_int_equal(shm_server_start(&owner.loop, &options, &owner.server, why), 0);
    uv_async_init(&owner.loop, &owner.stop, owner_stop);
    owner.stop.data = &owner;
    pthread_create(&thread, NULL, serve, &owner);
    assert_int_equal(shm_server_start(&owner.loop, &options, &second, why), -EADDRINUSE);
    shm = join_as(&watch, &seen);
    strcpy(shm_segment(shm), "7 transactions");
    assert_int_equal(shm_facts(shm)->seed, 99);
    assert_string_equal(shm_facts(shm)->name, "incast");
    assert_string_equal(shm_facts(shm)->preset, "xc");
    assert_string_equal(shm_facts(shm)->scenario, scenario);
    assert_int_equal(shm_facts(shm)->scenario_bytes, strlen(scenario));
    assert_int_equal(shm_report(shm, "sent 5", 6), 0);
    assert_int_equal(shm_report(shm, scenario, SHM_TEXT_MAX + 1), -EMSGSIZE);
    poll_until(shm, &seen.orders, 2);
    assert_string_equal(seen.order, "all");
    uv_async_send(&owner.stop);
    poll_until(shm, &seen.lost, 1);
    pthread_join(thread, NULL);
    assert_int_equal(uv_loop_close(&owner.loop), 0);
    assert_int_equal(owner.joined, 1);
    assert_int_equal(owner.left, 1);
    assert_int_equal(owner.reports, 1);
    assert_int_equal(owner.ended, 1);
    assert_string_equal(owner.report, "sent 5");
    assert_string_equal(owner.last, "7 transactions");
    shm_leave(shm);
    fabric_is_over();
}

/* Whatever is said on the socket: only who says it is thrown out. */
static void nonsense_on_the_socket(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint64_t random = 3;
    uint32_t bytes[40];
    struct shm *shm;
    unsigned i, j;
    int end;

    fresh_fabric();
    shm = join_fabric();
    assert_true(daemon_pid() > 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv("JACQUARD_FABRIC"));
    for (i = 0; i < 2000; i++) {
        end = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(end, (struct sockaddr *)&address, sizeof(address)), 0);
        for (j = 0; j < 40; j++)
            bytes[j] = (uint32_t)random_next(&random) >> (random % 3 * 8);
        bytes[0] = SHM_MAGIC; /* a message as far as that goes */
        bytes[1] = SHM_VERSION;
        bytes[2] = (uint32_t)random_next(&random) % (WIRE_KINDS + 1);
        bytes[4] = 0;
        send(end, bytes, i % 3 == 0 ? random % sizeof(bytes) : sizeof(struct wire), MSG_NOSIGNAL);
        close(end);
    }
    assert_null(shm_peer(shm, 63, 0, NULL)); /* it answers */
    shm_leave(shm);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_daemon_comes_and_goes_unseen),
        cmocka_unit_test(many_start_it_at_once),
        cmocka_unit_test(joining_while_it_ends),
        cmocka_unit_test(a_private_fabric_has_the_children),
        cmocka_unit_test(a_child_has_an_incarnation_of_its_own),
        cmocka_unit_test(what_was_published_before_the_end_is_executed),
        cmocka_unit_test(the_slot_of_the_dead_is_used_again),
        cmocka_unit_test(a_peer_without_an_event_handler_is_dropped),
        cmocka_unit_test(the_end_of_the_daemon_is_everybodys),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_program_runs_a_fabric),
        cmocka_unit_test(nonsense_on_the_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
