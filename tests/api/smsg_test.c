/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Short messages: checklist items 108 to 119, and what faults do to them. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include "engine/ledger.h"
#include "nic/interface.h"
#include "nic/mem_handle.h"

/* ---- a connection of two ranks --------------------------------------------------------------- */

struct shape {
    gni_smsg_type_t type;
    uint16_t credits;
    uint32_t bytes;
    uint32_t extra; /* of the buffer, beyond what is needed */
    uint32_t offset; /* of the mailbox in its buffer */
    bool no_events; /* the registration has no queue */
    bool no_init; /* GNI_SmsgInit is left to the test */
    bool vmdh; /* the registration lies in the MDD block */
};

struct link {
    struct domain domain;
    gni_ep_handle_t ep;
    uint32_t peer;
    uint8_t *memory;
    uint32_t bytes;
    gni_smsg_attr_t mine, theirs;
};

static void link_open(struct rank *rank, struct link *link, const struct shape *shape)
{
    gni_mem_handle_t handle;
    unsigned int size;

    domain_open(rank, &link->domain, GNI_CDM_MODE_ERR_NO_KILL);
    link->peer = rank->machine->ranks == 1 ? 0 : 1 - rank->id;
    link->mine = (gni_smsg_attr_t){.msg_type = shape->type,
                                   .mbox_maxcredit = shape->credits,
                                   .msg_maxsize = shape->bytes,
                                   .mbox_offset = shape->offset};
    assert_ok(GNI_SmsgBufferSizeNeeded(&link->mine, &size));
    link->mine.buff_size = size + shape->extra;
    link->bytes = shape->offset + link->mine.buff_size;
    link->memory = aligned_alloc(4096, (link->bytes + 4095) / 4096 * 4096);
    memset(link->memory, 0, link->bytes);
    if (shape->vmdh)
        assert_ok(GNI_SetMddResources(link->domain.nic, 16));
    handle = domain_register(&link->domain, link->memory, link->bytes,
                             shape->no_events ? NULL : link->domain.target,
                             GNI_MEM_READWRITE | (shape->vmdh ? GNI_MEM_USE_VMDH : 0));
    publish(rank, handle, link->memory);
    link->theirs = link->mine;
    link->mine.msg_buffer = link->memory;
    link->mine.mem_hndl = handle;
    link->theirs.msg_buffer = (void *)(uintptr_t)published_address(rank, link->peer);
    link->theirs.mem_hndl = published_handle(rank, link->peer);
    link->ep = domain_connect(rank, &link->domain, link->peer);
    if (!shape->no_init)
        assert_ok(GNI_SmsgInit(link->ep, &link->mine, &link->theirs));
}

static void link_close(struct rank *rank, struct link *link)
{
    machine_barrier(rank);
    domain_close(&link->domain);
    free(link->memory);
}

/* Sends, waiting for room; returns how often there was none. */
static uint32_t send_message(struct link *link, void *data, uint32_t bytes, uint32_t id)
{
    uint32_t stalls = 0;
    gni_cq_entry_t event;
    gni_return_t rc;

    while ((rc = GNI_SmsgSend(link->ep, NULL, 0, data, bytes, id)) == GNI_RC_NOT_DONE) {
        GNI_CqGetEvent(link->domain.source, &event);
        stalls++;
    }
    assert_ok(rc);
    return stalls;
}

static void *get_message(struct link *link)
{
    void *message;
    gni_return_t rc;

    while ((rc = GNI_SmsgGetNext(link->ep, &message)) == GNI_RC_NOT_DONE)
        ;
    assert_ok(rc);
    return message;
}

static void sent(struct link *link, uint32_t id)
{
    gni_cq_entry_t event = good_event(link->domain.source);

    assert_int_equal(GNI_CQ_GET_TYPE(event), GNI_CQ_EVENT_TYPE_SMSG);
    assert_int_equal(GNI_CQ_GET_MSG_ID(event), id);
}

static void drain(gni_cq_handle_t cq)
{
    gni_cq_entry_t event;

    while (GNI_CqGetEvent(cq, &event) != GNI_RC_NOT_DONE)
        ;
}

static const struct shape mbox = {.type = GNI_SMSG_TYPE_MBOX, .credits = 8, .bytes = 256};
static const struct shape safe = {
    .type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 8, .bytes = 256};

/* ---- item 108 -------------------------------------------------------------------------------- */

static void ugni_108_buffer_size(void **state)
{
    gni_smsg_attr_t attr = {
        .msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 72, .msg_maxsize = 1024};
    unsigned int size = 0, last = 0, credits;

    assert_ok(GNI_SmsgBufferSizeNeeded(&attr, &size));
    assert_int_equal(size, 5056);
    attr.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    for (credits = 1; credits < 1000; credits++) {
        attr.mbox_maxcredit = (uint16_t)credits;
        attr.msg_maxsize = credits * 65;
        assert_ok(GNI_SmsgBufferSizeNeeded(&attr, &size));
        assert_true(size >= last && size % 64 == 0);
        last = size;
    }
    attr.msg_maxsize = 65536;
    assert_rc(GNI_SmsgBufferSizeNeeded(&attr, &size), GNI_RC_INVALID_PARAM);
    attr.msg_maxsize = 0;
    assert_rc(GNI_SmsgBufferSizeNeeded(&attr, &size), GNI_RC_INVALID_PARAM);
    attr.msg_maxsize = 1024;
    assert_rc(GNI_SmsgBufferSizeNeeded(&attr, NULL), GNI_RC_INVALID_PARAM);
    attr.msg_type = GNI_SMSG_TYPE_INVALID;
    assert_rc(GNI_SmsgBufferSizeNeeded(&attr, &size), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SmsgBufferSizeNeeded(NULL, &size), GNI_RC_INVALID_PARAM);
}

/* ---- item 109 -------------------------------------------------------------------------------- */

static void init_main(struct rank *rank)
{
    struct shape shape = mbox;
    gni_smsg_attr_t other;
    gni_ep_handle_t ep;
    struct link link;

    shape.no_init = true;
    link_open(rank, &link, &shape);
    assert_ok(GNI_EpCreate(link.domain.nic, link.domain.source, &ep));
    assert_rc(GNI_SmsgInit(ep, &link.mine, &link.theirs), GNI_RC_INVALID_STATE);
    assert_rc(GNI_SmsgInit(NULL, &link.mine, &link.theirs), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SmsgInit(link.ep, NULL, &link.theirs), GNI_RC_INVALID_PARAM);
    other = link.theirs;
    other.msg_maxsize--;
    assert_rc(GNI_SmsgInit(link.ep, &link.mine, &other), GNI_RC_INVALID_PARAM);
    other = link.theirs;
    other.mbox_maxcredit++;
    assert_rc(GNI_SmsgInit(link.ep, &link.mine, &other), GNI_RC_INVALID_PARAM);
    other = link.theirs;
    other.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    assert_rc(GNI_SmsgInit(link.ep, &link.mine, &other), GNI_RC_INVALID_PARAM);
    other = link.theirs;
    other.buff_size -= 64;
    assert_rc(GNI_SmsgInit(link.ep, &link.mine, &other), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_SmsgInit(link.ep, &link.mine, &link.theirs));
    assert_rc(GNI_SmsgInit(link.ep, &link.mine, &link.theirs), GNI_RC_INVALID_PARAM);
    link_close(rank, &link);
}

static void ugni_109_init_checks(void **state)
{
    machine_run(&(struct machine){.main = init_main});
}

/* ---- item 110 -------------------------------------------------------------------------------- */

static void early_main(struct rank *rank)
{
    struct shape shape = safe;
    struct link link;
    uint32_t i;

    shape.no_init = rank->id == 1;
    link_open(rank, &link, &shape);
    machine_barrier(rank);
    for (i = 0; i < 5; i++) {
        if (rank->id == 0) {
            send_message(&link, &i, sizeof(i), i);
            sent(&link, i);
        }
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        assert_ok(GNI_SmsgInit(link.ep, &link.mine, &link.theirs));
        for (i = 0; i < 5; i++) {
            assert_int_equal(GNI_CQ_GET_REM_INST_ID(good_event(link.domain.target)), 0);
            assert_int_equal(*(uint32_t *)get_message(&link), i);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    link_close(rank, &link);
}

static void ugni_110_messages_before_init(void **state)
{
    machine_run(&(struct machine){.main = early_main});
}

/* ---- items 111, 119 -------------------------------------------------------------------------- */

static uint8_t byte_of(uint32_t length, uint32_t at)
{
    return (uint8_t)(length * 31 + at * 7 + (at >> 8));
}

static uint32_t with_tag(uint32_t bytes)
{
    uint32_t most = (16 + bytes + 63) / 64 * 64 - 16;

    return most < GNI_SMSG_MAX_SIZE ? most : GNI_SMSG_MAX_SIZE;
}

static void sizes_sender(struct link *link, uint32_t bytes, uint32_t step)
{
    uint8_t *header = malloc(bytes + 1), *data = malloc(with_tag(bytes) + 1);
    uint32_t length, split, i;
    gni_cq_entry_t event;
    gni_return_t rc;

    for (length = 0; length <= bytes; length += step) {
        split = length * 2 / 3;
        for (i = 0; i < length; i++)
            *(i < split ? &header[i] : &data[i - split]) = byte_of(length, i);
        while ((rc = GNI_SmsgSend(link->ep, header, split, data, length - split, length)) ==
               GNI_RC_NOT_DONE)
            GNI_CqGetEvent(link->domain.source, &event);
        assert_ok(rc);
        memset(header, 0xee, bytes); /* they are ours again */
        memset(data, 0xee, bytes);
    }
    assert_rc(GNI_SmsgSend(link->ep, header, 1, data, bytes, 0), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_SmsgSend(link->ep, header, bytes + 1, NULL, 0, 0), GNI_RC_ERROR_RESOURCE);
    /* With a tag: what the cache lines of a full message hold, its header of 16 bytes included. */
    assert_rc(GNI_SmsgSendWTag(link->ep, header, 0, data, with_tag(bytes) + 1, 0, 3),
              GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_SmsgSend(link->ep, NULL, 1, data, 1, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SmsgSend(link->ep, header, 1, NULL, 1, 0), GNI_RC_INVALID_PARAM);
    free(header);
    free(data);
}

static void sizes_main(struct rank *rank)
{
    const struct shape *shape = rank->machine->argument;
    uint32_t step = shape->bytes > 5000 ? 4999 : 1, length, i, wrong = 0;
    struct link link;
    uint8_t *message;

    link_open(rank, &link, shape);
    machine_barrier(rank);
    if (rank->id == 0)
        sizes_sender(&link, shape->bytes, step);
    for (length = 0; length <= shape->bytes && rank->id == 1; length += step) {
        message = get_message(&link);
        assert_int_equal((uintptr_t)message % 8, 0);
        for (i = 0; i < length; i++)
            wrong += message[i] != byte_of(length, i);
        assert_int_equal(wrong, 0);
        assert_ok(GNI_SmsgRelease(link.ep));
    }
    machine_barrier(rank);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_111_ugni_119_all_sizes(void **state)
{
    struct shape shapes[] = {
        {GNI_SMSG_TYPE_MBOX, 8, 700, 0, 0, false, false},
        {GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, 3, 2100, 40, 8, false, false},
        {GNI_SMSG_TYPE_MBOX, 100, 65535, 0, 4104, false, false},
        {GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, 1, 65535, 1000, 0, true, false},
    };
    unsigned i;

    for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        machine_run(&(struct machine){.main = sizes_main, .argument = &shapes[i]});
}

/* ---- item 112 -------------------------------------------------------------------------------- */

static void events_main(struct rank *rank)
{
    struct shape shape = mbox;
    gni_cq_entry_t event;
    struct link link;
    uint32_t i;

    shape.no_events = rank->machine->argument != NULL;
    link_open(rank, &link, &shape);
    machine_barrier(rank);
    for (i = 0; i < 4 && rank->id == 0; i++) {
        assert_ok(GNI_EpSetEventData(link.ep, 1, 0xfedcba00 + i));
        send_message(&link, &i, 4, 0xffffffff - i);
        sent(&link, 0xffffffff - i);
        assert_rc(GNI_CqGetEvent(link.domain.source, &event), GNI_RC_NOT_DONE);
        machine_barrier(rank);
    }
    for (i = 0; i < 4 && rank->id == 1; i++) {
        get_message(&link);
        if (!shape.no_events) {
            event = good_event(link.domain.target);
            assert_int_equal(GNI_CQ_GET_REM_INST_ID(event), 0xfedcba00 + i);
            assert_int_equal(GNI_CQ_GET_INST_ID(event), 0xdcba00 + i);
        }
        assert_rc(GNI_CqGetEvent(link.domain.target, &event), GNI_RC_NOT_DONE);
        assert_ok(GNI_SmsgRelease(link.ep));
        machine_barrier(rank);
    }
    link_close(rank, &link);
}

static void ugni_112_one_event_on_each_side(void **state)
{
    machine_run(&(struct machine){.main = events_main});
    machine_run(&(struct machine){.main = events_main, .argument = state});
}

static void smsg_71_main(struct rank *rank)
{
    gni_post_descriptor_t dummy, *descr = &dummy;
    gni_cq_entry_t event;
    struct link link;

    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        send_message(&link, NULL, 0, 7);
        event = good_event(link.domain.source);
        assert_rc(GNI_GetCompleted(link.domain.source, event, &descr), GNI_RC_DESCRIPTOR_ERROR);
        assert_null(descr);
    } else {
        get_message(&link); /* of no bytes */
        assert_ok(GNI_SmsgRelease(link.ep));
    }
    link_close(rank, &link);
}

static void ugni_71_smsg_event_has_no_descriptor(void **state)
{
    machine_run(&(struct machine){.main = smsg_71_main});
}

/* ---- item 113 -------------------------------------------------------------------------------- */

static uint32_t fill(struct link *link, uint32_t bytes)
{
    uint8_t data[1024] = {1};
    uint32_t count = 0;
    gni_return_t rc;

    while ((rc = GNI_SmsgSend(link->ep, data, bytes, NULL, 0, count)) == GNI_RC_SUCCESS)
        count++;
    assert_rc(rc, GNI_RC_NOT_DONE);
    return count;
}

static void read_all(struct link *link)
{
    void *message;

    while (GNI_SmsgGetNext(link->ep, &message) == GNI_RC_SUCCESS)
        assert_ok(GNI_SmsgRelease(link->ep));
}

static void credits_main(struct rank *rank)
{
    static const struct shape shape = {.type = GNI_SMSG_TYPE_MBOX, .credits = 24, .bytes = 1024};
    uint32_t count = 0, round;
    struct link link;

    link_open(rank, &link, &shape);
    for (round = 0; round < 6; round++) {
        machine_barrier(rank);
        if (rank->id == 0) {
            count = fill(&link, round % 2 == 0 ? 8 : 1024);
            if (round % 2 == 0) /* later rounds start with some credits not yet returned */
                assert_in_range(count, round == 0 ? 24 : 12, 24);
            else
                assert_in_range(count, 2, 5);
            while (count-- > 0)
                good_event(link.domain.source);
        }
        machine_barrier(rank);
        if (rank->id == 1)
            read_all(&link);
        machine_barrier(rank);
        sim_sleep_until(sim_local_time() + 10 * SIM_US); /* credits travel */
    }
    link_close(rank, &link);
}

static void ugni_113_credits_and_ring(void **state)
{
    machine_run(&(struct machine){.main = credits_main});
}

/* ---- items 114, 115 -------------------------------------------------------------------------- */

static void current_main(struct rank *rank)
{
    uint64_t text[2] = {0x1111, 0x2222};
    void *message, *again;
    gni_ep_handle_t ep;
    struct link link;
    uint8_t tag;

    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        assert_ok(GNI_SmsgSendWTag(link.ep, &text[0], 8, NULL, 0, 1, 5));
        assert_ok(GNI_SmsgSendWTag(link.ep, &text[1], 8, NULL, 0, 1, 254));
        sent(&link, 1);
        sent(&link, 1);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        ep = domain_connect(rank, &link.domain, 0);
        assert_rc(GNI_SmsgGetNext(ep, &message), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_SmsgRelease(ep), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_SmsgSend(ep, NULL, 0, NULL, 0, 0), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_SmsgGetNext(link.ep, NULL), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_SmsgRelease(link.ep), GNI_RC_NOT_DONE);
        tag = 6;
        assert_rc(GNI_SmsgGetNextWTag(link.ep, &message, &tag), GNI_RC_NO_MATCH);
        assert_int_equal(tag, 5);
        assert_rc(GNI_SmsgRelease(link.ep), GNI_RC_NOT_DONE);
        tag = GNI_SMSG_ANY_TAG;
        assert_ok(GNI_SmsgGetNextWTag(link.ep, &message, &tag));
        assert_int_equal(tag, 5);
        assert_int_equal(*(uint64_t *)message, 0x1111);
        assert_ok(GNI_SmsgGetNext(link.ep, &again));
        assert_ptr_equal(message, again);
        assert_ok(GNI_SmsgRelease(link.ep));
        assert_rc(GNI_SmsgRelease(link.ep), GNI_RC_NOT_DONE);
        tag = 254;
        assert_ok(GNI_SmsgGetNextWTag(link.ep, &message, &tag));
        assert_int_equal(*(uint64_t *)message, 0x2222);
        assert_ok(GNI_SmsgRelease(link.ep));
        assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_NOT_DONE);
    }
    link_close(rank, &link);
}

static void ugni_114_ugni_115_current_and_tags(void **state)
{
    machine_run(&(struct machine){.main = current_main});
}

/* ---- item 116 -------------------------------------------------------------------------------- */

#define MANY 1000000u

static void one_way_main(struct rank *rank)
{
    uint32_t i, credit_events = 0, wrong = 0;
    gni_cq_entry_t event;
    struct link link;
    void *message;

    link_open(rank, &link, &safe);
    machine_barrier(rank);
    for (i = 0; i < MANY && rank->id == 0; i++) {
        send_message(&link, &i, sizeof(i), i);
        if (i % 8 == 0) {
            while (GNI_CqGetEvent(link.domain.target, &event) == GNI_RC_SUCCESS) {
                assert_int_equal(GNI_CQ_GET_REM_INST_ID(event), 1);
                assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_NOT_DONE);
                credit_events++;
            }
        }
        if (i % 4 == 0)
            drain(link.domain.source);
    }
    for (i = 0; i < MANY && rank->id == 1; i++) {
        wrong += *(uint32_t *)get_message(&link) != i;
        assert_ok(GNI_SmsgRelease(link.ep));
        if (i % 64 == 0)
            drain(link.domain.target);
    }
    assert_int_equal(wrong, 0);
    assert_true(rank->id == 1 || credit_events > MANY / 16);
    machine_barrier(rank);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_116_a_million_one_way(void **state)
{
    machine_run(&(struct machine){.main = one_way_main});
}

/* ---- item 117 and other faults --------------------------------------------------------------- */

static void add_fault(enum sim_fault_action action, uint32_t kind, uint64_t count,
                      double probability)
{
    struct sim_fault_rule rule = packet_rule(action, kind);

    rule.count_max = count;
    rule.probability = probability;
    rule.delay = 3 * SIM_US;
    packet_rule_add(&rule);
}

static void lose_three(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 3, 1);
}

static void lose_responses(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 1, 3, 1);
}

static void lose_all(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 0, 1);
}

static void retransmit_main(struct rank *rank)
{
    struct aries_counters counters;
    struct link link;
    uint32_t i;

    link_open(rank, &link, &safe);
    machine_barrier(rank);
    for (i = 0; i < 20; i++) {
        if (rank->id == 0) {
            send_message(&link, &i, sizeof(i), i);
            sent(&link, i); /* as if nothing had happened */
        } else {
            assert_int_equal(*(uint32_t *)get_message(&link), i); /* once, whatever was lost */
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    aries_get_counters(rank->machine->fabric, &counters);
    assert_true(counters.errors >= 3);
    machine_barrier(rank);
    drain(link.domain.target);
    link_close(rank, &link);
}

static void ugni_117_lost_requests_are_hidden(void **state)
{
    machine_run(&(struct machine){.main = retransmit_main, .prepare = lose_three});
}

static void ugni_117_lost_responses_do_not_double(void **state)
{
    machine_run(&(struct machine){.main = retransmit_main, .prepare = lose_responses});
}

static void exhausted_main(struct rank *rank)
{
    struct shape shape = rank->machine->argument != NULL ? mbox : safe;
    gni_cq_entry_t event;
    uint32_t recoverable;
    gni_return_t rc;
    struct link link;

    link_open(rank, &link, &shape);
    assert_ok(GNI_SmsgSetMaxRetrans(link.domain.nic, 2));
    assert_rc(GNI_SmsgSetMaxRetrans(NULL, 2), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    if (rank->id == 0) {
        assert_ok(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 0x87654321));
        assert_rc(GNI_EpUnbind(link.ep), GNI_RC_NOT_DONE);
        event = next_event(link.domain.source, &rc);
        assert_rc(rc, GNI_RC_TRANSACTION_ERROR);
        assert_int_equal(GNI_CQ_GET_TYPE(event), GNI_CQ_EVENT_TYPE_SMSG);
        assert_int_equal(GNI_CQ_GET_MSG_ID(event), 0x87654321);
        assert_ok(GNI_CqErrorRecoverable(event, &recoverable));
        assert_int_equal(recoverable, 1);
        assert_rc(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 1), GNI_RC_INVALID_STATE);
        assert_ok(GNI_EpUnbind(link.ep));
        /* One attempt, or the first and two more, each over after the hardware's timeout. */
        assert_true(rank->machine->argument != NULL ? sim_local_time() < 6 * SIM_S
                                                    : sim_local_time() > 8 * SIM_S);
    }
    link_close(rank, &link);
}

static void ugni_117_retries_end(void **state)
{
    machine_run(&(struct machine){.main = exhausted_main, .prepare = lose_all});
    machine_run(&(struct machine){.main = exhausted_main, .prepare = lose_all, .argument = state});
}

static void shuffle(struct machine *machine)
{
    add_fault(SIM_FAULT_DELAY, 0, 0, 0.4);
}

static void shuffle_and_lose(struct machine *machine)
{
    add_fault(SIM_FAULT_DROP, 0, 0, 0.002);
    add_fault(SIM_FAULT_DROP, 1, 0, 0.002);
    shuffle(machine);
}

#define LONGEST 5000u

/* Long rings: one side starts over at the start, the other one near the end. */
static const struct shape long_rings = {
    .type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 16, .bytes = LONGEST};

static uint32_t torture_length(const struct shape *shape, uint32_t number, uint32_t side)
{
    uint32_t length = (number * 37 + side) % 257;

    return shape->bytes != LONGEST || number % 5 != 0 ? length : number * 997 % (LONGEST + 1);
}

/* Both directions at once, messages of all lengths, so that rings wrap everywhere. */
static void torture(struct rank *rank, const struct shape *shape)
{
    const uint32_t total = 3000;
    uint32_t out = 0, in = 0, length, i, wrong = 0;
    uint64_t data[LONGEST / 8 + 1];
    gni_cq_entry_t event;
    struct link link;
    uint8_t *message;
    gni_return_t rc;

    link_open(rank, &link, shape);
    machine_barrier(rank);
    while (in < total || out < total) {
        length = torture_length(shape, out, rank->id);
        for (i = 0; i < (length + 7) / 8; i++)
            data[i] = out * 0x9e3779b97f4a7c15ull + i;
        rc = out < total ? GNI_SmsgSend(link.ep, data, length, NULL, 0, out) : GNI_RC_NOT_DONE;
        out += rc == GNI_RC_SUCCESS;
        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
        rc = GNI_CqGetEvent(link.domain.source, &event);
        assert_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
        if (GNI_SmsgGetNext(link.ep, (void **)&message) == GNI_RC_SUCCESS) {
            length = torture_length(shape, in, link.peer);
            for (i = 0; i < (length + 7) / 8; i++)
                data[i] = in * 0x9e3779b97f4a7c15ull + i;
            wrong += memcmp(message, data, length) != 0;
            assert_ok(GNI_SmsgRelease(link.ep));
            in++;
        }
        GNI_CqGetEvent(link.domain.target, &event);
    }
    assert_int_equal(wrong, 0);
    while (GNI_EpIdle(link.ep) == GNI_RC_NOT_DONE)
        GNI_CqGetEvent(link.domain.source, &event);
    link_close(rank, &link);
}

static void torture_main(struct rank *rank)
{
    torture(rank, &safe);
}

static void torture_long_main(struct rank *rank)
{
    torture(rank, &long_rings);
}

static void torture_half_page_main(struct rank *rank)
{
    struct shape shape = long_rings;

    shape.offset = 2048;
    torture(rank, &shape);
}

static void ugni_111_order_under_reordering(void **state)
{
    machine_run(&(struct machine){.main = torture_main});
    machine_run(&(struct machine){.main = torture_main, .prepare = shuffle});
    machine_run(&(struct machine){.main = torture_long_main});
    machine_run(&(struct machine){.main = torture_long_main, .prepare = shuffle});
    machine_run(&(struct machine){.main = torture_half_page_main, .prepare = shuffle});
}

static void ugni_117_order_under_losses(void **state)
{
    machine_run(&(struct machine){.main = torture_main, .prepare = shuffle_and_lose});
    machine_run(&(struct machine){.main = torture_long_main, .prepare = shuffle_and_lose});
}

/* Of two neighbours one page is used, as long as nothing waits in them. */
static void home_main(struct rank *rank)
{
    struct shape shape = long_rings;
    uint64_t word = 1, *message;
    uint32_t round, at;
    struct link link;

    shape.offset = rank->machine->prepare != NULL ? 2048 : 0;
    link_open(rank, &link, &shape);
    for (round = 0; round < 100; round++) {
        machine_barrier(rank);
        if (rank->id == round % 2) {
            send_message(&link, &word, 8, round);
            sent(&link, round);
            continue;
        }
        message = get_message(&link);
        at = (uint32_t)((uint8_t *)message - link.memory) - shape.offset;
        assert_int_equal(*message, 1);
        if (shape.offset == 0)
            assert_in_range(at, link.mine.buff_size - 1024 - 64, link.mine.buff_size - 8);
        else
            assert_in_range(at, 0, 1024);
        assert_ok(GNI_SmsgRelease(link.ep));
    }
    link_close(rank, &link);
}

static void no_faults(struct machine *machine)
{
    (void)machine;
}

static void ugni_113_short_messages_touch_half_a_page(void **state)
{
    machine_run(&(struct machine){.main = home_main});
    machine_run(&(struct machine){.main = home_main, .prepare = no_faults});
}

/* ---- item 118 -------------------------------------------------------------------------------- */

static void rebind_main(struct rank *rank)
{
    gni_cq_entry_t event;
    uint64_t word = 5;
    struct link link;
    uint32_t round;

    link_open(rank, &link, &safe);
    for (round = 0; round < 5; round++) {
        machine_barrier(rank);
        if (rank->id == 0) {
            assert_ok(GNI_EpSetEventData(link.ep, 77, 1000 + round));
            send_message(&link, &word, 8, round);
            sent(&link, round);
        } else {
            event = good_event(link.domain.target);
            assert_int_equal(GNI_CQ_GET_REM_INST_ID(event), 1000 + round);
            assert_int_equal(*(uint64_t *)get_message(&link), 5);
            if (round % 2 == 0) /* or it is unbound with a message unread */
                assert_ok(GNI_SmsgRelease(link.ep));
        }
        machine_barrier(rank);
        assert_ok(GNI_EpUnbind(link.ep));
        memset(link.memory, 0, link.bytes);
        machine_barrier(rank);
        assert_ok(GNI_EpBind(link.ep,
                             machine_address(rank->machine, rank->machine->rank[link.peer].node),
                             link.peer));
        assert_rc(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 0), GNI_RC_INVALID_PARAM);
        assert_ok(GNI_SmsgInit(link.ep, &link.mine, &link.theirs));
    }
    link_close(rank, &link);
}

static void ugni_118_rebind(void **state)
{
    machine_run(&(struct machine){.main = rebind_main});
}

static void loop_main(struct rank *rank)
{
    uint32_t sent_count = 0, received = 0, wrong = 0;
    gni_cq_entry_t event;
    struct link link;
    uint32_t *message;

    link_open(rank, &link, &mbox); /* one mailbox, local and remote */
    while (received < 100000) {
        while (sent_count < 100000 &&
               GNI_SmsgSend(link.ep, &sent_count, 4, NULL, 0, 0) == GNI_RC_SUCCESS)
            sent_count++;
        while (GNI_CqGetEvent(link.domain.source, &event) == GNI_RC_SUCCESS)
            ;
        while (GNI_SmsgGetNext(link.ep, (void **)&message) == GNI_RC_SUCCESS) {
            wrong += *message != received++;
            assert_ok(GNI_SmsgRelease(link.ep));
        }
        drain(link.domain.target);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(sent_count, 100000);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_118_connected_to_itself(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = loop_main});
}

/* ---- damage, statistics, delivery modes ------------------------------------------------------ */

static void damage_main(struct rank *rank)
{
    struct link link;
    void *message;

    link_open(rank, &link, &mbox);
    assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_NOT_DONE);
    memset(link.memory, 0xa5, link.bytes); /* by the program itself */
    assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_INVALID_STATE);
    assert_rc(GNI_SmsgGetNext(link.ep, &message), GNI_RC_INVALID_STATE);
    link_close(rank, &link);
}

static void ugni_114_damaged_mailbox(void **state)
{
    machine_run(&(struct machine){.main = damage_main});
}

/* A bit that changes on the way: the ledger says so, the reader does not believe the message. */
static void flip_main(struct rank *rank)
{
    uint64_t word = 1;
    gni_return_t rc;
    struct link link;
    void *message;

    link_open(rank, &link, &mbox);
    aries_mutate(rank->machine->fabric, ARIES_MUTATE_FLIP, 1);
    machine_barrier(rank);
    if (rank->id == 0) {
        send_message(&link, &word, 8, 0);
        good_event(link.domain.source);
    } else {
        while ((rc = GNI_SmsgGetNext(link.ep, &message)) == GNI_RC_NOT_DONE)
            ;
        assert_rc(rc, GNI_RC_INVALID_STATE);
        assert_false(ledger_balanced());
    }
    link_close(rank, &link);
}

static void ugni_111_changed_message_is_noticed(void **state)
{
    machine_run(&(struct machine){.main = flip_main, .unbalanced = true});
}

static void stall_main(struct rank *rank)
{
    struct link link;
    uint32_t stalls;

    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        assert_int_equal(fill(&link, 8), 8);
        assert_ok(GNI_GetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 1);
        assert_rc(GNI_SmsgSend(link.ep, NULL, 0, NULL, 0, 0), GNI_RC_NOT_DONE);
        assert_ok(GNI_GetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 2);
        assert_ok(GNI_ResetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL));
        assert_ok(GNI_GetNicStat(link.domain.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
        assert_int_equal(stalls, 0);
    }
    machine_barrier(rank);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_129_credit_stalls_are_counted(void **state)
{
    machine_run(&(struct machine){.main = stall_main});
}

static void modes_main(struct rank *rank)
{
    static const uint16_t good[] = {GNI_DLVMODE_PERFORMANCE, GNI_DLVMODE_IN_ORDER,
                                    GNI_DLVMODE_MIN_HASH,    GNI_DLVMODE_NMIN_HASH,
                                    GNI_DLVMODE_ADAPTIVE1,   GNI_DLVMODE_ADAPTIVE3};
    struct link link;
    uint32_t i;

    link_open(rank, &link, &mbox);
    assert_rc(GNI_SmsgSetDeliveryMode(link.domain.nic, 0x8000), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SmsgSetDeliveryMode(NULL, 0), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (rank->id == 0) {
            assert_ok(GNI_SmsgSetDeliveryMode(link.domain.nic, good[i]));
            send_message(&link, &i, 4, i);
            sent(&link, i);
        } else {
            assert_int_equal(*(uint32_t *)get_message(&link), i);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    link_close(rank, &link);
}

static void ugni_111_delivery_modes(void **state)
{
    machine_run(&(struct machine){.main = modes_main});
}

/* SMSG and posts read a mode in one place. */
static void routes_main(struct rank *rank)
{
    static const struct {
        uint16_t mode;
        enum net_route route;
    } routes[] = {
        {GNI_DLVMODE_PERFORMANCE, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_NO_HASH, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_NO_RADAPT, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_ORDERED_TAIL, NET_ROUTE_ADAPTIVE_0},
        {GNI_DLVMODE_NO_ADAPT, NET_ROUTE_MIN_HASHED},
        {GNI_DLVMODE_IN_ORDER, NET_ROUTE_IN_ORDER},
        {GNI_DLVMODE_NO_HASH | GNI_DLVMODE_NO_ADAPT | GNI_DLVMODE_NO_RADAPT, NET_ROUTE_IN_ORDER},
        {GNI_DLVMODE_MIN_HASH, NET_ROUTE_MIN_HASHED},
        {GNI_DLVMODE_NMIN_HASH, NET_ROUTE_NON_MIN_HASHED},
        {GNI_DLVMODE_ADAPTIVE1, NET_ROUTE_ADAPTIVE_1},
        {GNI_DLVMODE_ADAPTIVE2 | GNI_DLVMODE_NO_HASH, NET_ROUTE_ADAPTIVE_2},
        {GNI_DLVMODE_ADAPTIVE3 | GNI_DLVMODE_ORDERED_TAIL, NET_ROUTE_ADAPTIVE_3},
    };
    struct domain domain;
    unsigned i;

    domain_open(rank, &domain, 0);
    for (i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        assert_ok(GNI_SmsgSetDeliveryMode(domain.nic, routes[i].mode));
        assert_int_equal(domain.nic->smsg_route, routes[i].route);
    }
    for (i = 0x200; i <= 0x8000; i <<= 1)
        assert_rc(GNI_SmsgSetDeliveryMode(domain.nic, (uint16_t)i), GNI_RC_INVALID_PARAM);
    domain_close(&domain);
}

static void ugni_76_ugni_111_routes_of_delivery_modes(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = routes_main});
}

/* libfabric's mailboxes: messages of 16 KiB whose own header comes on top of that. */
static void beyond_main(struct rank *rank)
{
    static uint8_t header[32], data[16384];
    const struct shape shape = {
        .type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 64, .bytes = 16384};
    struct link link;
    uint32_t bytes, i;
    uint8_t tag;

    link_open(rank, &link, &shape);
    machine_barrier(rank);
    for (bytes = 16384 - 33; bytes < 16384; bytes++) {
        if (rank->id == 0) {
            gni_return_t rc;

            memset(header, (int)bytes, sizeof header);
            memset(data, (int)bytes + 1, sizeof data);
            while ((rc = GNI_SmsgSendWTag(link.ep, header, sizeof header, data, bytes, bytes, 5)) ==
                   GNI_RC_NOT_DONE) {
                gni_cq_entry_t event;

                GNI_CqGetEvent(link.domain.source, &event);
            }
            assert_ok(rc);
        } else {
            uint8_t *message;
            gni_return_t rc;

            do {
                tag = GNI_SMSG_ANY_TAG;
                rc = GNI_SmsgGetNextWTag(link.ep, (void **)&message, &tag);
            } while (rc == GNI_RC_NOT_DONE);
            assert_ok(rc);
            assert_int_equal(tag, 5);
            for (i = 0; i < 32 + bytes; i++)
                if (message[i] != (uint8_t)(bytes + (i >= 32)))
                    fail_msg("byte %u of a message of 32 + %u", i, bytes);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    machine_barrier(rank);
    drain(link.domain.source);
    link_close(rank, &link);
}

static void ugni_111_header_beyond_the_largest_message(void **state)
{
    machine_run(&(struct machine){.main = beyond_main});
}

/* Mailboxes in an MDD block: by address with handles as registered, by offset with rebuilt ones. */
static void vmdh_link_main(struct rank *rank)
{
    struct shape shape = mbox;
    struct link link;
    uint32_t i;

    shape.vmdh = true;
    shape.offset = 4096 + 64;
    shape.no_init = true;
    link_open(rank, &link, &shape);
    if (rank->id == 1) { /* a handle made of a key */
        struct aries_mem_handle fields;

        aries_mem_handle_decode(&link.theirs.mem_hndl, &fields);
        fields.address = 0;
        link.theirs.mem_hndl = aries_mem_handle_encode(&fields);
        link.theirs.msg_buffer = NULL;
    }
    assert_ok(GNI_SmsgInit(link.ep, &link.mine, &link.theirs));
    machine_barrier(rank);
    for (i = 0; i < 100; i++) {
        if (i % 2 == rank->id) {
            send_message(&link, &i, sizeof i, i);
            sent(&link, i);
        } else {
            good_event(link.domain.target);
            assert_int_equal(*(uint32_t *)get_message(&link), i);
            assert_ok(GNI_SmsgRelease(link.ep));
        }
    }
    link_close(rank, &link);
}

static void ugni_39_ugni_111_mailboxes_in_the_block(void **state)
{
    machine_run(&(struct machine){.main = vmdh_link_main});
}

/* A message over an idle machine, the sum of stages of docs/model.md: 690 ns on one blade, 5 less
 * for green.
 */
static void latency_main(struct rank *rank)
{
    sim_time_t begin = 0;
    uint64_t word = 0;
    struct link link;

    machine_simulated();
    link_open(rank, &link, &mbox);
    machine_barrier(rank);
    if (rank->id == 0) {
        sim_sleep_until(sim_local_time() + 10 * SIM_US);
        rank->machine->shared[0][8] = sim_local_time();
        send_message(&link, &word, 8, 0);
        sent(&link, 0);
    } else {
        good_event(link.domain.target);
        get_message(&link);
        begin = rank->machine->shared[0][8];
        assert_int_equal(sim_local_time() - begin, 690 * SIM_NS);
        assert_ok(GNI_SmsgRelease(link.ep));
    }
    link_close(rank, &link);
}

static void aries_41_smsg_latency(void **state)
{
    machine_run(&(struct machine){.main = latency_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_108_buffer_size),
        cmocka_unit_test(ugni_109_init_checks),
        cmocka_unit_test(ugni_110_messages_before_init),
        cmocka_unit_test(ugni_111_ugni_119_all_sizes),
        cmocka_unit_test(ugni_112_one_event_on_each_side),
        cmocka_unit_test(ugni_71_smsg_event_has_no_descriptor),
        cmocka_unit_test(ugni_113_credits_and_ring),
        cmocka_unit_test(ugni_114_ugni_115_current_and_tags),
        cmocka_unit_test(ugni_116_a_million_one_way),
        cmocka_unit_test(ugni_117_lost_requests_are_hidden),
        cmocka_unit_test(ugni_117_lost_responses_do_not_double),
        cmocka_unit_test(ugni_117_retries_end),
        cmocka_unit_test(ugni_111_order_under_reordering),
        cmocka_unit_test(ugni_113_short_messages_touch_half_a_page),
        cmocka_unit_test(ugni_117_order_under_losses),
        cmocka_unit_test(ugni_118_rebind),
        cmocka_unit_test(ugni_118_connected_to_itself),
        cmocka_unit_test(ugni_114_damaged_mailbox),
        cmocka_unit_test(ugni_111_changed_message_is_noticed),
        cmocka_unit_test(ugni_129_credit_stalls_are_counted),
        cmocka_unit_test(ugni_111_delivery_modes),
        cmocka_unit_test(ugni_76_ugni_111_routes_of_delivery_modes),
        cmocka_unit_test(ugni_111_header_beyond_the_largest_message),
        cmocka_unit_test(ugni_39_ugni_111_mailboxes_in_the_block),
        cmocka_unit_test(aries_41_smsg_latency),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
