/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each process sends frames to the next rank, which adds its rank to all words and passes them on,
 * until they are back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sbp_messages.h"

#define FRAMES 100
#define WORDS 300
#define BYTES (SBP_HEADER_SIZE + WORDS * (int)sizeof(int))

static unsigned long input, output;
static int size, rank;

/* Fills a frame of the kernel in place; `from` 0: new words. */
static void send_frame(int number, char *from)
{
    SbpHeader_t header;
    unsigned long frame;
    int words[WORDS], i;

    while ((frame = pickupemptybuffer(output)) == 0)
        ;
    if (from == NULL)
        for (i = 0; i < WORDS; i++)
            words[i] = number * WORDS + i;
    else
        memcpy(words, from + SBP_HEADER_SIZE, sizeof(words));
    for (i = 0; i < WORDS; i++)
        words[i] += rank;
    memset(&header, 0, sizeof(header));
    header.cookie.destn_node = (rank + 1) % size;
    header.cookie.len = BYTES;
    memcpy((char *)frame, &header, sizeof(header));
    memcpy((char *)frame + SBP_HEADER_SIZE, words, sizeof(words));
    if (returnfullbuffer(output, frame) == 0) {
        fprintf(stderr, "a frame cannot be sent\n");
        exit(1);
    }
}

static unsigned long receive_frame()
{
    SbpHeader_t header;
    unsigned long frame;

    while ((frame = pickupfullbuffer(input)) == 0)
        ;
    memcpy(&header, (char *)frame, sizeof(header));
    if (header.cookie.origin != (rank + size - 1) % size || header.cookie.len != BYTES) {
        fprintf(stderr, "a wrong header\n");
        exit(1);
    }
    return frame;
}

int main(int argc, char **argv)
{
    int in = 0, out = 0, bad = 0, number, turn, words[WORDS], i;
    unsigned long first, second, frame;

    if (sbp_initialize(0, SBP_HEADER_SIZE + SBP_PAYLOAD_SIZE, &in, &out, &size, &rank, &first,
                       &second, &input, &output) != 0) {
        fprintf(stderr, "there is no SBP\n");
        return 1;
    }
    for (number = 0; number < FRAMES; number++) {
        send_frame(number, NULL);
        for (turn = 1; turn < size; turn++) {
            frame = receive_frame();
            send_frame(number, (char *)frame);
            returnemptybuffer(input, frame);
        }
        frame = receive_frame();
        memcpy(words, (char *)frame + SBP_HEADER_SIZE, sizeof(words));
        returnemptybuffer(input, frame);
        for (i = 0; i < WORDS; i++)
            bad += words[i] != number * WORDS + i + size * (size - 1) / 2;
    }
    fprintf(stderr, "rank %d of %d: %d bad\n", rank, size, bad);
    return 0;
}
