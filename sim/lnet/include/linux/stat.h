/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's names for sets of modes, beside the system's header of that name, which <sys/stat.h>
 * includes. */
#ifndef JACQUARD_LINUX_STAT_H
#define JACQUARD_LINUX_STAT_H
#include_next <linux/stat.h>
#include <sys/stat.h>
#define S_IRWXUGO (S_IRWXU | S_IRWXG | S_IRWXO)
#define S_IALLUGO (S_ISUID | S_ISGID | S_ISVTX | S_IRWXUGO)
#define S_IRUGO (S_IRUSR | S_IRGRP | S_IROTH)
#define S_IWUGO (S_IWUSR | S_IWGRP | S_IWOTH)
#define S_IXUGO (S_IXUSR | S_IXGRP | S_IXOTH)
#endif
