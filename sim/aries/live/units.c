/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What this NIC does not do: it has no request buffer that could be throttled. So a limit is
 * refused (GNI_SetBIConfig: GNI_RC_ERROR_RESOURCE) and never arrives here. */
#include "backend.h"

#include <unistd.h>
#include "fast_poll.h"

#define FLAGS_KNOWN                                                                                \
    (GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_APPLY_AFTER_THROTTLE | GNI_BI_FLAG_USE_DEFAULT_SETTINGS | \
     GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES)

bool aries_live_wants_throttle(uint16_t bw, uint16_t aot_bw, uint16_t modes)
{
    const uint16_t most = modes & GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES ? GNI_BI_INJECT_BW_ORB_MAX
                                                                       : GNI_BI_INJECT_BW_MAX;

    return geteuid() == 0 && (modes & ~FLAGS_KNOWN) == 0 &&
           (modes & GNI_BI_FLAG_USE_DEFAULT_SETTINGS) == 0 && bw <= most && aot_bw <= most &&
           (bw > 0 || aot_bw > 0);
}

void aries_hw_orb_limit(struct aries_nic *hw, uint32_t packets)
{
    (void)hw, (void)packets;
}

bool aries_hw_throttled(const struct aries_fabric *fabric)
{
    (void)fabric;
    return false;
}
