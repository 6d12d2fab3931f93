/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of endpoints as names (name.c). */
#ifndef GNIP_NAME_H
#define GNIP_NAME_H

#include "gnip.h"

enum gnip_name_type { GNIP_UNBOUND = 1, GNIP_BOUND = 2, GNIP_SEP = 4 };

/* An endpoint's address as fi_getname gives it: FI_ADDR_GNI, 48 bytes. */
struct gnip_name {
    uint32_t device_addr; /* of the NIC */
    uint32_t cdm_id;
    uint32_t name_type : 8; /* GNIP_UNBOUND ... */
    uint32_t cm_nic_cdm_id : 24; /* the cm_nic that takes connection messages for it */
    uint32_t cookie;
    uint32_t rx_ctx_cnt : 8, key_offset : 12, unused1 : 12;
    uint32_t unused2;
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct gnip_name) == 48, "size of the binary name");
#define GNIP_STRING_NAME 70 /* bytes of FI_ADDR_STR, with the final zero */

static inline size_t gnip_name_bytes(uint32_t addr_format)
{
    return addr_format == FI_ADDR_STR ? GNIP_STRING_NAME : sizeof(struct gnip_name);
}
/* Writes it as fi_getname does: `bytes` is gnip_name_bytes(). */
void gnip_name_write(const struct gnip_name *name, uint32_t addr_format, void *buffer);
/* Reads an address that an application gives. 0 or -FI_EINVAL. */
int gnip_name_read(struct gnip_name *name, uint32_t addr_format, const void *buffer);
/* The same for an address vector, which stores names of any type. */
int gnip_name_read_any(struct gnip_name *name, uint32_t addr_format, const void *buffer);
/* Whether there are endpoints with names of this type: bound or not, scalable or not. */
bool gnip_name_type_known(uint32_t type);
/*
 * The common part of fi_getname, fi_setname and fi_getpeer: copies as much as fits and sets *bytes.
 * 0 or -FI_ETOOSMALL.
 */
int gnip_name_copy(const struct gnip_name *name, uint32_t addr_format, void *buffer, size_t *bytes);
/*
 * fi_getpeer of an endpoint without a connection: the dest_addr of the fi_info that it was opened
 * with. -FI_ENOTCONN: there is none, or `strict` (GNIX_STRICT).
 */
int gnip_name_peer(const struct fi_info *info, bool strict, void *address, size_t *bytes);
/*
 * fi_av_straddr. Sets *bytes to the length of the whole text; where a part of it was written,
 * *bytes stays as it was.
 */
const char *gnip_name_print(const struct gnip_name *name, char *buffer, size_t *bytes);
/*
 * fi_av_insertsym: copies `text` with the number at its end increased by `step`. False: there is no
 * number, or no room for it.
 */
bool gnip_name_count_up(char *to, size_t room, const char *text, size_t step);
/* Resolves node and service of fi_getinfo. 0 or a negative errno. */
int gnip_name_resolve(uint32_t addr_format, const char *node, const char *service,
                      struct gnip_name *name);

#endif
