/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An array whose length the receiver learns from the message: docs/madeleine.md. */
#include "madeleine.h"

static void send_array(p_mad_channel_t channel, const char *array, int size)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    mad_pack(out, &size, sizeof(size), mad_send_CHEAPER, mad_receive_EXPRESS);
    mad_pack(out, (void *)array, (size_t)size, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static char *receive_array(p_mad_channel_t channel)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    char *array;
    int size;

    mad_unpack(in, &size, sizeof(size), mad_send_CHEAPER, mad_receive_EXPRESS); /* valid here */
    array = malloc((size_t)size);
    mad_unpack(in, array, (size_t)size, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in); /* the array is valid here */
    return array;
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine = mad_init(&argc, argv, NULL, NULL);
    p_mad_channel_t channel = mad_open_channel(madeleine, 0);
    static const char text[] = "a message of two blocks";

    if (madeleine->configuration.local_host_id == 0) {
        send_array(channel, text, sizeof(text));
    } else {
        char *array = receive_array(channel);

        printf("%s\n", array);
        free(array);
    }
    mad_exit(madeleine);
    return 0;
}
