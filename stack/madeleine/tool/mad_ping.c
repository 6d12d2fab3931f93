/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mad_ping: latency or bandwidth of messages between ranks 0 and 1 of a session, as the program of
 * the year 2000 measures them: without a warm-up, half of the time of an exchange. One line for
 * each size goes to standard error: bytes, and microseconds or MB/s (10^6 bytes).
 */
#include <stdbool.h>
#include <string.h>

#include "madeleine.h"

enum { ALIGNMENT = 64, MIGRATION_BLOCKS = 5 };

static struct {
    bool control, no_zero, bandwidth, migration;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
    long samples, max, min, step, tests;
} options = {
    .no_zero = true,
    .send = mad_send_CHEAPER,
    .receive = mad_receive_CHEAPER,
    .samples = 1000,
    .max = 256,
    .step = 4,
    .tests = 5,
};

static const struct {
    const char *name;
    bool *flag;
    bool value;
} switches[] = {
    {"-control_receive_on", &options.control, true},
    {"-control_receive_off", &options.control, false},
    {"-no_zero_on", &options.no_zero, true},
    {"-no_zero_off", &options.no_zero, false},
    {"-bandwidth_on", &options.bandwidth, true},
    {"-bandwidth_off", &options.bandwidth, false},
    {"-migration", &options.migration, true},
};

static const struct {
    const char *name;
    long *number, least;
} numbers[] = {
    {"-nb_echantillons", &options.samples, 1},
    {"-max_size", &options.max, 0},
    {"-min_size", &options.min, 0},
    {"-step", &options.step, 0},
    {"-nb_tests", &options.tests, 1},
};

static bool read_mode(const char *name)
{
    if (strcmp(name, "-send_safer") == 0)
        options.send = mad_send_SAFER;
    else if (strcmp(name, "-send_later") == 0)
        options.send = mad_send_LATER;
    else if (strcmp(name, "-send_cheaper") == 0)
        options.send = mad_send_CHEAPER;
    else if (strcmp(name, "-receive_express") == 0)
        options.receive = mad_receive_EXPRESS;
    else if (strcmp(name, "-receive_cheaper") == 0)
        options.receive = mad_receive_CHEAPER;
    else
        return false;
    return true;
}

static bool read_switch(const char *name)
{
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (strcmp(switches[i].name, name) == 0) {
            *switches[i].flag = switches[i].value;
            return true;
        }
    return read_mode(name);
}

static bool read_number(const char *name, const char *text)
{
    char *end;
    long value;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].name, name) != 0)
            continue;
        value = text != NULL ? strtol(text, &end, 10) : -1;
        if (text == NULL || end == text || *end != '\0' || value < numbers[i].least)
            return false;
        *numbers[i].number = value;
        return true;
    }
    return false;
}

static void print_help(void)
{
    printf("usage: pmrun -n 2 mad_ping [option ...]\n"
           "Prints for each size, on standard error, bytes and microseconds of a message one way.\n"
           "  -min_size N           first size in bytes (0)\n"
           "  -max_size N           last size (256)\n"
           "  -step N               added to the size; 0 doubles it (4)\n"
           "  -nb_tests N           measurements of a size (5)\n"
           "  -nb_echantillons N    exchanges in a measurement (1000)\n"
           "  -send_safer, -send_later, -send_cheaper       send mode (cheaper)\n"
           "  -receive_express, -receive_cheaper            receive mode (cheaper)\n"
           "  -bandwidth_on, -bandwidth_off                 MB/s instead of microseconds (off)\n"
           "  -control_receive_on, -control_receive_off     check each byte (off)\n"
           "  -no_zero_on, -no_zero_off                     size 0 becomes 1 (on)\n"
           "  -migration            a message of five blocks, as a migrating thread has\n"
           "  --version\n");
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (read_switch(argv[i]))
            continue;
        if (!read_number(argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
            DISP("mad_ping: invalid option %s", argv[i]);
            return false;
        }
        i++;
    }
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void fill(unsigned char *buffer, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buffer[i] = (unsigned char)(7 * (i + 1));
}

static bool check(const unsigned char *buffer, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (buffer[i] != (unsigned char)(7 * (i + 1))) {
            DISP("Bad data at byte %zu", i);
            return false;
        }
    return true;
}

/* A migrating thread: five blocks, whose sizes are in `parts`. */
static const size_t parts[MIGRATION_BLOCKS] = {4, 4, 16, 608, 4};

static void send_message(p_mad_channel_t channel, int peer, unsigned char *buffer, size_t size)
{
    p_mad_connection_t out;

    if (options.control)
        fill(buffer, size);
    out = mad_begin_packing(channel, peer);
    if (options.migration)
        for (int i = 0; i < MIGRATION_BLOCKS; buffer += parts[i], i++)
            mad_pack(out, buffer, parts[i], mad_send_CHEAPER, mad_receive_CHEAPER);
    else
        mad_pack(out, buffer, size, options.send, options.receive);
    mad_end_packing(out);
}

static bool receive_message(p_mad_channel_t channel, unsigned char *buffer, size_t size)
{
    p_mad_connection_t in;
    unsigned char *part = buffer;

    if (options.control)
        memset(buffer, 0, size);
    in = mad_begin_unpacking(channel);
    if (options.migration)
        for (int i = 0; i < MIGRATION_BLOCKS; part += parts[i], i++)
            mad_unpack(in, part, parts[i], mad_send_CHEAPER, mad_receive_CHEAPER);
    else
        mad_unpack(in, buffer, size, options.send, options.receive);
    mad_end_unpacking(in);
    return !options.control || check(buffer, size);
}

static void print(size_t size, double total)
{
    double exchanges = (double)options.tests * (double)options.samples;

    if (options.bandwidth)
        fprintf(stderr, "%5d %5.3f\n", (int)size, (double)size * exchanges / (total / 2));
    else
        fprintf(stderr, "%5d %5.3f\n", (int)size, total / exchanges / 2);
}

static bool measure(p_mad_channel_t channel, bool master, unsigned char *buffer, size_t size)
{
    tbx_tick_t begin, end;
    double total = 0;
    bool good = true;

    for (long test = 0; test < options.tests; test++) {
        TBX_GET_TICK(begin);
        for (long sample = 0; sample < options.samples; sample++) {
            if (master)
                send_message(channel, 1, buffer, size);
            good &= receive_message(channel, buffer, size);
            if (!master)
                send_message(channel, 0, buffer, size);
        }
        TBX_GET_TICK(end);
        total += TBX_TIMING_DELAY(begin, end);
    }
    if (master)
        print(size, total);
    return good;
}

static size_t next_size(size_t size)
{
    if (options.step != 0)
        return size + (size_t)options.step;
    return size != 0 ? size * 2 : 1;
}

static bool measure_all(p_mad_channel_t channel, bool master)
{
    size_t room = (size_t)options.max < 1024 ? 1024 : (size_t)options.max, size;
    unsigned char *buffer = tbx_aligned_malloc(room, ALIGNMENT);
    bool good = true;

    if (buffer == NULL) {
        FAILURE("not enough memory");
        return false;
    }
    memset(buffer, 1, room);
    if (options.migration)
        good = measure(channel, master, buffer, 636);
    else
        for (size = (size_t)options.min; size <= (size_t)options.max; size = next_size(size))
            good &= measure(channel, master, buffer, size == 0 && options.no_zero ? 1 : size);
    tbx_aligned_free(buffer, ALIGNMENT);
    return good;
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    p_mad_channel_t channel;
    bool good = true;
    int rank;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print_help();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("mad_ping " JACQUARD_VERSION);
        return 0;
    }
    madeleine = mad_init(&argc, argv, NULL, NULL);
    if (madeleine == NULL || !read_options(argc, argv))
        return 1;
    if (madeleine->configuration.size < 2) {
        DISP("mad_ping: two processes are needed, as `pmrun -n 2 mad_ping` starts");
        mad_exit(madeleine);
        return 1;
    }
    if (options.min == 0 && !options.no_zero) {
        DISP("mad_ping: a message without bytes cannot be sent; -min_size must be 1 or more");
        mad_exit(madeleine);
        return 1;
    }
    rank = madeleine->configuration.local_host_id;
    channel = mad_open_channel(madeleine, 0);
    if (channel == NULL)
        return 1;
    if (rank < 2)
        good = measure_all(channel, rank == 0);
    mad_exit(madeleine);
    return good ? 0 : 1;
}
