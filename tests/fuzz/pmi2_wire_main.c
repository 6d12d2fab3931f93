/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parsers without libFuzzer: changed transcripts, changed mappings and random bytes of fixed
 * seeds. pmi2_wire_main [COUNT [FIRST]].
 */
#include <stdio.h>

#include "pmi2_transcripts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static size_t changed_mapping(uint8_t *bytes)
{
    static const char *const mappings[] = {"(vector,(0,2,2))", "(vector,(0,2,1),(1,1,3))",
                                           "(vector)", "(vector,(0,0,1))",
                                           "(vector,(4294967295,1,1))"};
    const char *text = mappings[below(5)];
    size_t length = strlen(text), i;

    memcpy(bytes, text, length);
    for (i = below(4); i > 0; i--)
        bytes[below((uint32_t)length)] = (uint8_t) "0123456789(),vector "[below(20)];
    return length;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000,
             first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, seed;
    uint8_t bytes[4096];
    size_t length, i;

    for (seed = first; seed < first + count; seed++) {
        start_seed(seed);
        switch (seed % 8) {
        case 0:
            length = changed_mapping(bytes);
            break;
        case 1:
            length = below(200);
            for (i = 0; i < length; i++)
                bytes[i] = (uint8_t)below(256);
            break;
        default:
            length = changed_transcripts(bytes, 0);
            break;
        }
        LLVMFuzzerTestOneInput(bytes, length);
    }
    printf("%llu inputs\n", (unsigned long long)count);
    return 0;
}
