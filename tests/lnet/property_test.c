/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random sequences of entries, descriptors and messages, given to LNet and to a naive model of its
 * rules: a plain array in the order of the entries, without hashes. Both must agree on who takes
 * each message, where, how much of it, and what is left afterwards.
 */
#include "world.h"

#include "engine/random.h"
#include "full.h"

#define ENTRIES_MAX 64
#define IGNORE_LIST 256u /* number of the list of entries with ignore bits; others: the bucket */
#define PORTAL_UNIQUE 41u

struct model_md {
    bool present, auto_unlink;
    uint32_t length, offset, max_size, options;
    int threshold;
    struct lnet_handle_md handle;
    uint64_t id; /* its user_ptr */
};

struct model_entry {
    uint32_t portal, list;
    struct lnet_process_id id;
    uint64_t bits, ignore;
    bool unlink;
    struct lnet_handle_me handle;
    struct model_md md;
};

static struct model_entry entries[ENTRIES_MAX]; /* in order, lists mixed */
static unsigned entry_count;
static struct sim_random dice;
static uint64_t next_id;
static struct lnet_event last;
static unsigned events;
static uint64_t matched, dropped_fitting, exhausted_by_it; /* so that no rule goes untested */
static struct lnet_handle_eq eq;
static char memory[256];

static uint32_t roll(uint32_t sides)
{
    return (uint32_t)sim_random_below(&dice, sides);
}

static void on_event(struct lnet_event *event)
{
    last = *event;
    events++;
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool exhausted(const struct model_md *md)
{
    return md->threshold == 0 || ((md->options & LNET_MD_MAX_SIZE) != 0 &&
                                  (uint64_t)md->offset + md->max_size > md->length);
}

static void remove_entry(unsigned place)
{
    memmove(&entries[place], &entries[place + 1], (entry_count - place - 1) * sizeof(entries[0]));
    entry_count--;
}

static void insert_entry(unsigned place, const struct model_entry *entry)
{
    memmove(&entries[place + 1], &entries[place], (entry_count - place) * sizeof(entries[0]));
    entries[place] = *entry;
    entry_count++;
}

struct message {
    uint32_t portal, operation, length, offset;
    struct lnet_process_id from;
    uint64_t bits;
};

static bool takes(const struct model_entry *entry, const struct message *message)
{
    return entry->portal == message->portal && entry->md.present && !exhausted(&entry->md) &&
           (entry->md.options & message->operation) != 0 &&
           (entry->id.nid == LNET_NID_ANY || entry->id.nid == message->from.nid) &&
           (entry->id.pid == LNET_PID_ANY || entry->id.pid == message->from.pid) &&
           ((entry->bits ^ message->bits) & ~entry->ignore) == 0;
}

/* The place of the entry that takes the message; ENTRIES_MAX: none. */
static unsigned find(const struct message *message)
{
    unsigned i;

    for (i = 0; i < entry_count; i++) {
        if (entries[i].list == IGNORE_LIST && takes(&entries[i], message))
            return i;
    }
    for (i = 0; i < entry_count; i++) {
        if (entries[i].list != IGNORE_LIST &&
            (entries[i].portal == PORTAL_UNIQUE || entries[i].list == (message->bits & 255)) &&
            takes(&entries[i], message))
            return i;
    }
    return ENTRIES_MAX;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static uint64_t some_bits(void)
{
    static const uint64_t bits[] = {0, 1, 2, 0x101, 0x8000000000000001ull, 0x7f};

    return bits[roll(6)];
}

static lnet_nid_t some_nid(void)
{
    return roll(2) == 0 ? tcp(A) : tcp(C);
}

static void add_entry(void)
{
    struct model_entry entry = {.portal = roll(4) == 0 ? PORTAL_UNIQUE : PORTAL,
                                .bits = some_bits(),
                                .unlink = roll(2) == 0};
    enum lnet_ins_pos pos = (enum lnet_ins_pos)roll(3);

    if (entry_count == ENTRIES_MAX)
        return;
    if (entry.portal == PORTAL_UNIQUE) {
        entry.id = (struct lnet_process_id){some_nid(), roll(2) == 0 ? 12345 : 99};
        entry.list = 0;
    } else {
        entry.id.nid = roll(3) == 0 ? some_nid() : LNET_NID_ANY;
        entry.id.pid = roll(3) == 0 ? 12345 : LNET_PID_ANY;
        entry.ignore = roll(3) == 0 ? (roll(2) == 0 ? ~0ull : 0x103) : 0;
        if (entry.ignore == 0 && entry.id.nid != LNET_NID_ANY)
            entry.id.pid = LNET_PID_ANY; /* the portal's kind is wildcard */
        entry.list = entry.ignore != 0 ? IGNORE_LIST : (uint32_t)entry.bits & 255;
    }
    if (entry.portal == PORTAL && entry_count > 0 && roll(4) == 0) {
        unsigned next_to = roll(entry_count);

        if (entries[next_to].portal != PORTAL)
            return;
        pos = (enum lnet_ins_pos)roll(2);
        assert_int_equal(LNetMEInsert(entries[next_to].handle, entry.id, entry.bits, entry.ignore,
                                      entry.unlink ? LNET_UNLINK : LNET_RETAIN, pos, &entry.handle),
                         0);
        entry.list = entries[next_to].list; /* whatever its own bits say */
        insert_entry(pos == LNET_INS_BEFORE ? next_to : next_to + 1, &entry);
        return;
    }
    assert_int_equal(LNetMEAttach(entry.portal, entry.id, entry.bits, entry.ignore,
                                  entry.unlink ? LNET_UNLINK : LNET_RETAIN, pos, &entry.handle),
                     0);
    insert_entry(pos == LNET_INS_BEFORE ? 0 : entry_count, &entry);
}

static void add_md(void)
{
    struct model_entry *entry = entry_count > 0 ? &entries[roll(entry_count)] : NULL;
    struct model_md model = {.present = true, .auto_unlink = roll(2) == 0};
    struct lnet_md md = {.start = memory, .eq_handle = eq};

    if (entry == NULL || entry->md.present)
        return;
    model.length = roll(200);
    model.threshold = roll(5) == 0 ? LNET_MD_THRESH_INF : (int)roll(4);
    model.options = 1 + roll(3); /* OP_PUT, OP_GET, both */
    model.options |= roll(3) == 0 ? LNET_MD_TRUNCATE : 0;
    model.options |= roll(4) == 0 ? LNET_MD_MANAGE_REMOTE : 0;
    model.options |= roll(3) == 0 ? LNET_MD_MAX_SIZE : 0;
    model.max_size = roll(model.length + 1);
    model.id = ++next_id;
    md.length = model.length;
    md.threshold = model.threshold;
    md.options = model.options;
    md.max_size = (int)model.max_size;
    md.user_ptr = (void *)(uintptr_t)model.id;
    assert_int_equal(LNetMDAttach(entry->handle, md, model.auto_unlink ? LNET_UNLINK : LNET_RETAIN,
                                  &model.handle),
                     0);
    entry->md = model;
}

static void unlink_something(void)
{
    unsigned place = entry_count > 0 ? roll(entry_count) : 0, before = events;
    bool entry_goes;

    if (entry_count == 0)
        return;
    if (roll(2) == 0 || !entries[place].md.present) {
        assert_int_equal(LNetMEUnlink(entries[place].handle), 0);
        entry_goes = true;
    } else {
        assert_int_equal(LNetMDUnlink(entries[place].md.handle), 0);
        entry_goes = entries[place].unlink;
    }
    assert_int_equal(events - before, entries[place].md.present);
    if (entries[place].md.present) {
        assert_int_equal(last.type, LNET_EVENT_UNLINK);
        assert_int_equal((uintptr_t)last.md.user_ptr, entries[place].md.id);
        assert_int_equal(last.md.threshold, entries[place].md.threshold);
    }
    entries[place].md.present = false;
    if (entry_goes)
        remove_entry(place);
}

static void inject(const struct message *message)
{
    struct lnet_hdr header = {
        .dest_nid = tcp(B),
        .src_nid = message->from.nid,
        .dest_pid = 12345,
        .src_pid = message->from.pid,
    };

    if (message->operation == LNET_MD_OP_PUT) {
        header.type = LNET_MSG_PUT;
        header.payload_length = message->length;
        header.msg.put.ack_wmd.wh_interface_cookie = ~0ull;
        header.msg.put.ack_wmd.wh_object_cookie = ~0ull;
        header.msg.put.match_bits = message->bits;
        header.msg.put.ptl_index = message->portal;
        header.msg.put.offset = message->offset;
    } else {
        header.type = LNET_MSG_GET;
        header.msg.get.match_bits = message->bits;
        header.msg.get.ptl_index = message->portal;
        header.msg.get.src_offset = message->offset;
        header.msg.get.sink_length = message->length;
    }
    assert_int_equal(wire_inject(tcp(B), &header, message->from.nid), 0);
}

/* What the model says the message does, compared with what happened. */
static void deliver(void)
{
    struct message message = {
        .portal = roll(4) == 0 ? PORTAL_UNIQUE : PORTAL,
        .operation = roll(4) == 0 ? LNET_MD_OP_GET : LNET_MD_OP_PUT,
        .length = roll(40),
        .offset = roll(8) == 0 ? roll(100) : 0,
        .from = {some_nid(), roll(2) == 0 ? 12345 : 99},
        .bits = some_bits(),
    };
    unsigned place = find(&message), before = events;
    uint32_t drops = counters(B).lct_common.lcc_drop_count, offset, room, mlength;
    struct model_md *md;
    bool dropped = place == ENTRIES_MAX, unlinked;

    inject(&message);
    if (message.operation == LNET_MD_OP_GET)
        pass(5 * SIM_US); /* the answer leaves, which ends the operation */
    if (!dropped) {
        md = &entries[place].md;
        offset = (md->options & LNET_MD_MANAGE_REMOTE) != 0 ? message.offset : md->offset;
        room = offset > md->length ? 0 : md->length - offset;
        if ((md->options & LNET_MD_MAX_SIZE) != 0 && md->max_size < room)
            room = md->max_size;
        mlength = message.length < room ? message.length : room;
        dropped = mlength < message.length && (md->options & LNET_MD_TRUNCATE) == 0;
    }
    /* The answer to a GET finds no descriptor: nobody asked. It is dropped at the other node. */
    assert_int_equal(counters(B).lct_common.lcc_drop_count - drops, dropped);
    assert_int_equal(events - before, !dropped);
    dropped_fitting += dropped && place != ENTRIES_MAX;
    if (dropped)
        return;

    matched++;
    assert_int_equal((uintptr_t)last.md.user_ptr, md->id);
    assert_int_equal(last.offset, offset);
    assert_int_equal(last.mlength, mlength);
    md->offset = offset + mlength;
    if (md->threshold != LNET_MD_THRESH_INF)
        md->threshold--;
    assert_int_equal(last.md.threshold, md->threshold);
    unlinked = md->auto_unlink && exhausted(md);
    assert_int_equal(last.unlinked, unlinked);
    if (!unlinked)
        return;

    exhausted_by_it++;
    assert_int_equal(LNetMDUnlink(md->handle), -ENOENT);
    md->present = false;
    if (entries[place].unlink)
        remove_entry(place);
}

static uint64_t seed;

static void step(void)
{
    switch (roll(8)) {
    case 0:
        add_entry();
        break;
    case 1:
    case 2:
        add_md();
        break;
    case 3:
        unlink_something();
        break;
    default:
        deliver();
        break;
    }
}

static void sequence(void)
{
    struct lnet_process_id unique = id_of(tcp(A));
    struct lnet_handle_me me;
    unsigned i, steps = (unsigned)test_full(200000, 10000000);

    sim_random_init(&dice, seed, "property", 0);
    entry_count = 0;
    events = 0;
    on(B);
    assert_int_equal(LNetEQAlloc(0, on_event, &eq), 0);
    assert_int_equal(LNetMEAttach(PORTAL, anybody, 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), 0);
    assert_int_equal(LNetMEUnlink(me), 0);
    assert_int_equal(LNetMEAttach(PORTAL_UNIQUE, unique, 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me),
                     0);
    assert_int_equal(LNetMEUnlink(me), 0);
    for (i = 0; i < steps; i++)
        step();
}

static void matcher_agrees_with_a_naive_model(void **state)
{
    (void)state;
    for (seed = 1; seed <= 5; seed++)
        world_run(&(struct world){.nodes = 3, .unbalanced = true, .body = sequence});
    assert_true(matched > 100000 && dropped_fitting > 50000 && exhausted_by_it > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matcher_agrees_with_a_naive_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
