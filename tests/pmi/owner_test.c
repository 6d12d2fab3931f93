/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whose the other end of a connection is: by netlink and by the kernel's tables, IPv4 and IPv6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "owner.h"
#include "tcp.h"

#define NOBODY 65534

struct pair { /* both ends of a connection through a listener */
    int listener, here, there;
};

/* As another user, if we may: the connection is made by a process that waits to be killed. */
static pid_t connect_as(uid_t uid, const struct sockaddr *address, socklen_t length)
{
    int ready[2], fd;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setuid(uid) != 0)
            _exit(1);
        fd = socket(address->sa_family, SOCK_STREAM, 0);
        if (connect(fd, address, length) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static socklen_t address_of(const char *host, unsigned port, struct sockaddr_storage *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

    memset(address, 0, sizeof(*address));
    if (strchr(host, ':') == NULL) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        assert_int_equal(inet_pton(AF_INET, host, &four->sin_addr), 1);
        return sizeof(*four);
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    assert_int_equal(inet_pton(AF_INET6, host, &six->sin6_addr), 1);
    return sizeof(*six);
}

/* uid: of another process; our own: of this one. */
static pid_t make_pair(const char *listen_at, const char *connect_to, uid_t uid, struct pair *pair)
{
    struct sockaddr_storage address;
    unsigned port = 0;
    socklen_t length;
    pid_t pid = 0;

    pair->there = -1;
    pair->listener = pmrun_tcp_listen(listen_at, 0, &port);
    assert_true(pair->listener >= 0 && port > 0);
    length = address_of(connect_to, port, &address);
    if (uid != getuid()) {
        pid = connect_as(uid, (struct sockaddr *)&address, length);
    } else {
        pair->there = socket(address.ss_family, SOCK_STREAM, 0);
        assert_int_equal(connect(pair->there, (struct sockaddr *)&address, length), 0);
    }
    pair->here = accept(pair->listener, NULL, NULL);
    assert_true(pair->here >= 0);
    return pid;
}

static void close_pair(struct pair *pair)
{
    close(pair->listener);
    close(pair->here);
    if (pair->there >= 0)
        close(pair->there);
}

/* Both ways say the same; where the kernel does not answer by netlink, there is one way. */
static gboolean find_owner(const struct pair *pair, uid_t *uid)
{
    struct pmrun_owner_ends ends;
    gboolean refused, by_netlink, by_tables, by_any;
    uid_t one = 1, other = 2, third = 3;

    assert_true(pmrun_owner_ends_of(pair->here, &ends));
    by_netlink = pmrun_owner_by_netlink(&ends, &one, &refused);
    by_tables = pmrun_owner_by_tables(&ends, &other);
    by_any = pmrun_owner_of(&ends, &third);
    assert_int_equal(by_any, by_tables);
    if (refused)
        print_message("netlink is refused here: only the tables were asked\n");
    else
        assert_int_equal(by_netlink, by_tables);
    if (by_tables) {
        assert_int_equal(third, other);
        assert_true(refused || one == other);
    }
    *uid = other;
    return by_tables;
}

static const struct {
    const char *listen_at, *connect_to;
} families[] = {
    {"127.0.0.1", "127.0.0.1"},        {"::1", "::1"}, {"::", "127.0.0.1"}, {"::", "::1"},
    {"127.0.0.1", "::ffff:127.0.0.1"}, /* a socket of IPv6 with addresses of IPv4 */
};

static void pmi2_110_owner_is_known(void **state)
{
    struct pair pair;
    uid_t uid;
    size_t i;

    for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        make_pair(families[i].listen_at, families[i].connect_to, getuid(), &pair);
        assert_true(find_owner(&pair, &uid));
        assert_int_equal(uid, getuid());
        close_pair(&pair);
    }
}

static void pmi2_110_other_users_are_counted_separately(void **state)
{
    struct pair pair;
    uid_t uid;
    size_t i;

    if (getuid() != 0) /* only root can be another user */
        skip();
    for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        pid_t pid = make_pair(families[i].listen_at, families[i].connect_to, NOBODY, &pair);
        char *name = pmrun_owner_name(pair.here);

        assert_true(find_owner(&pair, &uid));
        assert_int_equal(uid, NOBODY);
        assert_string_equal(name, "user 65534");
        g_free(name);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        /* Nobody holds the other end any more: the kernel lists it as root's, or not at all. */
        assert_false(find_owner(&pair, &uid));
        close_pair(&pair);
    }
}

static void pmi2_110_closed_end_is_nobodys(void **state)
{
    struct pair pair;
    char *name;
    uid_t uid;
    size_t i;

    for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        make_pair(families[i].listen_at, families[i].connect_to, getuid(), &pair);
        assert_int_equal(write(pair.there, "cmd=initack pmiid=0\n", 20), 20);
        close(pair.there);
        pair.there = -1;
        assert_false(find_owner(&pair, &uid));
        name = pmrun_owner_name(pair.here);
        assert_string_equal(name, i == 1 || i == 3 ? "::" : "127.0.0.1"); /* a network of 64 bits */
        g_free(name);
        close_pair(&pair);
    }
}

static void what_is_no_connection(void **state)
{
    struct pmrun_owner_ends ends;
    int ends_of_pipe[2];
    char *name;

    assert_int_equal(pipe(ends_of_pipe), 0);
    assert_false(pmrun_owner_ends_of(ends_of_pipe[0], &ends));
    name = pmrun_owner_name(ends_of_pipe[0]);
    assert_string_equal(name, "nobody");
    g_free(name);
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
}

static void expect_name(const char *text, gboolean good, const char *host, unsigned port)
{
    char *found = NULL;
    unsigned number = 77;

    assert_int_equal(pmrun_tcp_parse(text, &found, &number), good);
    if (!good)
        return;
    assert_string_equal(found, host);
    assert_int_equal(number, port);
    g_free(found);
}

static void names_of_addresses(void **state)
{
    char *name = pmrun_tcp_name("::1", 5);

    assert_string_equal(name, "[::1]:5");
    g_free(name);
    name = pmrun_tcp_name("host", 6);
    assert_string_equal(name, "host:6");
    g_free(name);
    expect_name("host:9", TRUE, "host", 9);
    expect_name("host", TRUE, "host", 77);
    expect_name("10.0.0.1:65535", TRUE, "10.0.0.1", 65535);
    expect_name("[fd00::2]:9", TRUE, "fd00::2", 9);
    expect_name("[fd00::2]", TRUE, "fd00::2", 77);
    expect_name("fd00::2", TRUE, "fd00::2", 77);
    expect_name("", FALSE, NULL, 0);
    expect_name(":9", FALSE, NULL, 0);
    expect_name("host:", FALSE, NULL, 0);
    expect_name("host:0", FALSE, NULL, 0);
    expect_name("host:65536", FALSE, NULL, 0);
    expect_name("host:x", FALSE, NULL, 0);
    expect_name("[::1", FALSE, NULL, 0);
    expect_name("[::1]x", FALSE, NULL, 0);
    expect_name("[]:1", FALSE, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_110_owner_is_known),
        cmocka_unit_test(pmi2_110_other_users_are_counted_separately),
        cmocka_unit_test(pmi2_110_closed_end_is_nobodys),
        cmocka_unit_test(what_is_no_connection),
        cmocka_unit_test(names_of_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
