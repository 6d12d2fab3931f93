/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Text forms of NIDs ("10.0.0.1@tcp3"), networks and process ids. The functions without _r return
 * one of LNET_NIDSTR_COUNT buffers, used in turn: the text stays valid for the next 1023 calls.
 */
#ifndef JACQUARD_LNET_NIDSTR_H
#define JACQUARD_LNET_NIDSTR_H

#include <linux/types.h>
#include "libcfs/shims.h"

typedef __u64 lnet_nid_t; /* type of network : 16, number of network : 16, address : 32 */

/* Types of networks. The numbers in between belonged to drivers of old releases. */
enum {
    SOCKLND = 2,
    O2IBLND = 5,
    LOLND = 9,
    GNILND = 13,
    GNIIPLND = 14,
    PTL4LND = 15,
};

#define LNET_NIDSTR_COUNT 1024
#define LNET_NIDSTR_SIZE 32

struct lnet_process_id;

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

char *libcfs_next_nidstring(void);
int libcfs_isknown_lnd(__u32 lnd);
char *libcfs_lnd2modname(__u32 lnd); /* NULL: unknown */
char *libcfs_lnd2str_r(__u32 lnd, char *buf, size_t buf_size);
char *libcfs_lnd2str(__u32 lnd);
int libcfs_str2lnd(const char *str); /* -ENXIO: unknown */
char *libcfs_net2str_r(__u32 net, char *buf, size_t buf_size);
char *libcfs_net2str(__u32 net);
char *libcfs_nid2str_r(lnet_nid_t nid, char *buf, size_t buf_size);
char *libcfs_nid2str(lnet_nid_t nid);
__u32 libcfs_str2net(const char *str); /* LNET_NIDNET(LNET_NID_ANY): not a network */
lnet_nid_t libcfs_str2nid(const char *str); /* LNET_NID_ANY: not a NID */
int libcfs_str2anynid(lnet_nid_t *nid, const char *str); /* 1, or 0: not a NID and not "*" */
char *libcfs_id2str(struct lnet_process_id id);

/* Lists of NID ranges: "10.0.0.[1-9/2]@tcp *@gni". 1: the list was built; 0: not such a list. */
int cfs_parse_nidlist(char *str, int len, struct list_head *nidlist);
int cfs_print_nidlist(char *buffer, int count, struct list_head *nidlist);
void cfs_free_nidlist(struct list_head *nidlist);
int cfs_match_nid(lnet_nid_t nid, struct list_head *nidlist);
int cfs_ip_addr_parse(char *str, int len, struct list_head *list); /* 0, or a negative errno */
int cfs_ip_addr_match(__u32 addr, struct list_head *list);
void cfs_ip_addr_free(struct list_head *list);
int cfs_nidrange_find_min_max(struct list_head *nidlist, char *min_nid, char *max_nid,
                              size_t nidstr_length);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
