/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "driver.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 16

struct datagram {
    struct datagram *next;
    struct peer *to;
    size_t length;
    char bytes[];
};

static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void text_add(struct text *text, const void *bytes, size_t length)
{
    if (text->length + length + 1 > text->capacity) {
        text->capacity = (text->length + length + 1) * 2;
        text->at = need(realloc(text->at, text->capacity));
    }
    if (length > 0)
        memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void text_print(struct text *text, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    int length;

    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, one line above
    length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    text_add(text, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

uint32_t driver_random(struct driver *driver, uint32_t below)
{
    driver->random = driver->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((driver->random >> 33) % below);
}

static void random_bytes(void *context, void *bytes, size_t length)
{
    uint8_t *at = bytes;

    while (length-- > 0)
        *at++ = (uint8_t)driver_random(context, 256);
}

static struct peer *peer_new(struct driver *driver, uint32_t server)
{
    struct peer *peer = need(calloc(1, sizeof(*peer)));

    peer->driver = driver;
    peer->server = server;
    if (driver->peer_count == driver->peer_capacity) {
        driver->peer_capacity = driver->peer_capacity * 2 + 64;
        driver->peers = need(realloc(driver->peers, driver->peer_capacity * sizeof(struct peer *)));
    }
    driver->peers[driver->peer_count++] = peer;
    return peer;
}

static void join_servers(struct driver *driver, uint32_t above, uint32_t below, uint32_t first,
                         uint32_t last)
{
    struct peer *up = peer_new(driver, above), *down = peer_new(driver, below);

    up->other = down;
    down->other = up;
    up->link = need(pmi2_server_child(driver->servers[above], first, last, up));
    down->link = need(pmi2_server_parent(driver->servers[below], down));
}

/* The server of node `first`, and those of the nodes behind it as a tree below it. */
static void build(struct driver *driver, uint32_t first, uint32_t last)
{
    struct pmi2_server_config config = {
        .node = first,
        .first = first,
        .last = last,
        .root = first == 0,
        .lossy = driver->options.lossy,
        .limits = driver->options.limits,
        .key = driver->options.key,
        .strict_utf8 = driver->options.strict_utf8,
        .name_server = driver->options.name_server,
        .random = random_bytes,
        .context = driver,
        .store = driver->store,
    };
    uint32_t below = last - first - 1, parts, at = first + 1, i;

    driver->servers[first] = need(pmi2_server_new(&config));
    parts = below < driver->options.fan_out ? below : driver->options.fan_out;
    for (i = 0; i < parts; i++) {
        uint32_t size = below / parts + (i < below % parts);

        build(driver, at, at + size);
        join_servers(driver, first, at, at, at + size);
        at += size;
    }
}

struct driver *driver_new(const struct driver_options *options)
{
    struct driver *driver = need(calloc(1, sizeof(*driver)));

    driver->options = *options;
    if (driver->options.nodes == 0)
        driver->options.nodes = 1;
    if (driver->options.fan_out == 0)
        driver->options.fan_out = 16;
    driver->random = options->seed;
    driver->server_count = driver->options.nodes;
    driver->servers = need(calloc(driver->server_count, sizeof(struct pmi2_server *)));
    if (options->shared)
        driver->store = need(pmi2_store_new());
    build(driver, 0, driver->server_count);
    text_add(&driver->log, "", 0);
    driver_run(driver);
    return driver;
}

void driver_free(struct driver *driver)
{
    struct datagram *datagram;
    uint32_t i;

    for (i = 0; i < driver->server_count; i++)
        pmi2_server_free(driver->servers[i]);
    for (i = 0; i < driver->peer_count; i++) {
        free(driver->peers[i]->in.at);
        free(driver->peers[i]);
    }
    while ((datagram = driver->held) != NULL) {
        driver->held = datagram->next;
        free(datagram);
    }
    pmi2_store_free(driver->store);
    free(driver->log.at);
    free(driver->peers);
    free(driver->servers);
    free(driver);
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

static void enter(struct driver *driver, bool inside)
{
    if (driver->inside != NULL)
        driver->inside(inside);
}

static void input(struct peer *to, const char *bytes, size_t length)
{
    size_t piece = to->driver->options.piece;

    if (piece == 0 || to->driver->options.lossy)
        piece = length;
    while (length > 0 && to->link != NULL && !to->closed) {
        size_t now = piece < length ? piece : length;

        enter(to->driver, true);
        pmi2_link_input(to->link, bytes, now);
        enter(to->driver, false);
        bytes += now;
        length -= now;
    }
}

static void hold(struct peer *to, const void *bytes, size_t length)
{
    struct driver *driver = to->driver;
    struct datagram *datagram = need(malloc(sizeof(*datagram) + length));
    struct datagram **last = (struct datagram **)&driver->held;

    datagram->next = NULL;
    datagram->to = to;
    datagram->length = length;
    memcpy(datagram->bytes, bytes, length);
    while (*last != NULL)
        last = &(*last)->next;
    *last = datagram;
}

static void datagram_move(struct peer *to, const void *bytes, size_t length)
{
    struct driver *driver = to->driver;
    const struct driver_options *options = &driver->options;

    driver->datagrams++;
    if (driver_random(driver, 1000) < options->lose)
        return;
    if (driver_random(driver, 1000) < options->late) {
        hold(to, bytes, length);
        return;
    }
    input(to, bytes, length);
    if (driver_random(driver, 1000) < options->twice)
        input(to, bytes, length);
}

static void move_held(struct driver *driver)
{
    struct datagram *datagram, *all = driver->held;

    driver->held = NULL;
    while ((datagram = all) != NULL) {
        all = datagram->next;
        input(datagram->to, datagram->bytes, datagram->length);
        free(datagram);
    }
}

/* A server below has to wait. */
static bool stopped(const struct peer *to)
{
    return to != NULL && to->link != NULL && !to->driver->options.lossy &&
           !pmi2_link_reads(to->link);
}

static void move(struct peer *from)
{
    struct iovec pieces[PIECES];
    struct peer *to = from->other;
    int count, i;

    while (from->link != NULL && !from->deaf && !stopped(to) &&
           (count = pmi2_link_output(from->link, pieces, PIECES)) > 0) {
        size_t sent = 0;

        for (i = 0; i < count; i++) {
            sent += pieces[i].iov_len;
            if (to == NULL && from->received != NULL)
                from->received(from, pieces[i].iov_base, pieces[i].iov_len);
            else if (to == NULL)
                text_add(&from->in, pieces[i].iov_base, pieces[i].iov_len);
            else if (from->driver->options.lossy)
                datagram_move(to, pieces[i].iov_base, pieces[i].iov_len);
            else
                input(to, pieces[i].iov_base, pieces[i].iov_len);
            if (to != NULL)
                from->driver->bytes += pieces[i].iov_len;
        }
        if (from->link != NULL)
            pmi2_link_sent(from->link, sent);
    }
}

/* ---- actions ----------------------------------------------------------------------------------
 */

static void drop_link(struct peer *peer)
{
    struct pmi2_link *link = peer->link;

    peer->closed = true;
    peer->link = NULL;
    pmi2_link_free(link);
}

static void close_link(struct peer *peer, const char *reason)
{
    struct peer *other = peer->other;

    move(peer);
    peer->reason = reason;
    drop_link(peer);
    if (other != NULL && other->link != NULL && !other->driver->options.lossy)
        pmi2_link_eof(other->link);
}

static void say(struct driver *driver, uint32_t server, const struct pmi2_action *action)
{
    static const char *const states[] = {"new",     "running", "finalized",
                                         "aborted", "failed",  "dead"};
    struct text *log = &driver->log;

    if (driver->options.quiet)
        return;
    switch (action->kind) {
    case PMI2_ACTION_JOB:
        text_print(log, "%u job %s size %u launch %.*s\n", server, action->job, action->info->size,
                   (int)action->info->launch_bytes, (const char *)action->info->launch);
        break;
    case PMI2_ACTION_JOB_END:
        text_print(log, "%u job_end %s\n", server, action->job);
        break;
    case PMI2_ACTION_ABORT:
        text_print(log, "%u abort %s rank %d code %d text %s\n", server, action->job,
                   (int)action->rank, action->code, action->text);
        break;
    case PMI2_ACTION_KILL:
        text_print(log, "%u kill %s rank %u text %s\n", server, action->job, action->rank,
                   action->text);
        break;
    case PMI2_ACTION_RANK_STATE:
        text_print(
            log, "%u rank %s %u %s\n", server, action->job, action->rank,
            states[pmi2_server_rank_state(driver->servers[server], action->job, action->rank)]);
        break;
    case PMI2_ACTION_MESSAGE:
        text_print(log, "%u message %u node %d %.*s\n", server, action->message, (int)action->node,
                   (int)action->length, (const char *)action->bytes);
        break;
    case PMI2_ACTION_TREE_LOST:
        text_print(log, "%u lost %u-%u\n", server, action->node, action->last_node - 1);
        break;
    case PMI2_ACTION_LOG:
        text_print(log, "%u log %d %s\n", server, action->level, action->text);
        break;
    case PMI2_ACTION_NAME:
        text_print(log, "%u name %d of %s: %s %s\n", server, (int)action->name->kind,
                   action->name->job, action->name->service, action->name->port);
        break;
    case PMI2_ACTION_SPAWN:
        text_print(log, "%u spawn of %s rank %u: %u processes\n", server, action->spawn->spawner,
                   action->spawn->rank, action->spawn->processes);
        break;
    default:
        break;
    }
}

static void writable(struct peer *peer)
{
    struct driver *driver = peer->driver;

    if (peer->has_output)
        return;
    peer->has_output = true;
    peer->next_output = NULL;
    if (driver->last_output != NULL)
        driver->last_output->next_output = peer;
    else
        driver->first_output = peer;
    driver->last_output = peer;
}

static bool act(struct driver *driver, uint32_t server)
{
    struct pmi2_action action;
    struct peer *peer;
    bool any = false;

    while (driver->servers[server] != NULL && pmi2_server_next(driver->servers[server], &action)) {
        any = true;
        say(driver, server, &action);
        peer = action.link == NULL ? NULL : pmi2_link_data(action.link);
        if (action.kind == PMI2_ACTION_OUTPUT && peer != NULL) {
            writable(peer);
        } else if (action.kind == PMI2_ACTION_READS && peer != NULL && peer->other != NULL) {
            writable(peer->other);
        } else if (action.kind == PMI2_ACTION_CLOSE && peer != NULL) {
            close_link(peer, action.text);
        } else if (action.kind == PMI2_ACTION_TREE_LOST && peer != NULL && peer->link != NULL) {
            close_link(peer, action.text);
        } else if (action.kind == PMI2_ACTION_NAME) {
            driver->last_name = action.name->id;
        } else if (action.kind == PMI2_ACTION_SPAWN) {
            driver->last_spawn = action.spawn->id;
            if (driver->on_spawn != NULL)
                driver->on_spawn(driver, action.spawn);
        }
    }
    return any;
}

void driver_run(struct driver *driver)
{
    bool any = true;
    uint32_t i;

    while (any) {
        any = false;
        for (i = 0; i < driver->server_count; i++)
            any |= act(driver, i);
        while (driver->first_output != NULL) {
            struct peer *peer = driver->first_output;

            driver->first_output = peer->next_output;
            if (driver->first_output == NULL)
                driver->last_output = NULL;
            peer->has_output = false;
            move(peer);
            any = true;
        }
        if (!any && driver->held != NULL) {
            move_held(driver);
            any = true;
        }
    }
}

void driver_run_rounds(struct driver *driver)
{
    struct peer *all, *peer;
    bool sent;
    uint32_t i;

    do {
        for (i = 0; i < driver->server_count; i++)
            act(driver, i);
        all = driver->first_output;
        driver->first_output = driver->last_output = NULL;
        sent = false;
        while ((peer = all) != NULL) {
            all = peer->next_output;
            peer->has_output = false;
            sent |= peer->other != NULL;
            move(peer);
        }
        driver->rounds += sent;
    } while (sent || driver->first_output != NULL);
}

void driver_time(struct driver *driver, uint64_t nanoseconds)
{
    uint32_t i;

    driver->now += nanoseconds;
    for (i = 0; i < driver->server_count; i++)
        if (driver->servers[i] != NULL)
            pmi2_server_time(driver->servers[i], driver->now);
    driver_run(driver);
}

void driver_settle(struct driver *driver, uint64_t nanoseconds)
{
    uint64_t end = driver->now + nanoseconds;
    uint32_t i;

    for (;;) {
        uint64_t next = UINT64_MAX;

        for (i = 0; i < driver->server_count; i++)
            if (driver->servers[i] != NULL && pmi2_server_deadline(driver->servers[i]) < next)
                next = pmi2_server_deadline(driver->servers[i]);
        if (next > end)
            break;
        driver_time(driver, next > driver->now ? next - driver->now : 1);
    }
}

/* ---- jobs, clients ----------------------------------------------------------------------------
 */

const char *driver_job_info(struct driver *driver, const struct pmi2_job_info *info)
{
    const char *id = pmi2_server_job_add(driver->servers[0], info);

    driver_run(driver);
    return id;
}

const char *driver_job(struct driver *driver, uint32_t ranks)
{
    uint32_t *node_of = need(malloc(ranks * sizeof(*node_of))), i, nodes = driver->options.nodes;
    uint32_t each = (ranks + nodes - 1) / nodes;
    struct pmi2_job_info info = {.size = ranks,
                                 .node_of = node_of,
                                 .app_size = &ranks,
                                 .apps = 1,
                                 .universe = -1,
                                 .launch = "go",
                                 .launch_bytes = 2};
    const char *id;

    for (i = 0; i < ranks; i++)
        node_of[i] = i / each;
    id = driver_job_info(driver, &info);
    free(node_of);
    return id;
}

struct peer *driver_client(struct driver *driver, const char *job, uint32_t rank, uint32_t node)
{
    struct peer *peer = peer_new(driver, node);

    peer->link = pmi2_server_client(driver->servers[node], job, rank, PMI2_AUTH_NONE, peer);
    return peer->link == NULL ? NULL : peer;
}

struct peer *driver_port(struct driver *driver, const char *job, uint32_t node, enum pmi2_auth auth)
{
    struct peer *peer = peer_new(driver, node);

    peer->link = pmi2_server_client(driver->servers[node], job, PMI2_NO_RANK, auth, peer);
    return peer->link == NULL ? NULL : peer;
}

void driver_post(struct peer *peer, const void *bytes, size_t length)
{
    if (peer->link != NULL)
        input(peer, bytes, length);
}

void driver_bytes(struct peer *peer, const void *bytes, size_t length)
{
    driver_post(peer, bytes, length);
    driver_run(peer->driver);
}

void driver_resume_reading(struct peer *peer)
{
    peer->deaf = false;
    writable(peer);
    driver_run(peer->driver);
}

struct peer *driver_parent(struct driver *driver, uint32_t server)
{
    uint32_t i;

    for (i = 0; i < driver->peer_count; i++) {
        struct peer *peer = driver->peers[i];

        if (peer->server == server && peer->other != NULL && peer->other->server < server)
            return peer;
    }
    return NULL;
}

void driver_send(struct peer *peer, const char *text)
{
    driver_bytes(peer, text, strlen(text));
}

void driver_frame(struct peer *peer, const char *payload)
{
    struct text frame = {NULL, 0, 0};

    text_print(&frame, "%6zu", strlen(payload));
    text_add(&frame, payload, strlen(payload));
    driver_bytes(peer, frame.at, frame.length);
    free(frame.at);
}

void driver_hang_up(struct peer *peer)
{
    if (peer->link != NULL) {
        pmi2_link_eof(peer->link);
        drop_link(peer);
    }
    driver_run(peer->driver);
}

void driver_kill_server(struct driver *driver, uint32_t server)
{
    uint32_t i;

    for (i = 0; i < driver->peer_count; i++) {
        struct peer *peer = driver->peers[i];

        if (peer->server == server && peer->link != NULL)
            drop_link(peer);
    }
    pmi2_server_free(driver->servers[server]);
    driver->servers[server] = NULL;
    for (i = 0; i < driver->peer_count; i++) {
        struct peer *peer = driver->peers[i];

        if (peer->other != NULL && peer->other->server == server && peer->link != NULL &&
            !driver->options.lossy)
            pmi2_link_eof(peer->link);
    }
    driver_run(driver);
}
