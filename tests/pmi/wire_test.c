/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Both wire formats: what is sent, what is understood, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pmi2.h"
#include "pmi2/wire.h"

static struct pmi2_decoder decoder;

static int setup(void **state)
{
    pmi2_decoder_init(&decoder);
    return 0;
}

static int teardown(void **state)
{
    pmi2_decoder_fini(&decoder);
    return 0;
}

static void feed(const char *bytes, size_t length)
{
    assert_true(pmi2_decoder_feed(&decoder, bytes, length));
}

/* A frame of so many bytes of payload, however the length is written. */
static void feed_frame(const char *form, const char *payload, size_t length)
{
    char digits[32];

    snprintf(digits, sizeof(digits), form, length);
    feed(digits, PMI2_LENGTH_SIZE);
    feed(payload, length);
}

static enum pmi2_decoded next(struct pmi2_message *message)
{
    return pmi2_decoder_next(&decoder, message);
}

static void expect_pair(const struct pmi2_message *message, const char *key, const char *value)
{
    struct pmi2_slice slice = pmi2_message_value(message, key);

    assert_non_null(slice.at);
    assert_int_equal(slice.length, strlen(value));
    assert_memory_equal(slice.at, value, slice.length);
}

static void expect_broken(const char *bytes, size_t length)
{
    struct pmi2_message message;

    teardown(NULL);
    setup(NULL);
    feed(bytes, length);
    assert_int_equal(next(&message), PMI2_DECODED_BROKEN);
    assert_non_null(decoder.reason);
    feed("cmd=init pmi_version=2 pmi_subversion=0\n", 40);
    assert_int_equal(next(&message), PMI2_DECODED_BROKEN); /* for good */
    teardown(NULL);
}

/* ---- frames -----------------------------------------------------------------------------------
 */

static void pmi2_75_length_padding(void **state)
{
    static const char payload[] = "cmd=kvs-get;key=k;";
    static const char *const forms[] = {"%6zu", "%-6zu", "%06zu", " %-5zu", "  %zu  "};
    struct pmi2_message message;
    size_t i;

    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        feed_frame(forms[i], payload, sizeof(payload) - 1);
        assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
        assert_int_equal(message.format, PMI2_FORMAT_FRAME);
        assert_true(pmi2_slice_is(message.command, "kvs-get"));
        assert_int_equal(message.count, 1);
        assert_int_equal(message.wire_bytes, sizeof(payload) - 1 + PMI2_LENGTH_SIZE);
        expect_pair(&message, "key", "k");
    }
    assert_int_equal(next(&message), PMI2_DECODED_NONE);
    assert_int_equal(pmi2_decoder_pending(&decoder), 0);
}

static void pmi2_75_sent_right_aligned(void **state)
{
    struct pmi2_buffer buffer = {0};

    pmi2_frame_begin(&buffer, "kvs-put");
    pmi2_frame_text(&buffer, "key", "k0");
    pmi2_frame_text(&buffer, "value", "a;b=c d");
    assert_true(pmi2_frame_end(&buffer));
    pmi2_frame_begin(&buffer, "info-getnodeattr");
    pmi2_frame_int(&buffer, "key", -12);
    pmi2_frame_bool(&buffer, "wait", true);
    pmi2_frame_bool(&buffer, "x", false);
    assert_true(pmi2_frame_end(&buffer));
    assert_int_equal(buffer.length, 6 + 34 + 6 + 47);
    assert_memory_equal(buffer.bytes,
                        "    34cmd=kvs-put;key=k0;value=a;;b=c d;"
                        "    47cmd=info-getnodeattr;key=-12;wait=TRUE;x=FALSE;",
                        buffer.length);
    pmi2_buffer_fini(&buffer);
}

static void pmi2_77_stale_tail(void **state)
{
    static const char nuls[] = "cmd=kvs-fence;thrid=3;\0\0\0\0\0\0";
    static const char text[] = "cmd=finalize;get;ab";
    struct pmi2_message message;

    feed_frame("%6zu", nuls, sizeof(nuls) - 1);
    feed_frame("%6zu", text, sizeof(text) - 1);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_true(pmi2_slice_is(message.command, "kvs-fence"));
    assert_int_equal(message.count, 1);
    assert_false(message.unterminated);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_false(message.unterminated);
    assert_int_equal(message.count, 1); /* "get", a key alone */
    expect_pair(&message, "get", "");
}

static void pmi2_88_11_unterminated_value(void **state)
{
    static const char *const tails[] = {"value=abc", "value=", "value=a;;", "value=a;;b", "x-_9=1"};
    char payload[64];
    struct pmi2_message message;
    size_t i;

    for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(payload, sizeof(payload), "cmd=kvs-put;key=k;%s", tails[i]);
        feed_frame("%6zu", payload, strlen(payload));
        assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
        assert_true(message.unterminated);
        assert_int_equal(message.count, 1);
    }
}

static void pmi2_78_escapes(void **state)
{
    static const char *const values[] = {
        "",      ";",          ";;",
        "a;b",   ";a",         "a;",
        ";;;=;", "= x\ny\tz;", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"};
    struct pmi2_buffer buffer = {0};
    struct pmi2_message message;
    char key[8];
    size_t i, n = sizeof(values) / sizeof(values[0]);

    pmi2_frame_begin(&buffer, "x");
    for (i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        pmi2_frame_text(&buffer, key, values[i]);
    }
    assert_true(pmi2_frame_end(&buffer));
    feed(buffer.bytes, buffer.length);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_int_equal(message.count, n);
    assert_false(message.unterminated);
    for (i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        expect_pair(&message, key, values[i]);
    }
    pmi2_buffer_fini(&buffer);
}

static void pmi2_45_first_duplicate_counts(void **state)
{
    static const char payload[] = "cmd=kvs-put;key=a;value=1;key=b;value=2;";
    struct pmi2_message message;

    feed_frame("%6zu", payload, sizeof(payload) - 1);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_int_equal(message.count, 4);
    expect_pair(&message, "key", "a");
    expect_pair(&message, "value", "1");
    assert_null(pmi2_message_find(&message, "ke"));
    assert_null(pmi2_message_value(&message, "keys").at);
}

static void pmi2_88_2_malformed_lengths(void **state)
{
    static const char *const lengths[] = {"    -5", "abcdef", "12 34 ", "      ",
                                          "     0", "000000", "0x0012", "  1.5 "};
    size_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        expect_broken(lengths[i], 6);
    expect_broken("    20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26);
}

static void pmi2_88_4_no_command(void **state)
{
    expect_broken("     8foo=bar;", 14);
    expect_broken("     3cmd", 9);
    expect_broken("     5cmd=;", 11);
    expect_broken("     7cmd=a b", 13);
    expect_broken("     8cmd=a b;", 14);
    expect_broken("     6cmd=ab", 12); /* not ended */
    expect_broken("cmx=init \n", 10);
    expect_broken("cmd= a=b\n", 9);
    expect_broken("mcmd=\nendcmd\n", 13);
}

static void pmi2_88_1_announced_length_takes_no_memory(void **state)
{
    struct pmi2_message message;

    feed("999999cmd=spawn;ncmds=1;", 24);
    assert_int_equal(next(&message), PMI2_DECODED_NONE);
    assert_true(decoder.capacity < 4096);
}

/* Fills it up to a length with one long value. */
static char *long_payload(const char *command, size_t length)
{
    char *payload = malloc(length);
    size_t head = (size_t)snprintf(payload, length, "cmd=%s;v=", command);

    memset(payload + head, 'x', length - head);
    payload[length - 1] = ';';
    return payload;
}

static void pmi2_87_longest_frames(void **state)
{
    struct pmi2_message message;
    char *longest = long_payload("kvs-put", PMI2_FRAME_MAX);
    char *longer = long_payload("kvs-put", PMI2_FRAME_MAX + 1);
    char *spawn = long_payload("spawn", PMI2_SPAWN_FRAME_MAX);

    feed_frame("%6zu", longest, PMI2_FRAME_MAX);
    feed_frame("%6zu", longer, PMI2_FRAME_MAX + 1);
    feed_frame("%6zu", spawn, PMI2_SPAWN_FRAME_MAX);
    feed("    14cmd=kvs-fence;", 20);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_int_equal(pmi2_message_value(&message, "v").length, PMI2_FRAME_MAX - 15);
    assert_int_equal(next(&message), PMI2_DECODED_TOO_LONG);
    assert_true(pmi2_slice_is(message.command, "kvs-put"));
    assert_int_equal(message.wire_bytes, PMI2_LENGTH_SIZE + PMI2_FRAME_MAX + 1);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_true(pmi2_slice_is(message.command, "spawn"));
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_true(pmi2_slice_is(message.command, "kvs-fence"));
    feed("x", 1); /* what an idle connection keeps is bounded */
    assert_true(decoder.capacity <= 65536);
    free(longest);
    free(longer);
    free(spawn);
}

static void pmi2_87_refused_before_it_has_come(void **state)
{
    struct pmi2_message message;
    size_t i, rest = 900000 - 12;

    feed("900000cmd=kvs-put;", 18);
    assert_int_equal(next(&message), PMI2_DECODED_TOO_LONG);
    for (i = 0; i < rest; i += 1000) {
        char bytes[1000] = {0};

        feed(bytes, rest - i < 1000 ? rest - i : 1000);
        assert_int_equal(next(&message), PMI2_DECODED_NONE);
    }
    assert_true(decoder.capacity < 4096);
    feed("    14cmd=kvs-fence;", 20);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    expect_broken("900000foo=kvs-put;", 18);
    expect_broken("900000cmd=kvs-put-kvs-put-kvs-put-kvs-put-kvs-put-kvs-put-kvs-put-kvs-put-x",
                  75);
}

static void pmi2_87_not_sent(void **state)
{
    struct pmi2_buffer buffer = {0};
    char *value = malloc(PMI2_SPAWN_FRAME_MAX);
    struct pmi2_slice slice = {value, PMI2_FRAME_MAX - 15};
    size_t before;

    memset(value, 'x', PMI2_SPAWN_FRAME_MAX);
    pmi2_frame_begin(&buffer, "kvs-put");
    pmi2_frame_slice(&buffer, "v", slice);
    assert_true(pmi2_frame_end(&buffer));
    assert_memory_equal(buffer.bytes, " 65536cmd=kvs-put;", 18);
    before = buffer.length;
    slice.length++;
    pmi2_frame_begin(&buffer, "kvs-put");
    pmi2_frame_slice(&buffer, "v", slice);
    assert_false(pmi2_frame_end(&buffer));
    assert_int_equal(buffer.length, before); /* taken back */
    pmi2_frame_begin(&buffer, "spawn");
    pmi2_frame_slice(&buffer, "v", (struct pmi2_slice){value, PMI2_SPAWN_FRAME_MAX - 13});
    assert_true(pmi2_frame_end(&buffer));
    pmi2_frame_begin(&buffer, "spawn");
    pmi2_frame_slice(&buffer, "v", (struct pmi2_slice){value, PMI2_SPAWN_FRAME_MAX - 12});
    assert_false(pmi2_frame_end(&buffer));
    pmi2_buffer_clear(&buffer);
    pmi2_line_begin(&buffer, "put");
    pmi2_line_slice(&buffer, "value", (struct pmi2_slice){value, PMI2_LINE_MAX - 15});
    assert_true(pmi2_line_end(&buffer));
    pmi2_line_begin(&buffer, "put");
    pmi2_line_slice(&buffer, "value", (struct pmi2_slice){value, PMI2_LINE_MAX - 14});
    assert_false(pmi2_line_end(&buffer));
    pmi2_line_begin(&buffer, "put");
    pmi2_line_text(&buffer, "value", "a\nb");
    assert_false(pmi2_line_end(&buffer));
    pmi2_line_begin(&buffer, "get"); /* that one was the last refused */
    assert_true(pmi2_line_end(&buffer));
    assert_int_equal(buffer.length, PMI2_LINE_MAX + 8);
    free(value);
    pmi2_buffer_fini(&buffer);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static void one_line(const char *line, struct pmi2_message *message)
{
    feed(line, strlen(line));
    assert_int_equal(next(message), PMI2_DECODED_MESSAGE);
    assert_int_equal(message->wire_bytes, strlen(line));
}

static void lines(void **state)
{
    struct pmi2_message message;

    one_line("cmd=init pmi_version=1 pmi_subversion=1\n", &message);
    assert_int_equal(message.format, PMI2_FORMAT_LINE);
    assert_true(pmi2_slice_is(message.command, "init"));
    expect_pair(&message, "pmi_version", "1");
    one_line("cmd=get_maxes\n", &message);
    assert_int_equal(message.count, 0);
    one_line("cmd=x  a=1 flag  b= \n", &message); /* more blanks, a key alone, an empty value */
    assert_int_equal(message.count, 3);
    expect_pair(&message, "flag", "");
    expect_pair(&message, "b", "");
}

/* D-17: the last key takes the rest of the line. */
static void pmi2_107_values_with_spaces(void **state)
{
    struct pmi2_message message;

    one_line("cmd=put kvsname=1.0 key=k value=a b  c=d -\n", &message);
    expect_pair(&message, "value", "a b  c=d -");
    expect_pair(&message, "key", "k");
    one_line("cmd=get_result rc=0 msg=success value=x rc=1 \n", &message);
    expect_pair(&message, "value", "x rc=1 ");
    expect_pair(&message, "rc", "0");
    one_line("cmd=publish_name service=s port=a b\n", &message);
    expect_pair(&message, "port", "a b");
    one_line("cmd=lookup_result port=p q info=ok rc=0 msg=success\n", &message);
    expect_pair(&message, "port", "p q");
    expect_pair(&message, "rc", "0");
    one_line("cmd=lookup_result info=ok port=p q\n", &message);
    expect_pair(&message, "port", "p q");
    one_line("cmd=abort exitcode=3 message=it is over\n", &message);
    expect_pair(&message, "message", "it is over");
}

static void pmi2_88_31_endless_line(void **state)
{
    static const char start[] = "cmd=put value=";
    struct pmi2_message message;
    char *line = malloc(100000);

    memset(line, 'x', 100000);
    memcpy(line, start, sizeof(start) - 1);
    feed(line, PMI2_LINE_MAX - 1);
    assert_int_equal(next(&message), PMI2_DECODED_NONE);
    feed("\n", 1);
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    feed(line, PMI2_LINE_MAX);
    assert_int_equal(next(&message), PMI2_DECODED_BROKEN);
    line[PMI2_LINE_MAX] = '\n';
    expect_broken(line, 100000);
    free(line);
}

static void pmi2_71_spawn_blocks(void **state)
{
    static const char blocks[] =
        "mcmd=spawn\nnprocs=1\nexecname=prog\ntotspawns=2\nspawnssofar=1\narg1=child.py\narg2=1\n"
        "arg3=with space=x\nargcnt=3\npreput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\n"
        "preput_val_0=tag#0$desc#x\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=/data\nendcmd\n"
        "mcmd=spawn\nnprocs=2\nexecname=prog\ntotspawns=2\nspawnssofar=2\nargcnt=0\nendcmd\n"
        "cmd=barrier_in\n";
    struct pmi2_message message;
    size_t i;

    for (i = 0; i < sizeof(blocks) - 1; i++) { /* the client writes many small pieces */
        feed(blocks + i, 1);
        if (blocks[i] != '\n' || i < 7 || memcmp(blocks + i - 6, "endcmd", 6) != 0)
            continue;
        assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
        assert_int_equal(message.format, PMI2_FORMAT_MCMD);
        assert_true(pmi2_slice_is(message.command, "spawn"));
        expect_pair(&message, "totspawns", "2");
        if (message.count > 8) {
            expect_pair(&message, "arg3", "with space=x");
            expect_pair(&message, "info_val_0", "/data");
            assert_int_equal(message.count, 14);
        }
    }
    assert_int_equal(next(&message), PMI2_DECODED_MESSAGE);
    assert_true(pmi2_slice_is(message.command, "barrier_in"));
}

static void pmi2_71_spawn_blocks_sent(void **state)
{
    struct pmi2_buffer buffer = {0};

    pmi2_mcmd_begin(&buffer, "spawn");
    pmi2_mcmd_int(&buffer, "nprocs", 2);
    pmi2_mcmd_text(&buffer, "arg1", "a b");
    assert_true(pmi2_mcmd_end(&buffer));
    pmi2_mcmd_begin(&buffer, "spawn");
    pmi2_mcmd_text(&buffer, "arg1", "a\nendcmd\nb");
    assert_false(pmi2_mcmd_end(&buffer));
    assert_int_equal(buffer.length, 36);
    assert_memory_equal(buffer.bytes, "mcmd=spawn\nnprocs=2\narg1=a b\nendcmd\n", buffer.length);
    pmi2_buffer_fini(&buffer);
}

static void pmi2_88_32_endless_spawn(void **state)
{
    struct pmi2_message message;
    char piece[1024];
    size_t i;

    memset(piece, '\n', sizeof(piece));
    feed("mcmd=spawn\n", 11);
    for (i = 11 + sizeof(piece); i < PMI2_MCMD_MAX; i += sizeof(piece)) {
        feed(piece, sizeof(piece));
        assert_int_equal(next(&message), PMI2_DECODED_NONE);
    }
    feed(piece, sizeof(piece));
    assert_int_equal(next(&message), PMI2_DECODED_BROKEN);
}

/* ---- any stream -------------------------------------------------------------------------------
 */

static const char stream[] = "cmd=init pmi_version=2 pmi_subversion=0\n"
                             "51    cmd=fullinit;pmijobid=7.1;pmirank=0;threaded=FALSE;"
                             "    34cmd=kvs-put;key=k0;value=a;;b=c d;"
                             "mcmd=spawn\nnprocs=1\nexecname=p q\nendcmd\n"
                             "    22cmd=kvs-fence;\0\0\0\0\0\0\0\0"
                             " 70001cmd=kvs-get;"; /* and its rest */

/* What was decoded, as text. */
static void note(struct pmi2_buffer *log, enum pmi2_decoded decoded,
                 const struct pmi2_message *message)
{
    uint32_t i;

    pmi2_line_begin(log, "message");
    pmi2_line_int(log, "decoded", decoded);
    pmi2_line_int(log, "format", message->format);
    pmi2_line_slice(log, "command", message->command);
    pmi2_line_int(log, "bytes", message->wire_bytes);
    for (i = 0; i < message->count; i++) {
        pmi2_line_slice(log, "key", message->pairs[i].key);
        pmi2_line_slice(log, "value", message->pairs[i].value);
    }
    pmi2_line_end(log);
}

/* How much of it: as much as there is room for. */
static size_t receive(const char *bytes, size_t length)
{
    size_t free_bytes, capacity = decoder.capacity;
    char *room = pmi2_decoder_room(&decoder, &free_bytes);

    assert_non_null(room);
    assert_true(free_bytes > 0 && decoder.capacity <= 2 * capacity + 256);
    if (length > free_bytes)
        length = free_bytes;
    memcpy(room, bytes, length);
    pmi2_decoder_received(&decoder, length);
    return length;
}

static bool received; /* into the decoder's room, not copied */

static void decode_pieces(const char *bytes, size_t length, size_t first, size_t piece,
                          struct pmi2_buffer *log)
{
    struct pmi2_message message;
    enum pmi2_decoded decoded;
    size_t at, size = first;

    setup(NULL);
    for (at = 0; at < length; at += size, size = piece) {
        if (size > length - at)
            size = length - at;
        if (received)
            size = receive(bytes + at, size);
        else
            feed(bytes + at, size);
        while ((decoded = next(&message)) != PMI2_DECODED_NONE && decoded != PMI2_DECODED_BROKEN)
            note(log, decoded, &message);
        assert_int_equal(decoded, PMI2_DECODED_NONE);
    }
    teardown(NULL);
}

static void pmi2_76_any_split(void **state)
{
    size_t head = sizeof(stream) - 1, length = head + 70001 - 12 + 20, i;
    struct pmi2_buffer whole = {0}, log = {0};
    static const char last[20] = "    14cmd=kvs-fence;"; /* no NUL */
    char *bytes = calloc(1, length);

    memcpy(bytes, stream, head);
    memcpy(bytes + length - sizeof(last), last, sizeof(last));
    decode_pieces(bytes, length, length, length, &whole);
    assert_true(whole.length > 300);
    for (i = 1; i <= head + 8; i++) {
        pmi2_buffer_clear(&log);
        decode_pieces(bytes, length, i, length, &log);
        assert_int_equal(log.length, whole.length);
        assert_memory_equal(log.bytes, whole.bytes, whole.length);
    }
    for (i = 0; i < 40; i++) {
        received = i % 2 != 0;
        pmi2_buffer_clear(&log);
        decode_pieces(bytes, length, i / 2 + 1, received && i > 20 ? length : i / 2 + 1, &log);
        assert_int_equal(log.length, whole.length);
        assert_memory_equal(log.bytes, whole.bytes, whole.length);
    }
    received = false;
    pmi2_buffer_fini(&whole);
    pmi2_buffer_fini(&log);
    free(bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(pmi2_75_length_padding),
        TEST(pmi2_75_sent_right_aligned),
        TEST(pmi2_77_stale_tail),
        TEST(pmi2_88_11_unterminated_value),
        TEST(pmi2_78_escapes),
        TEST(pmi2_45_first_duplicate_counts),
        TEST(pmi2_88_2_malformed_lengths),
        TEST(pmi2_88_4_no_command),
        TEST(pmi2_88_1_announced_length_takes_no_memory),
        TEST(pmi2_87_longest_frames),
        TEST(pmi2_87_refused_before_it_has_come),
        TEST(pmi2_87_not_sent),
        TEST(lines),
        TEST(pmi2_107_values_with_spaces),
        TEST(pmi2_88_31_endless_line),
        TEST(pmi2_71_spawn_blocks),
        TEST(pmi2_71_spawn_blocks_sent),
        TEST(pmi2_88_32_endless_spawn),
        TEST(pmi2_76_any_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
