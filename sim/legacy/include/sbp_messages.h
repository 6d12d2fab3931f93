/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SBP: a process fills frame buffers of the kernel in place and hands them back to be sent, and
 * gets received ones. Frames are reliable, and ordered between two processes. A frame is named by
 * its address, which is 0 if there is none.
 */
#ifndef JACQUARD_SBP_MESSAGES_H
#define JACQUARD_SBP_MESSAGES_H

#ifdef __cplusplus
extern "C" {
#endif

#define SBP_HEADER_SIZE 20
#define SBP_PAYLOAD_SIZE 1478

/* At the beginning of each frame; the payload follows. */
typedef struct {
    struct {
        int origin; /* rank of the sender, which the kernel sets */
        int destn_node; /* rank of the receiver */
        int len; /* bytes of the frame, with the header */
    } cookie;
    int reserved[2]; /* the kernel's */
} SbpHeader_t;

#pragma GCC visibility push(default)

/*
 * Joins the job. `frame_size`: bytes of a frame with its header, at most those of the macros.
 * *nb_in, *nb_out: the wanted numbers of buffers, 0: the kernel's; the ones that there are come
 * back. 0; -1: no such network, or a wrong argument.
 */
int sbp_initialize(int verbose, int frame_size, int *nb_in, int *nb_out, int *size, int *rank,
                   unsigned long *vnId1, unsigned long *vnId2, unsigned long *input_key,
                   unsigned long *output_key);
/* The next received frame. */
unsigned long pickupfullbuffer(unsigned long key);
/* An empty frame to be sent. */
unsigned long pickupemptybuffer(unsigned long key);
/* Sends a frame. 0: an error; then the frame is still the caller's. */
int returnfullbuffer(unsigned long key, unsigned long frame);
/* Gives a received frame back, or one that is not sent after all. 0: an error. */
int returnemptybuffer(unsigned long key, unsigned long frame);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
