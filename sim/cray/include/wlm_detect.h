/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which workload manager started the caller. */
#ifndef JACQUARD_WLM_DETECT_H
#define JACQUARD_WLM_DETECT_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

char *wlm_detect_get_active(void); /* "ALPS" in a job of sim-run, malloc'ed; NULL: none */
const char *wlm_detect_get_default(void); /* "ALPS" */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
