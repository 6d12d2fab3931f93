/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting for queues: descriptors, poll sets, wait sets, closing. */
#include "queues_frame.h"

static void gni_112_descriptor_threads(void **state)
{
    struct waiting waiting = {.cq = open_cq(&(struct fi_cq_attr){.wait_obj = FI_WAIT_FD})};
    struct fid *fids[] = {&waiting.cq->fid.fid};
    struct pollfd poll_fd = {.events = POLLIN};
    struct fi_cq_entry entry;
    pthread_t writer;
    uint32_t read = 0;

    assert_int_equal(fi_control(fids[0], FI_GETWAIT, &poll_fd.fd), 0);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    pthread_create(&writer, NULL, add_all, &waiting);
    while (read < ENTRIES) {
        if (fi_cq_read(&waiting.cq->fid, &entry, 1) == 1) {
            assert_int_equal((uintptr_t)entry.op_context, read++);
        } else if (gnip_trywait(&fabric.fid, fids, 1) == 0) {
            assert_int_equal(poll(&poll_fd, 1, 60000), 1); /* lost when it takes so long */
        }
    }
    pthread_join(writer, NULL);
    assert_int_equal(gnip_trywait(&fabric.fid, fids, 1), 0);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    assert_true(gnip_cq_reserve(waiting.cq));
    add(waiting.cq, 5);
    assert_int_equal(poll(&poll_fd, 1, 0), 1);
    assert_int_equal(gnip_trywait(&fabric.fid, fids, 1), -FI_EAGAIN);
    assert_int_equal(poll(&poll_fd, 1, 0), 1);
    assert_int_equal(fi_cq_read(&waiting.cq->fid, &entry, 1), 1);
    assert_int_equal(gnip_trywait(&fabric.fid, fids, 1), 0);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    assert_int_equal(fi_close(&waiting.cq->fid.fid), 0);
}

static void gni_112_poll_descriptors(void **state)
{
    struct pollfd descriptor;
    struct fi_wait_pollfd set = {.nfds = 0, .fd = &descriptor};
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){.wait_obj = FI_WAIT_POLLFD});
    struct fi_cq_entry entry;

    assert_int_equal(fi_control(&cq->fid.fid, FI_GETWAIT, &set), -FI_ETOOSMALL);
    assert_int_equal(set.nfds, 1);
    assert_int_equal(fi_control(&cq->fid.fid, FI_GETWAIT, &set), 0);
    assert_int_equal(poll(set.fd, 1, 0), 0);
    assert_true(gnip_cq_reserve(cq));
    add(cq, 5);
    assert_int_equal(poll(set.fd, 1, 0), 1);
    assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), 1);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* As FI_WAIT_UNSPEC, for an EQ as well. */
static void gni_112_yield(void **state)
{
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_YIELD, .flags = FI_WRITE};
    struct fi_eq_entry entry = {0};
    enum fi_wait_obj type;
    struct fid_eq *eq;
    uint32_t event;
    int fd;

    assert_int_equal(gnip_eq_open(&fabric.fid, &attr, &eq, NULL), 0);
    assert_int_equal(fi_control(&eq->fid, FI_GETWAITOBJ, &type), 0);
    assert_int_equal(type, FI_WAIT_YIELD);
    assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &fd), -FI_ENOSYS);
    assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
    assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof(entry), -1, 0), sizeof(entry));
    assert_int_equal(fi_close(&eq->fid), 0);
    attr.wait_obj = FI_WAIT_MUTEX_COND;
    assert_int_equal(gnip_eq_open(&fabric.fid, &attr, &eq, NULL), -FI_ENOSYS);
}

static void *close_soon(void *argument)
{
    struct gnip_waitable *waitable = argument;

    while (__atomic_load_n(&waitable->waiters, __ATOMIC_RELAXED) == 0)
        sched_yield();
    gnip_waitable_fini(waitable);
    return NULL;
}

static bool never(void *argument, uint32_t *polls)
{
    return false;
}

static void gni_111_closing_ends_waits(void **state)
{
    struct gnip_waitable waitable;
    pthread_t closer;

    assert_int_equal(gnip_waitable_init(&waitable, false), 0);
    pthread_create(&closer, NULL, close_soon, &waitable);
    assert_int_equal(gnip_waitable_wait(&waitable, -1, never, NULL), -FI_ECANCELED);
    pthread_join(closer, NULL);
}

static void *add_one_later(void *argument)
{
    struct gnip_cq *cq = argument;
    int i;

    for (i = 0; i < 1000; i++)
        sched_yield();
    assert_true(gnip_cq_reserve(cq));
    add(cq, 1);
    return NULL;
}

static void gni_114_wait_set(void **state)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_FD};
    struct fid_wait *set;
    struct gnip_cq *cqs[2];
    struct fid *fids[1];
    struct fi_cq_entry entry;
    pthread_t adder;
    int fd, i;

    assert_int_equal(gnip_wait_open(&fabric.fid, &attr, &set), 0);
    assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &fd), 0);
    for (i = 0; i < 2; i++)
        cqs[i] = open_cq(&(struct fi_cq_attr){.wait_obj = FI_WAIT_SET, .wait_set = set});
    assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
    assert_int_equal(fi_cq_sread(&cqs[0]->fid, &entry, 1, NULL, 0), -FI_EINVAL);
    assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
    pthread_create(&adder, NULL, add_one_later, cqs[1]);
    assert_int_equal(fi_wait(set, -1), 0);
    pthread_join(adder, NULL);
    assert_int_equal(fi_wait(set, -1), 0); /* it has not been read */
    assert_int_equal(fi_cq_read(&cqs[0]->fid, &entry, 1), -FI_EAGAIN);
    assert_int_equal(fi_cq_read(&cqs[1]->fid, &entry, 1), 1);
    fids[0] = &set->fid;
    assert_int_equal(gnip_trywait(&fabric.fid, fids, 1), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 0);
    assert_true(gnip_cq_reserve(cqs[0]));
    add(cqs[0], 2);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 1);
    assert_int_equal(gnip_trywait(&fabric.fid, fids, 1), -FI_EAGAIN);
    gnip_wait_leave(set, fids[0]); /* not a member: nothing happens */
    for (i = 0; i < 2; i++)
        assert_int_equal(fi_close(&cqs[i]->fid.fid), 0);
    assert_int_equal(fi_close(&set->fid), 0);
}

static void gni_113_poll_set(void **state)
{
    struct fi_poll_attr attr = {0};
    struct gnip_cntr cntr = {.domain = &domain};
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){0});
    struct fid_poll *set;
    void *contexts[3];

    cntr.fid.fid.fclass = FI_CLASS_CNTR;
    cntr.fid.fid.context = &cntr;
    cq->fid.fid.context = cq;
    assert_int_equal(gnip_poll_open(&domain.fid, &attr, &set), 0);
    assert_int_equal(fi_poll_add(set, &cq->fid.fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &cq->fid.fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll_add(set, &cntr.fid.fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &fabric.fid.fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll(set, contexts, 3), 0);
    cntr.value = 1;
    assert_int_equal(fi_poll(set, contexts, 3), 1);
    assert_ptr_equal(contexts[0], &cntr);
    assert_int_equal(fi_poll(set, contexts, 3), 0);
    cntr.errors = 1;
    assert_true(gnip_cq_reserve(cq));
    add(cq, 1);
    assert_int_equal(fi_poll(set, contexts, 1), 1);
    assert_ptr_equal(contexts[0], cq);
    assert_int_equal(fi_poll(set, contexts, 3), 2);
    assert_int_equal(fi_poll(set, contexts, 3), 1); /* the entry has not been read */
    assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
    fabric.strict = true;
    assert_int_equal(fi_close(&cq->fid.fid), -FI_EBUSY);
    fabric.strict = false;
    assert_int_equal(fi_poll_del(set, &cq->fid.fid, 0), 0);
    assert_int_equal(fi_poll_del(set, &cq->fid.fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll_del(set, &cntr.fid.fid, 0), 0);
    assert_int_equal(fi_close(&set->fid), 0);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
    free(cntr.wait.others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_111_closing_ends_waits), cmocka_unit_test(gni_112_descriptor_threads),
        cmocka_unit_test(gni_112_poll_descriptors),   cmocka_unit_test(gni_112_yield),
        cmocka_unit_test(gni_113_poll_set),           cmocka_unit_test(gni_114_wait_set),
    };

    return cmocka_run_group_tests_name("queues by themselves", tests, NULL, NULL);
}
