/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include lustre/lustre_ver.h. */
#ifndef JACQUARD_UAPI_LINUX_LUSTRE_VER_H
#define JACQUARD_UAPI_LINUX_LUSTRE_VER_H
#include "lustre/lustre_ver.h"
#endif
