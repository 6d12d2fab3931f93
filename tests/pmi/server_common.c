/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "server_common.h"

void expect_bytes(struct peer *peer, const char *text)
{
    assert_string_equal(peer->in.at == NULL ? "" : peer->in.at, text);
    forget_input(peer);
}

void forget_input(struct peer *peer)
{
    peer->in.length = 0;
    if (peer->in.at != NULL)
        peer->in.at[0] = '\0';
}

void expect_frame(struct peer *peer, const char *payload)
{
    struct text frame = {NULL, 0, 0};

    text_print(&frame, "%6zu", strlen(payload));
    text_add(&frame, payload, strlen(payload));
    expect_bytes(peer, frame.at);
    free(frame.at);
}

const char *take_frame(struct peer *peer)
{
    static char payload[70000];
    size_t length;

    if (peer->in.length < 6)
        fail_msg("no frame has come");
    length = (size_t)strtoul((char[]){peer->in.at[0], peer->in.at[1], peer->in.at[2],
                                      peer->in.at[3], peer->in.at[4], peer->in.at[5], 0},
                             NULL, 10);
    if (peer->in.length < 6 + length || length >= sizeof(payload))
        fail_msg("no whole frame has come: %s", peer->in.at);
    memcpy(payload, peer->in.at + 6, length);
    payload[length] = '\0';
    memmove(peer->in.at, peer->in.at + 6 + length, peer->in.length - 6 - length + 1);
    peer->in.length -= 6 + length;
    return payload;
}

void expect_nothing(struct peer *peer)
{
    expect_bytes(peer, "");
}

void expect_log(struct driver *driver, const char *line)
{
    const char *at = driver->log.at;
    size_t length = strlen(line);

    for (; (at = strstr(at, line)) != NULL; at++)
        if ((at == driver->log.at || at[-1] == '\n') && at[length] == '\n')
            return;
    fail_msg("not written down: %s\nbut:\n%s", line, driver->log.at);
}

void expect_no_log(struct driver *driver, const char *part)
{
    if (strstr(driver->log.at, part) != NULL)
        fail_msg("written down: %s\nin:\n%s", part, driver->log.at);
}

void ask(struct peer *peer, const char *payload, const char *reply)
{
    driver_frame(peer, payload);
    expect_frame(peer, reply);
}

void ask_line(struct peer *peer, const char *line, const char *reply)
{
    char text[3000];

    snprintf(text, sizeof(text), "%s\n", line);
    driver_send(peer, text);
    snprintf(text, sizeof(text), "%s\n", reply);
    expect_bytes(peer, text);
}

struct peer *client2(struct driver *driver, const char *job, uint32_t rank, uint32_t node)
{
    struct peer *peer = driver_client(driver, job, rank, node);

    assert_non_null(peer);
    driver_send(peer, INIT2);
    expect_bytes(peer, INIT2_OK);
    driver_frame(peer, "cmd=fullinit;threaded=FALSE;");
    assert_non_null(strstr(peer->in.at, "rc=0;"));
    forget_input(peer);
    return peer;
}

struct peer *client1(struct driver *driver, const char *job, uint32_t rank, uint32_t node)
{
    struct peer *peer = driver_client(driver, job, rank, node);

    assert_non_null(peer);
    driver_send(peer, INIT1);
    expect_bytes(peer, INIT1_OK);
    return peer;
}

void connect_each(struct driver *driver, const char *job, struct peer **peers, uint32_t ranks)
{
    uint32_t each = (ranks + driver->options.nodes - 1) / driver->options.nodes, i;

    for (i = 0; i < ranks; i++)
        peers[i] = client2(driver, job, i, i / each);
}

struct driver *one_node(void)
{
    return driver_new(&(struct driver_options){.nodes = 1, .seed = 1});
}

void fence_all(struct peer **clients, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        driver_frame(clients[i], "cmd=kvs-fence;");
    for (i = 0; i < count; i++)
        expect_frame(clients[i], "cmd=kvs-fence-response;rc=0;");
}
