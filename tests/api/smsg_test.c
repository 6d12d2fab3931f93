/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SMSG: mailboxes, messages, events and credits: checklist items 108 to 116. */
#include "smsg_frame.h"

#include <stdlib.h>
#include <string.h>

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
    /*
     * With a tag: as many bytes as the cache lines of a full message hold, including its header of
     * 16 bytes.
     */
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
