/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnet_selftest as its console and its control program see it, release 2.12: ids, states, the
 * arguments of IOC_LIBCFS_LNETST, and counters. Names and layouts are those of Lustre's header.
 */
#ifndef JACQUARD_LNET_LNETST_H
#define JACQUARD_LNET_LNETST_H

#include <sys/time.h>
#include "libcfs/libcfs.h"
#include "lnet/lib-types.h"

#define LST_FEAT_NONE 0
#define LST_FEAT_BULK_LEN (1 << 0) /* data need not be whole pages */
#define LST_FEATS_EMPTY LST_FEAT_NONE
#define LST_FEATS_MASK (LST_FEAT_NONE | LST_FEAT_BULK_LEN)
#define LST_NAME_SIZE 32
#define LST_DEFAULT_BATCH "batch"
#define LST_MAX_CONCUR 1024

/* What ioc_u32[0] of IOC_LIBCFS_LNETST asks for; ioc_pbuf1 has the arguments. */
#define LSTIO_DEBUG 0xC00
#define LSTIO_SESSION_NEW 0xC01
#define LSTIO_SESSION_END 0xC02
#define LSTIO_SESSION_INFO 0xC03
#define LSTIO_GROUP_ADD 0xC10
#define LSTIO_GROUP_LIST 0xC11
#define LSTIO_GROUP_INFO 0xC12
#define LSTIO_GROUP_DEL 0xC13
#define LSTIO_NODES_ADD 0xC14
#define LSTIO_GROUP_UPDATE 0xC15
#define LSTIO_BATCH_ADD 0xC20
#define LSTIO_BATCH_START 0xC21
#define LSTIO_BATCH_STOP 0xC22
#define LSTIO_BATCH_DEL 0xC23
#define LSTIO_BATCH_LIST 0xC24
#define LSTIO_BATCH_INFO 0xC25
#define LSTIO_TEST_ADD 0xC26
#define LSTIO_BATCH_QUERY 0xC27
#define LSTIO_STAT_QUERY 0xC30

/* ---- ids and states -------------------------------------------------------------------------- */

struct lst_sid { /* of a session */
    lnet_nid_t ses_nid; /* of the console */
    __s64 ses_stamp; /* ms */
};
struct lst_bid {
    __u64 bat_id; /* in the session */
};

#define LST_NODE_ACTIVE 0x1
#define LST_NODE_BUSY 0x2 /* of another session */
#define LST_NODE_DOWN 0x4
#define LST_NODE_UNKNOWN 0x8 /* not in the session */

struct lstcon_node_ent {
    struct lnet_process_id nde_id;
    int nde_state;
};
struct lstcon_ndlist_ent { /* how many nodes are in which state */
    int nle_nnode, nle_nactive, nle_nbusy, nle_ndown, nle_nunknown;
};
struct lstcon_test_ent {
    int tse_type, tse_loop, tse_concur;
};
struct lstcon_batch_ent {
    int bae_state, bae_timeout, bae_ntest;
};
struct lstcon_test_batch_ent {
    struct lstcon_ndlist_ent tbe_cli_nle, tbe_srv_nle;
    union {
        struct lstcon_test_ent tbe_test;
        struct lstcon_batch_ent tbe_batch;
    } u;
};

/* The answer of one node; the entries of a command are a list. */
struct lstcon_rpc_ent {
    struct list_head rpe_link;
    struct lnet_process_id rpe_peer;
    struct timeval rpe_stamp;
    int rpe_state;
    int rpe_rpc_errno;
    struct lst_sid rpe_sid;
    int rpe_fwk_errno;
    int rpe_priv[4];
    char rpe_payload[];
};
struct lstcon_trans_stat {
    int trs_rpc_stat[4]; /* all, successful, failed */
    int trs_rpc_errno;
    int trs_fwk_stat[8];
    int trs_fwk_errno;
    void *trs_fwk_private;
};
/* Each one returns a counter, after adding one to it if `inc`. */
#define LSTCON_COUNTER(name, counters, n)                                    \
    static inline int lstcon_##name(struct lstcon_trans_stat *stat, int inc) \
    {                                                                        \
        return inc ? ++stat->counters[n] : stat->counters[n];                \
    }                                                                        \
    struct lstcon_trans_stat
LSTCON_COUNTER(rpc_stat_total, trs_rpc_stat, 0);
LSTCON_COUNTER(rpc_stat_success, trs_rpc_stat, 1);
LSTCON_COUNTER(rpc_stat_failure, trs_rpc_stat, 2);
LSTCON_COUNTER(sesop_stat_success, trs_fwk_stat, 0);
LSTCON_COUNTER(sesop_stat_failure, trs_fwk_stat, 1);
LSTCON_COUNTER(sesqry_stat_active, trs_fwk_stat, 0);
LSTCON_COUNTER(sesqry_stat_busy, trs_fwk_stat, 1);
LSTCON_COUNTER(sesqry_stat_unknown, trs_fwk_stat, 2);
LSTCON_COUNTER(tsbop_stat_success, trs_fwk_stat, 0);
LSTCON_COUNTER(tsbop_stat_failure, trs_fwk_stat, 1);
LSTCON_COUNTER(tsbqry_stat_idle, trs_fwk_stat, 0);
LSTCON_COUNTER(tsbqry_stat_run, trs_fwk_stat, 1);
LSTCON_COUNTER(tsbqry_stat_failure, trs_fwk_stat, 2);
LSTCON_COUNTER(statqry_stat_success, trs_fwk_stat, 0);
LSTCON_COUNTER(statqry_stat_failure, trs_fwk_stat, 1);

/* ---- arguments: the key of the session first, ..._nmlen without the '\0' --------------------- */

struct lstio_session_new_args {
    int lstio_ses_key;
    int lstio_ses_timeout; /* s */
    int lstio_ses_force;
    unsigned lstio_ses_feats;
    struct lst_sid __user *lstio_ses_idp; /* out */
    int lstio_ses_nmlen;
    char __user *lstio_ses_namep;
};
struct lstio_session_info_args {
    struct lst_sid __user *lstio_ses_idp; /* all of them out */
    int __user *lstio_ses_keyp;
    unsigned __user *lstio_ses_featp;
    struct lstcon_ndlist_ent __user *lstio_ses_ndinfo;
    int lstio_ses_nmlen; /* in: the room for the name */
    char __user *lstio_ses_namep;
};
struct lstio_session_end_args {
    int lstio_ses_key;
};

#define LST_OPC_SESSION 1
#define LST_OPC_GROUP 2
#define LST_OPC_NODES 3
#define LST_OPC_BATCHCLI 4
#define LST_OPC_BATCHSRV 5
struct lstio_debug_args {
    int lstio_dbg_key;
    int lstio_dbg_type; /* LST_OPC_... */
    int lstio_dbg_flags;
    int lstio_dbg_timeout;
    int lstio_dbg_nmlen;
    char __user *lstio_dbg_namep;
    int lstio_dbg_count;
    struct lnet_process_id __user *lstio_dbg_idsp;
    struct list_head __user *lstio_dbg_resultp; /* of struct lstcon_rpc_ent, here and below */
};

struct lstio_group_add_args {
    int lstio_grp_key;
    int lstio_grp_nmlen;
    char __user *lstio_grp_namep;
};
struct lstio_group_del_args {
    int lstio_grp_key;
    int lstio_grp_nmlen;
    char __user *lstio_grp_namep;
};
#define LST_GROUP_CLEAN 1
#define LST_GROUP_REFRESH 2
#define LST_GROUP_RMND 3
struct lstio_group_update_args {
    int lstio_grp_key;
    int lstio_grp_opc; /* LST_GROUP_... */
    int lstio_grp_args;
    int lstio_grp_nmlen;
    char __user *lstio_grp_namep;
    int lstio_grp_count;
    struct lnet_process_id __user *lstio_grp_idsp;
    struct list_head __user *lstio_grp_resultp;
};
struct lstio_group_nodes_args {
    int lstio_grp_key;
    int lstio_grp_nmlen;
    char __user *lstio_grp_namep;
    int lstio_grp_count;
    unsigned __user *lstio_grp_featp; /* out */
    struct lnet_process_id __user *lstio_grp_idsp;
    struct list_head __user *lstio_grp_resultp;
};
struct lstio_group_list_args {
    int lstio_grp_key;
    int lstio_grp_idx;
    int lstio_grp_nmlen;
    char __user *lstio_grp_namep; /* out */
};
struct lstio_group_info_args {
    int lstio_grp_key;
    int lstio_grp_nmlen;
    char __user *lstio_grp_namep;
    struct lstcon_ndlist_ent __user *lstio_grp_entp; /* out */
    int __user *lstio_grp_idxp; /* the first node; out: the one behind the last */
    int __user *lstio_grp_ndentp; /* the room for nodes; out: how many */
    struct lstcon_node_ent __user *lstio_grp_dentsp; /* out */
};

struct lstio_batch_add_args {
    int lstio_bat_key;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep;
};
struct lstio_batch_del_args {
    int lstio_bat_key;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep;
};
struct lstio_batch_run_args {
    int lstio_bat_key;
    int lstio_bat_timeout;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep;
    struct list_head __user *lstio_bat_resultp;
};
struct lstio_batch_stop_args {
    int lstio_bat_key;
    int lstio_bat_force;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep;
    struct list_head __user *lstio_bat_resultp;
};
struct lstio_batch_query_args {
    int lstio_bat_key;
    int lstio_bat_testidx; /* 0: all of the batch */
    int lstio_bat_client;
    int lstio_bat_timeout;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep;
    struct list_head __user *lstio_bat_resultp;
};
struct lstio_batch_list_args {
    int lstio_bat_key;
    int lstio_bat_idx;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep; /* out */
};
struct lstio_batch_info_args {
    int lstio_bat_key;
    int lstio_bat_nmlen;
    char __user *lstio_bat_namep;
    int lstio_bat_server;
    int lstio_bat_testidx;
    struct lstcon_test_batch_ent __user *lstio_bat_entp; /* out */
    int __user *lstio_bat_idxp; /* as in struct lstio_group_info_args */
    int __user *lstio_bat_ndentp;
    struct lstcon_node_ent __user *lstio_bat_dentsp;
};
struct lstio_stat_args {
    int lstio_sta_key;
    int lstio_sta_timeout;
    int lstio_sta_nmlen;
    char __user *lstio_sta_namep;
    int lstio_sta_count;
    struct lnet_process_id __user *lstio_sta_idsp;
    struct list_head __user *lstio_sta_resultp;
};

enum lst_test_type { LST_TEST_BULK = 1, LST_TEST_PING = 2 };
struct lstio_test_args {
    int lstio_tes_key;
    int lstio_tes_bat_nmlen;
    char __user *lstio_tes_bat_name;
    int lstio_tes_type; /* enum lst_test_type */
    int lstio_tes_oneside;
    int lstio_tes_loop;
    int lstio_tes_concur;
    int lstio_tes_dist;
    int lstio_tes_span;
    int lstio_tes_sgrp_nmlen;
    char __user *lstio_tes_sgrp_name;
    int lstio_tes_dgrp_nmlen;
    char __user *lstio_tes_dgrp_name;
    int lstio_tes_param_len;
    void __user *lstio_tes_param; /* struct lst_test_bulk_param or lst_test_ping_param */
    int __user *lstio_tes_retp; /* out */
    struct list_head __user *lstio_tes_resultp;
};
enum lst_brw_type { LST_BRW_READ = 1, LST_BRW_WRITE = 2 };
enum lst_brw_flags { LST_BRW_CHECK_NONE = 1, LST_BRW_CHECK_SIMPLE = 2, LST_BRW_CHECK_FULL = 3 };
struct lst_test_bulk_param {
    int blk_opc; /* enum lst_brw_type */
    int blk_size;
    int blk_time;
    int blk_flags; /* enum lst_brw_flags */
    int blk_cli_off;
    int blk_srv_off;
};
struct lst_test_ping_param {
    int png_size, png_time, png_loop, png_flags;
};

/* ---- counters, as nodes send them ------------------------------------------------------------ */

struct srpc_counters {
    __u32 errors, rpcs_sent, rpcs_rcvd, rpcs_dropped, rpcs_expired;
    __u64 bulk_get, bulk_put;
} __attribute__((packed));
struct sfw_counters {
    __u32 running_ms, active_batches, zombie_sessions, brw_errors, ping_errors;
} __attribute__((packed));

#endif
