/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mad_test: every process in turn receives from each other one a message of eight blocks with all
 * pairs of modes, and checks what arrives: 1 to 6, and a text.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "madeleine.h"

enum { NUMBERS = 6, TEXT_MAX = 64 };

static const struct {
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} modes[NUMBERS] = {
    {mad_send_SAFER, mad_receive_EXPRESS}, {mad_send_CHEAPER, mad_receive_EXPRESS},
    {mad_send_SAFER, mad_receive_CHEAPER}, {mad_send_CHEAPER, mad_receive_CHEAPER},
    {mad_send_LATER, mad_receive_EXPRESS}, {mad_send_LATER, mad_receive_CHEAPER},
};

static void send_to(p_mad_channel_t channel, int receiver, int own)
{
    /* One variable per CHEAPER and LATER block: their memory must stay as it is. */
    int scratch, numbers[NUMBERS] = {0}, length, i;
    char text[TEXT_MAX];
    p_mad_connection_t out;

    snprintf(text, sizeof(text), "the sender is rank %d", own);
    length = (int)strlen(text) + 1;
    out = mad_begin_packing(channel, receiver);
    for (i = 0; i < NUMBERS; i++) {
        int *number = modes[i].send == mad_send_SAFER ? &scratch : &numbers[i];

        *number = modes[i].send == mad_send_LATER ? -1 : i + 1;
        mad_pack(out, number, sizeof(*number), modes[i].send, modes[i].receive);
    }
    mad_pack(out, &length, sizeof(length), mad_send_CHEAPER, mad_receive_EXPRESS);
    mad_pack(out, text, (size_t)length, mad_send_CHEAPER, mad_receive_CHEAPER);
    scratch = -1; /* SAFER: no effect */
    for (i = 0; i < NUMBERS; i++)
        if (modes[i].send == mad_send_LATER)
            numbers[i] = i + 1;
    mad_end_packing(out);
}

static bool receive_one(p_mad_channel_t channel, int own)
{
    int numbers[NUMBERS] = {0}, length = 0, i;
    char text[TEXT_MAX] = "", expected[TEXT_MAX];
    p_mad_connection_t in = mad_begin_unpacking(channel);
    bool good = true;

    for (i = 0; i < NUMBERS; i++) {
        mad_unpack(in, &numbers[i], sizeof(numbers[i]), modes[i].send, modes[i].receive);
        if (modes[i].receive == mad_receive_EXPRESS)
            good &= numbers[i] == i + 1;
    }
    mad_unpack(in, &length, sizeof(length), mad_send_CHEAPER, mad_receive_EXPRESS);
    good &= length > 0 && length <= TEXT_MAX;
    if (good)
        mad_unpack(in, text, (size_t)length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    for (i = 0; i < NUMBERS; i++)
        good &= numbers[i] == i + 1;
    snprintf(expected, sizeof(expected), "the sender is rank %d", in->remote_host_id);
    good &= strcmp(text, expected) == 0;
    printf("%d <- %d: %d %d %d %d %d %d, %s: %s\n", own, in->remote_host_id, numbers[0], numbers[1],
           numbers[2], numbers[3], numbers[4], numbers[5], text, good ? "good" : "wrong");
    return good;
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    p_mad_channel_t channel;
    int size, own, receiver, i;
    bool good = true;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        puts("usage: pmrun -n N mad_test\n"
             "Each process sends every other one blocks with all pairs of modes, and checks them.\n"
             "  --version");
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("mad_test " JACQUARD_VERSION);
        return 0;
    }
    madeleine = mad_init(&argc, argv, NULL, NULL);
    if (madeleine == NULL)
        return 1;
    size = madeleine->configuration.size;
    own = madeleine->configuration.local_host_id;
    channel = mad_open_channel(madeleine, 0);
    if (channel == NULL)
        return 1;
    for (receiver = 0; receiver < size; receiver++) {
        if (receiver != own)
            send_to(channel, receiver, own);
        for (i = 1; receiver == own && i < size; i++)
            good &= receive_one(channel, own);
    }
    mad_exit(madeleine);
    return good ? 0 : 1;
}
