/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In place of the system's header of that name, which has structures of <sys/uio.h> once more. */
#ifndef JACQUARD_LINUX_UIO_H
#define JACQUARD_LINUX_UIO_H
#include <sys/uio.h>
#include "libcfs/libcfs.h"
#define UIO_FASTIOV 8
#ifndef UIO_MAXIOV
#define UIO_MAXIOV 1024
#endif
#endif
