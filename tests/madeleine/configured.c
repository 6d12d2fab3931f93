/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Three processes whose channels a configuration file describes: "all" has every process, "pair"
 * only two of them. Rank 0 is not in the pair.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "madeleine.h"

static char last[200];

static void on_failure(const mad_failure_t *failure, void *arg)
{
    (void)arg;
    snprintf(last, sizeof(last), "%d %s", failure->code, failure->text);
}

static void send_text(p_mad_channel_t channel, int to, char *text)
{
    p_mad_connection_t out = mad_begin_packing(channel, to);

    mad_pack(out, text, 20, mad_send_CHEAPER, mad_receive_EXPRESS);
    mad_end_packing(out);
}

static void receive_text(p_mad_channel_t channel, char *text)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    mad_unpack(in, text, 20, mad_send_CHEAPER, mad_receive_EXPRESS);
    mad_end_unpacking(in);
}

int main(int argc, char **argv)
{
    char text[20] = "round";
    p_mad_madeleine_t madeleine;
    p_mad_channel_t all, pair;
    int rank;

    mad_set_failure_handler(on_failure, NULL);
    madeleine = mad_init(&argc, argv, argc > 1 ? argv[1] : NULL, NULL);
    if (madeleine == NULL) {
        printf("%s\n", last);
        return 1;
    }
    rank = madeleine->configuration.local_host_id;
    all = mad_get_channel(madeleine, "all");
    pair = mad_get_channel(madeleine, "pair");
    if ((pair == NULL) != (rank == 0))
        return 1;
    if (rank == 0) {
        printf("%s on %s, adapters: %d\n", all->name, all->adapter->name, madeleine->nb_adapter);
        printf("%s\n", last);
        send_text(all, 1, text);
        receive_text(all, text);
        printf("%s\n", text);
    } else if (rank == 1) {
        receive_text(all, text);
        strcat(text, " and");
        send_text(pair, 2, text);
        if (mad_begin_packing(pair, 0) != NULL || strncmp(last, "1 ", 2) != 0)
            return 1; /* rank 0 is not in the channel: MAD_EINVAL */
    } else {
        receive_text(pair, text);
        strcat(text, " round");
        send_text(all, 0, text);
    }
    mad_exit(madeleine);
    return 0;
}
