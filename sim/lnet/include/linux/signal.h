/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In place of the system's header of that name, which has structures of <signal.h> once more. */
#ifndef JACQUARD_LINUX_SIGNAL_H
#define JACQUARD_LINUX_SIGNAL_H
#include <signal.h>
#include "libcfs/libcfs.h"
#endif
