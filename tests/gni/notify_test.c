/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_NOTIFY_FLAGS_ONLY: entries have only the flags that say something besides the operation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fixture.h"

#define ALL_ACCESS (FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE)

static int messages_body(struct rank *rank)
{
    struct gni_how how = {.mode = FI_NOTIFY_FLAGS_ONLY, .cq_format = FI_CQ_FORMAT_DATA};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t word = 1;

    TRY(gni_open(&side, rank, &how));
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_senddata(side.ep, &word, 8, NULL, 6, side.peers[1], NULL)),
                  0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(entry.flags, 0);
    } else {
        EXPECT_IS(fi_recv(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(entry.flags, FI_REMOTE_CQ_DATA);
        EXPECT_IS(entry.data, 6);
    }
    return gni_finish(&side);
}

/* Two messages, of which one has data, fill a multi-receive buffer, which is then released. */
static int multi_body(struct rank *rank)
{
    struct gni_how how = {.mode = FI_NOTIFY_FLAGS_ONLY, .two_cqs = true};
    uint8_t bytes[128 + 63];
    struct iovec iov = {bytes, sizeof(bytes)};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &how};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;

    memset(bytes, 1, sizeof(bytes));
    TRY(gni_open(&side, rank, &how));
    if (side.id == 1) {
        EXPECT_IS(fi_recvmsg(side.ep, &message, FI_MULTI_RECV | FI_COMPLETION), 0);
        rank_barrier(rank);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.flags == 0 && entry.len == 64 && entry.buf == bytes);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.flags == FI_REMOTE_CQ_DATA && entry.len == 64 && entry.data == 9);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT(entry.flags == FI_MULTI_RECV && entry.op_context == &how);
    } else {
        rank_barrier(rank);
        EXPECT_IS(gni_again(&side, fi_send(side.ep, bytes, 64, NULL, side.peers[1], NULL)), 0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(entry.flags, 0);
        EXPECT_IS(gni_again(&side, fi_senddata(side.ep, bytes, 64, NULL, 9, side.peers[1], NULL)),
                  0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT_IS(entry.flags, 0);
    }
    return gni_finish(&side);
}

/* With FI_RMA_EVENT a remote write is told apart from a message; `remote` are the flags of its
 * entry at the target, `local` those of the initiator's entries. */
static int write_data(struct rank *rank, uint64_t caps, uint64_t remote, uint64_t local)
{
    struct gni_how how = {.mode = FI_NOTIFY_FLAGS_ONLY, .caps = FI_MSG | FI_RMA | caps};
    struct fi_cq_tagged_entry entry;
    struct gni_memory memory;
    struct gni_side side;
    uint64_t word = 77;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 4096, ALL_ACCESS));
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_writedata(side.ep, &word, 8, NULL, 5, side.peers[1],
                                                memory.all[1].address, memory.all[1].key, &word)),
                  0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT(entry.op_context == &word && entry.flags == local);
        EXPECT_IS(gni_again(&side, fi_read(side.ep, &word, 8, NULL, side.peers[1],
                                           memory.all[1].address, memory.all[1].key, &how)),
                  0);
        TRY(gni_entry(&side, side.tx_cq, &entry));
        EXPECT(entry.op_context == &how && entry.flags == local);
    } else {
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(entry.flags, remote);
        EXPECT(entry.data == 5 && entry.op_context == NULL);
    }
    return gni_finish_with(&side, &memory);
}

static int write_data_plain(struct rank *rank)
{
    return write_data(rank, 0, FI_REMOTE_CQ_DATA, 0);
}

static int write_data_event(struct rank *rank)
{
    return write_data(rank, FI_RMA_EVENT, FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE, FI_RMA);
}

static void gni_75_messages(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, messages_body);
}

static void gni_75_multi_receive(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, multi_body);
}

static void gni_75_remote_writes(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, write_data_plain);
    gni_run(&(struct gni_machine){.ranks = 2}, write_data_event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_75_messages),
        cmocka_unit_test(gni_75_multi_receive),
        cmocka_unit_test(gni_75_remote_writes),
    };

    return cmocka_run_group_tests_name("notification flags", tests, NULL, NULL);
}
