/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues, and the messages of MSG connections from which their events come. */
#include "queues_frame.h"

/* ---- event queues ---------------------------------------------------------------------------- */

static void gni_115_event_queue(void **state)
{
    struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_err_entry error = {0}, in = {.err = FI_EIO, .data = 8};
    struct fi_eq_cm_entry connected = {0};
    struct fid_eq *fid;
    struct gnip_eq *eq;
    uint64_t word = 1, out = 0;
    char data[3] = {0};
    uint32_t event;
    int i;

    assert_int_equal(gnip_eq_open(&fabric.fid, &attr, &fid, NULL), 0);
    eq = gnip_container(fid, struct gnip_eq, fid);
    for (word = 0; word < 4096; word++)
        assert_int_equal(fi_eq_write(fid, 100 + (uint32_t)word, &word, 8, 0), 8);
    assert_int_equal(fi_eq_write(fid, 1, &word, 8, 0), -FI_EAGAIN);
    connected.fid = &domain.fid.fid;
    assert_int_equal(gnip_eq_add(eq, FI_CONNECTED, &connected, sizeof(connected)), 0);
    for (word = 0; word < 4096; word++) {
        assert_int_equal(fi_eq_read(fid, &event, &out, 7, 0), -FI_ETOOSMALL);
        assert_int_equal(fi_eq_read(fid, &event, &out, 8, word % 2 ? FI_PEEK : 0), 8);
        assert_true(event == 100 + word && out == word);
        if (word % 2)
            assert_int_equal(fi_eq_sread(fid, &event, &out, 8, -1, 0), 8);
    }
    in.fid = &domain.fid.fid;
    for (i = 0; i < 3; i++)
        assert_int_equal(gnip_eq_add_error(eq, &in, "abc", i), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(fi_eq_read(fid, &event, &connected, sizeof(connected), 0), -FI_EAVAIL);
        assert_int_equal(fi_eq_readerr(fid, &error, FI_PEEK), sizeof(error));
        assert_int_equal(fi_eq_readerr(fid, &error, FI_PEEK), sizeof(error));
        error.err_data = data;
        error.err_data_size = i == 2 ? 1 : 0;
        assert_int_equal(fi_eq_readerr(fid, &error, 0), sizeof(error));
        assert_true(error.err == FI_EIO && error.data == 8 && error.fid == in.fid);
        assert_int_equal(error.err_data_size, i == 2 ? 1 : i);
        assert_true(i == 0 || memcmp(error.err_data, "ab", error.err_data_size) == 0);
        error = (struct fi_eq_err_entry){0};
    }
    gnip_eq_forget(eq, &domain.fid.fid); /* the event about a connection that was not read */
    assert_int_equal(fi_eq_read(fid, &event, &connected, sizeof(connected), 0), -FI_EAGAIN);
    assert_int_equal(gnip_eq_add_error(eq, &in, "abc", 3), 0);
    assert_int_equal(fi_eq_write(fid, 1, NULL, 0, 0), 0);
    assert_int_equal(fi_close(&fid->fid), 0);
}

/* ---- messages of MSG connections ------------------------------------------------------------- */

/* Those that were sent are lost with this chance; the others are put together. */
static bool deliver(struct gnip_msg_in *in, uint64_t lost_percent)
{
    struct gnip_cm_message header;
    const uint8_t *payload;
    bool complete = false;
    uint32_t i;

    for (i = 0; i < sent_count; i++) {
        assert_true(gnip_msg_parse(sent[i].message, sent[i].bytes, &header, &payload));
        assert_true(header.connection == 7 && header.active == 1 && header.incarnation == 3);
        if (draw(100) >= lost_percent)
            complete |= gnip_msg_in_add(in, &header, payload);
    }
    sent_count = 0;
    return complete;
}

static void gni_123_gni_129_fragments(void **state)
{
    static const size_t lengths[] = {0, 1, 98, 99, 100, 198, 199, 256};
    static const uint32_t fragments[] = {1, 2, 2, 2, 3, 3, 4, 4};
    struct gnip_msg_ends ends = {.connection = 7, .incarnation = 3, .active = true};
    struct gnip_cm_connect head = {.caps = 0x1122334455667788ull, .flags = 9};
    struct gnip_msg_in in = {0};
    struct gnip_msg_out *out;
    uint8_t data[256];
    size_t i, j;

    for (i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7);
    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        out = gnip_msg_out_new(i % 2 ? GNIP_CM_CONNREQ : GNIP_CM_REJECT, &head, data, lengths[i]);
        busy = true;
        assert_int_equal(gnip_msg_out_push(NULL, &ends, out), 0);
        busy = false;
        assert_int_equal(gnip_msg_out_push(NULL, &ends, out), 0);
        assert_int_equal(sent_count, fragments[i]);
        memset(&in, 0x55, sizeof(in));
        in.type = 0;
        for (j = 0; !deliver(&in, j == 0 ? 100 : 20); j++) { /* repeated until all are there */
            while (sent_count < fragments[i])
                assert_int_equal(gnip_msg_out_push(NULL, &ends, out), 0);
        }
        assert_int_equal(in.data_bytes, lengths[i]);
        assert_memory_equal(in.data, data, lengths[i]);
        assert_true(i % 2 == 0 || in.head.caps == head.caps);
        gnip_msg_out_free(out);
    }
    out = gnip_msg_out_new(GNIP_CM_ACCEPT, &head, NULL, 0);
    for (i = 0, sent_count = 0; gnip_msg_out_push(NULL, &ends, out) == 0; i += sent_count)
        sent_count = i == 0 ? 0 : sent_count;
    assert_int_equal(out->tries, 10);
    gnip_msg_out_free(out);
}

static void gni_145_garbage(void **state)
{
    struct gnip_cm_message header, read;
    uint8_t message[GNIP_CM_BYTES] = {0};
    struct gnip_msg_in in = {0};
    const uint8_t *payload;
    uint32_t i, j, good = 0;

    for (i = 0; i < 300000; i++) { /* nothing is written outside of the message */
        header = (struct gnip_cm_message){.type = (uint8_t)(15 + draw(8)),
                                          .version = (uint8_t)(draw(30) ? GNIP_WIRE_VERSION : 1),
                                          .reason = (uint16_t)draw(24),
                                          .incarnation = (uint32_t)draw(2),
                                          .fragment = (uint8_t)draw(6),
                                          .fragments = (uint8_t)draw(6),
                                          .total = (uint32_t)draw(300)};
        header.fragment_bytes = (uint8_t)draw(130);
        if (header.fragment > 0 && header.total > (header.fragment - 1u) * 99u && draw(2))
            header.fragment_bytes = (uint8_t)(header.total - (header.fragment - 1u) * 99u);
        if (draw(2))
            header.fragment_bytes = 99;
        memcpy(message, &header, sizeof(header));
        j = (uint32_t)draw(GNIP_CM_BYTES + 1);
        if (draw(2))
            j = GNIP_CM_BYTES;
        if (!gnip_msg_parse(message, j, &read, &payload))
            continue;
        good++;
        assert_true(payload + read.fragment_bytes <= message + j);
        gnip_msg_in_add(&in, &read, payload);
        assert_true(in.data_bytes <= sizeof(in.data));
    }
    assert_true(good > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_115_event_queue),
        cmocka_unit_test(gni_123_gni_129_fragments),
        cmocka_unit_test(gni_145_garbage),
    };

    return cmocka_run_group_tests_name("queues by themselves", tests, NULL, NULL);
}
