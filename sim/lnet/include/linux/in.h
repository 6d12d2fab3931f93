/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In place of the system's header of that name, which has structures of <netinet/in.h> once more.
 */
#ifndef JACQUARD_LINUX_IN_H
#define JACQUARD_LINUX_IN_H
#include <netinet/in.h>
#include "libcfs/libcfs.h"
#endif
