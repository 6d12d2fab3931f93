/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the programs with cases for every driver share: one case for each argument. */
#ifndef JACQUARD_TESTS_MADELEINE_DRIVERS_H
#define JACQUARD_TESTS_MADELEINE_DRIVERS_H

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include <madeleine.h>

#define S mad_send_SAFER
#define L mad_send_LATER
#define C mad_send_CHEAPER
#define E mad_receive_EXPRESS
#define R mad_receive_CHEAPER

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static p_mad_madeleine_t session;
static p_mad_channel_t control; /* for barriers */
static int size, rank, failures, last_code;

static void on_failure(const mad_failure_t *failure, void *arg)
{
    failures++;
    last_code = failure->code;
}

static void send(p_mad_channel_t channel, int to, int number)
{
    p_mad_connection_t out = mad_begin_packing(channel, to);

    CHECK(out != NULL);
    mad_pack(out, &number, sizeof(number), S, E);
    mad_end_packing(out);
}

static int receive(p_mad_channel_t channel, int *from)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    int number = -1;

    CHECK(in != NULL);
    if (from != NULL)
        *from = in->remote_host_id;
    mad_unpack(in, &number, sizeof(number), S, E);
    mad_end_unpacking(in);
    return number;
}

static void barrier(void)
{
    int i;

    if (rank != 0) {
        send(control, 0, 1);
        receive(control, NULL);
        return;
    }
    for (i = 1; i < size; i++)
        receive(control, NULL);
    for (i = 1; i < size; i++)
        send(control, i, 1);
}

/* ---- running a case -------------------------------------------------------------------------- */

struct driver_case {
    const char *name;
    void (*run)(p_mad_channel_t channel);
};

static int run_case(const struct driver_case *cases, size_t count, int argc, char **argv)
{
    p_mad_channel_t channel;
    bool known = false;

    signal(SIGUSR1, SIG_IGN); /* by which the process manager tells of a death */
    session = mad_init(&argc, argv, NULL, NULL);
    size = session->configuration.size;
    rank = session->configuration.local_host_id;
    control = mad_open_named_channel(session, "control", 0);
    channel = mad_open_channel(session, 0);
    CHECK(argc == 2 && control != NULL && channel != NULL);
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            known = true;
            cases[i].run(channel);
        }
    CHECK(known);
    mad_exit(session);
    printf("%s\n", argv[1]);
    return 0;
}

#endif
