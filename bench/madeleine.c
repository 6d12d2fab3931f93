/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-madeleine: Madeleine II over loop-back TCP, and the same two processes with a socket of
 * their own and the same socket options, in turn; in every other round the socket comes first. Each
 * process has a processor; medians. The processes run this program with the argument `rank`; pmrun
 * is in the same folder.
 *
 * Both wait in the same way. Sleeping: the socket blocks, and Madeleine sleeps in poll(2). Busy:
 * the socket is asked again and again, and MAD_WAIT is "busy".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "madeleine.h"

/* Many short rounds: what else the machine does then hits both sides alike. */
#define ROUNDS 31u
#define TURNS 300
#define LARGE_TURNS 15
#define PATH_BYTES 4096

static unsigned char memory[1 << 20];
static p_mad_channel_t channel, own_channel; /* TCP; loopback */
static int peer, raw;
static bool busy;

static void fail(const char *text)
{
    fprintf(stderr, "bench-madeleine: %s\n", text);
    exit(1);
}

static void pin(int which)
{
    cpu_set_t allowed, one;
    int cpu;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && which-- == 0)
            break;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* ---- one message of some blocks ---------------------------------------------------------------
 */

static void mad_send(size_t bytes, unsigned blocks)
{
    p_mad_connection_t out = mad_begin_packing(channel, peer);
    unsigned i;

    for (i = 0; i < blocks; i++)
        mad_pack(out, memory + i * bytes, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static void mad_receive(size_t bytes, unsigned blocks)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    unsigned i;

    for (i = 0; i < blocks; i++)
        mad_unpack(in, memory + i * bytes, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
}

static void raw_transfer(size_t bytes, bool out)
{
    int flags = busy ? MSG_DONTWAIT : 0;
    size_t done = 0;

    while (done < bytes) {
        ssize_t part = out ? send(raw, memory + done, bytes - done, flags)
                           : recv(raw, memory + done, bytes - done, flags);

        if (part < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (part <= 0)
            fail("the socket has ended");
        done += (size_t)part;
    }
}

static void raw_send(size_t bytes, unsigned blocks)
{
    raw_transfer(bytes * blocks, true);
}

static void raw_receive(size_t bytes, unsigned blocks)
{
    raw_transfer(bytes * blocks, false);
}

/* Microseconds of one way. */
static double turns(void (*send_one)(size_t, unsigned), void (*receive_one)(size_t, unsigned),
                    size_t bytes, unsigned blocks, int count)
{
    double begin = 0;
    int i;

    for (i = -count / 10; i < count; i++) {
        if (i == 0)
            begin = bench_seconds();
        if (peer == 1)
            send_one(bytes, blocks);
        receive_one(bytes, blocks);
        if (peer == 0)
            send_one(bytes, blocks);
    }
    return (bench_seconds() - begin) / count / 2 * 1e6;
}

enum { PACKS = 100, PACK_MESSAGES = 200 };

/* Nanoseconds of a mad_pack of 8 bytes: messages of a process to itself, and only the packing. */
static double pack_time(void)
{
    double total = 0, begin;
    p_mad_connection_t connection;
    int message, i;

    for (message = 0; message < PACK_MESSAGES; message++) {
        connection = mad_begin_packing(own_channel, 1 - peer);
        begin = bench_seconds();
        for (i = 0; i < PACKS; i++)
            mad_pack(connection, memory + 8 * i, 8, mad_send_CHEAPER, mad_receive_CHEAPER);
        total += bench_seconds() - begin;
        mad_end_packing(connection);
        connection = mad_begin_unpacking(own_channel);
        for (i = 0; i < PACKS; i++)
            mad_unpack(connection, memory + 8 * i, 8, mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
    }
    return total / PACKS / PACK_MESSAGES * 1e9;
}

/* ---- the processes --------------------------------------------------------------------------- */

/* A socket beside the session's; its port is the first message. */
static void raw_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct linger linger = {1, 50};

    if (peer == 1) {
        if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 1) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &size) != 0)
            fail("no port");
        memcpy(memory, &address.sin_port, sizeof(address.sin_port));
        mad_send(sizeof(address.sin_port), 1);
        raw = accept(fd, NULL, NULL);
        close(fd);
    } else {
        mad_receive(sizeof(address.sin_port), 1);
        memcpy(&address.sin_port, memory, sizeof(address.sin_port));
        raw = fd;
        if (connect(raw, (struct sockaddr *)&address, size) != 0)
            fail("no connection");
    }
    setsockopt(raw, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(raw, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static const struct {
    size_t bytes;
    unsigned blocks;
    int turns;
} cases[] = {{4, 1, TURNS},
             {64, 1, TURNS},
             {8, 8, TURNS},
             {256 << 10, 1, LARGE_TURNS},
             {1 << 20, 1, LARGE_TURNS}};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Prints for each case the time of Madeleine and that of the socket. */
static int rank_main(int argc, char **argv)
{
    p_mad_adapter_set_t set = mad_adapter_set_init(2, mad_TCP, NULL, mad_LOOP, NULL);
    p_mad_madeleine_t madeleine = mad_init(&argc, argv, NULL, set);
    double ours[CASES][ROUNDS], theirs[CASES][ROUNDS], packs[ROUNDS];
    unsigned round, i;

    if (madeleine == NULL || madeleine->configuration.size != 2)
        return 1;
    busy = getenv("MAD_WAIT") != NULL;
    peer = 1 - madeleine->configuration.local_host_id;
    pin(peer);
    channel = mad_open_channel(madeleine, 0);
    own_channel = mad_open_channel(madeleine, 1);
    raw_open();
    for (round = 0; round < ROUNDS; round++) {
        packs[round] = peer == 1 ? pack_time() : 0;
        for (i = 0; i < CASES; i++)
            for (unsigned side = 0; side < 2; side++) {
                if ((round + side) % 2 == 0)
                    theirs[i][round] = turns(raw_send, raw_receive, cases[i].bytes, cases[i].blocks,
                                             cases[i].turns);
                else
                    ours[i][round] = turns(mad_send, mad_receive, cases[i].bytes, cases[i].blocks,
                                           cases[i].turns);
            }
    }
    for (i = 0; i < CASES && peer == 1; i++)
        printf("%.6f %.6f\n", bench_median(ours[i], ROUNDS), bench_median(theirs[i], ROUNDS));
    if (peer == 1)
        printf("%.6f\n", bench_median(packs, ROUNDS));
    close(raw);
    mad_exit(madeleine);
    mad_adapter_set_free(set);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void compare(struct bench *bench, const char *self, const char *wait, const char *variable)
{
    static const char *const titles[CASES] = {"message of 4 B", "message of 64 B",
                                              "8 blocks of 8 B", "message of 256 KiB",
                                              "message of 1 MiB"};
    char command[2 * PATH_BYTES + 64], title[64];
    double ours, theirs;
    FILE *output;
    unsigned i;

    snprintf(command, sizeof(command), "%s '%.*s/pmrun' -n 2 '%s' rank", variable,
             (int)(strrchr(self, '/') - self), self, self);
    output = popen(command, "r");
    for (i = 0; i < CASES; i++) {
        if (output == NULL || fscanf(output, "%lf %lf", &ours, &theirs) != 2)
            fail("the processes failed");
        snprintf(title, sizeof(title), "%s: %s; raw TCP", wait, titles[i]);
        if (cases[i].bytes < 1024)
            bench_row(bench, title, ours, "us", theirs);
        else
            bench_row(bench, title, (double)cases[i].bytes / ours, "MB/s",
                      (double)cases[i].bytes / theirs);
    }
    if (fscanf(output, "%lf", &ours) != 1)
        fail("the processes failed");
    snprintf(title, sizeof(title), "%s: mad_pack of 8 B", wait);
    bench_row(bench, title, ours, "ns", 0);
    pclose(output);
}

int main(int argc, char **argv)
{
    char self[PATH_BYTES] = "";
    struct bench bench;

    if (argc > 1 && strcmp(argv[1], "rank") == 0)
        return rank_main(argc, argv);
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    bench_begin(&bench, "madeleine", argc, argv);
    compare(&bench, self, "sleeping", "");
    compare(&bench, self, "busy", "MAD_WAIT=busy");
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
