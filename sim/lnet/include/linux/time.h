/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In place of the system's header of that name, which has structures of <sys/time.h> once more. */
#ifndef JACQUARD_LINUX_TIME_H
#define JACQUARD_LINUX_TIME_H
#include <sys/time.h>
#include <time.h>
#include "libcfs/libcfs.h"
#endif
