/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random one-sided transfers of all kinds between all ranks: PUTs and GETs by FMA and BTE, GETs
 * with a flag, atomic additions, and notes, which are PUTs that the target learns of by a remote
 * event or by a sync flag. A part of each rank's memory is reserved for each initiator, which knows
 * what it holds. The initiator verifies all that it reads. The target verifies each note when it
 * learns of it, once and in order, and answers with a PUT of its number. In the end each part is
 * compared with what its initiator wrote.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"operations", ARG_COUNT, "200", "1", "10000000", NULL, "that each rank begins"},
    {"bytes", ARG_BYTES, "192KiB", "256", "1MiB", NULL, "of the longest transfer"},
    {"window", ARG_COUNT, "8", "1", "1024", NULL, "operations in flight per rank"},
    {"routing", ARG_CHOICE, "adaptive", NULL, NULL, "adaptive|in_order|min_hash",
     "of all transfers"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

enum kind { PUT_FMA, PUT_BTE, GET_FMA, GET_BTE, GET_FLAG, ADD, NOTE_EVENT, NOTE_FLAG, KINDS, WORD };

#define EDGE 64u /* around each buffer of a GET: bytes that must not change */
#define FLAGGED 28u /* longest GET with a flag */
#define OWN ((uint8_t)0x5a)
#define FLAG 0x1a60f1a6u

struct note { /* at the start of a note; then comes a pattern */
    uint64_t number, bytes;
};

struct words { /* behind data and note in each part */
    uint64_t flag, counter, answer, end; /* answer, end: numbers of notes; end: plus 1 */
};

struct operation {
    struct wl_operation base; /* first */
    struct operation *next; /* free */
    enum kind kind;
    uint32_t peer;
    uint64_t offset, bytes;
    uint8_t *buffer;
    struct wl_region region; /* of the buffer */
};

struct other { /* state shared with another rank */
    uint8_t *mirror; /* what our part of its memory holds; NULL: nothing yet */
    uint64_t counter, sent, received, end; /* sent, received: notes; end: what it is told */
    bool busy, noted; /* an operation is under way; a note is not answered yet */
};

struct test {
    struct wl_domain domain;
    uint64_t operations, bytes, window, part, started, ended;
    uint16_t mode;
    uint8_t *memory;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    struct operation *all, *free;
    struct other *others;
    uint64_t words; /* in flight */
};

/* ---- places ---------------------------------------------------------------------------------- */

static uint64_t below(struct test *test, uint64_t limit)
{
    return limit != 0 ? rank_random(test->domain.rank) % limit : 0;
}

/* Short ones are as frequent as long ones. */
static uint64_t length(struct test *test, uint64_t least, uint64_t most)
{
    uint64_t limit = least;

    while (limit < most && below(test, 8) != 0)
        limit *= 2;
    return least + below(test, (limit < most ? limit : most) - least + 1);
}

/* A part: data, a note, words. The last part ends where the registration ends. */
static uint64_t note_at(const struct test *test)
{
    return test->part - sizeof(struct words) - test->bytes - sizeof(struct note);
}

static uint64_t words_at(const struct test *test)
{
    return test->part - sizeof(struct words);
}

static uint8_t *own_part(const struct test *test, uint32_t initiator)
{
    return test->memory + initiator * test->part;
}

static struct words *words_of(const struct test *test, uint32_t initiator)
{
    return (struct words *)(void *)(own_part(test, initiator) + words_at(test));
}

static uint64_t seed_of(uint32_t from, uint32_t to, uint64_t number)
{
    return ((uint64_t)from << 40) + ((uint64_t)to << 20) + number;
}

/* ---- initiator ------------------------------------------------------------------------------- */

static void fill_note(struct test *test, struct operation *o)
{
    struct other *other = &test->others[o->peer];
    struct note note = {.number = ++other->sent};

    o->bytes = note.bytes = length(test, sizeof(note), test->bytes);
    o->offset = note_at(test);
    memcpy(o->buffer, &note, sizeof(note));
    wl_pattern_fill(o->buffer + sizeof(note), o->bytes - sizeof(note),
                    seed_of(test->domain.id, o->peer, note.number));
    other->noted = true;
}

static void fill_get(struct test *test, struct operation *o)
{
    uint64_t most = o->kind == GET_FLAG ? FLAGGED : test->bytes;

    o->bytes = (length(test, 4, most) + 3) & ~3ull;
    o->bytes = o->bytes > most ? o->bytes - 4 : o->bytes;
    o->offset = below(test, (test->bytes - o->bytes) / 4 + 1) * 4;
    memset(o->buffer - EDGE, OWN, o->bytes + 2 * EDGE);
}

static void fill(struct test *test, struct operation *o)
{
    switch (o->kind) {
    case NOTE_EVENT:
    case NOTE_FLAG:
        fill_note(test, o);
        break;
    case ADD:
        o->bytes = sizeof(uint64_t);
        o->offset = words_at(test) + offsetof(struct words, counter);
        break;
    case PUT_FMA:
    case PUT_BTE:
        o->bytes = length(test, 1, test->bytes);
        o->offset = below(test, test->bytes - o->bytes + 1);
        wl_pattern_fill(o->buffer, o->bytes, rank_random(test->domain.rank));
        break;
    default:
        fill_get(test, o);
    }
}

static gni_post_type_t type_of(struct test *test, enum kind kind)
{
    switch (kind) {
    case GET_FMA:
        return GNI_POST_FMA_GET;
    case GET_BTE:
        return GNI_POST_RDMA_GET;
    case GET_FLAG:
        return GNI_POST_FMA_GET_W_FLAG;
    case ADD:
        return GNI_POST_AMO;
    case NOTE_FLAG:
        return GNI_POST_FMA_PUT_W_SYNCFLAG;
    case NOTE_EVENT:
        return below(test, 2) ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
    case PUT_BTE:
        return GNI_POST_RDMA_PUT;
    default:
        return GNI_POST_FMA_PUT;
    }
}

static int post(struct test *test, struct operation *o)
{
    gni_post_descriptor_t *desc = &o->base.desc;
    const struct wl_region *target = &test->regions[o->peer];
    uint64_t part = target->address + test->domain.id * test->part;

    memset(&o->base, 0, sizeof(o->base));
    o->base.ep = wl_domain_ep(&test->domain, o->peer);
    desc->type = type_of(test, o->kind);
    desc->dlvr_mode = test->mode;
    desc->local_addr = (uintptr_t)o->buffer;
    desc->local_mem_hndl = o->region.handle;
    desc->remote_addr = part + o->offset;
    desc->remote_mem_hndl = target->handle;
    desc->length = o->bytes;
    if (o->kind == ADD) {
        desc->amo_cmd = GNI_FMA_ATOMIC_FADD;
        desc->first_operand = o->offset + o->peer;
    }
    if (o->kind == NOTE_EVENT)
        desc->cq_mode = GNI_CQMODE_REMOTE_EVENT;
    if (o->kind == NOTE_FLAG) {
        desc->sync_flag_addr = part + words_at(test) + offsetof(struct words, flag);
        desc->sync_flag_value = test->others[o->peer].sent;
    }
    if (o->kind == GET_FLAG)
        desc->sync_flag_value = FLAG;
    return o->base.ep != NULL ? wl_operation_post(&test->domain, &o->base) : -1;
}

/* One operation at a time to each other rank, so that their order is known. */
static uint32_t idle_peers(const struct test *test)
{
    uint32_t i, count = 0;

    for (i = 0; i < test->domain.size; i++)
        count += i != test->domain.id && !test->others[i].busy;
    return count;
}

/* One of those to which nothing is under way. */
static uint32_t choose_peer(struct test *test)
{
    uint32_t left = (uint32_t)below(test, idle_peers(test)), peer = 0;

    while (peer == test->domain.id || test->others[peer].busy || left-- > 0)
        peer++;
    assert(peer < test->domain.size);
    return peer;
}

static int start(struct test *test, struct operation *o)
{
    struct other *other;

    test->free = o->next;
    test->started++;
    o->peer = choose_peer(test);
    other = &test->others[o->peer];
    o->kind = (enum kind)below(test, KINDS);
    while (o->kind >= NOTE_EVENT && other->noted)
        o->kind = (enum kind)below(test, KINDS);
    if (other->mirror == NULL)
        other->mirror = calloc(1, test->bytes);
    other->busy = true;
    fill(test, o);
    return other->mirror != NULL ? post(test, o) : -1;
}

static bool changed_around(const struct operation *o, uint64_t behind)
{
    uint64_t i;

    for (i = 0; i < EDGE; i++)
        if (o->buffer[-1 - (int64_t)i] != OWN || (i >= behind && o->buffer[o->bytes + i] != OWN))
            return true;
    return false;
}

static int check_get(struct test *test, const struct operation *o)
{
    const uint8_t *expected = test->others[o->peer].mirror + o->offset;
    uint32_t flag = FLAG, found;

    memcpy(&found, o->buffer + o->bytes, sizeof(found));
    if (memcmp(o->buffer, expected, o->bytes) != 0)
        return rank_fail(test->domain.rank, "a GET of %llu bytes at %llu from rank %u is wrong",
                         (unsigned long long)o->bytes, (unsigned long long)o->offset, o->peer);
    if (o->kind == GET_FLAG && found != flag)
        return rank_fail(test->domain.rank, "the flag of a GET from rank %u was not stored",
                         o->peer);
    if (changed_around(o, o->kind == GET_FLAG ? sizeof(flag) : 0))
        return rank_fail(test->domain.rank, "a GET of %llu bytes changed others around them",
                         (unsigned long long)o->bytes);
    return 0;
}

/* Its operation has ended. */
static int end(struct test *test, struct operation *o)
{
    struct other *other = &test->others[o->peer];
    uint64_t before;
    int status = 0;

    if (o->base.failed)
        return rank_fail(test->domain.rank, "a transfer to rank %u failed", o->peer);
    switch (o->kind) {
    case PUT_FMA:
    case PUT_BTE:
        memcpy(other->mirror + o->offset, o->buffer, o->bytes);
        break;
    case ADD:
        memcpy(&before, o->buffer, sizeof(before));
        if (before != other->counter)
            status =
                rank_fail(test->domain.rank, "an addition at rank %u fetched %llu, not %llu",
                          o->peer, (unsigned long long)before, (unsigned long long)other->counter);
        other->counter += o->offset + o->peer;
        break;
    case NOTE_EVENT:
    case NOTE_FLAG:
    case WORD:
        break;
    default:
        status = check_get(test, o);
    }
    if (o->kind == WORD)
        test->words--;
    else
        test->ended++;
    other->busy = o->kind == WORD && other->busy;
    rank_progress(test->domain.rank);
    return status;
}

/* ---- target ---------------------------------------------------------------------------------- */

/* Writes a word into our part of another rank's memory. */
static int put_word(struct test *test, uint32_t to, size_t offset, uint64_t *value)
{
    struct operation *o = calloc(1, sizeof(*o));
    const struct wl_region *target = &test->regions[to];

    if (o == NULL)
        return rank_fail(test->domain.rank, "no memory");
    o->kind = WORD;
    o->peer = to;
    o->base.ep = wl_domain_ep(&test->domain, to);
    o->base.desc.type = GNI_POST_FMA_PUT;
    o->base.desc.dlvr_mode = test->mode;
    o->base.desc.local_addr = (uintptr_t)value;
    o->base.desc.remote_addr =
        target->address + test->domain.id * test->part + words_at(test) + offset;
    o->base.desc.remote_mem_hndl = target->handle;
    o->base.desc.length = sizeof(*value);
    test->words++;
    return o->base.ep != NULL ? wl_operation_post(&test->domain, &o->base) : -1;
}

/* The note has arrived, so all of it must be there. */
static int check_note(struct test *test, uint32_t from, const char *how)
{
    const uint8_t *at = own_part(test, from) + note_at(test);
    struct other *other = &test->others[from];
    struct note note;

    memcpy(&note, at, sizeof(note));
    if (note.number != other->received + 1)
        return rank_fail(test->domain.rank, "%s of rank %u came with note %llu after note %llu",
                         how, from, (unsigned long long)note.number,
                         (unsigned long long)other->received);
    if (note.bytes < sizeof(note) || note.bytes > test->bytes ||
        wl_pattern_differs(at + sizeof(note), note.bytes - sizeof(note),
                           seed_of(from, test->domain.id, note.number)))
        return rank_fail(test->domain.rank, "%s of rank %u came before its note was complete", how,
                         from);
    other->received++;
    return put_word(test, from, offsetof(struct words, answer), &other->received);
}

static int poll_events(struct test *test)
{
    gni_cq_entry_t event = 0;
    gni_return_t rc = GNI_CqGetEvent(test->domain.rx, &event);
    uint32_t from = (uint32_t)GNI_CQ_GET_INST_ID(event);

    if (rc == GNI_RC_NOT_DONE)
        return 0;
    test->domain.progress_count++;
    if (rc != GNI_RC_SUCCESS || from >= test->domain.size || from == test->domain.id)
        return rank_fail(test->domain.rank, "an event of rank %u: %s", from, wl_rc_name(rc));
    return check_note(test, from, "an event");
}

/* A flag has the number of its note. Answers to our own notes are words, too. */
static int poll_words(struct test *test)
{
    uint32_t i;
    int status = 0;

    rank_now(); /* a loop that reads memory is simulated poll by poll */
    for (i = 0; i < test->domain.size && status == 0; i++) {
        const volatile struct words *words = words_of(test, i);
        struct other *other = &test->others[i];

        if (words->flag > other->received) {
            test->domain.progress_count++;
            status = check_note(test, i, "a flag");
        }
        if (other->noted && words->answer == other->sent) {
            test->domain.progress_count++;
            other->noted = false;
        }
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int poll_all(struct test *test)
{
    struct operation *o = (struct operation *)wl_operation_poll(&test->domain);
    int status = 0;

    if (o != NULL) {
        status = end(test, o);
        if (o->kind == WORD) {
            free(o);
        } else {
            o->next = test->free;
            test->free = o;
        }
    }
    if (status == 0)
        status = poll_events(test);
    return status == 0 ? poll_words(test) : status;
}

static bool waits_for_answers(const struct test *test)
{
    uint32_t i;

    for (i = 0; i < test->domain.size; i++)
        if (test->others[i].noted)
            return true;
    return false;
}

/* Tells all others how many notes they got. */
static int send_ends(struct test *test)
{
    uint32_t i;
    int status = 0;

    for (i = 0; i < test->domain.size && status == 0; i++) {
        test->others[i].end = test->others[i].sent + 1;
        if (i != test->domain.id)
            status = put_word(test, i, offsetof(struct words, end), &test->others[i].end);
    }
    return status;
}

static bool all_have_ended(const struct test *test)
{
    uint32_t i;

    for (i = 0; i < test->domain.size; i++)
        if (i != test->domain.id && words_of(test, i)->end != test->others[i].received + 1)
            return false;
    return test->words == 0;
}

static bool may_start(const struct test *test)
{
    return test->free != NULL && test->started < test->operations && idle_peers(test) > 0;
}

static int traffic(struct test *test)
{
    int status = 0;

    while (status == 0 && (test->ended < test->operations || waits_for_answers(test))) {
        if (may_start(test))
            status = start(test, test->free);
        if (status == 0)
            status = poll_all(test);
        if (status == 0 && wl_domain_timed_out(&test->domain))
            return rank_fail(test->domain.rank, "%llu of %llu operations ended",
                             (unsigned long long)test->ended, (unsigned long long)test->operations);
    }
    if (status == 0)
        status = send_ends(test);
    while (status == 0 && !all_have_ended(test)) {
        status = poll_all(test);
        if (status == 0 && wl_domain_timed_out(&test->domain))
            return rank_fail(test->domain.rank, "not all others have ended");
    }
    return status;
}

static uint64_t digest(uint64_t sum, const uint8_t *bytes, uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3ull;
    return sum;
}

/* No rank uses our memory any more: compares it with what the others have written. */
static int check_parts(struct test *test)
{
    struct report {
        uint64_t present, counter, digest;
    } *mine = calloc(test->domain.size, sizeof(*mine));
    const struct report *all = NULL;
    uint32_t i;
    int status = 0;

    for (i = 0; mine != NULL && i < test->domain.size; i++) {
        const struct other *other = &test->others[i];

        mine[i] = (struct report){other->mirror != NULL, other->counter, 0};
        if (other->mirror != NULL)
            mine[i].digest = digest(0, other->mirror, test->bytes);
    }
    if (mine != NULL)
        all = rank_exchange(test->domain.rank, mine, test->domain.size * sizeof(*mine));
    for (i = 0; all != NULL && i < test->domain.size && status == 0; i++) {
        const struct report *report = &all[(size_t)i * test->domain.size + test->domain.id];

        if (report->present && (report->counter != words_of(test, i)->counter ||
                                report->digest != digest(0, own_part(test, i), test->bytes)))
            status =
                rank_fail(test->domain.rank, "the part of rank %u differs from what it wrote", i);
    }
    free(mine);
    return all != NULL ? status : -1;
}

static uint8_t *operation_open(struct test *test, struct operation *o)
{
    uint64_t bytes = test->bytes + sizeof(struct note) + 2 * EDGE;
    uint8_t *memory = wl_region_alloc(&test->domain, bytes, 0, &o->region);

    o->buffer = memory != NULL ? memory + EDGE : NULL;
    o->next = test->free;
    test->free = o;
    return memory;
}

static int set_up(struct test *test)
{
    uint64_t i;

    test->part = test->bytes * 2 + sizeof(struct note) + sizeof(struct words);
    test->part = (test->part + 4095) & ~4095ull;
    test->others = calloc(test->domain.size, sizeof(*test->others));
    test->all = calloc(test->window, sizeof(*test->all));
    test->memory = wl_region_alloc(&test->domain, test->domain.size * test->part, 1, &test->mine);
    if (test->others == NULL || test->all == NULL || test->memory == NULL)
        return rank_fail(test->domain.rank, "no memory");
    for (i = 0; i < test->window; i++)
        if (operation_open(test, &test->all[i]) == NULL)
            return -1;
    test->regions = rank_exchange(test->domain.rank, &test->mine, sizeof(test->mine));
    return test->regions != NULL ? 0 : -1;
}

static void tear_down(struct test *test)
{
    uint64_t i;

    for (i = 0; test->all != NULL && i < test->window; i++)
        if (test->all[i].buffer != NULL)
            wl_region_free(&test->domain, test->all[i].buffer - EDGE, &test->all[i].region);
    wl_region_free(&test->domain, test->memory, &test->mine);
    wl_domain_close(&test->domain);
    for (i = 0; test->others != NULL && i < test->domain.size; i++)
        free(test->others[i].mirror);
    free(test->others);
    free(test->all);
}

static int run(struct rank *rank)
{
    struct test test = {
        .operations = rank_arg_count(rank, "operations"),
        .bytes = rank_arg_count(rank, "bytes") & ~3ull,
        .window = rank_arg_count(rank, "window"),
        .mode = wl_operation_mode_arg(rank),
    };
    uint64_t missing;
    int status = wl_domain_open(&test.domain, rank, 4096, 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    if (status == 0)
        status = set_up(&test);
    if (status == 0)
        status = traffic(&test);
    missing = test.operations - test.ended;
    rank_barrier(rank);
    if (status == 0)
        status = check_parts(&test);
    if (wl_domain_finish(&test.domain, missing) != 0)
        status = -1;
    tear_down(&test);
    return status != 0;
}

static const struct workload put_get_random = {
    .name = "put_get_random",
    .meaning = "every rank writes, reads and adds at random in the memory of all others, verified",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(put_get_random)
