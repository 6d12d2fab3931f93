/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What this NIC does not do: it has no request buffer that could be throttled. */
#include "backend.h"

void aries_hw_orb_limit(struct aries_nic *hw, uint32_t packets)
{
    (void)hw, (void)packets;
}

bool aries_hw_throttled(const struct aries_fabric *fabric)
{
    (void)fabric;
    return false;
}
