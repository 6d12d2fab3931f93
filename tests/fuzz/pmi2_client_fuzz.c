/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pmi2_server_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    pmi2_client_run(bytes, length);
    return 0;
}
