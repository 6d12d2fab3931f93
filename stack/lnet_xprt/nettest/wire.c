/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands as messages: little-endian words, and texts of M0_NETTEST_ADDRESS bytes. */
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

#define MAGIC 0x33c0de7e57c0de77ull

/* One description of the layout for both directions. */
struct cursor {
    char *out; /* encoding */
    const char *in; /* decoding */
    size_t left;
    bool failed; /* beyond the end, or not a value */
};

static void bytes(struct cursor *cursor, void *place, size_t count)
{
    if (cursor->failed || cursor->left < count) {
        cursor->failed = true;
        return;
    }
    if (cursor->out != NULL) {
        memcpy(cursor->out, place, count);
        cursor->out += count;
    } else {
        M0_ASSERT(cursor->in != NULL);
        memcpy(place, cursor->in, count);
        cursor->in += count;
    }
    cursor->left -= count;
}

static void word(struct cursor *cursor, uint64_t *value)
{
    bytes(cursor, value, sizeof(*value));
}

static void word32(struct cursor *cursor, uint32_t *value)
{
    uint64_t wide = *value;

    word(cursor, &wide);
    if (wide > UINT32_MAX)
        cursor->failed = true;
    *value = (uint32_t)wide;
}

static void flag(struct cursor *cursor, bool *value)
{
    uint64_t wide = *value ? 1 : 0;

    word(cursor, &wide);
    if (wide > 1)
        cursor->failed = true;
    *value = wide == 1;
}

static void text(struct cursor *cursor, char address[M0_NETTEST_ADDRESS])
{
    bytes(cursor, address, M0_NETTEST_ADDRESS);
    address[M0_NETTEST_ADDRESS - 1] = '\0';
}

static void count(struct cursor *cursor, struct m0_nettest_count *value)
{
    word(cursor, &value->total);
    word(cursor, &value->failed);
    word(cursor, &value->bad);
}

static void moments(struct cursor *cursor, struct m0_nettest_moments *value)
{
    word(cursor, &value->count);
    word(cursor, &value->min);
    word(cursor, &value->max);
    word(cursor, &value->sum);
    word(cursor, &value->squares[0]);
    word(cursor, &value->squares[1]);
}

static void stats(struct cursor *cursor, struct m0_nettest_stats *value)
{
    count(cursor, &value->sent);
    count(cursor, &value->received);
    count(cursor, &value->bulk_sent);
    count(cursor, &value->bulk_received);
    count(cursor, &value->transfers);
    word(cursor, &value->lost);
    word(cursor, &value->timed_out);
    moments(cursor, &value->mps_sent);
    moments(cursor, &value->mps_received);
    moments(cursor, &value->rtt);
    word(cursor, &value->time_start);
    word(cursor, &value->time_finish);
}

static void options(struct cursor *cursor, struct m0_nettest_options *value)
{
    uint32_t kind = value->kind;

    word32(cursor, &kind);
    if (kind > M0_NETTEST_BULK)
        cursor->failed = true;
    else
        value->kind = (enum m0_nettest_kind)kind;
    word32(cursor, &value->size);
    word32(cursor, &value->concurrency);
    word(cursor, &value->messages);
    word32(cursor, &value->pairs);
    word(cursor, &value->message_timeout);
    word(cursor, &value->bulk_timeout);
    word(cursor, &value->command_timeout);
    word(cursor, &value->interval);
}

/* The addresses follow. */
static void fixed(struct cursor *cursor, struct m0_nettest_command *command)
{
    uint64_t magic = MAGIC, status = (uint64_t)command->status;

    word(cursor, &magic);
    word(cursor, &command->type);
    word(cursor, &command->id);
    word(cursor, &status);
    command->status = (int64_t)status;
    if (magic != MAGIC || command->type >= M0_NETTEST_TYPES)
        cursor->failed = true;
    if (cursor->failed)
        return;
    switch ((enum m0_nettest_type)command->type) {
    case M0_NETTEST_INIT:
        flag(cursor, &command->client);
        options(cursor, &command->options);
        word32(cursor, &command->peers);
        break;
    case M0_NETTEST_INIT_DONE:
        text(cursor, command->address);
        break;
    case M0_NETTEST_STATUS_DATA:
    case M0_NETTEST_STOP_DONE:
        flag(cursor, &command->finished);
        stats(cursor, &command->stats);
        break;
    default:
        break;
    }
}

static bool has_addresses(const struct m0_nettest_command *command)
{
    return command->type == M0_NETTEST_INIT && command->client;
}

size_t m0_nettest_encode(const struct m0_nettest_command *command, void *to)
{
    struct cursor cursor = {.out = to, .left = M0_NETTEST_COMMAND_BYTES};
    struct m0_nettest_command copy = *command;
    uint32_t i;

    fixed(&cursor, &copy);
    for (i = 0; has_addresses(command) && i < command->peers; i++)
        text(&cursor, command->addresses[i]);
    return cursor.failed ? 0 : M0_NETTEST_COMMAND_BYTES - cursor.left;
}

int m0_nettest_decode(struct m0_nettest_command *command, const void *from, size_t size)
{
    struct cursor cursor = {.in = from, .left = size};
    uint32_t i;

    *command = (struct m0_nettest_command){.type = 0};
    fixed(&cursor, command);
    if (cursor.failed)
        return -EBADMSG;
    if (has_addresses(command)) {
        if (command->peers == 0 || cursor.left / M0_NETTEST_ADDRESS < command->peers)
            return -EBADMSG;
        M0_ALLOC_ARR(command->addresses, command->peers);
        if (command->addresses == NULL)
            return -ENOMEM;
        for (i = 0; i < command->peers; i++)
            text(&cursor, command->addresses[i]);
    }
    return 0;
}

void m0_nettest_command_fini(struct m0_nettest_command *command)
{
    m0_free(command->addresses);
    command->addresses = NULL;
}

void m0_nettest_options_default(struct m0_nettest_options *to)
{
    *to = (struct m0_nettest_options){.kind = M0_NETTEST_PING,
                                      .size = 4096,
                                      .concurrency = 8,
                                      .messages = 4096,
                                      .pairs = 1,
                                      .message_timeout = 3ull * M0_TIME_ONE_SECOND,
                                      .bulk_timeout = 3ull * M0_TIME_ONE_SECOND,
                                      .command_timeout = 10ull * M0_TIME_ONE_SECOND,
                                      .interval = M0_TIME_ONE_SECOND};
}

bool m0_nettest_options_are_valid(const struct m0_nettest_options *of, uint32_t servers)
{
    return of->size >= 1 && of->size <= M0_NETTEST_SIZE_MAX && of->concurrency >= 1 &&
           of->concurrency <= M0_NETTEST_CONCURRENCY_MAX && of->messages >= 1 && of->pairs >= 1 &&
           of->pairs <= M0_NETTEST_PAIRS_MAX && of->message_timeout > 0 && of->bulk_timeout > 0 &&
           of->command_timeout > 0 && of->interval > 0 && servers >= 1 &&
           servers <= M0_NETTEST_SERVERS_MAX &&
           (of->kind != M0_NETTEST_PING || of->size > 1 || of->concurrency * servers <= 256);
}
