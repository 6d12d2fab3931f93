/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All pairs of ranks exchange messages of random blocks in all pairs of modes through Madeleine, on
 * several channels. Both sides draw the blocks from the number of the message, and the receiver
 * verifies them when their mode says that they are valid.
 */
#include <stdlib.h>
#include <string.h>

#include <madeleine.h>
#include "run/workload.h"
#include "support/pattern.h"

enum { CHANNELS_MAX = 16, BLOCKS_MAX = 64, PAGE = 4096 };

static const struct workload_arg args[] = {
    {"channels", ARG_COUNT, "2", "1", "16", NULL, "opened on the first adapter"},
    {"messages", ARG_COUNT, "3", "1", "1000000", NULL, "to each peer on each channel"},
    {"blocks", ARG_COUNT, "6", "1", "64", NULL, "of a message, at most"},
    {"bytes", ARG_BYTES, "20KiB", "1", "64MiB", NULL, "of a block, at most"},
    {"pause", ARG_TIME, "0", "0", "1s", NULL, "of the sender before each block"},
    {"lossy", ARG_BOOL, "false", NULL, NULL, NULL,
     "peers may die: their messages are counted as missing, and are no failure"},
    {NULL},
};

/* The first block of each message. */
struct head {
    uint32_t from, channel, number, blocks;
};

struct exchange {
    struct rank *rank;
    p_mad_madeleine_t session;
    p_mad_channel_t channels[CHANNELS_MAX];
    uint32_t count, id, size; /* channels, ranks */
    uint32_t messages, blocks;
    size_t bytes;
    uint64_t pause; /* ps */
    bool lossy, broken;
    uint32_t *got; /* by channel and rank */
    unsigned char *memory[BLOCKS_MAX];
    uint64_t missing, failures;
};

static void on_failure(const mad_failure_t *failure, void *arg)
{
    struct exchange *exchange = arg;

    exchange->failures++;
    if (exchange->lossy)
        return;
    exchange->broken = true;
    rank_fail(exchange->rank, "Madeleine: %s (%d, peer %d)", failure->text, failure->code,
              failure->peer);
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 31) * 0x7fb5d329728ea185ull;
    value = (value ^ value >> 27) * 0x81dadef4bc2dd44dull;
    return value ^ value >> 33;
}

struct block {
    size_t length;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
    uint64_t seed;
};

/* Many blocks are short, as in messages of programs. */
static struct block draw(const struct exchange *exchange, const struct head *head, uint32_t to,
                         uint32_t place)
{
    static const mad_send_mode_t sends[] = {mad_send_SAFER, mad_send_LATER, mad_send_CHEAPER};
    uint64_t seed = mixed(head->from | (uint64_t)to << 20 | (uint64_t)place << 40 |
                          (uint64_t)head->channel << 56);
    uint64_t random = mixed(seed + head->number);
    size_t most = random % 3 == 0 || exchange->bytes < 64 ? exchange->bytes : exchange->bytes / 32;

    return (struct block){.length = (random >> 8) % most + 1,
                          .send = sends[(random >> 40) % 3],
                          .receive = random >> 50 & 1 ? mad_receive_EXPRESS : mad_receive_CHEAPER,
                          .seed = random};
}

static void send_one(struct exchange *exchange, uint32_t channel, uint32_t to, uint32_t number)
{
    struct head head = {.from = exchange->id,
                        .channel = channel,
                        .number = number,
                        .blocks = (uint32_t)(mixed(number + to) % exchange->blocks) + 1};
    p_mad_connection_t out = mad_begin_packing(exchange->channels[channel], (int)to);
    uint32_t i;

    if (out == NULL)
        return;
    mad_pack(out, &head, sizeof(head), mad_send_CHEAPER, mad_receive_EXPRESS);
    for (i = 0; i < head.blocks; i++) {
        struct block block = draw(exchange, &head, to, i);

        wl_pattern_fill(exchange->memory[i], block.length,
                        block.seed ^ (block.send == mad_send_LATER));
        if (exchange->pause != 0)
            rank_compute(exchange->pause);
        mad_pack(out, exchange->memory[i], block.length, block.send, block.receive);
        if (block.send == mad_send_SAFER)
            memset(exchange->memory[i], 0, block.length);
    }
    for (i = 0; i < head.blocks; i++) {
        struct block block = draw(exchange, &head, to, i);

        if (block.send == mad_send_LATER)
            wl_pattern_fill(exchange->memory[i], block.length, block.seed);
    }
    mad_end_packing(out);
}

static bool differs(struct exchange *exchange, const struct block *block, uint32_t place)
{
    return wl_pattern_differs(exchange->memory[place], block->length, block->seed) != 0;
}

static void receive_one(struct exchange *exchange, uint32_t channel, p_mad_connection_t in)
{
    uint32_t from = (uint32_t)in->remote_host_id, i, wrong = 0;
    uint32_t *got = &exchange->got[(size_t)channel * exchange->size + from];
    struct head head = {0};
    bool valid;

    mad_unpack(in, &head, sizeof(head), mad_send_CHEAPER, mad_receive_EXPRESS);
    valid = head.from == from && head.channel == channel && head.number == *got &&
            head.blocks <= exchange->blocks;
    for (i = 0; valid && i < head.blocks; i++) {
        struct block block = draw(exchange, &head, exchange->id, i);

        memset(exchange->memory[i], 0, block.length);
        mad_unpack(in, exchange->memory[i], block.length, block.send, block.receive);
        if (block.receive == mad_receive_EXPRESS && mad_connection_error(in) == MAD_OK)
            wrong += differs(exchange, &block, i);
    }
    mad_end_unpacking(in);
    if (mad_connection_error(in) != MAD_OK)
        return; /* reported */
    for (i = 0; valid && i < head.blocks; i++) {
        struct block block = draw(exchange, &head, exchange->id, i);

        wrong += differs(exchange, &block, i);
    }
    if (!valid || wrong != 0) {
        exchange->broken = true;
        rank_fail(exchange->rank, "message %u of rank %u on channel %u is wrong", *got, from,
                  channel);
    }
    ++*got;
    rank_progress(exchange->rank);
}

/* Until the peer's messages are here; others come meanwhile. */
static void receive_all(struct exchange *exchange, uint32_t channel, uint32_t from)
{
    p_mad_channel_t object = exchange->channels[channel];
    const uint32_t *got = &exchange->got[(size_t)channel * exchange->size + from];

    while (*got < exchange->messages && !exchange->broken) {
        p_mad_connection_t in =
            exchange->lossy ? mad_message_ready(object) : mad_begin_unpacking(object);

        if (in != NULL)
            receive_one(exchange, channel, in);
        else if (mad_connection_error(object->input_connection[from]) != MAD_OK)
            break;
    }
    exchange->missing += exchange->messages - *got;
}

/* The lower rank of a pair sends first. */
static void meet(struct exchange *exchange, uint32_t peer)
{
    uint32_t channel, i;

    for (channel = 0; channel < exchange->count; channel++) {
        if (exchange->id > peer)
            receive_all(exchange, channel, peer);
        for (i = 0; i < exchange->messages; i++)
            send_one(exchange, channel, peer, i);
        if (exchange->id < peer)
            receive_all(exchange, channel, peer);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool open_all(struct exchange *exchange)
{
    uint32_t i;

    exchange->session = mad_init(NULL, NULL, NULL, NULL);
    if (exchange->session == NULL)
        return false;
    for (i = 0; i < exchange->count; i++) {
        exchange->channels[i] = mad_open_channel(exchange->session, 0);
        if (exchange->channels[i] == NULL)
            return false;
    }
    exchange->got = calloc((size_t)exchange->count * exchange->size, sizeof(*exchange->got));
    for (i = 0; i < exchange->blocks; i++)
        exchange->memory[i] = aligned_alloc(PAGE, (exchange->bytes + PAGE - 1) / PAGE * PAGE);
    return true;
}

static int run(struct rank *rank)
{
    struct exchange exchange = {
        .rank = rank,
        .count = (uint32_t)rank_arg_count(rank, "channels"),
        .id = rank_id(rank),
        .size = rank_size(rank),
        .messages = (uint32_t)rank_arg_count(rank, "messages"),
        .blocks = (uint32_t)rank_arg_count(rank, "blocks"),
        .bytes = rank_arg_count(rank, "bytes"),
        .pause = rank_arg_ps(rank, "pause"),
        .lossy = rank_arg_bool(rank, "lossy"),
    };
    uint64_t began;
    uint32_t round, i;

    mad_set_failure_handler(on_failure, &exchange);
    if (!open_all(&exchange))
        return rank_fail(rank, "the session does not start");
    began = rank_now();
    for (round = 0; round < exchange.size && !exchange.broken; round++) {
        uint32_t peer = (round + exchange.size - exchange.id) % exchange.size;

        if (peer != exchange.id)
            meet(&exchange, peer);
    }
    rank_record_latency(rank, "time", rank_now() - began);
    rank_count(rank, "missing", exchange.missing);
    rank_count(rank, "failures", exchange.failures);
    mad_exit(exchange.session);
    for (i = 0; i < exchange.blocks; i++)
        free(exchange.memory[i]);
    free(exchange.got);
    return exchange.broken;
}

static const struct workload mad_exchange = {
    .name = "mad_exchange",
    .meaning = "all pairs of ranks exchange random messages through Madeleine",
    .metrics = "time (ps), missing (messages), failures (reported by Madeleine)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(mad_exchange)
