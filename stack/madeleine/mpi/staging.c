/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that the network reads or writes: whole pages of their own, kept for the next message of
 * their size until the process ends. So the time of a message depends neither on where the heap
 * places a block nor on whether its registration is still in the provider's cache by chance.
 * Nothing here lets another thread run, so that no lock is needed.
 */
#include <stdlib.h>

#include "process.h"

enum { PAGE_BITS = 12 };

struct mad_smpi_block {
    struct mad_smpi_block *next;
};

/* A block of class n has 2^n pages. */
static unsigned class_of(size_t bytes)
{
    size_t pages = ((bytes - 1) >> PAGE_BITS) + 1;

    return pages == 1 ? 0 : 64 - (unsigned)__builtin_clzl(pages - 1);
}

void *mad_smpi_block_get(struct mad_smpi_process *process, size_t bytes)
{
    unsigned class = class_of(bytes != 0 ? bytes : 1);
    struct mad_smpi_block *block;

    if (class >= MAD_SMPI_CLASSES)
        return NULL;
    block = process->blocks[class];
    if (block == NULL)
        return aligned_alloc((size_t)1 << PAGE_BITS, (size_t)1 << (PAGE_BITS + class));
    process->blocks[class] = block->next;
    return block;
}

void mad_smpi_block_put(struct mad_smpi_process *process, void *memory, size_t bytes)
{
    unsigned class = class_of(bytes != 0 ? bytes : 1);
    struct mad_smpi_block *block = memory;

    if (block == NULL)
        return;
    block->next = process->blocks[class];
    process->blocks[class] = block;
}

void mad_smpi_blocks_free(struct mad_smpi_process *process)
{
    struct mad_smpi_block *block;

    for (unsigned i = 0; i < MAD_SMPI_CLASSES; i++) {
        while ((block = process->blocks[i]) != NULL) {
            process->blocks[i] = block->next;
            free(block);
        }
    }
}
