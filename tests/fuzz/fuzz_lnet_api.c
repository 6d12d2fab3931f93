/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: the bytes decide which calls of LNet four nodes make, and what the network, the
 * rules and the nodes do meanwhile. What must hold is in ../lnet/sequence.c; what does not hold
 * ends the process.
 */
#include <stdlib.h>

#include "sequence.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    if (length > 0)
        sequence_run(1, bytes, length);
    return 0;
}
