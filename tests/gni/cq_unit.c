/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues alone: order, limits, errors, several readers. */
#include "queues_frame.h"

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

/* ---- completion queues ----------------------------------------------------------------------- */

/* Compares the queue with a model: errors and successes are two queues. */
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
    gnip_cq_reserve_always(cq); /* an error without a reservation of its own */
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

#define READERS 3

static void *read_some(void *argument)
{
    struct waiting *waiting = argument;
    struct fi_cq_entry entry;

    while (__atomic_load_n(&waiting->read, __ATOMIC_RELAXED) < ENTRIES) {
        ssize_t result = fi_cq_sread(&waiting->cq->fid, &entry, 1, NULL, -1);

        if (result == 1 && __atomic_add_fetch(&waiting->read, 1, __ATOMIC_RELAXED) < ENTRIES)
            continue;
        /* the reader of the last entry lets the next reader go, which does the same */
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

/*
 * The error of an injected operation has no entry with a context that an application could
 * dereference: one read returns it.
 */
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
    /* a read of an entry that does not exist */
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
        cmocka_unit_test(gni_110_errors_without_an_entry),
    };

    return cmocka_run_group_tests_name("queues by themselves", tests, NULL, NULL);
}
