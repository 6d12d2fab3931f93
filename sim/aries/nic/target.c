/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Execution of requests at their target; see target.h. */
#include "nic/target.h"

#include <assert.h>
#include <string.h>
#include "nic/amo.h"

uint8_t aries_target_get(const struct aries_target *target, void *data, struct aries_mr **mr)
{
    uint8_t status = aries_mr_check(target->hw, target->ptag, target->handle, target->address,
                                    target->length, ARIES_READ, mr);

    if (status == 0 && !aries_mr_read(*mr, target->address, data, target->length))
        status = A_STATUS_AT_PF_INV;
    return status;
}

uint8_t aries_target_amo(const struct aries_target *target, uint32_t command,
                         const uint64_t operand[2], void *old, struct aries_mr **mr)
{
    uint32_t width = aries_amo_width(command);
    uint64_t offset;
    uint8_t status = aries_mr_check(target->hw, target->ptag, target->handle, target->address,
                                    target->length, ARIES_WRITE, mr);

    assert(width == 4 || width == 8);
    if (status == 0 && !aries_mr_read(*mr, target->address, old, target->length))
        status = A_STATUS_AT_PF_INV;
    if (status != 0)
        return status;
    for (offset = 0; offset + width <= target->length; offset += width) {
        uint64_t before = 0, after;

        memcpy(&before, (const uint8_t *)old + offset, width);
        after = aries_amo_apply(command, before, operand[0], operand[1]);
        if (after != before && !aries_mr_write(*mr, target->address + offset, &after, width))
            status = A_STATUS_AT_PF_WR_PERMISSION_ERR;
    }
    return status;
}

uint8_t aries_target_cqwrite(const struct aries_target *target, struct aries_mr **mr)
{
    uint8_t status = A_STATUS_OKAY;

    *mr = aries_mr_find(target->hw, target->ptag, target->handle);
    /*
     * Without a length there are no bounds to check, but the order of the checks is the same:
     * region, then tag.
     */
    if (*mr == NULL || !(*mr)->live || (*mr)->corrupt)
        status = aries_mr_check(target->hw, target->ptag, target->handle, 0, 0, ARIES_READ, mr);
    if (status == 0 && (*mr)->cq == NULL)
        status = A_STATUS_CQ_ERR;
    return status;
}
