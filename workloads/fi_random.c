/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random traffic of all kinds over libfabric: messages with and without tags, eager and long, which
 * arrive in any order; reads, writes and atomic operations on a part of each rank's memory that is
 * reserved for their initiator. Every byte that is received or read is verified, and each message
 * must arrive once; in the end each rank reports to each other one how many it has sent.
 */
#include "support/fi.h"

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"operations", ARG_COUNT, "200", "1", "10000000", NULL, "that each rank begins"},
    {"bytes", ARG_BYTES, "40KiB", "64", "16MiB", NULL, "of the largest message"},
    {"window", ARG_COUNT, "8", "1", "1024", NULL, "operations in flight"},
    {"receives", ARG_COUNT, "4", "1", "1024", NULL, "posted, of each of three kinds"},
    {"one_sided", ARG_BOOL, "true", NULL, NULL, NULL, "reads, writes and atomic operations, too"},
    {"atomics", ARG_BOOL, "true", NULL, NULL, NULL,
     "with one_sided: a lost packet ends an atomic operation, but not a read or write"},
    {"delivery", ARG_BOOL, "false", NULL, NULL, NULL, "sends complete when they are delivered"},
    {NULL},
};

#define PART_BYTES 12288u /* of a rank's memory, for each other rank */
#define CLASS_BIT 40 /* of a tag: two classes of messages; below: the number of the message */
#define END (1ull << 62) /* tag of the last message, which has the number of messages */
#define FROM_BIT 42

enum kind {
    TAGGED,
    TAGGED_TOO,
    UNTAGGED,
    WORD,
    INJECTED,
    TWO_SIDED,
    WRITE = TWO_SIDED,
    READ,
    ADD, /* the last: "atomics" leaves it out */
    KINDS
};

struct header { /* of a message; then come bytes that depend on it */
    uint64_t from, number, bytes;
};

struct operation { /* of ours, in flight */
    struct operation *next; /* free */
    enum kind kind;
    uint32_t peer;
    size_t offset, bytes;
    uint64_t operand, result;
    uint8_t *buffer;
};

struct other { /* state shared with another rank */
    uint64_t sent, received, announced; /* announced: UINT64_MAX until it is known */
    uint8_t *seen; /* a bit for each message */
    uint8_t *mirror; /* what our part of its memory holds; NULL: never used */
    uint64_t counter; /* and the counter behind it */
    bool busy; /* a one-sided operation is under way */
    uint64_t end_in, end_out; /* the last message */
};

struct mix {
    struct wl_fi fi;
    uint64_t operations, window, receives, started, ended;
    size_t bytes;
    bool one_sided, atomics, delivery;
    struct operation *all, *free;
    struct wl_fi_window tagged, tagged_too, untagged;
    struct wl_fi_memory memory;
    struct other *others;
    uint64_t got, ends, ends_sent;
};

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t below(struct mix *m, uint64_t limit)
{
    return limit != 0 ? rank_random(m->fi.rank) % limit : 0;
}

/* Short ones are as frequent as long ones. */
static size_t length(struct mix *m, size_t least, size_t most)
{
    size_t limit = least;

    while (limit < most && below(m, 8) != 0)
        limit *= 2;
    return least + below(m, (limit < most ? limit : most) - least + 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint64_t tag_of(uint32_t from, enum kind kind, uint64_t number)
{
    return (uint64_t)from << FROM_BIT | (uint64_t)(kind == TAGGED_TOO) << CLASS_BIT | number;
}

static void write_message(struct mix *m, struct operation *o)
{
    struct header header = {m->fi.id, m->others[o->peer].sent++, o->bytes};

    memcpy(o->buffer, &header, sizeof(header));
    wl_pattern_fill(o->buffer + sizeof(header), o->bytes - sizeof(header),
                    wl_fi_seed(m->fi.id, o->peer, header.number));
    o->operand = header.number;
}

static int send_delivered(struct mix *m, struct operation *o, fi_addr_t to)
{
    struct iovec iov = {o->buffer, o->bytes};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = to, .context = o, .data = o->operand};
    struct fi_msg_tagged tagged = {.msg_iov = &iov,
                                   .iov_count = 1,
                                   .addr = to,
                                   .tag = tag_of(m->fi.id, o->kind, o->operand),
                                   .context = o};
    uint64_t flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;

    if (o->kind == WORD)
        flags |= FI_REMOTE_CQ_DATA;
    if (o->kind == UNTAGGED || o->kind == WORD)
        return wl_fi_post(&m->fi, fi_sendmsg(m->fi.ep, &message, flags));
    return wl_fi_post(&m->fi, fi_tsendmsg(m->fi.ep, &tagged, flags));
}

static int send(struct mix *m, struct operation *o, fi_addr_t to)
{
    struct fid_ep *ep = m->fi.ep;
    uint64_t tag;

    o->bytes = o->kind == INJECTED ? sizeof(struct header) + below(m, 41)
                                   : length(m, sizeof(struct header), m->bytes);
    write_message(m, o);
    if (m->delivery && o->kind != INJECTED)
        return send_delivered(m, o, to);
    tag = tag_of(m->fi.id, o->kind, o->operand);
    switch (o->kind) {
    case UNTAGGED:
        return wl_fi_post(&m->fi, fi_send(ep, o->buffer, o->bytes, NULL, to, o));
    case WORD:
        return wl_fi_post(&m->fi, fi_senddata(ep, o->buffer, o->bytes, NULL, o->operand, to, o));
    case INJECTED:
        return wl_fi_post(&m->fi, fi_inject(ep, o->buffer, o->bytes, to));
    default:
        return wl_fi_post(&m->fi, fi_tsend(ep, o->buffer, o->bytes, NULL, to, tag, o));
    }
}

static int post_receive(struct mix *m, struct wl_fi_window *window, struct wl_fi_slot *slot)
{
    struct fid_ep *ep = m->fi.ep;
    uint64_t class = (uint64_t)(window == &m->tagged_too) << CLASS_BIT;

    if (window == &m->untagged)
        return wl_fi_post(&m->fi, fi_recv(ep, slot->bytes, m->bytes, NULL, FI_ADDR_UNSPEC, slot));
    return wl_fi_post(&m->fi, fi_trecv(ep, slot->bytes, m->bytes, NULL, FI_ADDR_UNSPEC, class,
                                       ~(END | 1ull << CLASS_BIT), slot));
}

static int check_message(struct mix *m, const struct wl_fi_event *event, const uint8_t *bytes)
{
    struct header header;
    struct other *other;

    memcpy(&header, bytes, sizeof(header));
    if (header.from >= m->fi.size || header.number >= m->operations ||
        event->entry.len != header.bytes || header.bytes > m->bytes ||
        wl_pattern_differs(bytes + sizeof(header), header.bytes - sizeof(header),
                           wl_fi_seed((uint32_t)header.from, m->fi.id, header.number)))
        return rank_fail(m->fi.rank, "message %llu of rank %llu is wrong",
                         (unsigned long long)header.number, (unsigned long long)header.from);
    if ((event->entry.flags & FI_REMOTE_CQ_DATA) && event->entry.data != header.number)
        return rank_fail(m->fi.rank, "the word of message %llu is wrong",
                         (unsigned long long)header.number);
    if ((event->entry.flags & FI_TAGGED) &&
        (event->entry.tag & ~(1ull << CLASS_BIT)) !=
            tag_of((uint32_t)header.from, TAGGED, header.number))
        return rank_fail(m->fi.rank, "the tag of message %llu is wrong",
                         (unsigned long long)header.number);
    other = &m->others[header.from];
    if (other->seen[header.number / 8] >> header.number % 8 & 1)
        return rank_fail(m->fi.rank, "message %llu of rank %llu came twice",
                         (unsigned long long)header.number, (unsigned long long)header.from);
    other->seen[header.number / 8] |= (uint8_t)(1u << header.number % 8);
    other->received++;
    m->got++;
    return 0;
}

static struct wl_fi_window *window_of(struct mix *m, const void *context)
{
    if (wl_fi_is_slot(&m->tagged, context))
        return &m->tagged;
    if (wl_fi_is_slot(&m->tagged_too, context))
        return &m->tagged_too;
    return wl_fi_is_slot(&m->untagged, context) ? &m->untagged : NULL;
}

/* ---- one-sided operations -------------------------------------------------------------------- */

static int one_sided(struct mix *m, struct operation *o, fi_addr_t to)
{
    const struct wl_fi_remote *place = &m->memory.all[o->peer];
    uint64_t remote = place->address + (uint64_t)m->fi.id * PART_BYTES;
    struct other *other = &m->others[o->peer];
    struct fid_ep *ep = m->fi.ep;
    size_t most = PART_BYTES - sizeof(uint64_t);

    if (other->mirror == NULL)
        other->mirror = wl_fi_buffer(most);
    other->busy = true;
    if (o->kind == ADD) {
        o->operand = below(m, 1000);
        return wl_fi_post(&m->fi, fi_fetch_atomic(ep, &o->operand, 1, NULL, &o->result, NULL, to,
                                                  remote + most, place->key, FI_UINT64, FI_SUM, o));
    }
    o->bytes = length(m, 1, most < m->bytes ? most : m->bytes);
    o->offset = below(m, most - o->bytes + 1);
    if (o->kind == READ) {
        memset(o->buffer, 0xa5, o->bytes);
        return wl_fi_post(
            &m->fi, fi_read(ep, o->buffer, o->bytes, NULL, to, remote + o->offset, place->key, o));
    }
    wl_pattern_fill(o->buffer, o->bytes, rank_random(m->fi.rank));
    return wl_fi_post(
        &m->fi, fi_write(ep, o->buffer, o->bytes, NULL, to, remote + o->offset, place->key, o));
}

static int check_one_sided(struct mix *m, const struct operation *o)
{
    struct other *other = &m->others[o->peer];
    bool right = true;

    if (o->kind == WRITE) {
        memcpy(other->mirror + o->offset, o->buffer, o->bytes);
    } else if (o->kind == READ) {
        right = memcmp(other->mirror + o->offset, o->buffer, o->bytes) == 0;
    } else {
        right = o->result == other->counter;
        other->counter += o->operand;
    }
    return right ? 0 : rank_fail(m->fi.rank, "what was fetched from rank %u is wrong", o->peer);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void free_operation(struct mix *m, struct operation *o)
{
    o->next = m->free;
    m->free = o;
    m->ended++;
    rank_progress(m->fi.rank);
}

static uint32_t other_rank(struct mix *m)
{
    uint32_t rank = (uint32_t)below(m, m->fi.size - 1);

    return rank + (rank >= m->fi.id);
}

static int start(struct mix *m, struct operation *o)
{
    fi_addr_t to;
    int status;

    assert(o != NULL && m->others != NULL);
    m->free = o->next;
    m->started++;
    o->kind = (enum kind)below(m, !m->one_sided ? TWO_SIDED : m->atomics ? KINDS : ADD);
    o->peer = other_rank(m);
    if (o->kind >= TWO_SIDED && m->others[o->peer].busy)
        o->kind = (enum kind)below(m, TWO_SIDED);
    to = wl_fi_address(&m->fi, o->peer);
    if (to == FI_ADDR_NOTAVAIL) {
        m->fi.lost++;
        free_operation(m, o);
        return 0;
    }
    status = o->kind >= TWO_SIDED ? one_sided(m, o, to) : send(m, o, to);
    if (o->kind == INJECTED)
        free_operation(m, o);
    return status;
}

static int end_operation(struct mix *m, struct operation *o, int error)
{
    int status = 0;

    assert(m->others != NULL);
    if (o->kind >= TWO_SIDED) {
        m->others[o->peer].busy = false;
        if (error == 0)
            status = check_one_sided(m, o);
    }
    if (error != 0) /* the content of its memory is unknown now */
        wl_fi_give_up_peer(&m->fi, o->peer);
    free_operation(m, o);
    return status;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static int post_ends(struct mix *m)
{
    uint32_t i;
    int status = 0;

    for (i = 0; i < m->fi.size && status == 0; i++) {
        m->others[i].announced = UINT64_MAX;
        if (i != m->fi.id)
            status =
                wl_fi_post(&m->fi, fi_trecv(m->fi.ep, &m->others[i].end_in, sizeof(uint64_t), NULL,
                                            FI_ADDR_UNSPEC, END | i, 0, &m->others[i].end_in));
    }
    return status;
}

static int send_ends(struct mix *m)
{
    uint32_t i, to;
    int status = 0;

    for (i = 1; i < m->fi.size && status == 0; i++) {
        to = (m->fi.id + i) % m->fi.size;
        m->others[to].end_out = m->others[to].sent;
        if (wl_fi_address(&m->fi, to) == FI_ADDR_NOTAVAIL) {
            m->fi.lost++;
            continue;
        }
        m->ends_sent++;
        status = wl_fi_post(&m->fi, fi_tsend(m->fi.ep, &m->others[to].end_out, sizeof(uint64_t),
                                             NULL, wl_fi_address(&m->fi, to), END | m->fi.id,
                                             &m->others[to].end_out));
    }
    return status;
}

static struct other *other_of(struct mix *m, const void *context)
{
    const uint8_t *at = context, *begin = (const uint8_t *)m->others;

    if (at < begin || at >= begin + m->fi.size * sizeof(*m->others))
        return NULL;
    return &m->others[(size_t)(at - begin) / sizeof(*m->others)];
}

static bool is_over(const struct mix *m)
{
    uint32_t i;

    if (m->ended < m->operations || m->ends_sent > 0 || m->ends < m->fi.size - 1)
        return false;
    for (i = 0; i < m->fi.size; i++)
        if (i != m->fi.id && m->others[i].received < m->others[i].announced)
            return false;
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int take(struct mix *m, const struct wl_fi_event *event)
{
    struct wl_fi_window *window = window_of(m, event->entry.op_context);
    struct other *other = other_of(m, event->entry.op_context);
    int status = 0;

    if (event->entry.op_context == NULL) /* an injected message that failed */
        return 0;
    if (window != NULL) {
        struct wl_fi_slot *slot = event->entry.op_context;

        if (event->error == 0)
            status = check_message(m, event, slot->bytes);
        return status == 0 ? post_receive(m, window, slot) : status;
    }
    if (other == NULL)
        return end_operation(m, event->entry.op_context, event->error);
    if (event->entry.op_context == &other->end_out) {
        m->ends_sent--;
    } else if (event->error == 0) {
        other->announced = other->end_in;
        m->ends++;
    }
    return 0;
}

static int run_mix(struct mix *m)
{
    struct wl_fi_event event;
    int status = post_ends(m);

    while (m->tagged.free != NULL && status == 0) {
        status = post_receive(m, &m->tagged, wl_fi_slot_alloc(&m->tagged));
        if (status == 0)
            status = post_receive(m, &m->tagged_too, wl_fi_slot_alloc(&m->tagged_too));
        if (status == 0)
            status = post_receive(m, &m->untagged, wl_fi_slot_alloc(&m->untagged));
    }
    while (status == 0 && m->ended < m->operations) {
        while (status == 0 && m->started < m->operations && m->free != NULL)
            status = start(m, m->free);
        if (status != 0 || m->ended == m->operations || !wl_fi_wait(&m->fi, &event))
            break;
        status = take(m, &event);
    }
    if (status == 0)
        status = send_ends(m);
    while (status == 0 && !is_over(m) && wl_fi_wait(&m->fi, &event))
        status = take(m, &event);
    return status;
}

/* No rank uses our memory any more: compares it with the sums that the others report. */
static int check_counters(struct mix *m)
{
    uint64_t *mine = calloc(m->fi.size, sizeof(*mine)), found;
    const uint64_t *all;
    uint32_t i;
    int status = 0;

    for (i = 0; i < m->fi.size; i++)
        mine[i] = m->others[i].counter;
    all = wl_fi_exchange(&m->fi, mine, m->fi.size * sizeof(*mine));
    for (i = 0; all != NULL && i < m->fi.size && status == 0; i++) {
        memcpy(&found, m->memory.bytes + (size_t)(i + 1) * PART_BYTES - sizeof(found),
               sizeof(found));
        if (found != all[(size_t)i * m->fi.size + m->fi.id])
            status = rank_fail(m->fi.rank, "the counter of rank %u is wrong", i);
    }
    free(mine);
    return all != NULL ? status : -1;
}

static uint64_t missing(const struct mix *m)
{
    uint64_t count = m->operations - m->ended;
    uint32_t i;

    for (i = 0; i < m->fi.size; i++) {
        if (i == m->fi.id)
            continue;
        if (m->others[i].announced == UINT64_MAX)
            count++;
        else if (m->others[i].announced > m->others[i].received)
            count += m->others[i].announced - m->others[i].received;
    }
    return count;
}

static int open_mix(struct mix *m, struct rank *rank)
{
    uint64_t caps = FI_MSG | FI_TAGGED | (m->one_sided ? FI_RMA | FI_ATOMIC : 0), i;
    uint8_t *buffers;

    if (wl_fi_open(&m->fi, rank, caps, 2 * m->window + 3 * m->receives + 2 * rank_size(rank)) != 0)
        return -1;
    m->all = calloc(m->window, sizeof(*m->all));
    buffers = wl_fi_buffer(m->window * m->bytes);
    for (i = 0; i < m->window; i++) {
        m->all[i] = (struct operation){.next = m->free, .buffer = buffers + i * m->bytes};
        m->free = &m->all[i];
    }
    m->others = calloc(m->fi.size, sizeof(*m->others));
    for (i = 0; i < m->fi.size; i++)
        m->others[i].seen = calloc(1, m->operations / 8 + 1);
    if (wl_fi_window_open(&m->fi, &m->tagged, m->receives, m->bytes) != 0 ||
        wl_fi_window_open(&m->fi, &m->tagged_too, m->receives, m->bytes) != 0 ||
        wl_fi_window_open(&m->fi, &m->untagged, m->receives, m->bytes) != 0)
        return -1;
    return m->one_sided ? wl_fi_memory_open(&m->fi, &m->memory, (size_t)m->fi.size * PART_BYTES)
                        : 0;
}

static void close_mix(struct mix *m)
{
    uint32_t i;

    wl_fi_memory_close(&m->memory);
    wl_fi_close(&m->fi);
    wl_fi_window_close(&m->tagged);
    wl_fi_window_close(&m->tagged_too);
    wl_fi_window_close(&m->untagged);
    for (i = 0; m->others != NULL && i < m->fi.size; i++) {
        free(m->others[i].seen);
        free(m->others[i].mirror);
    }
    free(m->others);
    if (m->all != NULL)
        free(m->all[0].buffer);
    free(m->all);
}

static int run(struct rank *rank)
{
    struct mix m = {.operations = rank_arg_count(rank, "operations"),
                    .window = rank_arg_count(rank, "window"),
                    .receives = rank_arg_count(rank, "receives"),
                    .bytes = rank_arg_count(rank, "bytes"),
                    .one_sided = rank_arg_bool(rank, "one_sided"),
                    .atomics = rank_arg_bool(rank, "atomics"),
                    .delivery = rank_arg_bool(rank, "delivery")};
    uint64_t sent = 0;
    uint32_t i;
    int status = open_mix(&m, rank), result = 0;

    if (status == 0) {
        result = run_mix(&m);
        for (i = 0; i < m.fi.size; i++)
            sent += m.others[i].sent;
        rank_count(rank, "sent", sent);
        rank_count(rank, "received", m.got);
        status = wl_fi_finish(&m.fi, missing(&m));
    }
    if (status == 0 && m.fi.clean && m.one_sided)
        status = check_counters(&m);
    close_mix(&m);
    return status != 0 || result < 0;
}

static const struct workload fi_random = {
    .name = "fi_random",
    .meaning = "libfabric: random traffic of all kinds, every byte looked at",
    .metrics = "sent, received (messages)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_random)
