/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon of a fabric, and a program that takes its place: how they begin and end, and that
 * nonsense on their socket harms only its sender. That another user is refused (SO_PEERCRED on both
 * sides, mode 0600) cannot be shown by processes of one user: the mode is checked here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

/* ---- its end -----------------------------------------------------------------------------------
 */

static int stay(void *arg)
{
    struct shm *shm = join_as(&carrier_watch, arg);

    carrier_poll_until(shm, &((struct seen *)arg)->lost, 1);
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
    shm = join_as(&carrier_watch, &seen);
    assert_int_equal(shm_facts(shm)->nodes, 4);
    child = run(stay, &child_seen);
    peer_of_pid(shm, child); /* the introduction is in the child's socket then */
    kill(daemon_, SIGKILL);
    waitpid(daemon_, NULL, 0);
    carrier_poll_until(shm, &seen.lost, 1);
    assert_int_equal(seen.gone, 1);
    assert_int_equal(shm_claim(shm, &key, 0, NULL), -ENOTCONN);
    assert_null(shm_peer(shm, 5, 0, NULL));
    assert_false(shm_next(shm, &record));
    ended_well(child);
    shm_leave(shm);
    shm_leave(join_fabric()); /* over the dead daemon's socket */
    fabric_is_over();
}

/* ---- the server in a program of its own ------------------------------------------------------ */

struct owner {
    uv_loop_t loop;
    uv_async_t stop;
    struct shm_server *server;
    unsigned joined, left, reports, ended;
    char report[64], last[16]; /* last: the beginning of the segment when all processes have left */
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
    shm = join_as(&carrier_watch, &seen);
    strcpy(shm_segment(shm), "7 transactions");
    assert_int_equal(shm_facts(shm)->seed, 99);
    assert_string_equal(shm_facts(shm)->name, "incast");
    assert_string_equal(shm_facts(shm)->preset, "xc");
    assert_string_equal(shm_facts(shm)->scenario, scenario);
    assert_int_equal(shm_facts(shm)->scenario_bytes, strlen(scenario));
    assert_int_equal(shm_report(shm, "sent 5", 6), 0);
    assert_int_equal(shm_report(shm, scenario, SHM_TEXT_MAX + 1), -EMSGSIZE);
    carrier_poll_until(shm, &seen.orders, 2);
    assert_string_equal(seen.order, "all");
    uv_async_send(&owner.stop);
    carrier_poll_until(shm, &seen.lost, 1);
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
        cmocka_unit_test(the_end_of_the_daemon_is_everybodys),
        cmocka_unit_test(a_program_runs_a_fabric),
        cmocka_unit_test(nonsense_on_the_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
