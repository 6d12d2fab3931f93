/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A workload: rank 0 sends a block of each length that goes as a short packet over SISCI. */
#include <string.h>

#include <madeleine.h>
#include "run/workload.h"

enum { LONGEST = 360 };

static const struct workload_arg args[] = {
    {"pattern", ARG_CHOICE, "zeros", NULL, NULL, "zeros|ones|alternating", "words of the block"},
    {NULL},
};

static void fill(unsigned char *block, size_t length, char pattern)
{
    for (size_t i = 0; i < length; i++)
        block[i] = pattern == 'z' || (pattern == 'a' && i / 4 % 2 == 0)
                       ? 0
                       : (unsigned char)((length + i) % 255 + 1);
}

static int run(struct rank *rank)
{
    unsigned char block[LONGEST], expected[LONGEST];
    char pattern = rank_arg_choice(rank, "pattern")[0];
    p_mad_madeleine_t session = mad_init(NULL, NULL, NULL, NULL);
    p_mad_channel_t channel = mad_open_channel(session, 0);
    p_mad_connection_t connection;
    size_t length;

    for (length = 1; length <= LONGEST; length++) {
        fill(expected, length, pattern);
        if (rank_id(rank) == 0) {
            connection = mad_begin_packing(channel, 1);
            mad_pack(connection, expected, length, mad_send_CHEAPER, mad_receive_CHEAPER);
            mad_end_packing(connection);
            continue;
        }
        memset(block, 0x55, sizeof(block));
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, block, length, mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
        if (memcmp(block, expected, length) != 0 || (length < LONGEST && block[length] != 0x55))
            rank_fail(rank, "a block of %zu bytes is wrong", length);
    }
    mad_exit(session);
    return 0;
}

static const struct workload sisci_short = {
    .name = "sisci_short",
    .meaning = "short blocks over SISCI",
    .metrics = "",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(sisci_short)
