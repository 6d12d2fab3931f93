/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connected endpoints of libfabric: the first ranks are servers that listen, the others clients
 * that connect to one of them, exchange messages, shut down, and begin again. Servers refuse the
 * first attempt of every `refuse`-th connection.
 */
#include "support/fi.h"

#include <rdma/fi_eq.h>

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"servers", ARG_COUNT, "1", "1", "100000", NULL, "ranks that listen"},
    {"connections", ARG_COUNT, "4", "1", "1000000", NULL, "that each client makes, one by one"},
    {"messages", ARG_COUNT, "10", "0", "1000000", NULL, "there and back on a connection"},
    {"bytes", ARG_BYTES, "1KiB", "1", "16MiB", NULL, "length of a message"},
    {"refuse", ARG_COUNT, "0", "0", "1000000", NULL, "every how many-th is refused once; 0: none"},
    {NULL},
};

struct hello { /* data of a request, and of its answer with `answers` set */
    uint32_t client, answers;
    uint64_t connection, attempt;
};

struct line { /* a connection, at one of its ends */
    struct fid_ep *ep;
    struct hello hello;
    uint64_t received; /* messages */
    uint8_t *in, *out;
    struct line *next; /* server: all of them */
};

struct office {
    struct wl_fi fi; /* first */
    struct fid_eq *eq;
    struct fid_pep *pep;
    uint32_t servers;
    uint64_t connections, messages, refuse;
    size_t bytes;
    const uint8_t *names; /* of the listening endpoints, by rank */
    size_t name_bytes;
    struct line *lines;
    uint64_t done, refused; /* connections that have ended well */
};

/* ---- a line ---------------------------------------------------------------------------------- */

#define CALL(o, call)                                           \
    do {                                                        \
        int call_result_ = (int)(call);                         \
        if (call_result_ < 0)                                   \
            return wl_fi_failed(&(o)->fi, #call, call_result_); \
    } while (0)

static int line_open(struct office *o, struct line *line, struct fi_info *info)
{
    CALL(o, fi_endpoint(o->fi.domain, info, &line->ep, line));
    CALL(o, fi_ep_bind(line->ep, &o->eq->fid, 0));
    CALL(o, fi_ep_bind(line->ep, &o->fi.cq->fid, FI_TRANSMIT | FI_RECV));
    CALL(o, fi_enable(line->ep));
    line->in = wl_fi_buffer(o->bytes);
    line->out = wl_fi_buffer(o->bytes);
    if (o->messages > 0)
        CALL(o, fi_recv(line->ep, line->in, o->bytes, NULL, FI_ADDR_UNSPEC, line));
    return 0;
}

static void line_close(struct line *line)
{
    if (line->ep != NULL)
        fi_close(&line->ep->fid);
    line->ep = NULL;
    free(line->in);
    free(line->out);
    line->in = line->out = NULL;
}

/* The content of a message on a line, by direction and number. */
static uint64_t seed_of(const struct line *line, bool answer, uint64_t number)
{
    return wl_fi_seed(line->hello.client, answer, line->hello.connection << 20 | number);
}

static int line_send(struct office *o, struct line *line, bool answer, uint64_t number)
{
    wl_pattern_fill(line->out, o->bytes, seed_of(line, answer, number));
    return wl_fi_post(&o->fi, fi_send(line->ep, line->out, o->bytes, NULL, 0, NULL));
}

static int line_check(struct office *o, struct line *line, const struct wl_fi_event *event,
                      bool answer)
{
    if (event->entry.len != o->bytes ||
        wl_pattern_differs(line->in, o->bytes, seed_of(line, answer, line->received)))
        return rank_fail(o->fi.rank, "message %llu on connection %llu of rank %u is wrong",
                         (unsigned long long)line->received,
                         (unsigned long long)line->hello.connection, line->hello.client);
    line->received++;
    memset(line->in, 0, o->bytes);
    if (line->received < o->messages)
        CALL(o, fi_recv(line->ep, line->in, o->bytes, NULL, FI_ADDR_UNSPEC, line));
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct happening {
    uint32_t event; /* 0: none */
    int error; /* instead */
    fid_t fid;
    struct fi_info *info; /* FI_CONNREQ */
    struct hello hello;
    bool has_hello;
};

static void poll_queues(struct office *o, struct happening *found)
{
    union {
        struct fi_eq_cm_entry entry; /* with a hello behind it */
        uint8_t bytes[sizeof(struct fi_eq_cm_entry) + sizeof(struct hello)];
    } buffer;
    struct fi_eq_err_entry error = {.err = 0};
    ssize_t bytes = fi_eq_read(o->eq, &found->event, &buffer, sizeof(buffer), 0);

    if (bytes == -FI_EAVAIL) {
        if (fi_eq_readerr(o->eq, &error, 0) <= 0)
            return;
        found->error = error.err;
        found->fid = error.fid;
        o->fi.progress_count++;
    }
    if (bytes < (ssize_t)sizeof(buffer.entry)) {
        found->event = 0;
        return;
    }
    o->fi.progress_count++;
    found->fid = buffer.entry.fid;
    found->info = buffer.entry.info;
    found->has_hello = (size_t)bytes >= sizeof(buffer.entry) + sizeof(struct hello);
    if (found->has_hello)
        memcpy(&found->hello, buffer.bytes + sizeof(buffer.entry), sizeof(struct hello));
}

/* This rank expects nothing more, but others may need its answers. */
static void progress(struct wl_fi *fi)
{
    struct office *o = (struct office *)fi; /* it is the first member */
    struct happening found = {.event = 0};

    poll_queues(o, &found);
    if (found.event == FI_CONNREQ)
        fi_freeinfo(found.info);
    fi_cq_read(fi->cq, NULL, 0);
}

/* ---- client ---------------------------------------------------------------------------------- */

/* Waits for an event of the line. 1: another event has come, or the timeout has expired. */
static int wait_for(struct office *o, struct line *line, uint32_t event, struct happening *found)
{
    struct wl_fi_event completion;

    for (;;) {
        *found = (struct happening){.event = 0};
        poll_queues(o, found);
        if (found->fid == &line->ep->fid && (found->error != 0 || found->event == event))
            return found->error;
        while (wl_fi_poll(&o->fi, &completion)) /* sends that completed late */
            if (completion.error != 0 && completion.error != FI_ECANCELED)
                return 1;
        if (wl_fi_timed_out(&o->fi))
            return 1;
    }
}

static int converse(struct office *o, struct line *line)
{
    struct wl_fi_event event;
    uint64_t number;
    int status = 0;

    for (number = 0; number < o->messages && status == 0; number++) {
        status = line_send(o, line, false, number) != 0;
        while (status == 0 && line->received == number) {
            if (!wl_fi_wait(&o->fi, &event) || event.error != 0)
                return 1;
            if (event.entry.op_context == line)
                status = line_check(o, line, &event, true);
        }
        rank_progress(o->fi.rank);
    }
    return status;
}

static int check_answer(struct office *o, const struct line *line, const struct happening *found)
{
    struct hello expected = line->hello;

    expected.answers = 1;
    if (!found->has_hello || memcmp(&found->hello, &expected, sizeof(expected)) != 0)
        return rank_fail(o->fi.rank, "the server's word for connection %llu is wrong",
                         (unsigned long long)line->hello.connection);
    return 0;
}

/* 0: connected; 1: failed because of a fault; FI_ECONNREFUSED: refused. */
static int attempt(struct office *o, struct line *line)
{
    uint32_t server = o->fi.id % o->servers; /* at least one */
    uint64_t began = rank_now();
    struct happening found;
    int status = line_open(o, line, o->fi.info);

    if (status != 0)
        return -1;
    status = wl_fi_post(&o->fi, fi_connect(line->ep, o->names + server * o->name_bytes,
                                           &line->hello, sizeof(line->hello)));
    if (status != 0)
        return 1;
    status = wait_for(o, line, FI_CONNECTED, &found);
    if (status != 0)
        return status;
    rank_record_latency(o->fi.rank, "connect", rank_now() - began);
    if (check_answer(o, line, &found) != 0)
        return -1;
    status = converse(o, line);
    if (status == 0)
        status = fi_shutdown(line->ep, 0) != 0 || wait_for(o, line, FI_SHUTDOWN, &found) != 0;
    return status;
}

static int be_client(struct office *o)
{
    uint64_t number, tries;
    int status = 0;

    assert(o->servers > 0 && o->eq != NULL);
    for (number = 0; number < o->connections && status == 0; number++) {
        for (tries = 0, status = FI_ECONNREFUSED; status == FI_ECONNREFUSED && tries < 10;
             tries++) {
            struct line line = {
                .hello = {.client = o->fi.id, .connection = number, .attempt = tries}};

            status = attempt(o, &line);
            o->refused += status == FI_ECONNREFUSED;
            line_close(&line);
        }
        o->done += status == 0;
    }
    if (o->fi.errors == 0 && status > 0)
        o->fi.errors++;
    return status < 0 ? -1 : 0;
}

/* ---- server ---------------------------------------------------------------------------------- */

static int answer_request(struct office *o, struct happening *found)
{
    struct hello answer = found->hello;
    struct line *line;
    int status;

    answer.answers = 1;
    if (!found->has_hello || found->hello.answers != 0 || found->hello.client >= o->fi.size)
        return rank_fail(o->fi.rank, "a request without a proper word");
    if (o->refuse != 0 && found->hello.attempt == 0 &&
        found->hello.connection % o->refuse == o->refuse - 1) {
        o->refused++;
        return fi_reject(o->pep, found->info->handle, &answer, sizeof(answer)) == 0 ? 0 : -1;
    }
    line = calloc(1, sizeof(*line));
    line->hello = found->hello;
    line->next = o->lines;
    o->lines = line;
    status = line_open(o, line, found->info);
    if (status == 0)
        status = wl_fi_post(&o->fi, fi_accept(line->ep, &answer, sizeof(answer)));
    return status;
}

static int happen(struct office *o, struct happening *found)
{
    struct line *line;
    int status = 0;

    switch (found->event) {
    case FI_CONNREQ:
        status = answer_request(o, found);
        fi_freeinfo(found->info);
        return status;
    case FI_SHUTDOWN:
        line = found->fid->context;
        o->done += line->received == o->messages;
        line_close(line);
        return 0;
    default: /* FI_CONNECTED: the client sends first */
        return 0;
    }
}

static int serve(struct office *o, uint64_t expected)
{
    struct wl_fi_event event;
    struct happening found;
    struct line *line;
    int status = 0;

    assert(o->eq != NULL);
    while (o->done < expected && status == 0) {
        found = (struct happening){.event = 0};
        poll_queues(o, &found);
        if (found.event != 0)
            status = happen(o, &found);
        while (status == 0 && wl_fi_poll(&o->fi, &event)) {
            line = event.entry.op_context;
            if (line == NULL || event.error != 0)
                continue;
            status = line_check(o, line, &event, false);
            if (status == 0)
                status = line_send(o, line, true, line->received - 1);
        }
        if (status == 0 && wl_fi_timed_out(&o->fi))
            return 0;
    }
    return status;
}

static int listen_here(struct office *o)
{
    uint8_t name[FI_NAME_MAX] = {0};
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};

    o->name_bytes = o->fi.info->src_addrlen;
    if (o->name_bytes > sizeof(name))
        return rank_fail(o->fi.rank, "names of %zu bytes", o->name_bytes);
    CALL(o, fi_eq_open(o->fi.fabric, &attr, &o->eq, NULL));
    o->fi.progress = progress;
    if (o->fi.id < o->servers) {
        CALL(o, fi_passive_ep(o->fi.fabric, o->fi.info, &o->pep, NULL));
        CALL(o, fi_pep_bind(o->pep, &o->eq->fid, 0));
        CALL(o, fi_listen(o->pep));
        CALL(o, fi_getname(&o->pep->fid, name, &o->name_bytes));
    }
    o->names = wl_fi_exchange(&o->fi, name, o->name_bytes);
    return o->names != NULL ? 0 : -1;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_office(struct office *o, struct rank *rank)
{
    struct fi_info *hints = fi_allocinfo();
    int status;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_MSG;
    status = wl_fi_open_hints(&o->fi, rank, hints, 1024);
    fi_freeinfo(hints);
    return status == 0 ? listen_here(o) : -1;
}

static uint64_t expected_of(const struct office *o)
{
    uint64_t clients = o->fi.size - o->servers, mine = 0;
    uint32_t i;

    if (o->fi.id >= o->servers)
        return o->connections;
    for (i = o->servers; i < o->servers + clients; i++)
        mine += i % o->servers == o->fi.id;
    return mine * o->connections;
}

static void close_office(struct office *o)
{
    struct line *line;

    while ((line = o->lines) != NULL) {
        o->lines = line->next;
        line_close(line);
        free(line);
    }
    if (o->pep != NULL)
        fi_close(&o->pep->fid);
    if (o->eq != NULL)
        fi_close(&o->eq->fid);
    wl_fi_close(&o->fi);
}

static int run(struct rank *rank)
{
    struct office o = {.servers = (uint32_t)rank_arg_count(rank, "servers"),
                       .connections = rank_arg_count(rank, "connections"),
                       .messages = rank_arg_count(rank, "messages"),
                       .bytes = rank_arg_count(rank, "bytes"),
                       .refuse = rank_arg_count(rank, "refuse")};
    int status, result = 0;

    if (o.servers >= rank_size(rank))
        return rank_fail(rank, "servers: %u; allowed: fewer than there are ranks", o.servers) != 0;
    status = open_office(&o, rank);
    if (status == 0) {
        result = o.fi.id < o.servers ? serve(&o, expected_of(&o)) : be_client(&o);
        rank_count(rank, o.fi.id < o.servers ? "served" : "connections", o.done);
        rank_count(rank, "refused", o.refused);
        status = wl_fi_finish(&o.fi, expected_of(&o) - o.done);
    }
    close_office(&o);
    return status != 0 || result != 0;
}

static const struct workload fi_msg_client_server = {
    .name = "fi_msg_client_server",
    .meaning = "libfabric: clients connect to servers, exchange messages and shut down",
    .metrics = "connect (ps), connections, served, refused",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_msg_client_server)
