/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs of ranks: one sends as many messages as its credits allow, the other receives them. */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "8", "8", "65535", NULL, "length of a message"},
    {"messages", ARG_COUNT, "10000", "1", "1000000000", NULL, "messages of each pair"},
    {"credits", ARG_COUNT, "64", "1", "4096", NULL, "window: messages in flight"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message and side"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct stream {
    struct wl_domain domain;
    uint32_t peer, bytes;
    uint64_t messages, software, missing;
    uint8_t *pattern;
};

static int send_all(struct stream *stream)
{
    uint64_t number;

    for (number = 1; number <= stream->messages; number++) {
        rank_compute(stream->software);
        memcpy(stream->pattern, &number, sizeof(number));
        if (wl_message_send(&stream->domain, stream->peer, stream->pattern, stream->bytes) != 0)
            return -1;
        wl_message_poll_completions(&stream->domain);
    }
    wl_message_flush(&stream->domain);
    return 0;
}

static int receive_all(struct stream *stream)
{
    struct rank *rank = stream->domain.rank;
    uint64_t number, began = 0;
    const uint8_t *message;
    uint32_t from;
    int differs;

    for (number = 1; number <= stream->messages; number++) {
        message = wl_message_wait(&stream->domain, &from);
        if (message == NULL)
            break;
        if (number == 1) /* the rate is that of all that follow */
            began = rank_now();
        rank_compute(stream->software);
        memcpy(stream->pattern, &number, sizeof(number));
        differs = memcmp(message, stream->pattern, stream->bytes);
        wl_message_release(&stream->domain, from);
        if (differs)
            return rank_fail(rank, "message %llu of rank %u is wrong", (unsigned long long)number,
                             from);
        rank_progress(rank);
    }
    if (number > 2)
        rank_record_rate(rank, "rate", number - 2, rank_now() - began);
    stream->missing = stream->messages + 1 - number;
    return 0;
}

static int run(struct rank *rank)
{
    struct stream stream = {
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .messages = rank_arg_count(rank, "messages"),
        .software = rank_arg_ps(rank, "software"),
    };
    uint16_t credits = (uint16_t)rank_arg_count(rank, "credits");
    int status = wl_domain_open(&stream.domain, rank, 2u * credits, 0);

    wl_domain_set_timeout(&stream.domain, rank_arg_ps(rank, "give_up"));
    stream.pattern = malloc(stream.bytes);
    wl_pattern_fill(stream.pattern, stream.bytes, 1);
    stream.peer = wl_pair_of(&stream.domain);
    if (status == 0)
        status = wl_mailboxes_open(&stream.domain, 1, credits, stream.bytes, 1);
    if (status == 0 && stream.peer != UINT32_MAX) {
        status = wl_message_connect(&stream.domain, stream.peer, 0, 0);
        if (status == 0)
            status = wl_pair_leads(&stream.domain) ? send_all(&stream) : receive_all(&stream);
    }
    if (wl_domain_finish(&stream.domain, stream.missing) != 0)
        status = -1;
    wl_mailboxes_close(&stream.domain);
    wl_domain_close(&stream.domain);
    free(stream.pattern);
    return status != 0;
}

static const struct workload smsg_rate = {
    .name = "smsg_rate",
    .meaning = "streams of messages between pairs of ranks",
    .metrics = "rate (1/s), per pair",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(smsg_rate)
