/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The types of kdreg, the kernel module that reports when registered memory is unmapped. There is
 * no /dev/kdreg, so programs find at run time that the module is absent.
 */
#ifndef JACQUARD_KDREG_PUB_H
#define JACQUARD_KDREG_PUB_H

#include <stdint.h>
#include <sys/ioctl.h>

#define KDREG_DEV_NAME "/dev/kdreg"

typedef struct {
    volatile uint64_t *user_delta; /* changes that have not been read yet */
} kdreg_get_user_delta_args_t;

#define KDREG_IOC_MAGIC 'K'
#define KDREG_IOC_GET_USER_DELTA _IOWR(KDREG_IOC_MAGIC, 1, kdreg_get_user_delta_args_t)

enum registration_monitor_type { REGISTRATION_MONITOR, REGISTRATION_UNMONITOR };

struct registration_monitor {
    enum registration_monitor_type type;
    union {
        struct {
            uint64_t addr, len, user_cookie;
        } mon;
        struct {
            uint64_t user_cookie;
        } unmon;
    } u;
};

enum registration_event_type { REGISTRATION_MUNMAP };

struct registration_event {
    enum registration_event_type type;
    union {
        struct {
            uint64_t user_cookie;
        } munmap;
    } u;
};

#endif
