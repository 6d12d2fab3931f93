/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two cases for every driver, from rank 0 to rank 1: `later`, memory that cannot be read before
 * mad_end_packing, and `long`, SEEDS messages of 10,000 random blocks. A rank prints the case's
 * name when all is good.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <madeleine.h>

#include "random.h"

enum { BLOCKS = 10000, LONGEST = 70000 };

static p_mad_channel_t channel;
static int rank;

static void check(bool good, const char *what, long number)
{
    if (good)
        return;
    fprintf(stderr, "rank %d: %s %ld\n", rank, what, number);
    exit(1);
}

static void later(void)
{
    static const size_t sizes[] = {1, 361, 1025, 5121, 12289, 32769, 192000};
    size_t room = 192000 / 4096 * 4096 + 4096, i, k;
    char *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p_mad_connection_t connection;

    for (i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t length = sizes[i / 2];
        mad_receive_mode_t mode = i % 2 != 0 ? mad_receive_EXPRESS : mad_receive_CHEAPER;

        if (rank == 0) {
            connection = mad_begin_packing(channel, 1);
            check(mprotect(memory, room, PROT_NONE) == 0, "mprotect", (long)length);
            mad_pack(connection, memory, length, mad_send_LATER, mode);
            check(mprotect(memory, room, PROT_READ | PROT_WRITE) == 0, "mprotect", (long)length);
            memset(memory, (int)i + 1, length);
            mad_end_packing(connection);
        } else {
            connection = mad_begin_unpacking(channel);
            mad_unpack(connection, memory, length, mad_send_LATER, mode);
            mad_end_unpacking(connection);
            for (k = 0; k < length; k++)
                check(memory[k] == (char)(i + 1), "a wrong byte in block", (long)i);
        }
    }
    munmap(memory, room);
}

static uint64_t seed;

static struct block {
    size_t length, at;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} blocks[BLOCKS];

/* The same on both sides. Most blocks are short, and few lengths are 0. Their sum. */
static size_t draw(long number)
{
    size_t sum = 0;

    seed = (uint64_t)number * UINT64_C(0x9E3779B97F4A7C15);
    for (int i = 0; i < BLOCKS; i++) {
        struct block *block = &blocks[i];

        block->length = random_below(&seed, 200) == 0
                            ? random_below(&seed, LONGEST + 1)
                            : random_below(&seed, i % 16 == 0 ? 6000 : 128);
        block->at = sum;
        block->send = (mad_send_mode_t)(mad_send_SAFER + random_below(&seed, 3));
        block->receive = random_below(&seed, 4) == 0 ? mad_receive_EXPRESS : mad_receive_CHEAPER;
        sum += block->length;
    }
    return sum;
}

static char content(size_t at, long number)
{
    return (char)(at * 7 + (size_t)number);
}

static void exchange(long number)
{
    size_t bytes = draw(number), k;
    char *memory = calloc(1, bytes + 1);
    p_mad_connection_t connection;

    if (rank == 0)
        for (k = 0; k < bytes; k++)
            memory[k] = content(k, number);
    connection = rank == 0 ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
    for (int i = 0; i < BLOCKS; i++) {
        const struct block *block = &blocks[i];

        (rank == 0 ? mad_pack : mad_unpack)(connection, memory + block->at, block->length,
                                            block->send, block->receive);
    }
    (rank == 0 ? mad_end_packing : mad_end_unpacking)(connection);
    for (k = 0; k < bytes; k++)
        check(memory[k] == content(k, number), "a wrong byte in message", number);
    free(memory);
}

int main(int argc, char **argv)
{
    const char *seeds = getenv("SEEDS");
    p_mad_madeleine_t session = mad_init(&argc, argv, NULL, NULL);

    rank = session->configuration.local_host_id;
    channel = mad_open_channel(session, 0);
    if (strcmp(argv[1], "later") == 0)
        later();
    else
        for (long i = 1; i <= (seeds != NULL ? atol(seeds) : 2); i++)
            exchange(i);
    mad_exit(session);
    printf("%s\n", argv[1]);
    return 0;
}
