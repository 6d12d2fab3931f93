/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The paper's first two figures, with its names of the flags and calls. Rank 1 receives. */
#include <madeleine_paper.h>

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine =
        mad_init(&argc, argv, NULL, mad_adapter_set_init(2, mad_TCP, NULL, mad_TCP, NULL));
    p_mad_channel_t text = mad_open_channel(madeleine, 0);
    p_mad_channel_t video = mad_open_channel(madeleine, 1);
    p_mad_connection_t connection;
    char title[] = "a title", image[5000] = {0}, *received;
    int size = sizeof(title), rank = madeleine->configuration.local_host_id;

    if (rank == 0) {
        memset(image, 9, sizeof(image));
        connection = begin_packing(text, 1);
        pack(connection, &size, sizeof(size), send_CHEAPER, receive_EXPRESS);
        pack(connection, title, size, send_CHEAPER, receive_CHEAPER);
        end_packing(connection);
        connection = begin_packing(video, 1);
        pack(connection, image, sizeof(image), send_CHEAPER, receive_CHEAPER);
        end_packing(connection);
    } else if (rank == 1) {
        connection = begin_unpacking(video);
        unpack(connection, image, sizeof(image), send_CHEAPER, receive_CHEAPER);
        end_unpacking(connection);
        connection = begin_unpacking(text);
        unpack(connection, &size, sizeof(size), send_CHEAPER, receive_EXPRESS);
        received = malloc(size);
        unpack(connection, received, size, send_CHEAPER, receive_CHEAPER);
        end_unpacking(connection);
        printf("%s, %d\n", received, image[4999]);
        free(received);
    }
    mad_exit(madeleine);
    return 0;
}
