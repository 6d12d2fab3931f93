/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion and event queues, wait and poll sets, and the messages of MSG connections by
 * themselves, with real threads: against a model, and with somebody who adds while others wait.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "cm_nic.h"
#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "msg_cm.h"
#include "nic.h"
#include "nosys.h"
#include "progress.h"
#include "proto.h"
#include "req.h"
#include "vc.h"
#include "wait.h"
#include "waitable.h"

/* ---- what the files under test call ---------------------------------------------------------- */

void gnip_progress_list_init(struct gnip_progress_list *list, bool elided)
{
    memset(list, 0, sizeof(*list));
}

void gnip_progress_list_fini(struct gnip_progress_list *list)
{
}

uint32_t gnip_progress_list_run(struct gnip_progress_list *list)
{
    return 0; /* nothing to be polled: who waits sleeps until he is woken */
}

const char *gnip_strerror(int prov_errno)
{
    return "an error";
}

int gnip_no_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
    return -FI_ENOSYS;
}

int gnip_no_control(struct fid *fid, int command, void *argument)
{
    return -FI_ENOSYS;
}

int gnip_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    return -FI_ENOSYS;
}

void gnip_vc_schedule(struct gnip_vc *vc)
{
    vc->rx_ready = true;
}

void gnip_gate_notify(struct gnip_gate *gate)
{
}

static struct {
    uint8_t message[GNIP_CM_BYTES];
    uint32_t bytes;
} sent[64];
static uint32_t sent_count;
static bool busy;

int gnip_cm_send(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                 const void *message, uint32_t bytes)
{
    if (busy)
        return -FI_EAGAIN;
    assert_true(sent_count < 64 && bytes <= GNIP_CM_BYTES);
    memcpy(sent[sent_count].message, message, bytes);
    sent[sent_count++].bytes = bytes;
    return 0;
}

/* ---- fixture --------------------------------------------------------------------------------- */

static struct gnip_fabric fabric = {.fid.api_version = FI_VERSION(1, 17)};
static struct gnip_domain domain = {.fabric = &fabric, .api_version = FI_VERSION(1, 17)};

void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...)
{
}

static struct gnip_cq *open_cq(const struct fi_cq_attr *attr)
{
    struct fi_cq_attr copy = *attr;
    struct fid_cq *cq;

    assert_int_equal(gnip_cq_open(&domain.fid, &copy, &cq, NULL), 0);
    return gnip_container(cq, struct gnip_cq, fid);
}

static uint64_t random_state = 88172645463325252ull;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static void add(struct gnip_cq *cq, uint64_t number)
{
    const struct fi_cq_tagged_entry entry = {.op_context = (void *)(uintptr_t)number,
                                             .flags = number + 1,
                                             .len = number + 2,
                                             .buf = (void *)(uintptr_t)(number + 3),
                                             .data = number + 4,
                                             .tag = number + 5};

    gnip_cq_add(cq, &entry, number + 6);
}

static void add_error(struct gnip_cq *cq, uint64_t number)
{
    const struct fi_cq_err_entry entry = {.op_context = (void *)(uintptr_t)number,
                                          .flags = number + 1,
                                          .len = number + 2,
                                          .buf = (void *)(uintptr_t)(number + 3),
                                          .data = number + 4,
                                          .tag = number + 5,
                                          .olen = number + 6,
                                          .err = (int)(number % 250) + 1,
                                          .prov_errno = -(int)number};

    gnip_cq_add_error(cq, &entry, number % 3 == 0 ? &number : NULL, 8);
}

static void expect_error(struct gnip_cq *cq, uint64_t number)
{
    uint64_t data = 0;
    struct fi_cq_err_entry entry = {.err_data = &data, .err_data_size = 8};

    assert_int_equal(fi_cq_readerr(&cq->fid, &entry, 0), 1);
    assert_int_equal((uintptr_t)entry.op_context, number);
    assert_true(entry.flags == number + 1 && entry.len == number + 2 && entry.data == number + 4);
    assert_true((uintptr_t)entry.buf == number + 3 && entry.tag == number + 5);
    assert_true(entry.olen == number + 6 && entry.err == (int)(number % 250) + 1);
    assert_true(entry.prov_errno == -(int)number);
    assert_int_equal(entry.err_data_size, number % 3 == 0 ? 8 : 0);
    assert_true(number % 3 != 0 || data == number);
}

/* ---- memory that is short -------------------------------------------------------------------- */

static bool no_memory;

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return no_memory ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* ---- completion queues ----------------------------------------------------------------------- */

/* Against a list of what should be there; errors and successes are two queues. */
static void gni_77_gni_108_model(void **state)
{
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){.format = FI_CQ_FORMAT_TAGGED});
    static uint64_t good[1 << 15], bad[1 << 15];
    uint32_t good_in = 0, good_out = 0, bad_in = 0, bad_out = 0, promised = 0, i, step;
    struct fi_cq_tagged_entry entries[7];
    fi_addr_t sources[7];
    uint64_t number = 1;
    ssize_t count;

    for (step = 0; step < 60000; step++) {
        uint64_t what = draw(100), fill = (step / 5000) % 2; /* it fills, it is emptied */

        if (what < 40 + 15 * fill) {
            if (gnip_cq_reserve(cq))
                promised++;
        } else if (what < 75 && promised > 0 && good_in < (1 << 15) - 1 && bad_in < (1 << 15) - 1) {
            promised--;
            if (draw(20) != 0) {
                add(cq, good[good_in++] = number++);
            } else {
                add_error(cq, bad[bad_in++] = number++);
            }
        } else if (what < 78 && promised > 0) {
            promised--;
            gnip_cq_unreserve(cq);
        } else if (bad_out < bad_in) {
            assert_int_equal(fi_cq_read(&cq->fid, entries, 7), -FI_EAVAIL);
            expect_error(cq, bad[bad_out++]);
        } else {
            uint32_t wanted = 1 + (uint32_t)draw(7), there = good_in - good_out;

            count = fi_cq_readfrom(&cq->fid, entries, wanted, sources);
            if (there == 0) {
                assert_int_equal(count, -FI_EAGAIN);
                continue;
            }
            assert_int_equal(count, wanted < there ? wanted : there);
            for (i = 0; i < (uint32_t)count; i++) {
                uint64_t expected = good[good_out++];

                assert_int_equal((uintptr_t)entries[i].op_context, expected);
                assert_true(entries[i].tag == expected + 5 && sources[i] == expected + 6);
            }
        }
        assert_int_equal(gnip_cq_pending(cq) != 0, good_in != good_out || bad_in != bad_out);
    }
    while (promised-- > 0)
        gnip_cq_unreserve(cq);
    while (bad_out < bad_in)
        expect_error(cq, bad[bad_out++]);
    while (fi_cq_read(&cq->fid, entries, 7) > 0)
        ;
    assert_int_equal(cq->reserved, 0);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
}

static void gni_77_limit(void **state)
{
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){.size = 4});
    struct fi_cq_entry entry;
    uint32_t i;

    for (i = 0; i < 64 * 256; i++)
        assert_true(gnip_cq_reserve(cq));
    assert_false(gnip_cq_reserve(cq));
    for (i = 0; i < 64 * 256; i++)
        add(cq, i);
    gnip_cq_reserve_always(cq); /* an error that nobody had reckoned with */
    add_error(cq, 77777);
    expect_error(cq, 77777);
    for (i = 0; i < 64 * 256; i++) {
        assert_false(gnip_cq_reserve(cq)); /* the error was not the first: its place is not free */
        assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
        assert_int_equal((uintptr_t)entry.op_context, i);
        if (i == 0)
            continue;
        assert_true(gnip_cq_reserve(cq));
        gnip_cq_reserve_always(cq);
        gnip_cq_unreserve(cq);
    }
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAGAIN);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/*
 * The ring cannot grow: operations are refused before they begin, what was promised is delivered,
 * and errors of injected operations, which nothing was promised, are reported by their codes.
 */
static void gni_77_ring_cannot_grow(void **state)
{
    static const int codes[] = {FI_EIO, FI_ENOTCONN, FI_EIO, FI_ECANCELED};
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){.wait_obj = FI_WAIT_UNSPEC});
    struct fi_cq_err_entry error = {0};
    uint32_t i, promised = 0, seen[FI_ERRNO_OFFSET] = {0};
    struct fi_cq_entry entry;

    assert_true(gnip_cq_reserve(cq));
    gnip_cq_unreserve(cq);
    no_memory = true;
    while (gnip_cq_reserve(cq))
        promised++;
    assert_true(promised > 0 && promised < cq->capacity);
    assert_false(gnip_cq_reserve_always(cq));
    assert_int_equal(cq->reserved, promised);
    for (i = 0; i < 4; i++) /* without a slot */
        gnip_cq_add_nameless(cq, codes[i]);
    assert_int_equal(cq->reserved, promised);
    for (i = 0; i < promised; i++)
        if (i == 7)
            add_error(cq, 1007);
        else
            add(cq, i);
    assert_int_equal(gnip_cq_pending(cq), promised + 4);

    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAVAIL);
    expect_error(cq, 1007);
    for (i = 0; i < 3; i++)
        seen[-fi_cq_read(&cq->fid, &entry, 1)]++;
    seen[-fi_cq_readerr(&cq->fid, &error, 0)]++;
    assert_true(seen[FI_EIO] == 2 && seen[FI_ENOTCONN] == 1 && seen[FI_ECANCELED] == 1);
    for (i = 0; i < promised; i++) {
        if (i == 7)
            continue;
        assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
        assert_int_equal((uintptr_t)entry.op_context, i);
    }
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAGAIN);
    assert_int_equal(cq->reserved, 0);

    gnip_cq_add_nameless(cq, FI_ETIMEDOUT); /* alone in the queue: it ends a wait */
    no_memory = true;
    for (i = 0; i < promised; i++)
        assert_int_equal(gnip_cq_reserve(cq), i < promised - 1);
    gnip_cq_add_nameless(cq, FI_EHOSTDOWN);
    assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), -FI_ETIMEDOUT);
    assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), -FI_EHOSTDOWN);
    no_memory = false;
    while (cq->reserved > 0)
        gnip_cq_unreserve(cq);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* A VC that found the queue full is scheduled when there is room. */
static void gni_77_full_queue(void **state)
{
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){.size = 4});
    struct gnip_nic nic = {0};
    struct gnip_vc vcs[3] = {{.nic = &nic}, {.nic = &nic}, {.nic = &nic}};
    struct fi_cq_entry entry;
    uint32_t i;

    for (i = 0; i < 64 * 256; i++) {
        assert_true(gnip_cq_reserve(cq));
        add(cq, i);
    }
    for (i = 0; i < 3; i++)
        gnip_cq_wait_for_room(cq, &vcs[i]);
    gnip_cq_wait_for_room(cq, &vcs[2]);
    gnip_cq_forget(cq, &vcs[1]);
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
    assert_true(vcs[0].rx_ready && !vcs[1].rx_ready && vcs[2].rx_ready);
    assert_true(!vcs[0].waits_for_cq && !vcs[1].waits_for_cq && !vcs[2].waits_for_cq &&
                vcs[0].pins == 0);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
}

static void gni_107_formats(void **state)
{
    static const size_t sizes[] = {8, 8, 24, 40, 48};
    const struct fi_cq_tagged_entry whole = {(void *)1, 2, 3, (void *)4, 5, 6};
    struct gnip_cq *cq;
    uint8_t buffer[2 * 48 + 1];
    int format, i;

    for (format = FI_CQ_FORMAT_UNSPEC; format <= FI_CQ_FORMAT_TAGGED; format++) {
        cq = open_cq(&(struct fi_cq_attr){.format = (enum fi_cq_format)format});
        for (i = 0; i < 2; i++) {
            assert_true(gnip_cq_reserve(cq));
            gnip_cq_add(cq, &whole, 7);
        }
        memset(buffer, 0x55, sizeof(buffer));
        assert_int_equal(fi_cq_read(&cq->fid, NULL, 0), 0);
        assert_int_equal(fi_cq_read(&cq->fid, NULL, 1), -FI_EINVAL);
        assert_int_equal(fi_cq_read(&cq->fid, buffer, 5), 2);
        assert_memory_equal(buffer, &whole, sizes[format]);
        assert_memory_equal(buffer + sizes[format], &whole, sizes[format]);
        assert_int_equal(buffer[2 * sizes[format]], 0x55);
        assert_int_equal(fi_cq_read(&cq->fid, buffer, 1), -FI_EAGAIN);
        assert_int_equal(fi_close(&cq->fid.fid), 0);
    }
}

static void gni_109_error_data(void **state)
{
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){0});
    const struct fi_cq_err_entry in = {.err = FI_EIO};
    struct fi_cq_err_entry out = {0};
    char name[70], data[71];
    int i;

    memset(name, 'n', sizeof(name));
    for (i = 0; i < 4; i++) {
        gnip_cq_reserve_always(cq);
        gnip_cq_add_error(cq, &in, i == 3 ? NULL : name, sizeof(name));
    }
    assert_int_equal(fi_cq_readerr(&cq->fid, &out, 0), 1);
    assert_int_equal(out.err_data_size, 0);
    assert_memory_equal(out.err_data, name, sizeof(name));
    memset(data, 0, sizeof(data));
    out = (struct fi_cq_err_entry){.err_data = data, .err_data_size = 10};
    assert_int_equal(fi_cq_readerr(&cq->fid, &out, 0), 1);
    assert_true(out.err_data_size == 10 && data[9] == 'n' && data[10] == 0);
    domain.api_version = FI_VERSION(1, 4); /* where the entry ended before err_data_size */
    out.err_data_size = 4711;
    assert_int_equal(fi_cq_readerr(&cq->fid, &out, 0), 1);
    assert_int_equal(out.err_data_size, 4711);
    assert_true(out.err_data != data && memcmp(out.err_data, name, sizeof(name)) == 0);
    domain.api_version = FI_VERSION(1, 17);
    out = (struct fi_cq_err_entry){.err_data = data, .err_data_size = 10};
    assert_int_equal(fi_cq_readerr(&cq->fid, &out, 0), 1);
    assert_int_equal(out.err_data_size, 0);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

#define ENTRIES 20000u
#define READERS 3

struct waiting {
    struct gnip_cq *cq;
    uint32_t read;
    bool descriptor;
};

static void *add_all(void *argument)
{
    struct waiting *waiting = argument;
    uint32_t i;

    for (i = 0; i < ENTRIES; i++) {
        while (!gnip_cq_reserve(waiting->cq))
            ;
        add(waiting->cq, i);
        if (i % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void *read_some(void *argument)
{
    struct waiting *waiting = argument;
    struct fi_cq_entry entry;

    while (__atomic_load_n(&waiting->read, __ATOMIC_RELAXED) < ENTRIES) {
        ssize_t result = fi_cq_sread(&waiting->cq->fid, &entry, 1, NULL, -1);

        if (result == 1 && __atomic_add_fetch(&waiting->read, 1, __ATOMIC_RELAXED) < ENTRIES)
            continue;
        /* whoever takes the last one lets the next reader go, which does the same */
        fi_cq_signal(&waiting->cq->fid);
    }
    return NULL;
}

static void gni_111_many_readers(void **state)
{
    struct waiting waiting = {.cq = open_cq(&(struct fi_cq_attr){.wait_obj = FI_WAIT_UNSPEC})};
    pthread_t writer, readers[READERS];
    int i;

    for (i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_some, &waiting);
    pthread_create(&writer, NULL, add_all, &waiting);
    pthread_join(writer, NULL);
    for (i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(waiting.read, ENTRIES);
    assert_int_equal(fi_cq_sread(&waiting.cq->fid, &(struct fi_cq_entry){0}, 1, NULL, 0),
                     -FI_EAGAIN);
    assert_int_equal(fi_close(&waiting.cq->fid.fid), 0);
}

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

/* The error of an injected operation has no entry with a context that somebody could look behind: a
 * read returns it, once. */
static void gni_110_errors_without_an_entry(void **state)
{
    struct gnip_cq *cq = open_cq(&(struct fi_cq_attr){.wait_obj = FI_WAIT_UNSPEC});
    struct fi_cq_err_entry error = {.err_data_size = 0};
    struct fi_cq_entry entry;
    int i;

    for (i = 0; i < 3; i++) /* for 1, 2 and 3: injected operations reserve nothing */
        assert_true(gnip_cq_reserve(cq));
    add(cq, 1);
    gnip_cq_add_nameless(cq, FI_EIO);
    add_error(cq, 2);
    gnip_cq_add_nameless(cq, FI_ENOTCONN);
    add(cq, 3);
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EIO);
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAVAIL);
    assert_int_equal(fi_cq_readerr(&cq->fid, &error, 0), 1);
    assert_int_equal((uintptr_t)error.op_context, 2);
    /* who asks for an entry that there is not */
    assert_int_equal(fi_cq_readerr(&cq->fid, &error, 0), -FI_ENOTCONN);
    assert_int_equal(fi_cq_readerr(&cq->fid, &error, 0), -FI_EAGAIN);
    assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), 1);
    assert_int_equal((uintptr_t)entry.op_context, 1);
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
    assert_int_equal((uintptr_t)entry.op_context, 3);
    assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAGAIN);
    gnip_cq_add_nameless(cq, FI_EIO);
    assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), -FI_EIO);
    assert_int_equal(cq->reserved, 0);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
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
    assert_int_equal(fi_close(&cq->fid.fid), -FI_EBUSY);
    assert_int_equal(fi_poll_del(set, &cq->fid.fid, 0), 0);
    assert_int_equal(fi_poll_del(set, &cq->fid.fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll_del(set, &cntr.fid.fid, 0), 0);
    assert_int_equal(fi_close(&set->fid), 0);
    assert_int_equal(fi_close(&cq->fid.fid), 0);
    free(cntr.wait.others);
}

/* ---- event queues ---------------------------------------------------------------------------- */

static void gni_115_event_queue(void **state)
{
    struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_err_entry error = {0}, in = {.err = FI_EIO, .data = 8};
    struct fi_eq_cm_entry connected = {0};
    struct fid_eq *fid;
    struct gnip_eq *eq;
    uint64_t word = 1, out = 0;
    char data[3] = {0};
    uint32_t event;
    int i;

    assert_int_equal(gnip_eq_open(&fabric.fid, &attr, &fid, NULL), 0);
    eq = gnip_container(fid, struct gnip_eq, fid);
    for (word = 0; word < 1024; word++)
        assert_int_equal(fi_eq_write(fid, 100 + (uint32_t)word, &word, 8, 0), 8);
    assert_int_equal(fi_eq_write(fid, 1, &word, 8, 0), -FI_EAGAIN);
    connected.fid = &domain.fid.fid;
    assert_int_equal(gnip_eq_add(eq, FI_CONNECTED, &connected, sizeof(connected)), 0);
    for (word = 0; word < 1024; word++) {
        assert_int_equal(fi_eq_read(fid, &event, &out, 7, 0), -FI_ETOOSMALL);
        assert_int_equal(fi_eq_read(fid, &event, &out, 8, word % 2 ? FI_PEEK : 0), 8);
        assert_true(event == 100 + word && out == word);
        if (word % 2)
            assert_int_equal(fi_eq_sread(fid, &event, &out, 8, -1, 0), 8);
    }
    in.fid = &domain.fid.fid;
    for (i = 0; i < 3; i++)
        assert_int_equal(gnip_eq_add_error(eq, &in, "abc", i), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(fi_eq_read(fid, &event, &connected, sizeof(connected), 0), -FI_EAVAIL);
        assert_int_equal(fi_eq_readerr(fid, &error, FI_PEEK), sizeof(error));
        assert_int_equal(fi_eq_readerr(fid, &error, FI_PEEK), sizeof(error));
        error.err_data = data;
        error.err_data_size = i == 2 ? 1 : 0;
        assert_int_equal(fi_eq_readerr(fid, &error, 0), sizeof(error));
        assert_true(error.err == FI_EIO && error.data == 8 && error.fid == in.fid);
        assert_int_equal(error.err_data_size, i == 2 ? 1 : i);
        assert_true(i == 0 || memcmp(error.err_data, "ab", error.err_data_size) == 0);
        error = (struct fi_eq_err_entry){0};
    }
    gnip_eq_forget(eq, &domain.fid.fid); /* the event about a connection that was not read */
    assert_int_equal(fi_eq_read(fid, &event, &connected, sizeof(connected), 0), -FI_EAGAIN);
    assert_int_equal(gnip_eq_add_error(eq, &in, "abc", 3), 0);
    assert_int_equal(fi_eq_write(fid, 1, NULL, 0, 0), 0);
    assert_int_equal(fi_close(&fid->fid), 0);
}

/* ---- messages of MSG connections ------------------------------------------------------------- */

/* Those that were sent are lost with this chance; the others are put together. */
static bool deliver(struct gnip_msg_in *in, uint64_t lost_percent)
{
    struct gnip_cm_message header;
    const uint8_t *payload;
    bool complete = false;
    uint32_t i;

    for (i = 0; i < sent_count; i++) {
        assert_true(gnip_msg_parse(sent[i].message, sent[i].bytes, &header, &payload));
        assert_true(header.connection == 7 && header.active == 1 && header.incarnation == 3);
        if (draw(100) >= lost_percent)
            complete |= gnip_msg_in_add(in, &header, payload);
    }
    sent_count = 0;
    return complete;
}

static void gni_123_gni_129_fragments(void **state)
{
    static const size_t lengths[] = {0, 1, 98, 99, 100, 198, 199, 256};
    static const uint32_t fragments[] = {1, 2, 2, 2, 3, 3, 4, 4};
    struct gnip_msg_ends ends = {.connection = 7, .incarnation = 3, .active = true};
    struct gnip_cm_connect head = {.caps = 0x1122334455667788ull, .flags = 9};
    struct gnip_msg_in in = {0};
    struct gnip_msg_out *out;
    uint8_t data[256];
    size_t i, j;

    for (i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7);
    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        out = gnip_msg_out_new(i % 2 ? GNIP_CM_CONNREQ : GNIP_CM_REJECT, &head, data, lengths[i]);
        busy = true;
        assert_int_equal(gnip_msg_out_push(NULL, &ends, out), 0);
        busy = false;
        assert_int_equal(gnip_msg_out_push(NULL, &ends, out), 0);
        assert_int_equal(sent_count, fragments[i]);
        memset(&in, 0x55, sizeof(in));
        in.type = 0;
        for (j = 0; !deliver(&in, j == 0 ? 100 : 20); j++) { /* repeated until all are there */
            while (sent_count < fragments[i])
                assert_int_equal(gnip_msg_out_push(NULL, &ends, out), 0);
        }
        assert_int_equal(in.data_bytes, lengths[i]);
        assert_memory_equal(in.data, data, lengths[i]);
        assert_true(i % 2 == 0 || in.head.caps == head.caps);
        gnip_msg_out_free(out);
    }
    out = gnip_msg_out_new(GNIP_CM_ACCEPT, &head, NULL, 0);
    for (i = 0, sent_count = 0; gnip_msg_out_push(NULL, &ends, out) == 0; i += sent_count)
        sent_count = i == 0 ? 0 : sent_count;
    assert_int_equal(out->tries, 10);
    gnip_msg_out_free(out);
}

static void gni_145_garbage(void **state)
{
    struct gnip_cm_message header, read;
    uint8_t message[GNIP_CM_BYTES] = {0};
    struct gnip_msg_in in = {0};
    const uint8_t *payload;
    uint32_t i, j, good = 0;

    for (i = 0; i < 300000; i++) { /* nothing is written outside of the message */
        header = (struct gnip_cm_message){.type = (uint8_t)(15 + draw(8)),
                                          .version = (uint8_t)(draw(30) ? GNIP_WIRE_VERSION : 1),
                                          .reason = (uint16_t)draw(24),
                                          .incarnation = (uint32_t)draw(2),
                                          .fragment = (uint8_t)draw(6),
                                          .fragments = (uint8_t)draw(6),
                                          .total = (uint32_t)draw(300)};
        header.fragment_bytes = (uint8_t)draw(130);
        if (header.fragment > 0 && header.total > (header.fragment - 1u) * 99u && draw(2))
            header.fragment_bytes = (uint8_t)(header.total - (header.fragment - 1u) * 99u);
        if (draw(2))
            header.fragment_bytes = 99;
        memcpy(message, &header, sizeof(header));
        j = (uint32_t)draw(GNIP_CM_BYTES + 1);
        if (draw(2))
            j = GNIP_CM_BYTES;
        if (!gnip_msg_parse(message, j, &read, &payload))
            continue;
        good++;
        assert_true(payload + read.fragment_bytes <= message + j);
        gnip_msg_in_add(&in, &read, payload);
        assert_true(in.data_bytes <= sizeof(in.data));
    }
    assert_true(good > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_77_gni_108_model),
        cmocka_unit_test(gni_77_limit),
        cmocka_unit_test(gni_77_ring_cannot_grow),
        cmocka_unit_test(gni_77_full_queue),
        cmocka_unit_test(gni_107_formats),
        cmocka_unit_test(gni_109_error_data),
        cmocka_unit_test(gni_111_many_readers),
        cmocka_unit_test(gni_111_closing_ends_waits),
        cmocka_unit_test(gni_112_descriptor_threads),
        cmocka_unit_test(gni_110_errors_without_an_entry),
        cmocka_unit_test(gni_112_poll_descriptors),
        cmocka_unit_test(gni_112_yield),
        cmocka_unit_test(gni_113_poll_set),
        cmocka_unit_test(gni_114_wait_set),
        cmocka_unit_test(gni_115_event_queue),
        cmocka_unit_test(gni_123_gni_129_fragments),
        cmocka_unit_test(gni_145_garbage),
    };

    return cmocka_run_group_tests_name("queues by themselves", tests, NULL, NULL);
}
