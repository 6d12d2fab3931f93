/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fuzz target of Madeleine's configurations with fixed seeds: files, and random changes of
 * them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { BYTES_MAX = 4096 };

static uint64_t seed = 88172645463325252u;

static size_t any(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % below);
}

/* Removes, doubles or replaces a piece. */
static size_t change(uint8_t *bytes, size_t length)
{
    static const char signs[] = ":;,{}()[]\"/#.0a9 \n!";
    size_t at = length != 0 ? any(length) : 0, some = 1 + any(8);

    if (some > length - at)
        some = length - at;
    switch (any(3)) {
    case 0:
        memmove(bytes + at, bytes + at + some, length - at - some);
        return length - some;
    case 1:
        if (length + some > BYTES_MAX)
            return length;
        memmove(bytes + at + some, bytes + at, length - at);
        return length + some;
    default:
        if (length != 0)
            bytes[at] = (uint8_t)signs[any(sizeof(signs))];
        return length;
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    uint8_t original[BYTES_MAX], bytes[BYTES_MAX];
    size_t length, changed;

    for (int i = 2; i < argc; i++) {
        FILE *file = fopen(argv[i], "re");

        if (file == NULL) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        length = fread(original, 1, sizeof(original), file);
        fclose(file);
        LLVMFuzzerTestOneInput(original, length);
        for (long round = 0; round < rounds; round++) {
            memcpy(bytes, original, length);
            changed = length;
            for (size_t times = 1 + any(6); times != 0; times--)
                changed = change(bytes, changed);
            LLVMFuzzerTestOneInput(bytes, changed);
        }
    }
    return rounds > 0 ? 0 : 1;
}
