/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wlm_detect.h"

#include <string.h>
#include "cray/host.h"

char *wlm_detect_get_active(void)
{
    return cray_process_in_job() != NULL ? strdup("ALPS") : NULL;
}

const char *wlm_detect_get_default(void)
{
    return "ALPS";
}
