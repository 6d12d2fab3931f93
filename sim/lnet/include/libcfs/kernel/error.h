/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's error numbers that no system call returns. */
#ifndef JACQUARD_LIBCFS_KERNEL_ERROR_H
#define JACQUARD_LIBCFS_KERNEL_ERROR_H

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ENOIOCTLCMD 515
#define ERESTART_RESTARTBLOCK 516
#define EPROBE_DEFER 517
#define EOPENSTALE 518
#define EBADHANDLE 521
#define ENOTSYNC 522
#define EBADCOOKIE 523
#ifndef ENOTSUPP
#define ENOTSUPP 524
#endif
#define ETOOSMALL 525
#define ESERVERFAULT 526
#define EBADTYPE 527
#define EJUKEBOX 528
#define EIOCBQUEUED 529

#define MAX_ERRNO 4095

#endif
