/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transfers of blocks that a program waits for: the processor has done them when the call returns.
 */
#include "devices.h"

struct sci_block_transfer {
    struct sci_block_transfer *next;
    struct sci_desc *desc;
    sci_error_t status;
};

static void block_free(struct sci_block_transfer *block)
{
    struct sci_block_transfer **place = &block->desc->blocks;

    while (*place != block)
        place = &(*place)->next;
    *place = block->next;
    g_free(block);
}

void sci_blocks_release(struct sci_desc *desc)
{
    while (desc->blocks != NULL)
        block_free(desc->blocks);
}

void SCITransferBlockAsync(sci_map_t source, size_t source_offset, sci_map_t target,
                           size_t target_offset, size_t size, sci_block_transfer_t *block,
                           sci_cb_block_transfer_t callback, void *arg, unsigned flags,
                           sci_error_t *error)
{
    bool call = (flags & SCI_FLAG_USE_CALLBACK) != 0 && callback != NULL;
    struct sci_block_transfer *made;
    sci_error_t status;

    if (sci_fails(error, block == NULL || target == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    SCITransferBlock(source, source_offset, target, target_offset, size,
                     (flags & ~SCI_FLAG_USE_CALLBACK) | SCI_FLAG_ERROR_CHECK, &status);
    if (status != SCI_ERR_TRANSFER_FAILED && sci_fails(error, status))
        return;
    made = g_new0(struct sci_block_transfer, 1);
    made->desc = target->desc;
    made->status = status;
    made->next = made->desc->blocks;
    made->desc->blocks = made;
    *block = made;
    if (call) {
        callback(arg, made, status);
        block_free(made);
        *block = NULL;
    }
}

void SCIWaitForBlockTransfer(sci_block_transfer_t block, unsigned timeout, unsigned flags,
                             sci_error_t *error)
{
    (void)timeout;
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, block == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return;
    *error = block->status;
    block_free(block);
}

void SCIAbortBlockTransfer(sci_block_transfer_t block, unsigned flags, sci_error_t *error)
{
    if (sci_flags_ok(flags, 0, error))
        *error = block == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_ILLEGAL_OPERATION;
}
