/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several endpoints of each rank at work at the same time: endpoint e sends messages to and fro
 * with endpoint e of the partner. Each has a thread and a queue of its own, or one thread reads one
 * queue for all.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"endpoints", ARG_COUNT, "4", "1", "64", NULL, "of each rank"},
    {"threads", ARG_BOOL, "true", NULL, NULL, NULL, "a thread and a queue for each"},
    {"bytes", ARG_BYTES, "64", "1", "16MiB", NULL, "length of a message"},
    {"iterations", ARG_COUNT, "200", "1", "1000000000", NULL, "round trips of each endpoint"},
    {NULL},
};

struct multi;

struct line { /* one endpoint */
    struct wl_fi fi; /* with its endpoint; its own queue or the common one */
    struct multi *multi;
    uint32_t number;
    fi_addr_t to;
    uint8_t *in, *out;
    uint64_t round; /* messages that came */
    bool sending, receiving;
    uint64_t began;
    struct rank_thread *thread;
};

struct multi {
    struct wl_fi fi;
    uint32_t count, peer;
    bool threads;
    size_t bytes;
    uint64_t iterations;
    struct line *lines;
    const uint8_t *names; /* by rank and endpoint */
    size_t name_bytes;
};

/* ---- one endpoint ---------------------------------------------------------------------------- */

static uint64_t seed_of(const struct line *line, uint32_t from, uint64_t round)
{
    return wl_fi_seed(from, line->number, round);
}

static int post_receive(struct line *line)
{
    line->receiving = true;
    return wl_fi_post(&line->fi, fi_recv(line->fi.ep, line->in, line->multi->bytes, NULL,
                                         FI_ADDR_UNSPEC, &line->in));
}

static int send_next(struct line *line)
{
    line->sending = true;
    wl_pattern_fill(line->out, line->multi->bytes, seed_of(line, line->fi.id, line->round));
    return wl_fi_post(
        &line->fi, fi_send(line->fi.ep, line->out, line->multi->bytes, NULL, line->to, &line->out));
}

/* A leader begins a round, a follower answers it. */
static int begin(struct line *line)
{
    int status = post_receive(line);

    line->began = rank_now();
    if (status == 0 && wl_fi_leads(&line->fi))
        status = send_next(line);
    return status;
}

static int take_message(struct line *line, const struct wl_fi_event *event)
{
    if (event->entry.len != line->multi->bytes ||
        wl_pattern_differs(line->in, line->multi->bytes,
                           seed_of(line, line->multi->peer, line->round)))
        return rank_fail(line->fi.rank, "message %llu at endpoint %u is wrong",
                         (unsigned long long)line->round, line->number);
    if (!wl_fi_leads(&line->fi)) { /* the answer carries the same number */
        line->receiving = false;
        return send_next(line);
    }
    rank_record_latency(line->fi.rank, "latency", (rank_now() - line->began) / 2);
    line->receiving = false;
    return 0;
}

static int take(struct line *line, const struct wl_fi_event *event)
{
    int status = 0;

    if (event->error != 0)
        return 1;
    if (event->entry.op_context == &line->out)
        line->sending = false;
    else
        status = take_message(line, event);
    if (status != 0 || line->sending || line->receiving)
        return status;
    line->round++;
    rank_progress(line->fi.rank);
    return line->round < line->multi->iterations ? begin(line) : 0;
}

static int run_alone(struct rank *rank, void *arg)
{
    struct line *line = arg;
    struct wl_fi_event event;
    int status = begin(line);

    while (status == 0 && line->round < line->multi->iterations) {
        if (!wl_fi_wait(&line->fi, &event))
            break;
        status = take(line, &event);
    }
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_over(const struct multi *m)
{
    uint32_t i;

    for (i = 0; i < m->count; i++)
        if (m->lines[i].round < m->iterations)
            return false;
    return true;
}

static struct line *line_of(struct multi *m, const struct wl_fi_event *event)
{
    return &m->lines[(size_t)((uint8_t *)event->entry.op_context - (uint8_t *)m->lines) /
                     sizeof(struct line)];
}

static int run_together(struct multi *m)
{
    struct wl_fi_event event;
    uint32_t i;
    int status = 0;

    for (i = 0; i < m->count && status == 0; i++)
        status = begin(&m->lines[i]);
    while (status == 0 && !is_over(m)) {
        /* Their posts may have read events of others. */
        for (i = 0; i < m->count && status == 0; i++)
            while (status == 0 && m->lines[i].fi.event_count > 0 &&
                   wl_fi_poll(&m->lines[i].fi, &event))
                status = take(line_of(m, &event), &event);
        if (status != 0 || is_over(m) || !wl_fi_wait(&m->fi, &event))
            break;
        status = take(line_of(m, &event), &event);
    }
    return status;
}

static int run_apart(struct multi *m)
{
    uint32_t i;
    int status = 0;

    for (i = 1; i < m->count; i++) {
        m->lines[i].thread = rank_thread_start(m->fi.rank, run_alone, &m->lines[i]);
        if (m->lines[i].thread == NULL)
            status = rank_fail(m->fi.rank, "no stack for a thread; allowed: fewer endpoints");
    }
    if (run_alone(m->fi.rank, &m->lines[0]) < 0)
        status = -1;
    for (i = 1; i < m->count; i++)
        if (m->lines[i].thread != NULL && rank_thread_join(m->fi.rank, m->lines[i].thread) < 0)
            status = -1;
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int line_open(struct multi *m, struct line *line, uint8_t *name)
{
    struct fi_cq_attr cq = {.size = 64, .format = FI_CQ_FORMAT_TAGGED};
    size_t bytes = m->name_bytes;
    int status = 0;

    line->multi = m;
    line->number = (uint32_t)(line - m->lines);
    line->fi = m->fi; /* the same domain and address vector, its own events */
    line->fi.ep = NULL;
    line->in = wl_fi_buffer(m->bytes);
    line->out = wl_fi_buffer(m->bytes);
    if (m->threads)
        status = fi_cq_open(m->fi.domain, &cq, &line->fi.cq, NULL);
    if (status != 0)
        return wl_fi_failed(&m->fi, "fi_cq_open", status);
    if (wl_fi_endpoint(&line->fi, line->fi.cq, &line->fi.ep) != 0)
        return -1;
    status = fi_getname(&line->fi.ep->fid, name, &bytes);
    return status != 0 ? wl_fi_failed(&m->fi, "fi_getname", status) : 0;
}

static int lines_open(struct multi *m)
{
    uint8_t *mine;
    uint32_t i;
    int status = 0;

    m->name_bytes = m->fi.info->src_addrlen;
    m->lines = calloc(m->count, sizeof(*m->lines));
    mine = calloc(m->count, m->name_bytes);
    for (i = 0; i < m->count && status == 0; i++)
        status = line_open(m, &m->lines[i], mine + i * m->name_bytes);
    if (status == 0) {
        m->names = wl_fi_exchange(&m->fi, mine, m->count * m->name_bytes);
        status = m->names != NULL ? 0 : -1;
    }
    free(mine);
    return status;
}

static int find_partners(struct multi *m)
{
    uint32_t i;

    for (i = 0; i < m->count; i++)
        if (fi_av_insert(m->fi.av, m->names + ((size_t)m->peer * m->count + i) * m->name_bytes, 1,
                         &m->lines[i].to, 0, NULL) != 1)
            return rank_fail(m->fi.rank, "the address of endpoint %u is not accepted", i);
    return 0;
}

static uint64_t lines_close(struct multi *m)
{
    uint64_t missing = 0;
    uint32_t i;

    for (i = 0; m->lines != NULL && i < m->count; i++) {
        struct line *line = &m->lines[i];

        missing += m->iterations - line->round;
        m->fi.errors += line->fi.errors;
        free(line->fi.events);
        line->fi.events = NULL;
    }
    return missing;
}

static void lines_free(struct multi *m)
{
    uint32_t i;

    for (i = 0; m->lines != NULL && i < m->count; i++) {
        struct line *line = &m->lines[i];

        if (line->fi.ep != NULL)
            fi_close(&line->fi.ep->fid);
        if (line->fi.cq != NULL && line->fi.cq != m->fi.cq)
            fi_close(&line->fi.cq->fid);
        free(line->in);
        free(line->out);
    }
    free(m->lines);
}

static void read_all(struct wl_fi *fi)
{
    struct multi *m = (struct multi *)fi; /* it is the first member */
    uint32_t i;

    for (i = 0; i < (m->threads ? m->count : 1); i++)
        if (m->lines[i].fi.cq != NULL)
            fi_cq_read(m->lines[i].fi.cq, NULL, 0);
}

static int open_multi(struct multi *m, struct rank *rank)
{
    struct fi_info *hints = fi_allocinfo();
    int status;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = FI_MSG;
    hints->ep_attr->type =
        strcmp(rank_arg_choice(rank, "type"), "dgram") == 0 ? FI_EP_DGRAM : FI_EP_RDM;
    hints->domain_attr->threading = m->threads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    status = wl_fi_open_hints(&m->fi, rank, hints, 4 * m->count + 64);
    fi_freeinfo(hints);
    m->fi.progress = read_all;
    return status == 0 ? lines_open(m) : -1;
}

static int run(struct rank *rank)
{
    struct multi m = {.count = (uint32_t)rank_arg_count(rank, "endpoints"),
                      .threads = rank_arg_bool(rank, "threads"),
                      .bytes = rank_arg_count(rank, "bytes"),
                      .iterations = rank_arg_count(rank, "iterations")};
    int status = open_multi(&m, rank), result = 0;
    uint64_t missing = 0;

    m.peer = wl_fi_partner(&m.fi);
    if (status == 0 && m.peer != UINT32_MAX) {
        status = find_partners(&m);
        if (status == 0)
            result = m.threads ? run_apart(&m) : run_together(&m);
        missing = lines_close(&m);
    }
    if (status == 0)
        status = wl_fi_finish(&m.fi, missing);
    lines_free(&m);
    wl_fi_close(&m.fi);
    return status != 0 || result < 0;
}

static const struct workload fi_multi_ep = {
    .name = "fi_multi_ep",
    .meaning = "libfabric: several endpoints of each rank at work at the same time",
    .metrics = "latency (ps, one way)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_multi_ep)
