/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Small functions that sources of others use. */
#include <stdlib.h>
#include <string.h>

#include "lib/misc.h"

const char *m0_bool_to_str(bool value)
{
    return value ? "true" : "false";
}

const char *m0_short_file_name(const char *path)
{
    static const char *const folders[] = {"motr/", "mero/"};
    const char *at;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(folders); i++) {
        at = strstr(path, folders[i]);
        if (at != NULL)
            return at + strlen(folders[i]);
    }
    return path;
}

uint64_t m0_strtou64(const char *text, char **end, int base)
{
    return strtoull(text, end, base);
}

uint32_t m0_strtou32(const char *text, char **end, int base)
{
    return (uint32_t)strtoul(text, end, base);
}

bool m0_elems_are_unique(const void *array, unsigned count, size_t element_bytes)
{
    const char *elements = array;
    size_t i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < i; k++)
            if (memeq(elements + i * element_bytes, elements + k * element_bytes, element_bytes))
                return false;
    return true;
}

uint32_t m0_no_of_bits_set(uint64_t value)
{
    return (uint32_t)__builtin_popcountll(value);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

void m0_array_sort(uint64_t *array, uint64_t count)
{
    if (count > 1)
        qsort(array, count, sizeof(*array), compare);
}

bool m0_bit_get(void *memory, m0_bcount_t index)
{
    return (((unsigned char *)memory)[index / 8] >> index % 8 & 1) != 0;
}

void m0_bit_set(void *memory, m0_bcount_t index, bool value)
{
    unsigned char *byte = (unsigned char *)memory + index / 8,
                  mask = (unsigned char)(1 << index % 8);

    *byte = (unsigned char)(value ? *byte | mask : *byte & ~mask);
}

uint64_t m0_dummy_id_generate(void)
{
    static uint64_t last;

    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
