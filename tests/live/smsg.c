/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Introduction by datagrams, then messages there and back. */
#include "live_test.h"

#include <unistd.h>

static void send(struct lt *lt, uint32_t peer, const void *data, uint32_t bytes, uint8_t tag)
{
    gni_return_t result;

    while ((result = GNI_SmsgSendWTag(lt->eps[peer], NULL, 0, (void *)(uintptr_t)data, bytes, 7,
                                      tag)) == GNI_RC_NOT_DONE) {
        gni_cq_entry_t entry;

        GNI_CqGetEvent(lt->tx, &entry);
    }
    OK(result);
}

static void receive(struct lt *lt, uint32_t peer, void *data, uint32_t bytes, uint8_t tag)
{
    uint8_t found = GNI_SMSG_ANY_TAG;
    gni_return_t result;
    void *message;

    while ((result = GNI_SmsgGetNextWTag(lt->eps[peer], &message, &found)) == GNI_RC_NOT_DONE)
        found = GNI_SMSG_ANY_TAG;
    OK(result);
    CHECK(found == tag);
    memcpy(data, message, bytes);
    OK(GNI_SmsgRelease(lt->eps[peer]));
}

static void collect(struct lt *lt)
{
    gni_cq_entry_t entry;

    while (GNI_CqGetEvent(lt->tx, &entry) == GNI_RC_SUCCESS)
        ;
    while (GNI_CqGetEvent(lt->rx, &entry) == GNI_RC_SUCCESS)
        ;
}

/* Messages of all sizes there and back, each byte checked. */
static void ping_pong(void)
{
    uint8_t out[1024], in[1024];
    struct lt lt;
    uint32_t round, i;

    lt_start(&lt, 4096);
    lt_connect(&lt);
    for (round = 0; round < 20000; round++) {
        uint32_t bytes = round % 1025;

        for (i = 0; i < bytes; i++)
            out[i] = (uint8_t)(round * 7 + i);
        if (lt_rank == 0) {
            send(&lt, 1, out, bytes, (uint8_t)(round % 200));
            receive(&lt, 1, in, bytes, (uint8_t)(round % 200));
        } else {
            receive(&lt, 0, in, bytes, (uint8_t)(round % 200));
            send(&lt, 0, in, bytes, (uint8_t)(round % 200));
        }
        CHECK(memcmp(in, out, bytes) == 0);
        collect(&lt);
    }
    lt_end(&lt);
}

/* As many messages as there are credits, and more, from everybody to everybody. */
static void all_to_all(void)
{
    uint64_t sent[LT_RANKS_MAX] = {0}, got[LT_RANKS_MAX] = {0}, left;
    const uint64_t most = 20000;
    struct lt lt;
    uint32_t peer;

    lt_start(&lt, 4096);
    lt_connect(&lt);
    do {
        left = 0;
        for (peer = 0; peer < lt_ranks; peer++) {
            uint64_t value = sent[peer] << 8 | lt_rank;
            uint8_t tag = GNI_SMSG_ANY_TAG;
            void *message;

            if (sent[peer] < most && GNI_SmsgSendWTag(lt.eps[peer], NULL, 0, &value, sizeof(value),
                                                      1, 3) == GNI_RC_SUCCESS)
                sent[peer]++;
            while (GNI_SmsgGetNextWTag(lt.eps[peer], &message, &tag) == GNI_RC_SUCCESS) {
                memcpy(&value, message, sizeof(value));
                CHECK(value == (got[peer] << 8 | peer));
                got[peer]++;
                OK(GNI_SmsgRelease(lt.eps[peer]));
                tag = GNI_SMSG_ANY_TAG;
            }
            left += most - sent[peer] + most - got[peer];
        }
        collect(&lt);
    } while (left > 0);
    lt_end(&lt);
}

/* The exchange of addresses as libraries do it: one side waits for anybody. */
static void datagrams(void)
{
    char out[GNI_DATAGRAM_MAXSIZE], in[GNI_DATAGRAM_MAXSIZE];
    uint32_t round, pe = 0, id = 0;
    gni_post_state_t state;
    gni_ep_handle_t any;
    struct lt lt;

    lt_start(&lt, 4096);
    for (round = 0; round < 200; round++) {
        snprintf(out, sizeof(out), "rank %u round %u", lt_rank, round);
        memset(in, 0, sizeof(in));
        if (lt_rank == 0) {
            OK(GNI_EpCreate(lt.nic, NULL, &any));
            OK(GNI_EpPostDataWId(any, out, sizeof(out), in, sizeof(in), 100 + round));
            OK(GNI_EpPostDataWaitById(any, 100 + round, 20000, &state, &pe, &id));
            CHECK(state == GNI_POST_COMPLETED && pe == lt.peers[1].pe && id == 1);
            OK(GNI_EpDestroy(any));
        } else {
            OK(GNI_EpPostData(lt.eps[0], out, sizeof(out), in, sizeof(in)));
            OK(GNI_EpPostDataWait(lt.eps[0], 20000, &state, &pe, &id));
            CHECK(state == GNI_POST_COMPLETED && pe == lt.peers[0].pe && id == 0);
        }
        snprintf(out, sizeof(out), "rank %u round %u", 1 - lt_rank, round);
        CHECK(strcmp(in, out) == 0);
    }
    lt_end(&lt);
}

/* Half of the round trip of 8 bytes; told, not judged. */
static void latency(void)
{
    const uint32_t rounds = 300000;
    struct lt lt;
    uint64_t value = 0;
    double began = 0;
    uint32_t round;

    lt_start(&lt, 4096);
    lt_connect(&lt);
    for (round = 0; round < rounds + 1000; round++) {
        if (round == 1000)
            began = lt_seconds();
        if (lt_rank == 0) {
            send(&lt, 1, &value, sizeof(value), 1);
            receive(&lt, 1, &value, sizeof(value), 1);
        } else {
            receive(&lt, 0, &value, sizeof(value), 1);
            send(&lt, 0, &value, sizeof(value), 1);
        }
        if (round % 16 == 0)
            collect(&lt);
    }
    if (lt_rank == 0)
        printf("SMSG, 8 bytes: %.0f ns one way\n", (lt_seconds() - began) / rounds / 2 * 1e9);
    lt_end(&lt);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "latency") == 0)
        return lt_run("latency", 2, 2, latency);
    return lt_run("live_smsg_datagrams", 2, 2, datagrams) |
           lt_run("live_smsg_ping_pong", 2, 2, ping_pong) |
           lt_run("live_smsg_ping_pong_on_one_node", 2, 1, ping_pong) |
           lt_run("live_smsg_all_to_all", 4, 3, all_to_all);
}
