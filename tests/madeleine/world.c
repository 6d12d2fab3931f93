/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Both sessions, and the exchange of one message. */
#include "recording.h"

struct world world;
int failure_count, failure_code;
mad_failure_t failure_last;
char failure_text[MAD_TEXT_MAX];
const char *foreign_key, *foreign_value;
int world_size = 3, boot_gets;

void recording_register(p_mad_driver_t driver);

/* ---- a boot whose processes all publish the same values -------------------------------------- */

enum { PAIRS_MAX = 64 };
struct mirror {
    struct mad_boot boot;
    char keys[PAIRS_MAX][MAD_KEY_MAX], values[PAIRS_MAX][MAD_VALUE_MAX + 1];
    int count;
};

static int put(struct mad_boot *boot, const char *key, const char *value)
{
    struct mirror *mirror = (struct mirror *)boot;

    assert_true(strlen(key) <= 63 && strlen(value) <= 1023);
    assert_true(strncmp(key, "mad.", 4) == 0 && key[5] == '.');
    assert_non_null(strchr("vhacox", key[4]));
    assert_null(strpbrk(value, ";= "));
    assert_int_not_equal(mirror->count, PAIRS_MAX);
    snprintf(mirror->keys[mirror->count], MAD_KEY_MAX, "%s", key);
    snprintf(mirror->values[mirror->count++], MAD_VALUE_MAX, "%s", value);
    return MAD_OK;
}

static int fence(struct mad_boot *boot)
{
    return MAD_OK;
}

/* "mad.v.0" and "mad.v.1" are the same; "mad.x.…" is a key of its own. */
static bool same(const char *one, const char *other)
{
    if (strncmp(one, "mad.x", 5) == 0)
        return strcmp(one, other) == 0;
    for (; *one != '\0' && *other != '\0'; one++, other++)
        if (*one != *other && !(one[-1] == '.' && *one <= '1' && *other <= '1'))
            return false;
    return *one == *other;
}

static int get(struct mad_boot *boot, int rank, const char *key, char *value, size_t size)
{
    struct mirror *mirror = (struct mirror *)boot;

    value[0] = '\0';
    boot_gets++;
    if (foreign_key != NULL && boot->rank == 1 && strcmp(key, foreign_key) == 0) {
        snprintf(value, size, "%s", foreign_value);
        return MAD_OK;
    }
    for (int i = 0; i < mirror->count; i++)
        if (same(key, mirror->keys[i]))
            snprintf(value, size, "%s", mirror->values[i]);
    return MAD_OK;
}

static void close_boot(struct mad_boot *boot)
{
    free(boot);
}

static struct mad_boot *mirror_new(int rank)
{
    static const struct mad_boot_ops ops = {put, fence, get, close_boot};
    struct mirror *mirror = calloc(1, sizeof(*mirror));

    assert_non_null(mirror);
    mirror->boot = (struct mad_boot){.ops = &ops, .size = world_size, .rank = rank, .job = "job"};
    return &mirror->boot;
}

/* ---- failures -------------------------------------------------------------------------------- */

static void on_failure(const mad_failure_t *failure, void *arg)
{
    failure_count++;
    failure_code = failure->code;
    failure_last = *failure;
    snprintf(failure_text, sizeof(failure_text), "%s", failure->text);
}

void failures_clear(void)
{
    failure_count = failure_code = 0;
    failure_text[0] = '\0';
}

void assert_failure(int code)
{
    assert_int_equal(failure_count, 1);
    assert_int_equal(failure_code, code);
    failures_clear();
}

/* ---- the world ------------------------------------------------------------------------------- */

void world_sessions(const struct link_kind *kinds, int links, int check)
{
    static const struct mad_driver_entry drivers[] = {{"rec", mad_SHM, recording_register}, {NULL}};
    const struct mad_session_options options = {.drivers = drivers, .check = check};

    memset(&recording, 0, sizeof(recording));
    memcpy(recording.kinds, kinds, (size_t)links * sizeof(*kinds));
    recording.links = links;
    failures_clear();
    mad_set_failure_handler(on_failure, NULL);
    for (int rank = 0; rank < 2; rank++)
        world.session[rank] = mad_session_start(mirror_new(rank), &options);
}

void world_open(const struct link_kind *kinds, int links, int check)
{
    world_sessions(kinds, links, check);
    for (int rank = 0; rank < 2; rank++) {
        assert_non_null(world.session[rank]);
        world.channel[rank] = mad_open_channel(world.session[rank], 0);
        assert_non_null(world.channel[rank]);
    }
    assert_int_equal(failure_count, 0);
}

void world_close(void)
{
    for (int rank = 0; rank < 2; rank++)
        if (world.session[rank] != NULL)
            mad_session_end(world.session[rank]);
    /* Whatever a test leaves of its message on the wire goes, too. */
    recording_register(&(mad_driver_t){0});
    assert_int_equal(recording.obtained + recording.taken, recording.handed + recording.returned);
    foreign_key = foreign_value = NULL;
}

p_mad_connection_t begin_packing(void)
{
    p_mad_connection_t out = mad_begin_packing(world.channel[0], 1);

    assert_non_null(out);
    return out;
}

p_mad_connection_t begin_unpacking(void)
{
    p_mad_connection_t in = mad_begin_unpacking(world.channel[1]);

    assert_non_null(in);
    return in;
}

/* ---- one message ----------------------------------------------------------------------------- */

static void fill(unsigned char *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 13 + (size_t)seed * 101 + 7);
}

static void assert_filled(const unsigned char *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != (unsigned char)(i * 13 + (size_t)seed * 101 + 7))
            fail_msg("piece %d, byte %zu", seed, i);
}

static void mark(char *log)
{
    if (!recording.quiet)
        strcat(log, log[0] != '\0' ? " /" : "/");
}

static void pack_all(const struct piece *pieces, int count, unsigned char **memory)
{
    p_mad_connection_t out = begin_packing();

    for (int i = 0; i < count; i++) {
        if (pieces[i].send != L)
            fill(memory[i], pieces[i].length, i);
        mad_pack(out, memory[i], pieces[i].length, pieces[i].send, pieces[i].receive);
        if (pieces[i].send == S)
            memset(memory[i], 0xEE, pieces[i].length);
        mark(recording.sent);
    }
    for (int i = 0; i < count; i++)
        if (pieces[i].send == L)
            fill(memory[i], pieces[i].length, i);
    mad_end_packing(out);
}

static void unpack_all(const struct piece *pieces, int count, unsigned char **memory)
{
    p_mad_connection_t in = begin_unpacking();

    for (int i = 0; i < count; i++) {
        mad_unpack(in, memory[i], pieces[i].length, pieces[i].send, pieces[i].receive);
        if (pieces[i].receive == E)
            assert_filled(memory[i], pieces[i].length, i);
        mark(recording.received);
    }
    mad_end_unpacking(in);
    for (int i = 0; i < count; i++)
        assert_filled(memory[i], pieces[i].length, i);
}

void exchange(const struct piece *pieces, int count)
{
    unsigned char *memory[BLOCKS_MAX];

    assert_true(count <= BLOCKS_MAX);
    recording.sent[0] = recording.received[0] = '\0';
    for (int i = 0; i < count; i++) {
        memory[i] = calloc(1, pieces[i].length + 1);
        assert_non_null(memory[i]);
    }
    pack_all(pieces, count, memory);
    for (int i = 0; i < count; i++)
        memset(memory[i], 0xEE, pieces[i].length); /* the message does not need it any more */
    unpack_all(pieces, count, memory);
    for (int i = 0; i < count; i++)
        free(memory[i]);
    if (failure_count != 0)
        fail_msg("failure %d: %s", failure_code, failure_text);
}
