/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Batches of requests, which an ioctl starts, and the module. */
#include "lab.h"

#define LAB_OPC_RUN 0xD00

int lab_rpc_timeout = 4;
module_param(lab_rpc_timeout, int, 0644);
MODULE_PARM_DESC(lab_rpc_timeout, "seconds until a request is given up");

struct cfs_wi_sched *lab_sched_serial;
struct cfs_wi_sched **lab_sched;

/* The argument of the ioctl, and the state of its batch. */
struct lab_run_args {
    struct lnet_process_id run_dest;
    int run_type, run_loop, run_concur, run_npages;
    int run_done, run_failed, run_wrong;
};
struct lab_batch {
    struct lab_run_args *bat_args;
    atomic_t bat_left, bat_active;
    spinlock_t bat_lock;
    wait_queue_head_t bat_waitq;
};

static struct lab_service lab_the_service = {.sv_name = "lab"};
static struct proc_dir_entry *lab_proc;

static void lab_batch_next(struct lab_batch *batch);

static void lab_batch_done(lab_client_rpc_t *rpc)
{
    struct lab_batch *batch = rpc->crpc_priv;
    struct lab_run_args *args = batch->bat_args;
    __u64 stamp = rpc->crpc_request.msg_stamp;
    int bad = 0;

    if (rpc->crpc_status == 0)
        bad = rpc->crpc_reply.msg_stamp != stamp + 1 ||
              (args->run_type == LAB_READ && lab_bulk_check(&rpc->crpc_bulk, stamp) != 0);
    spin_lock(&batch->bat_lock);
    args->run_done += rpc->crpc_status == 0;
    args->run_failed += rpc->crpc_status != 0;
    args->run_wrong += bad;
    spin_unlock(&batch->bat_lock);
    lab_client_rpc_decref(rpc);
    lab_batch_next(batch);
}

static void lab_batch_next(struct lab_batch *batch)
{
    static atomic64_t stamps = ATOMIC64_INIT(1000);
    struct lab_run_args *args = batch->bat_args;
    lab_client_rpc_t *rpc;

    if (atomic_dec_return(&batch->bat_left) < 0) {
        if (atomic_dec_and_test(&batch->bat_active))
            wake_up(&batch->bat_waitq);
        return;
    }
    rpc = lab_client_rpc_create(args->run_dest, args->run_type,
                                args->run_type == LAB_ECHO ? 0 : args->run_npages, lab_batch_done,
                                batch);
    LASSERT(rpc != NULL);
    rpc->crpc_request.msg_stamp = (__u64)atomic64_inc_return(&stamps);
    lab_bulk_fill(&rpc->crpc_bulk, args->run_type == LAB_WRITE ? rpc->crpc_request.msg_stamp : 0);
    lab_client_rpc_post(rpc);
}

static int lab_run(struct lab_run_args *args)
{
    struct lab_batch *batch;
    int i;

    if (args->run_loop <= 0 || args->run_concur <= 0 || args->run_npages > LAB_PAGES ||
        args->run_type < LAB_ECHO || args->run_type > LAB_WRITE)
        return -EINVAL;
    LIBCFS_ALLOC(batch, sizeof(*batch));
    if (batch == NULL)
        return -ENOMEM;
    batch->bat_args = args;
    atomic_set(&batch->bat_left, args->run_loop);
    atomic_set(&batch->bat_active, args->run_concur);
    spin_lock_init(&batch->bat_lock);
    init_waitqueue_head(&batch->bat_waitq);
    for (i = 0; i < args->run_concur; i++)
        lab_batch_next(batch);
    wait_event(batch->bat_waitq, atomic_read(&batch->bat_active) == 0);
    LIBCFS_FREE(batch, sizeof(*batch));
    return 0;
}

static int lab_ioctl(unsigned int cmd, struct libcfs_ioctl_hdr *hdr)
{
    struct libcfs_ioctl_data *data;
    struct lab_run_args *args;
    int rc;

    if (cmd != IOC_LIBCFS_LNETST)
        return -EINVAL;
    data = container_of(hdr, struct libcfs_ioctl_data, ioc_hdr);
    if (data->ioc_u32[0] != LAB_OPC_RUN || data->ioc_plen1 != sizeof(*args))
        return -EINVAL;
    LIBCFS_ALLOC(args, sizeof(*args));
    if (args == NULL)
        return -ENOMEM;
    rc = -EFAULT;
    if (!copy_from_user(args, data->ioc_pbuf1, sizeof(*args))) {
        rc = lab_run(args);
        if (copy_to_user(data->ioc_pbuf1, args, sizeof(*args)))
            rc = -EFAULT;
    }
    LIBCFS_FREE(args, sizeof(*args));
    return rc;
}

DECLARE_IOCTL_HANDLER(lab_ioctl_handler, lab_ioctl);

static int lab_stats_show(struct seq_file *m, void *unused)
{
    struct lnet_counters counters;
    long handled = 0;
    int cpu;

    for_each_possible_cpu(cpu) handled += per_cpu(lab_handled, cpu);
    lnet_counters_get(&counters);
    seq_printf(m, "handled %ld received %s\n", handled,
               counters.lct_common.lcc_recv_count > 0 ? "some" : "none");
    return unused == NULL ? -EINVAL : 0;
}

static int lab_stats_open(struct inode *inode, struct file *file)
{
    return single_open(file, lab_stats_show, PDE_DATA(inode));
}

static const struct file_operations lab_stats_fops = {
    .owner = THIS_MODULE,
    .open = lab_stats_open,
    .read = seq_read,
    .llseek = seq_lseek,
    .release = single_release,
};

static void lab_fini(void)
{
    int i;

    proc_remove(lab_proc);
    libcfs_deregister_ioctl(&lab_ioctl_handler);
    lab_service_remove(&lab_the_service);
    lab_rpc_shutdown();
    for (i = 0; i < cfs_cpt_number(lnet_cpt_table()); i++)
        cfs_wi_sched_destroy(lab_sched[i]);
    LIBCFS_FREE(lab_sched, sizeof(lab_sched[0]) * cfs_cpt_number(lnet_cpt_table()));
    cfs_wi_sched_destroy(lab_sched_serial);
}

static int lab_init(void)
{
    int nscheds = cfs_cpt_number(lnet_cpt_table());
    int i, rc;

    rc = cfs_wi_sched_create("lab_s", lnet_cpt_table(), CFS_CPT_ANY, 1, &lab_sched_serial);
    if (rc != 0)
        return rc;
    LIBCFS_ALLOC(lab_sched, sizeof(lab_sched[0]) * nscheds);
    LASSERT(lab_sched != NULL);
    for (i = 0; i < nscheds; i++) {
        int nthrs = cfs_cpt_weight(lnet_cpt_table(), i);

        rc = cfs_wi_sched_create("lab_t", lnet_cpt_table(), i, max(nthrs - 1, 1), &lab_sched[i]);
        LASSERT(rc == 0);
    }
    rc = lab_rpc_startup();
    if (rc != 0)
        return rc;
    rc = lab_service_add(&lab_the_service);
    LASSERT(rc == 0);
    lab_proc = proc_create("fs/lab_stats", 0444, NULL, &lab_stats_fops);
    LASSERT(lab_proc != NULL);
    return libcfs_register_ioctl(&lab_ioctl_handler);
}

MODULE_DESCRIPTION("requests over LNet");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
module_init(lab_init);
module_exit(lab_fini);

/* ---- the user ---- */

extern int PMI_Init(int *spawned);
extern int PMI_Get_rank(int *rank);
extern int PMI_Get_size(int *size);
extern int PMI_Barrier(void);
extern int PMI_Finalize(void);

static int lab_user(struct lnet_process_id dest, int type, int *done, int *failed)
{
    struct lab_run_args args = {
        .run_dest = dest, .run_type = type, .run_loop = 12, .run_concur = 3, .run_npages = 5};
    struct libcfs_ioctl_data data;
    int rc;

    LIBCFS_IOC_INIT(data);
    data.ioc_u32[0] = LAB_OPC_RUN;
    data.ioc_plen1 = sizeof(args);
    data.ioc_pbuf1 = &args;
    rc = libcfs_ioctl(IOC_LIBCFS_LNETST, &data.ioc_hdr);
    *done += args.run_done;
    *failed += args.run_failed;
    return rc != 0 ? rc : args.run_wrong;
}

int main(int argc, char **argv)
{
    int spawned, rank, size, type, rc, done = 0, failed = 0, bad = 0;
    struct lnet_process_id dest;
    char *stats;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Get_size(&size);
    rc = libcfs_modules_init();
    if (rc != 0)
        return 10;
    PMI_Barrier();
    dest.nid = libcfs_str2nid(argc > 1 ? argv[1] : "10.0.0.1@tcp");
    dest.pid = LNET_PID_LUSTRE;
    dest.nid += (rank + 1) % size;
    for (type = LAB_ECHO; type <= LAB_WRITE; type++)
        bad += lab_user(dest, type, &done, &failed) != 0;
    PMI_Barrier();
    stats = libcfs_file_text("/proc/fs/lab_stats");
    fprintf(stderr, "rank %d done %d failed %d bad %d %s", rank, done, failed, bad,
            IS_ERR(stats) ? "no file\n" : stats);
    libcfs_modules_exit();
    PMI_Barrier();
    PMI_Finalize();
    return bad != 0;
}
