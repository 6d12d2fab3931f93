/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the MPI programs here share: patterns that tell where and whose a byte is, and one line at
 * the end that only a run without any error prints. */
#ifndef JACQUARD_TESTS_MPI_CHECK_H
#define JACQUARD_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

__attribute__((format(printf, 3, 4), unused, noreturn)) static void fail(const char *file, int line,
                                                                         const char *format, ...)
{
    va_list arguments;
    char text[512];

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: rank %d of %d: %s\n", file, line, rank, size, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

#define CHECK(condition, ...)                      \
    do {                                           \
        if (!(condition))                          \
            fail(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

/* Neighbouring arguments give values that have nothing in common. */
static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Of the bytes of one message: a function of what it is (`stream`) and of the place in it. */
static inline void fill(unsigned char *bytes, size_t count, uint64_t stream)
{
    size_t i;
    uint64_t word;

    for (i = 0; i < count; i += sizeof(word)) {
        word = mix(stream ^ (uint64_t)i << 20);
        memcpy(bytes + i, &word, count - i < sizeof(word) ? count - i : sizeof(word));
    }
}

/* The first byte that is not as fill() makes it; `count`: all are. */
static inline size_t differs(const unsigned char *bytes, size_t count, uint64_t stream)
{
    size_t i, j, rest;
    uint64_t word;

    for (i = 0; i < count; i += sizeof(word)) {
        word = mix(stream ^ (uint64_t)i << 20);
        rest = count - i < sizeof(word) ? count - i : sizeof(word);
        if (memcmp(bytes + i, &word, rest) == 0)
            continue;
        for (j = 0; j < rest && bytes[i + j] == ((unsigned char *)&word)[j]; j++)
            continue;
        return i + j;
    }
    return count;
}

static inline void *allocate(size_t bytes)
{
    void *memory = malloc(bytes != 0 ? bytes : 1);

    CHECK(memory != NULL, "no memory for %zu bytes", bytes);
    return memory;
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* The line comes only when every rank got here. */
static inline int end(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: right on %d ranks\n", name, size);
    MPI_Finalize();
    return 0;
}

#endif
