/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A name under which consumers of some releases include lustre/lustre_idl.h. */
#ifndef JACQUARD_UAPI_LINUX_LUSTRE_IDL_H
#define JACQUARD_UAPI_LINUX_LUSTRE_IDL_H
#include "lustre/lustre_idl.h"
#endif
