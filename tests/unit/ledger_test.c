/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/ledger.h"
#include "engine/random.h"

#define BYTES 600

static struct sim_ledger_book book;
static uint8_t data[BYTES];

static int setup(void **state)
{
    struct sim_random random;
    unsigned i;

    sim_core = (struct sim_core){.now = 1200 * SIM_NS};
    sim_ledger_book_register(&book, "aries.put");
    sim_random_init(&random, 1, "ledger_test", 0);
    for (i = 0; i < BYTES; i++)
        data[i] = (uint8_t)sim_random_next(&random);
    return 0;
}

static int teardown(void **state)
{
    sim_ledger_reset();
    return 0;
}

struct texts {
    unsigned count;
    char last[512];
};

static void keep_text(const char *text, void *arg)
{
    struct texts *texts = arg;

    texts->count++;
    snprintf(texts->last, sizeof texts->last, "%s", text);
}

/* There is exactly one violation, it is in the book, and its text has `part`. */
static void expect_violation(const char *part)
{
    struct texts texts = {0};

    sim_ledger_for_each_violation(keep_text, &texts);
    assert_int_equal(texts.count, 1);
    assert_int_equal(book.violations, 1);
    if (strstr(texts.last, part) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", texts.last, part);
    assert_false(sim_ledger_balanced());
    assert_false(sim_ledger_balance());
}

static void open_entry(struct sim_ledger_entry *entry)
{
    sim_ledger_open(&book, entry, 3, 5, BYTES);
    sim_ledger_hand_in(entry, sim_ledger_digest(data, BYTES, 0));
}

/* ---- digest ---------------------------------------------------------------------------------- */

static void digest_is_the_sum_of_pieces_cut_at_words(void **state)
{
    uint64_t whole, sum;
    struct sim_random random;
    unsigned round, at, next, length;

    sim_random_init(&random, 2, "cuts", 0);
    for (round = 0; round < 2000; round++) {
        length = (unsigned)sim_random_below(&random, BYTES + 1);
        whole = sim_ledger_digest(data, length, 0);
        sum = 0;
        for (at = 0; at < length; at = next) {
            next = at + 8 * (1 + (unsigned)sim_random_below(&random, 12));
            if (next > length)
                next = length;
            sum += sim_ledger_digest(data + at, next - at, at);
        }
        assert_true(sum == whole);
    }
}

static void digest_of_odd_cuts_repeats(void **state)
{
    uint64_t once = sim_ledger_digest(data, 13, 0) + sim_ledger_digest(data + 13, 100, 13);
    uint64_t again = sim_ledger_digest(data + 13, 100, 13) + sim_ledger_digest(data, 13, 0);

    assert_true(once == again);
    assert_true(once != sim_ledger_digest(data, 14, 0) + sim_ledger_digest(data + 14, 99, 14));
}

static void digest_does_not_depend_on_alignment(void **state)
{
    uint8_t copy[BYTES + 8];
    unsigned shift;

    for (shift = 0; shift < 8; shift++) {
        memcpy(copy + shift, data, BYTES);
        assert_true(sim_ledger_digest(copy + shift, BYTES, 0) == sim_ledger_digest(data, BYTES, 0));
        assert_true(sim_ledger_digest(copy + shift, 77, 3) == sim_ledger_digest(data, 77, 3));
    }
}

static void digest_does_not_depend_on_the_processor(void **state)
{
    unsigned length, offset;

    for (length = 0; length <= BYTES; length++)
        for (offset = 0; offset < 16; offset++)
            assert_true(sim_ledger_digest_narrow(data, length, offset) ==
                        sim_ledger_digest(data, length, offset));
}

static void digest_sees_every_bit(void **state)
{
    static const unsigned lengths[] = {1, 3, 7, 8, 9, 15, 16, 31, 32, 33, 64, 100};
    unsigned i, bit, offset;
    uint64_t before;

    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (offset = 0; offset < 9; offset++) {
            before = sim_ledger_digest(data, lengths[i], offset);
            for (bit = 0; bit < 8 * lengths[i]; bit++) {
                data[bit / 8] ^= (uint8_t)(1u << bit % 8);
                assert_true(sim_ledger_digest(data, lengths[i], offset) != before);
                data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
    }
}

static void digest_sees_swaps(void **state)
{
    uint64_t before = sim_ledger_digest(data, 128, 0), word[2], sign = 1ull << 63, swapped[16];
    unsigned i, j;
    uint8_t byte;

    for (i = 0; i < 128; i++) {
        for (j = i + 1; j < 128; j++) {
            if (data[i] == data[j])
                continue;
            byte = data[i];
            data[i] = data[j];
            data[j] = byte;
            assert_true(sim_ledger_digest(data, 128, 0) != before);
            data[j] = data[i];
            data[i] = byte;
        }
    }
    /*
     * Words that differ in their highest bit only, which a linear digest modulo 2^64 does not
     * detect.
     */
    for (i = 1; i < 16; i++) {
        memset(swapped, 0, sizeof swapped);
        swapped[0] = sign;
        before = sim_ledger_digest(swapped, sizeof swapped, 0);
        word[0] = swapped[0];
        swapped[0] = swapped[i];
        swapped[i] = word[0];
        assert_true(sim_ledger_digest(swapped, sizeof swapped, 0) != before);
    }
}

static void digest_sees_offset_and_length(void **state)
{
    static const uint8_t zeros[256];
    uint64_t seen[256 + 64];
    unsigned count = 0, i, j;

    for (i = 1; i < 256; i++)
        seen[count++] = sim_ledger_digest(zeros, i, 0);
    for (i = 1; i < 64; i++)
        seen[count++] = sim_ledger_digest(zeros, 128, i);
    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++)
            assert_true(seen[i] != seen[j]);
    assert_true(sim_ledger_digest(zeros, 0, 0) == 0);
    assert_true(sim_ledger_digest(zeros, 0, 5) == 0);
    assert_true(sim_ledger_digest(data, 64, 0) != sim_ledger_digest(data, 64, 64));
}

/* The same on every machine: digests are compared between runs and may be stored. */
static void digest_has_a_fixed_value(void **state)
{
    uint8_t bytes[45];
    unsigned i;

    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    assert_true(sim_ledger_digest(bytes, sizeof bytes, 3) == 0x65fea73a5abd8b0bull);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void a_message_is_settled_once(void **state)
{
    struct sim_ledger_entry entries[3];
    unsigned i;

    for (i = 0; i < 3; i++)
        open_entry(&entries[i]);
    assert_int_equal(entries[2].id, 2);
    for (i = 0; i < 3; i++) {
        sim_ledger_deliver(&entries[i], BYTES - 64, sim_ledger_digest(data + 64, BYTES - 64, 64));
        sim_ledger_deliver(&entries[i], 64, sim_ledger_digest(data, 64, 0));
    }
    sim_ledger_settle(&entries[1], SIM_LEDGER_OK);
    sim_ledger_settle(&entries[0], SIM_LEDGER_OK);
    sim_ledger_settle(&entries[2], SIM_LEDGER_ERROR);
    assert_null(entries[1].book);
    assert_int_equal(book.opened, 3);
    assert_int_equal(book.delivered, 3);
    assert_int_equal(book.settled_ok, 2);
    assert_int_equal(book.settled_error, 1);
    assert_int_equal(book.bytes_in, 3 * BYTES);
    assert_int_equal(book.bytes_out, 3 * BYTES);
    assert_true(sim_ledger_balance());
    assert_true(sim_ledger_balanced());
}

static void lost_message(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    expect_violation("settled OK with only 0 bytes delivered");
}

static void lost_piece(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_deliver(&entry, BYTES - 8, sim_ledger_digest(data, BYTES - 8, 0));
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    expect_violation("settled OK with only 592 bytes");
}

static void duplicated_message(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    assert_int_equal(book.delivered, 1);
    expect_violation("delivered more than once: 1200 bytes, 2 pieces");
}

static void duplicate_after_the_end(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    expect_violation("600 bytes delivered after it was settled");
}

static void one_piece_twice_another_never(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_deliver(&entry, 296, sim_ledger_digest(data, 296, 0));
    sim_ledger_deliver(&entry, 304, sim_ledger_digest(data, 304, 0));
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    expect_violation("delivered other bytes");
}

static void changed_byte(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    data[417] ^= 0x10;
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    expect_violation("message 0 of aries.put, node 3 → node 5, 600 bytes: handed in at 1.2us, "
                     "delivered other bytes than were handed in");
}

static void piece_at_the_wrong_place(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_deliver(&entry, 304, sim_ledger_digest(data, 304, 0));
    sim_ledger_deliver(&entry, 296, sim_ledger_digest(data + 304, 296, 312));
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    expect_violation("delivered other bytes");
}

static void error_does_not_mean_unwritten(void **state)
{
    struct sim_ledger_entry entries[4];
    unsigned i;

    for (i = 0; i < 4; i++)
        open_entry(&entries[i]);
    sim_ledger_settle(&entries[0], SIM_LEDGER_ERROR); /* never written */
    sim_ledger_deliver(&entries[1], 64, sim_ledger_digest(data, 64, 0));
    sim_ledger_settle(&entries[1], SIM_LEDGER_ERROR); /* partly */
    sim_ledger_deliver(&entries[2], BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_settle(&entries[2], SIM_LEDGER_ERROR); /* wholly: the response was lost */
    sim_ledger_settle(&entries[3], SIM_LEDGER_ERROR);
    sim_ledger_deliver(&entries[3], BYTES, sim_ledger_digest(data, BYTES, 0)); /* late */
    assert_int_equal(book.delivered, 2);
    assert_true(sim_ledger_balance());
}

static void error_delivered_twice(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_settle(&entry, SIM_LEDGER_ERROR);
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    expect_violation("delivered more than once");
}

static void settled_twice(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_settle(&entry, SIM_LEDGER_ERROR);
    sim_ledger_settle(&entry, SIM_LEDGER_ERROR);
    assert_int_equal(book.settled_error, 1);
    expect_violation("settled twice");
}

static void message_without_bytes(void **state)
{
    struct sim_ledger_entry entry;

    sim_ledger_open(&book, &entry, 1, 2, 0);
    sim_ledger_deliver(&entry, 0, 0);
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    assert_int_equal(book.delivered, 1);
    assert_true(sim_ledger_balance());
}

static void message_without_bytes_lost(void **state)
{
    struct sim_ledger_entry entry;

    sim_ledger_open(&book, &entry, 1, 2, 0);
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    expect_violation("settled OK with only 0 bytes");
}

static void message_without_bytes_twice(void **state)
{
    struct sim_ledger_entry entry;

    sim_ledger_open(&book, &entry, 1, 2, 0);
    sim_ledger_deliver(&entry, 0, 0);
    sim_ledger_deliver(&entry, 0, 0);
    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    assert_int_equal(book.delivered, 1);
    expect_violation("delivered more than once: 0 bytes, 2 pieces");
}

static void never_settled(void **state)
{
    struct sim_ledger_entry entries[2];

    open_entry(&entries[0]);
    open_entry(&entries[1]);
    sim_ledger_deliver(&entries[0], BYTES, sim_ledger_digest(data, BYTES, 0));
    sim_ledger_settle(&entries[0], SIM_LEDGER_OK);
    assert_true(sim_ledger_balanced());
    sim_core.now = 2 * SIM_MS + 1;
    assert_false(sim_ledger_balance());
    expect_violation("message 1 of aries.put, node 3 → node 5, 600 bytes: handed in at 1.2us, "
                     "never settled (found at 2.000000001ms)");
    assert_null(entries[1].book);
}

static void abandoned_is_legal(void **state)
{
    struct sim_ledger_entry entry;

    open_entry(&entry);
    sim_ledger_settle(&entry, SIM_LEDGER_ABANDONED);
    sim_ledger_deliver(&entry, BYTES, sim_ledger_digest(data, BYTES, 0));
    assert_int_equal(book.abandoned, 1);
    assert_true(sim_ledger_balance());
}

static void nobodys_entry(void **state)
{
    struct sim_ledger_entry entry = {0};

    sim_ledger_settle(&entry, SIM_LEDGER_OK);
    assert_false(sim_ledger_balance());
    assert_int_equal(book.violations, 0);
}

/* ---- counts, streams, books ------------------------------------------------------------------ */

static void counted_events(void **state)
{
    sim_ledger_count(&book, 10, 0);
    sim_ledger_count(&book, 0, 9);
    sim_ledger_count_lost(&book, 1);
    assert_int_equal(book.opened, 10);
    assert_int_equal(book.settled_error, 1);
    assert_true(sim_ledger_balance());
}

static void counted_event_lost(void **state)
{
    sim_ledger_count(&book, 10, 9);
    assert_true(sim_ledger_balanced());
    assert_false(sim_ledger_balance());
    assert_false(sim_ledger_balance()); /* the books are closed once */
    expect_violation("aries.put: 10 events handed in, but 9 delivered and 0 reported lost");
}

static void counted_event_twice(void **state)
{
    sim_ledger_count(&book, 10, 11);
    assert_false(sim_ledger_balance());
    expect_violation("10 events handed in, but 11 delivered");
}

static void stream_in_order(void **state)
{
    struct sim_ledger_stream stream = {.book = &book, .source = 1, .target = 2};
    unsigned i;

    for (i = 0; i < 5; i++)
        assert_int_equal(sim_ledger_stream_send(&stream), i);
    for (i = 0; i < 5; i++)
        sim_ledger_stream_receive(&stream, i);
    assert_true(sim_ledger_balance());
}

static void stream_gap(void **state)
{
    struct sim_ledger_stream stream = {.book = &book, .source = 1, .target = 2};

    sim_ledger_stream_receive(&stream, 0);
    sim_ledger_stream_receive(&stream, 2);
    sim_ledger_stream_receive(&stream, 3); /* goes on behind the gap */
    expect_violation("stream of aries.put, node 1 → node 2: message 2 came out of order at 1.2us, "
                     "instead of message 1");
}

static void stream_repetition(void **state)
{
    struct sim_ledger_stream stream = {.book = &book};

    sim_ledger_stream_receive(&stream, 0);
    sim_ledger_stream_receive(&stream, 0);
    sim_ledger_stream_receive(&stream, 1);
    expect_violation("message 0 came out of order");
}

static void stream_exchange(void **state)
{
    struct sim_ledger_stream stream = {.book = &book};

    sim_ledger_stream_receive(&stream, 1);
    sim_ledger_stream_receive(&stream, 0);
    sim_ledger_stream_receive(&stream, 2);
    assert_int_equal(book.violations, 2);
    assert_false(sim_ledger_balance());
}

static void count_book(const struct sim_ledger_book *visited, void *arg)
{
    unsigned *count = arg;

    assert_string_equal(visited->name, *count == 0 ? "aries.put" : "smsg");
    ++*count;
}

static void books_in_order_of_registration(void **state)
{
    struct sim_ledger_book other;
    unsigned count = 0;

    sim_ledger_book_register(&other, "smsg");
    sim_ledger_for_each_book(count_book, &count);
    assert_int_equal(count, 2);
    sim_ledger_violation(&other, "%s", "found by the layer");
    assert_int_equal(other.violations, 1);
    assert_int_equal(book.violations, 0);
    assert_false(sim_ledger_balance());
}

static void many_violations_keep_the_first_texts(void **state)
{
    static struct sim_ledger_entry entries[100];
    struct texts texts = {0};
    unsigned i;

    for (i = 0; i < 100; i++)
        open_entry(&entries[i]);
    assert_false(sim_ledger_balance());
    assert_int_equal(book.violations, 100);
    sim_ledger_for_each_violation(keep_text, &texts);
    assert_int_equal(texts.count, 32);
    assert_non_null(strstr(texts.last, "message 31 of"));
    assert_false(sim_ledger_balance());
    assert_int_equal(book.violations, 100);
}

static void reset_forgets(void **state)
{
    unsigned count = 0;

    sim_ledger_violation(&book, "something");
    sim_ledger_reset();
    assert_true(sim_ledger_balanced());
    sim_ledger_for_each_book(count_book, &count);
    assert_int_equal(count, 0);
    assert_true(sim_ledger_balance());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(digest_is_the_sum_of_pieces_cut_at_words),
        TEST(digest_of_odd_cuts_repeats),
        TEST(digest_does_not_depend_on_alignment),
        TEST(digest_does_not_depend_on_the_processor),
        TEST(digest_sees_every_bit),
        TEST(digest_sees_swaps),
        TEST(digest_sees_offset_and_length),
        TEST(digest_has_a_fixed_value),
        TEST(a_message_is_settled_once),
        TEST(lost_message),
        TEST(lost_piece),
        TEST(duplicated_message),
        TEST(duplicate_after_the_end),
        TEST(one_piece_twice_another_never),
        TEST(changed_byte),
        TEST(piece_at_the_wrong_place),
        TEST(error_does_not_mean_unwritten),
        TEST(error_delivered_twice),
        TEST(settled_twice),
        TEST(message_without_bytes),
        TEST(message_without_bytes_lost),
        TEST(message_without_bytes_twice),
        TEST(never_settled),
        TEST(abandoned_is_legal),
        TEST(nobodys_entry),
        TEST(counted_events),
        TEST(counted_event_lost),
        TEST(counted_event_twice),
        TEST(stream_in_order),
        TEST(stream_gap),
        TEST(stream_repetition),
        TEST(stream_exchange),
        TEST(books_in_order_of_registration),
        TEST(many_violations_keep_the_first_texts),
        TEST(reset_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
