/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libsbp.so: what a program for SBP is linked with. sim-run has the functions themselves, and a
 * program there finds those. Here is a machine without such a network, and there are no frames.
 */
#include <sbp_messages.h>

#define UNUSED __attribute__((unused))

int sbp_initialize(UNUSED int verbose, UNUSED int frame_size, UNUSED int *nb_in, UNUSED int *nb_out,
                   UNUSED int *size, UNUSED int *rank, UNUSED unsigned long *vnId1,
                   UNUSED unsigned long *vnId2, UNUSED unsigned long *input_key,
                   UNUSED unsigned long *output_key)
{
    return -1;
}

unsigned long pickupfullbuffer(UNUSED unsigned long key)
{
    return 0;
}

unsigned long pickupemptybuffer(UNUSED unsigned long key)
{
    return 0;
}

int returnfullbuffer(UNUSED unsigned long key, UNUSED unsigned long frame)
{
    return 0;
}

int returnemptybuffer(UNUSED unsigned long key, UNUSED unsigned long frame)
{
    return 0;
}
