/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A server between two others on an event loop: what cannot go up is not read from below. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "io.h"

#define MESSAGE 7u
#define MESSAGE_BYTES 8000u
#define MESSAGES 300u /* several times what may wait, and what sockets hold */
#define TURNS 10000u

struct scene {
    uv_loop_t loop;
    struct pmrun_io shell;
    struct pmrun_channel *above, *below;
    int root, leaf; /* the far ends */
    uint32_t passed; /* messages that came from below */
};

/* As pmproxy does. */
static void pass_on(void *owner, const struct pmi2_action *action)
{
    struct scene *scene = owner;

    if (action->kind != PMI2_ACTION_MESSAGE)
        return;
    assert_int_equal(action->message, MESSAGE);
    assert_true(
        pmi2_server_send_up(scene->shell.server, action->message, action->bytes, action->length));
    scene->passed++;
}

static void fill(void *context, void *bytes, size_t length)
{
    (void)context;
    memset(bytes, 1, length);
}

static struct pmrun_channel *open_channel(struct scene *scene, int *far)
{
    struct pmrun_channel *channel = pmrun_channel_new(&scene->shell, NULL, NULL);
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    uv_pipe_init(&scene->loop, &channel->at.pipe, 0);
    assert_int_equal(uv_pipe_open(&channel->at.pipe, ends[0]), 0);
    *far = ends[1];
    return channel;
}

static void open_scene(struct scene *scene)
{
    const struct pmi2_server_config config = {.node = 1, .first = 1, .last = 3, .random = fill};

    memset(scene, 0, sizeof(*scene));
    uv_loop_init(&scene->loop);
    pmrun_io_init(&scene->shell, &scene->loop, pmi2_server_new(&config), pass_on, scene);
    scene->below = open_channel(scene, &scene->leaf);
    scene->above = open_channel(scene, &scene->root);
    assert_true(pmrun_channel_open(scene->below,
                                   pmi2_server_child(scene->shell.server, 2, 3, scene->below)));
    assert_true(
        pmrun_channel_open(scene->above, pmi2_server_parent(scene->shell.server, scene->above)));
}

static void close_scene(struct scene *scene)
{
    pmrun_io_close(&scene->shell);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    pmrun_io_free(&scene->shell);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    close(scene->root);
    close(scene->leaf);
}

/* The server of node 2 with all it has to say. */
static struct pmi2_server *make_leaf(struct pmi2_link **link)
{
    const struct pmi2_server_config config = {.node = 2, .first = 2, .last = 3, .random = fill};
    struct pmi2_server *leaf = pmi2_server_new(&config);
    char bytes[MESSAGE_BYTES];
    uint32_t i;

    *link = pmi2_server_parent(leaf, NULL);
    memset(bytes, 'x', sizeof(bytes));
    for (i = 0; i < MESSAGES; i++)
        assert_true(pmi2_server_send_up(leaf, MESSAGE, bytes, sizeof(bytes)));
    return leaf;
}

/* FALSE: the stream takes no more now, or there is nothing. */
static gboolean speak(struct pmi2_link *link, int fd)
{
    struct iovec piece;
    ssize_t sent;

    if (pmi2_link_output(link, &piece, 1) == 0)
        return FALSE;
    sent = send(fd, piece.iov_base, piece.iov_len, MSG_NOSIGNAL);
    assert_true(sent > 0 || errno == EAGAIN);
    if (sent > 0)
        pmi2_link_sent(link, (size_t)sent);
    return sent > 0;
}

/* Until nothing has happened for some turns. */
static void turn(struct scene *scene, struct pmi2_link *link)
{
    uint32_t quiet = 0, passed, turns;

    for (turns = 0; quiet < 10; turns++) {
        gboolean spoke = FALSE;

        assert_true(turns < TURNS);
        while (speak(link, scene->leaf))
            spoke = TRUE;
        passed = scene->passed;
        uv_run(&scene->loop, UV_RUN_NOWAIT);
        quiet = spoke || scene->passed != passed ? 0 : quiet + 1;
    }
}

static size_t take(int fd)
{
    static char bytes[1u << 20];
    size_t all = 0;
    ssize_t got;

    while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        all += (size_t)got;
    return all;
}

static void what_cannot_go_up_is_not_read(void **state)
{
    struct pmi2_link *link;
    struct pmi2_server *leaf = make_leaf(&link);
    struct scene scene;
    size_t taken = 0, got;
    uint32_t before, rounds;

    (void)state;
    open_scene(&scene);
    turn(&scene, link);
    /* Nobody reads above: what waits here is bounded, and the rest waits below. */
    assert_false(scene.below->reading);
    assert_true(scene.above->reading);
    assert_true(pmrun_channel_unsent(scene.above) >= 128u << 10);
    assert_true(pmrun_channel_unsent(scene.above) < 512u << 10);
    assert_true(scene.passed > 0 && scene.passed < MESSAGES / 2);
    before = scene.passed;
    uv_run(&scene.loop, UV_RUN_NOWAIT);
    assert_int_equal(scene.passed, before);
    for (rounds = 0; (got = take(scene.root)) > 0; rounds++) {
        assert_true(rounds < TURNS);
        taken += got;
        turn(&scene, link);
    }
    assert_int_equal(scene.passed, MESSAGES);
    assert_true(scene.below->reading);
    assert_true(taken > (size_t)MESSAGES * MESSAGE_BYTES);
    close_scene(&scene);
    pmi2_link_free(link);
    pmi2_server_free(leaf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_go_up_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
