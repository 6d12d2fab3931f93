/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port of a job's PMI: addresses, who is let in, who waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "port.h"
#include "tcp.h"

#define RANKS 40
#define PLACES 16 /* for those who have yet to say who they are */
#define NOBODY 65534

static uv_loop_t loop;
static struct pmrun_io shell;
static struct pmrun_port *port;

static void numbers(void *context, void *bytes, size_t length)
{
    (void)context;
    memset(bytes, 7, length);
}

static void act(void *owner, const struct pmi2_action *action)
{
    (void)owner;
    (void)action;
}

static void open_port(const char *const *hosts)
{
    static const uint32_t node_of[RANKS], size = RANKS;
    const struct pmi2_server_config config = {.last = 1, .root = true, .random = numbers};
    const struct pmi2_job_info info = {
        .id = "1.0", .size = RANKS, .node_of = node_of, .app_size = &size, .apps = 1};

    uv_loop_init(&loop);
    pmrun_io_init(&shell, &loop, pmi2_server_new(&config), act, NULL);
    assert_non_null(pmi2_server_job_add(shell.server, &info));
    port = pmrun_port_new_at(&shell, "1.0", PMRUN_LAUNCH_PORT_USER, hosts);
}

static void close_port(void)
{
    pmrun_port_close(port);
    pmrun_io_close(&shell);
    uv_run(&loop, UV_RUN_DEFAULT);
    pmrun_io_free(&shell);
    assert_int_equal(uv_loop_close(&loop), 0); /* nothing is left open */
}

static int connect_it(void)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found;
    unsigned number = 0;
    char *host, service[16];
    int fd;

    assert_true(pmrun_tcp_parse(pmrun_port_name(port), &host, &number));
    snprintf(service, sizeof(service), "%u", number);
    assert_int_equal(getaddrinfo(host, service, &hints, &found), 0);
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, found->ai_addr, found->ai_addrlen), 0);
    freeaddrinfo(found);
    g_free(host);
    return fd;
}

/* The loop runs until something has come; "": the end of the connection. */
static const char *receive_line(int fd)
{
    static char text[256];
    ssize_t got;

    while ((got = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
        uv_run(&loop, UV_RUN_ONCE);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static void say(int fd, int rank)
{
    char line[64];
    int length = snprintf(line, sizeof(line), "cmd=initack pmiid=%d\n", rank);

    assert_int_equal(send(fd, line, (size_t)length, MSG_NOSIGNAL), length);
}

static const char *const six[] = {"::1", NULL}, *const four[] = {"127.0.0.1", NULL},
                         *const second[] = {"198.51.100.1", "::1", NULL}; /* RFC 5737: not ours */

static void expect_service(const char *const *hosts, const char *name)
{
    int fd;

    open_port(hosts);
    assert_int_equal(strncmp(pmrun_port_name(port), name, strlen(name)), 0);
    fd = connect_it();
    say(fd, 3);
    assert_string_equal(receive_line(fd),
                        "cmd=initack\ncmd=set size=40\ncmd=set rank=3\ncmd=set debug=0\n");
    close(fd);
    close_port();
}

static void pmi2_86_ipv4_and_ipv6(void **state)
{
    expect_service(four, "127.0.0.1:");
    expect_service(six, "[::1]:");
    expect_service(second, "[::1]:");
}

static void no_address_at_all(void **state)
{
    static const char *const none[] = {"198.51.100.1", NULL};

    open_port(none);
    assert_string_equal(pmrun_port_name(port), "");
    close_port();
}

/* Those who say nothing fill the places; who comes later waits, and is served when one has gone. */
static void pmi2_110_our_own_wait_for_a_place(void **state)
{
    int silent[PLACES], late[4], i;

    open_port(four);
    for (i = 0; i < PLACES; i++)
        silent[i] = connect_it();
    for (i = 0; i < 4; i++) {
        late[i] = connect_it();
        say(late[i], i);
    }
    for (i = 0; i < 1000 && uv_run(&loop, UV_RUN_NOWAIT) != 0; i++)
        continue;
    for (i = 0; i < 4; i++)
        assert_true(recv(late[i], &(char){0}, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    for (i = 0; i < 4; i++) {
        close(silent[i]);
        assert_int_equal(strncmp(receive_line(late[i]), "cmd=initack\n", 12), 0);
        close(late[i]);
    }
    for (i = 4; i < PLACES; i++)
        close(silent[i]);
    close_port();
}

/* Another user's connections are closed while they are accepted: ours are served at once. */
static void pmi2_110_other_users_take_no_place(void **state)
{
    enum { OTHERS = 100 };
    int others[OTHERS], ready[2], fd, i;
    char byte;
    pid_t pid;

    if (getuid() != 0) /* only root can be another user */
        skip();
    open_port(four);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setuid(NOBODY) != 0)
            _exit(1);
        for (i = 0; i < OTHERS; i++) {
            others[i] = connect_it();
            say(others[i], i % RANKS); /* claims ranks, too */
        }
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (i = 0; i < OTHERS; i++) /* each of them is closed without a word */
            if (recv(others[i], &byte, 1, 0) > 0)
                _exit(2);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    fd = connect_it();
    say(fd, 3);
    assert_int_equal(strncmp(receive_line(fd), "cmd=initack\n", 12), 0);
    assert_int_equal(waitpid(pid, &i, 0), pid);
    assert_int_equal(i, 0);
    close(fd);
    close(ready[0]);
    close(ready[1]);
    close_port();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_86_ipv4_and_ipv6),
        cmocka_unit_test(no_address_at_all),
        cmocka_unit_test(pmi2_110_our_own_wait_for_a_place),
        cmocka_unit_test(pmi2_110_other_users_take_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
