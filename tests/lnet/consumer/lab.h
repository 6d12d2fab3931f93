/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A test tool as kernel modules on LNet are written, with global variables: services with buffers
 * on a lazy portal, requests with bulk data, replies, timeouts, batches that an ioctl starts.
 */
#ifndef LAB_H
#define LAB_H

#define DEBUG_SUBSYSTEM S_LNET

#include <libcfs/libcfs.h>
#include <lnet/api.h>
#include <lnet/lib-lnet.h>
#include <lnet/lib-types.h>
#include <lnet/lnetst.h>
#include <linux/kthread.h>
#include <linux/seq_file.h>

#define LAB_REQUEST_PORTAL 53
#define LAB_BULK_PORTAL 54
#define LAB_MAGIC 0x1ab01ab0
#define LAB_PAGES 16
#define LAB_BUFFERS 8

enum lab_type { LAB_ECHO = 1, LAB_READ, LAB_WRITE, LAB_REPLY };

typedef struct {
    __u32 msg_magic;
    __u32 msg_type;
    __u64 msg_rpyid;
    __u64 msg_bulkid;
    __u32 msg_len;
    __u32 msg_status;
    __u64 msg_stamp;
} WIRE_ATTR lab_msg_t;

typedef enum {
    LAB_EV_REQUEST_SENT,
    LAB_EV_REPLY_RCVD,
    LAB_EV_BULK_RCVD,
    LAB_EV_REQUEST_RCVD,
    LAB_EV_BULK_DONE,
    LAB_EV_REPLY_SENT,
} lab_event_type_t;

typedef struct {
    lab_event_type_t ev_type;
    int ev_fired;
    int ev_status;
    void *ev_data;
} lab_event_t;

typedef struct {
    struct lnet_handle_md bk_mdh;
    int bk_niov;
    lnet_kiov_t bk_iovs[0];
} lab_bulk_t;

/* ---- timers ---- */
struct lab_timer {
    struct list_head tm_list;
    time64_t tm_expires; /* seconds */
    void (*tm_func)(void *data);
    void *tm_data;
};
void lab_timer_add(struct lab_timer *timer);
int lab_timer_del(struct lab_timer *timer); /* 0: its function runs or has run */
int lab_timers_start(void);
void lab_timers_stop(void);

/* ---- requests ---- */
struct lab_service;
struct lab_service_cd { /* of a partition */
    spinlock_t scd_lock;
    struct lab_service *scd_svc;
    lab_event_t scd_ev;
    struct list_head scd_posted, scd_active, scd_free;
    int scd_nposted, scd_cpt;
};
struct lab_service {
    const char *sv_name;
    int sv_shuttingdown;
    struct lab_service_cd **sv_cpt_data;
};

struct lab_buffer {
    struct list_head buf_list;
    lab_msg_t buf_msg;
    struct lnet_handle_md buf_mdh;
    struct lnet_process_id buf_peer;
    lnet_nid_t buf_self;
};

enum lab_state { LAB_NEW, LAB_BULK, LAB_REPLYING, LAB_DONE };

typedef struct {
    struct list_head srpc_list;
    struct lab_service_cd *srpc_scd;
    struct cfs_workitem srpc_wi;
    enum lab_state srpc_state;
    lab_event_t srpc_ev;
    lab_msg_t srpc_reply;
    struct lnet_handle_md srpc_replymdh;
    struct lab_buffer *srpc_buf;
    lab_bulk_t *srpc_bulk;
} lab_server_rpc_t;

typedef struct lab_client_rpc {
    struct list_head crpc_list;
    spinlock_t crpc_lock;
    atomic_t crpc_refcount;
    struct cfs_workitem crpc_wi;
    struct lab_timer crpc_timer;
    struct lnet_process_id crpc_dest;
    void (*crpc_done)(struct lab_client_rpc *rpc);
    void *crpc_priv;
    int crpc_status, crpc_timeout;
    unsigned int crpc_aborted : 1;
    unsigned int crpc_closed : 1;
    unsigned int crpc_begun : 1;
    lab_event_t crpc_requestev, crpc_replyev, crpc_bulkev;
    lab_msg_t crpc_request, crpc_reply;
    struct lnet_handle_md crpc_requestmdh, crpc_replymdh;
    lab_bulk_t crpc_bulk;
} lab_client_rpc_t;

#define lab_client_rpc_decref(rpc)                       \
    do {                                                 \
        LASSERT(atomic_read(&(rpc)->crpc_refcount) > 0); \
        if (atomic_dec_and_test(&(rpc)->crpc_refcount))  \
            lab_client_rpc_destroy(rpc);                 \
    } while (0)

extern struct cfs_wi_sched *lab_sched_serial;
extern struct cfs_wi_sched **lab_sched;
extern int lab_rpc_timeout;
DECLARE_PER_CPU(long, lab_handled);

int lab_rpc_startup(void);
void lab_rpc_shutdown(void);
int lab_service_add(struct lab_service *svc);
void lab_service_remove(struct lab_service *svc);
lab_client_rpc_t *lab_client_rpc_create(struct lnet_process_id dest, int type, int npages,
                                        void (*done)(lab_client_rpc_t *), void *priv);
void lab_client_rpc_destroy(lab_client_rpc_t *rpc);
void lab_client_rpc_post(lab_client_rpc_t *rpc);
void lab_bulk_fill(lab_bulk_t *bulk, __u64 pattern);
int lab_bulk_check(lab_bulk_t *bulk, __u64 pattern);

#define lab_wait_until(cond, lock, fmt, ...)                                      \
    do {                                                                          \
        int __I = 2;                                                              \
        while (!(cond)) {                                                         \
            CDEBUG(is_power_of_2(++__I) ? D_WARNING : D_NET, fmt, ##__VA_ARGS__); \
            spin_unlock(&(lock));                                                 \
            set_current_state(TASK_UNINTERRUPTIBLE);                              \
            schedule_timeout(cfs_time_seconds(1) / 4);                            \
            spin_lock(&(lock));                                                   \
        }                                                                         \
    } while (0)

#endif
