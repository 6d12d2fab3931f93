/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libFuzzer target: runs any bytes as a sequence of uGNI calls, see api.h. */
#include "api.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    uint64_t digest = world_run(bytes, length);

    /* One input in eight runs twice: a run must not depend on earlier ones. */
    if (length > HEAD_BYTES && bytes[12] % 8 == 0 && world_run(bytes, length) != digest)
        die("the same sequence gives another digest");
    return 0;
}
