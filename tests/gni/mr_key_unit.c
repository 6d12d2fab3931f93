/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys of memory regions, chosen by the provider or by the application; refused and closed regions.
 */
#include "mr_cache_frame.h"

static void gni_137_same_region_twice(void **state)
{
    struct fid_mr *one, *two, *read;
    int context[2];

    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_WRITE, 5, &context[0], &one), 0);
    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_WRITE, 5, &context[1], &two), 0);
    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_READ, 5, NULL, &read), 0);
    assert_ptr_not_equal(one, two);
    assert_ptr_equal(one->fid.context, &context[0]);
    assert_ptr_equal(two->fid.context, &context[1]);
    assert_ptr_equal(fi_mr_desc(one), one);
    assert_true(gnip_busy(&domain.refs));
    assert_int_equal(live_count, 2);
    assert_int_equal(fi_close(&one->fid), 0);
    assert_int_equal(counts().in_use, 2);
    assert_int_equal(fi_close(&two->fid), 0);
    assert_int_equal(counts().in_use, 1);
    assert_int_equal(fi_close(&read->fid), 0);
    /* Peers have had their keys. */
    assert_int_equal(counts().stale, 0);
    assert_int_equal(live_count, 0);
    assert_int_equal(reg(BASE + 10, 100, FI_RECV, 5, NULL, &one), 0);
    assert_int_equal(fi_close(&one->fid), 0);
    assert_int_equal(counts().stale, 1);
    /* What was kept and is shared with such a region is not kept afterwards. */
    assert_int_equal(reg(BASE + 10, 100, FI_REMOTE_WRITE, 5, NULL, &one), 0);
    assert_int_equal(live_count, 1);
    assert_int_equal(fi_close(&one->fid), 0);
    assert_int_equal(live_count, 0);
}

/* Closed while an operation uses it. */
static void gni_137_closed_in_use(void **state)
{
    struct fid_mr *mr;

    domain.params.mr_lazy = 0;
    assert_int_equal(reg(BASE, 100, FI_READ, 0, NULL, &mr), 0);
    gnip_mr_use(fi_mr_desc(mr));
    gnip_mr_use(fi_mr_desc(mr));
    assert_int_equal(fi_close(&mr->fid), 0);
    assert_int_equal(live_count, 1);
    gnip_mr_release((struct gnip_mr *)mr);
    assert_int_equal(live_count, 1);
    gnip_mr_release((struct gnip_mr *)mr);
    assert_int_equal(live_count, 0);
}

static void gni_132_keys(void **state)
{
    static const uint64_t places[] = {BASE, 0x1000, 0xffffffff80000000ull};
    struct gnip_vc vc = {.peer_key_offset = 96};
    struct aries_mem_handle fields, made;
    gni_mem_handle_t handle;
    uint64_t key;

    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        fields = (struct aries_mem_handle){.address = places[i],
                                           .mdh = 4095 - i,
                                           .pages = 7,
                                           .page_shift = 12,
                                           .flags = i == 1 ? ARIES_MEM_READONLY : 0};
        handle = aries_mem_handle_encode(&fields);
        key = gnip_handle_key(&handle, i == 1);
        assert_true(key != 0 && key >> 52 == 0);
        gnip_key_handle(&vc, key, &handle);
        assert_true(aries_mem_handle_check(&handle));
        aries_mem_handle_decode(&handle, &made);
        assert_true(made.address == fields.address && made.mdh == fields.mdh &&
                    made.flags == fields.flags && made.pages == ARIES_MEM_PAGES_MAX);
    }
    gnip_key_handle(&vc, 5, &handle); /* one that an application chose */
    assert_true(aries_mem_handle_check(&handle));
    aries_mem_handle_decode(&handle, &made);
    assert_true(made.address == 0 && made.mdh == 101 && made.flags == ARIES_MEM_VMDH);
}

static void gni_136_chosen_keys(void **state)
{
    struct fid_mr *mr[2], *other;
    struct iovec iov = {(void *)(BASE + PAGE), 100};

    domain.vmdh = true;
    assert_int_equal(gnip_auth_use(&ctx, &auth, true), 0);
    assert_int_equal(gnip_auth_use(&ctx, &auth, false), -FI_EINVAL);
    assert_int_equal(auth.partition, 96);
    assert_int_equal(auth.offset, 96);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 96, NULL, &other), -FI_EKEYREJECTED);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 95, NULL, &mr[0]), 0);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 95, NULL, &other), -FI_ENOKEY);
    assert_int_equal(reg(BASE + 1, PAGE, FI_REMOTE_READ, 3, NULL, &other), -FI_EINVAL);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 3, NULL, &mr[1]), 0);
    assert_int_equal(fi_mr_key(mr[1]), 3);
    assert_true(regions[96 + 3].live && (regions[96 + 3].flags & GNI_MEM_READ_ONLY));
    assert_int_equal(fi_mr_refresh(mr[1], &iov, 1, 0), 0);
    iov.iov_len = PAGE + 1;
    assert_int_equal(fi_mr_refresh(mr[1], &iov, 1, 0), -FI_EINVAL);
    assert_int_equal(fi_close(&mr[0]->fid), 0);
    assert_int_equal(reg(BASE, 2 * PAGE, FI_REMOTE_READ, 95, NULL, &mr[0]), 0);
    assert_int_equal(fi_close(&mr[0]->fid), 0);
    assert_int_equal(fi_close(&mr[1]->fid), 0);
    assert_int_equal(live_count, 0);
}

static void gni_136_keys_of_the_provider(void **state)
{
    struct fid_mr *mr;

    assert_int_equal(reg(BASE, 100, FI_SEND, 12345678, NULL, &mr), 0);
    assert_true(fi_mr_key(mr) != 12345678);
    assert_int_equal(fi_mr_refresh(mr, NULL, 0, 0), -FI_EINVAL);
    assert_int_equal(fi_control(&mr->fid, FI_GETWAIT, NULL), -FI_EOPNOTSUPP);
    assert_int_equal(fi_close(&mr->fid), 0);
}

static void gni_131_refused(void **state)
{
    struct iovec iov[2] = {{(void *)BASE, 10}, {(void *)BASE, 10}};
    struct fi_gni_auth_key key = {.type = GNIX_AKT_RAW, .raw = {.protection_key = 4711}};
    struct fi_mr_attr attr = {.mr_iov = iov, .iov_count = 1, .access = FI_SEND};
    struct fid wrong = {.fclass = FI_CLASS_EP};
    struct port_link *link;
    struct fid_mr *mr;

    assert_int_equal(gnip_mr_reg(&domain.fid.fid, iov, 8, FI_SEND, 0, 0, 1, &mr, NULL),
                     -FI_EBADFLAGS);
    assert_int_equal(gnip_mr_reg(&domain.fid.fid, iov, 8, FI_SEND, 8, 0, 0, &mr, NULL), -FI_EINVAL);
    assert_int_equal(reg(0, 8, FI_SEND, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(0, UINT64_MAX, FI_SEND, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, UINT64_MAX, FI_SEND, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, 8, 0, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, 8, FI_SEND | FI_MULTI_RECV, 0, NULL, &mr), -FI_EINVAL);
    assert_int_equal(reg(BASE, 8, FI_SEND, 0, NULL, NULL), -FI_EINVAL);
    assert_int_equal(gnip_mr_reg(&wrong, iov, 8, FI_SEND, 0, 0, 0, &mr, NULL), -FI_EINVAL);
    assert_int_equal(gnip_mr_ops.regv(&domain.fid.fid, iov, 2, FI_SEND, 0, 0, 0, &mr, NULL),
                     -FI_EOPNOTSUPP);
    assert_int_equal(gnip_mr_ops.regv(&domain.fid.fid, iov, 0, FI_SEND, 0, 0, 0, &mr, NULL),
                     -FI_EINVAL);
    assert_int_equal(gnip_mr_ops.regv(&domain.fid.fid, NULL, 1, FI_SEND, 0, 0, 0, &mr, NULL),
                     -FI_EINVAL);
    /* credentials of its own */
    attr.auth_key = (uint8_t *)&key;
    attr.auth_key_size = 7;
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    attr.auth_key_size = sizeof(key);
    domain.api_version = FI_VERSION(1, 4);
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    domain.api_version = FI_VERSION(1, 17);
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), 0);
    assert_int_equal(((struct gnip_mr *)mr)->auth->ptag, 99);
    assert_int_equal(fi_close(&mr->fid), 0);
    key.raw.protection_key = 1;
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    key.type = 1;
    assert_int_equal(gnip_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr), -FI_EINVAL);
    gnip_mr_cache_free(&domain);
    port_list_remove(&auth.link);
    while ((link = port_list_pop(&ctx.auths)) != NULL) {
        struct gnip_auth *own = gnip_container(link, struct gnip_auth, link);

        free(own->used);
        free(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gni_131_refused),           TEST(gni_132_keys),
        TEST(gni_136_chosen_keys),       TEST(gni_136_keys_of_the_provider),
        TEST(gni_137_same_region_twice), TEST(gni_137_closed_in_use),
    };

    return cmocka_run_group_tests_name("registrations", tests, NULL, NULL);
}
