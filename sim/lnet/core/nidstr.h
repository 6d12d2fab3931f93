/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types of networks and their addresses. */
#ifndef JACQUARD_LNET_CORE_NIDSTR_H
#define JACQUARD_LNET_CORE_NIDSTR_H

#include <stdbool.h>
#include <stdint.h>

enum lnet_address { LNET_ADDRESS_LO, LNET_ADDRESS_IP, LNET_ADDRESS_NUMBER };

struct lnet_net_type {
    uint32_t type;
    const char *name, *module;
    enum lnet_address address;
};

/* NULL: unknown. */
const struct lnet_net_type *lnet_net_type(uint32_t type);
/* The address in [text, end). False: it is none. */
bool lnet_parse_address(const struct lnet_net_type *type, const char *text, const char *end,
                        uint32_t *address);

#endif
