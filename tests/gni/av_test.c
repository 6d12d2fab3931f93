/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors against a model that is a plain array, and names against their texts. No endpoint
 * is needed for that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "av.h"
#include "fixture.h"
#include "gni_prov/prov.h"
#include "gnip.h"
#include "name.h"

#define OPERATIONS 20000
#define RX_BITS 3

struct opened {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
};

static int open_domain(struct rank *rank, uint32_t addr_format, struct opened *opened)
{
    struct fi_info *hints = fi_allocinfo();

    hints->ep_attr->type = FI_EP_RDM;
    hints->addr_format = addr_format;
    EXPECT_IS(gni_prov_ini()->getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &opened->info), 0);
    EXPECT_IS(gni_prov_ini()->fabric(opened->info->fabric_attr, &opened->fabric, NULL), 0);
    EXPECT_IS(fi_domain(opened->fabric, opened->info, &opened->domain, NULL), 0);
    fi_freeinfo(hints);
    return 0;
}

static int close_domain(struct rank *rank, struct opened *opened)
{
    EXPECT_IS(fi_close(&opened->domain->fid), 0);
    EXPECT_IS(fi_close(&opened->fabric->fid), 0);
    fi_freeinfo(opened->info);
    return 0;
}

/* ---- against the model ----------------------------------------------------------------------- */

struct model { /* by order of insertion */
    struct entry {
        struct gnip_name name;
        fi_addr_t address;
        bool removed;
    } entries[OPERATIONS];
    size_t count;
};

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((state >> 33) % below);
}

/* Few NICs and ids, so that names come again; scalable ones have ranges of their own. */
static struct gnip_name any_name(void)
{
    struct gnip_name name = {.device_addr = 4 * chance(8), .cookie = 0x500000};

    if (chance(4) == 0) {
        name.name_type = GNIP_SEP;
        name.cdm_id = 0x100000 + 16 * chance(16);
        name.rx_ctx_cnt = 1 + chance(1 << RX_BITS);
    } else {
        name.name_type = GNIP_UNBOUND;
        name.cdm_id = 1 + chance(64);
    }
    name.cm_nic_cdm_id = name.cdm_id;
    return name;
}

static struct entry *first_with(struct model *model, uint32_t device_addr, uint32_t cdm_id)
{
    size_t i;

    for (i = 0; i < model->count; i++) {
        struct entry *entry = &model->entries[i];
        uint32_t contexts = entry->name.rx_ctx_cnt > 1 ? entry->name.rx_ctx_cnt : 1;

        if (!entry->removed && entry->name.device_addr == device_addr &&
            cdm_id - entry->name.cdm_id < contexts)
            return entry;
    }
    return NULL;
}

static int insert_one(struct rank *rank, struct fid_av *av, struct model *model, bool map)
{
    struct gnip_name name = any_name();
    struct entry *entry, *known;
    fi_addr_t address = 77;

    known = first_with(model, name.device_addr, name.cdm_id);
    EXPECT_IS(fi_av_insert(av, &name, 1, &address, 0, NULL), 1);
    if (map) {
        EXPECT(address == ((fi_addr_t)name.cdm_id << 32 | name.device_addr));
        if (known != NULL) { /* the first stays */
            EXPECT(known->address == address);
            return 0;
        }
    } else {
        EXPECT(address == model->count);
    }
    entry = &model->entries[model->count++];
    *entry = (struct entry){.name = name, .address = address};
    return 0;
}

static int remove_one(struct rank *rank, struct fid_av *av, struct model *model, bool map)
{
    struct entry *entry;
    int missing = map ? -FI_ENOENT : -FI_EINVAL;

    if (model->count == 0)
        return 0;
    entry = &model->entries[chance((uint32_t)model->count)];
    if (entry->removed && map)
        return 0; /* the same address may have come again */
    EXPECT_IS(fi_av_remove(av, &entry->address, 1, 0), entry->removed ? missing : 0);
    entry->removed = true;
    return 0;
}

static int look_up(struct rank *rank, struct fid_av *fid, struct model *model, bool map)
{
    struct gnip_av *av = gnip_container(fid, struct gnip_av, fid);
    struct gnip_name name = any_name(), found;
    uint32_t context = chance(name.rx_ctx_cnt > 1 ? name.rx_ctx_cnt : 1);
    struct entry *entry = first_with(model, name.device_addr, name.cdm_id + context);
    const struct gnip_name peer = {.device_addr = name.device_addr,
                                   .cdm_id = name.cdm_id + context};
    fi_addr_t address = gnip_av_reverse(av, &peer);
    size_t bytes = sizeof(found);

    if (entry == NULL) {
        EXPECT(address == FI_ADDR_NOTAVAIL);
        return 0;
    }
    /* one of those with this address, and of its contexts the right one */
    EXPECT(address != FI_ADDR_NOTAVAIL);
    EXPECT_IS(gnip_av_find(av, address, &found), 0);
    EXPECT(found.device_addr == name.device_addr && found.cdm_id == name.cdm_id + context);
    EXPECT_IS(fi_av_lookup(fid, entry->address, &found, &bytes), 0);
    EXPECT(memcmp(&found, &entry->name, sizeof(found)) == 0);
    if ((entry->name.name_type & GNIP_SEP) != 0) {
        EXPECT_IS(gnip_av_find(av, fi_rx_addr(entry->address, entry->name.rx_ctx_cnt - 1, RX_BITS),
                               &found),
                  0);
        EXPECT_IS(found.cdm_id, entry->name.cdm_id + entry->name.rx_ctx_cnt - 1);
        if (entry->name.rx_ctx_cnt < 1 << RX_BITS)
            EXPECT_IS(gnip_av_find(av, fi_rx_addr(entry->address, entry->name.rx_ctx_cnt, RX_BITS),
                                   &found),
                      -FI_EINVAL);
    }
    return 0;
}

static int compare(struct rank *rank, enum fi_av_type type)
{
    struct fi_av_attr attr = {.type = type, .rx_ctx_bits = RX_BITS};
    struct model *model = calloc(1, sizeof(*model));
    struct opened opened;
    struct fid_av *av;
    size_t i;

    state = 1;
    TRY(open_domain(rank, FI_ADDR_GNI, &opened));
    EXPECT_IS(fi_av_open(opened.domain, &attr, &av, NULL), 0);
    for (i = 0; i < OPERATIONS; i++) {
        uint32_t what = chance(10);

        /* tables keep their holes, so those are searched for longer and longer */
        if (what < 3 && (type == FI_AV_MAP || model->count < 2000))
            TRY(insert_one(rank, av, model, type == FI_AV_MAP));
        else if (what < 5)
            TRY(remove_one(rank, av, model, type == FI_AV_MAP));
        else
            TRY(look_up(rank, av, model, type == FI_AV_MAP));
    }
    EXPECT(model->count > 500);
    EXPECT_IS(fi_close(&av->fid), 0);
    free(model);
    return close_domain(rank, &opened);
}

static int table_body(struct rank *rank)
{
    return compare(rank, FI_AV_TABLE);
}

static void gni_34_gni_36_table_and_model(void **context)
{
    (void)context;
    gni_run(&(struct gni_machine){0}, table_body);
}

static int map_body(struct rank *rank)
{
    return compare(rank, FI_AV_MAP);
}

static void gni_34_gni_36_gni_38_map_and_model(void **context)
{
    (void)context;
    gni_run(&(struct gni_machine){0}, map_body);
}

/* ---- many at once ---------------------------------------------------------------------------- */

static int errors_body(struct rank *rank)
{
    struct gnip_name names[4] = {
        {.device_addr = 4, .cdm_id = 1, .name_type = GNIP_UNBOUND},
        {.device_addr = UINT32_MAX, .cdm_id = 1, .name_type = GNIP_UNBOUND},
        {.device_addr = 4, .cdm_id = 3, .name_type = GNIP_SEP, .rx_ctx_cnt = 3},
        {.device_addr = 8, .cdm_id = 2, .name_type = GNIP_BOUND},
    };
    struct fi_av_attr attr = {.type = FI_AV_MAP, .rx_ctx_bits = 1};
    struct opened opened;
    struct fid_av *av;
    fi_addr_t addresses[4];
    int errors[4];

    TRY(open_domain(rank, FI_ADDR_GNI, &opened));
    EXPECT_IS(fi_av_open(opened.domain, &attr, &av, NULL), 0);
    EXPECT_IS(fi_av_insert(av, names, 4, addresses, FI_SYNC_ERR, errors), 2);
    EXPECT(errors[0] == 0 && errors[3] == 0);
    EXPECT(errors[1] == FI_EINVAL && errors[2] == FI_EINVAL);
    EXPECT(addresses[1] == FI_ADDR_NOTAVAIL && addresses[2] == FI_ADDR_NOTAVAIL);
    EXPECT(addresses[0] == (1ull << 32 | 4) && addresses[3] == (2ull << 32 | 8));
    EXPECT_IS(fi_av_insert(av, names, 4, addresses, 0, NULL), 2);
    EXPECT_IS(fi_av_insert(av, &names[1], 1, addresses, 0, NULL), -FI_EINVAL);
    EXPECT_IS(fi_av_insert(av, names, 4, addresses, FI_SYNC_ERR, NULL), -FI_EINVAL);
    EXPECT_IS(fi_av_insert(av, names, 4, NULL, 0, NULL), -FI_EINVAL);
    EXPECT_IS(fi_close(&av->fid), 0);
    attr.rx_ctx_bits = 9;
    EXPECT_IS(fi_av_open(opened.domain, &attr, &av, NULL), -FI_EINVAL);
    return close_domain(rank, &opened);
}

static void gni_34_gni_35_errors(void **context)
{
    (void)context;
    gni_run(&(struct gni_machine){0}, errors_body);
}

static int symmetric_body(struct rank *rank)
{
    struct fi_av_attr attr = {.type = FI_AV_TABLE};
    fi_addr_t addresses[6];
    struct gnip_name name;
    struct opened opened;
    struct fid_av *av;
    size_t bytes, i;
    uint32_t first = 0;

    TRY(open_domain(rank, FI_ADDR_GNI, &opened));
    EXPECT_IS(fi_av_open(opened.domain, &attr, &av, NULL), 0);
    EXPECT_IS(fi_av_insertsvc(av, "nid00001", "99", addresses, 0, NULL), 1);
    EXPECT_IS(fi_av_insertsym(av, "nid00000", 2, "98", 3, addresses, 0, NULL), 6);
    for (i = 0; i < 6; i++) {
        bytes = sizeof(name);
        EXPECT_IS(fi_av_lookup(av, addresses[i], &name, &bytes), 0);
        EXPECT(addresses[i] == 1 + i && name.cdm_id == 98 + i % 3);
        if (i == 0)
            first = name.device_addr;
        EXPECT((name.device_addr == first) == (i < 3));
    }
    EXPECT_IS(fi_av_insertsvc(av, "nid00001", "http", addresses, 0, NULL), -FI_EINVAL);
    EXPECT_IS(fi_close(&av->fid), 0);
    return close_domain(rank, &opened);
}

static void gni_34_symmetric(void **context)
{
    (void)context;
    gni_run(&(struct gni_machine){.ranks = 2}, symmetric_body);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void gni_31_gni_32_texts(void **context)
{
    static const char *const malformed[] = {
        "",
        "gni",
        "gni;NONE;NONE",
        "tcp;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x00500000;00",
        "gni;NONE;NONE;0002;0x0000012c;0x00001000;01;0x000fff;0x00500000;00",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;03;0x000fff;0x00500000;00",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;00;0x000fff;0x00500000;00",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x1000000;0x00500000;00",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x100000000;00",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x00500000",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x00500000;",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x00500000;0x",
        "gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x00500000;00;",
        "gni;NONE;NONE;0001;0x0000012g;0x00001000;01;0x000fff;0x00500000;00",
        "gni;NONE;NONE;0001;0xffffffff;0x00001000;01;0x000fff;0x00500000;00",
    };
    const char *good = "gni;NONE;NONE;0001;0x0000012c;0x00001000;04;0x000fff;0x00500000;128";
    struct gnip_name name;
    char text[GNIP_STRING_NAME], printed[64], whole[GNIP_STRING_NAME];
    size_t i, bytes;

    (void)context;
    assert_int_equal(gnip_name_read(&name, FI_ADDR_STR, good), 0);
    assert_int_equal(name.device_addr, 0x12c);
    assert_int_equal(name.cdm_id, 0x1000);
    assert_int_equal(name.name_type, GNIP_SEP);
    assert_int_equal(name.cm_nic_cdm_id, 0xfff);
    assert_int_equal(name.cookie, 0x500000);
    assert_int_equal(name.rx_ctx_cnt, 128);
    gnip_name_write(&name, FI_ADDR_STR, text);
    assert_string_equal(text, good);
    for (i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        memset(whole, 0, sizeof(whole));
        memcpy(whole, malformed[i], strlen(malformed[i]));
        assert_int_equal(gnip_name_read(&name, FI_ADDR_STR, whole), -FI_EINVAL);
    }
    memset(whole, '0', sizeof(whole)); /* no end */
    memcpy(whole, "gni;NONE;NONE;", 14);
    assert_int_equal(gnip_name_read(&name, FI_ADDR_STR, whole), -FI_EINVAL);
    name.rx_ctx_cnt = 2;
    for (i = 0; i < sizeof(printed); i++) {
        memset(printed, 'x', sizeof(printed));
        bytes = i;
        gnip_name_print(&name, printed, &bytes);
        assert_int_equal(bytes, 53);
        if (i > 0)
            assert_int_equal(strlen(printed), i - 1 < 52 ? i - 1 : 52);
        if (i < 53)
            assert_int_equal(printed[i], 'x');
    }
    assert_string_equal(printed, "0001:0x0000012c:0x00001000:04:0x000fff:0x00500000:02");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_31_gni_32_texts),
        cmocka_unit_test(gni_34_gni_36_table_and_model),
        cmocka_unit_test(gni_34_gni_36_gni_38_map_and_model),
        cmocka_unit_test(gni_34_gni_35_errors),
        cmocka_unit_test(gni_34_symmetric),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
