/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's names for parts of structures, beside the system's header of that name. */
#ifndef JACQUARD_LINUX_STDDEF_H
#define JACQUARD_LINUX_STDDEF_H
#include <stdbool.h>
#include <stddef.h>
#include_next <linux/stddef.h>
#ifndef offsetofend
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#endif
#ifndef sizeof_field
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#endif
#ifndef FIELD_SIZEOF
#define FIELD_SIZEOF(type, member) sizeof_field(type, member)
#endif
#endif
