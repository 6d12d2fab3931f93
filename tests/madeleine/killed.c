/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rank 1 dies before it sends anything, rank 2 inside of its second message; rank 0 sees both. */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include <madeleine.h>

static int last_code;
static char last_text[128];

static void on_failure(const mad_failure_t *failure, void *arg)
{
    (void)arg;
    last_code = failure->code;
    snprintf(last_text, sizeof(last_text), "%s", failure->text);
}

static void sender(p_mad_channel_t channel)
{
    p_mad_connection_t out;
    char block[4096] = {0}; /* fills a buffer, so it leaves at once on every driver */
    int number = 7;

    out = mad_begin_packing(channel, 0);
    mad_pack(out, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
    mad_end_packing(out);
    out = mad_begin_packing(channel, 0);
    mad_pack(out, block, sizeof(block), mad_send_SAFER, mad_receive_EXPRESS);
    raise(SIGKILL);
}

static void receiver(p_mad_channel_t channel)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    char block[4096];
    int number = 0;

    mad_unpack(in, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
    printf("from %d: %d\n", in->remote_host_id, number);
    mad_end_unpacking(in);
    in = mad_begin_unpacking(channel);
    mad_unpack(in, block, sizeof(block), mad_send_SAFER, mad_receive_EXPRESS);
    mad_unpack(in, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
    printf("%s inside\n", last_code == MAD_EPEER ? "EPEER" : last_text);
    mad_end_unpacking(in);
    in = mad_begin_unpacking(channel);
    printf("%s, %s\n", last_code == MAD_EPEER && in == NULL ? "EPEER" : "no error", last_text);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    p_mad_channel_t channel;

    signal(SIGUSR1, SIG_IGN); /* by which the process manager tells of a death */
    mad_set_failure_handler(on_failure, NULL);
    madeleine = mad_init(&argc, argv, NULL, NULL);
    channel = mad_open_channel(madeleine, 0);
    if (madeleine->configuration.local_host_id == 1)
        raise(SIGKILL);
    if (madeleine->configuration.local_host_id == 2)
        sender(channel);
    receiver(channel);
    _exit(0); /* the session cannot end in order any more */
}
