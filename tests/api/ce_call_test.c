/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of the collective engine: arguments, channels and limits: checklist item 122. */
#include "ce_tree.h"

#include <math.h>
#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

static void arguments_main(struct rank *rank)
{
    gni_ep_handle_t child, same, parent, plain, unbound, foreign;
    struct domain other;
    struct tree tree;
    gni_ce_handle_t ce;
    uint32_t id;

    tree_prepare(rank, &tree, 1);
    assert_rc(GNI_CeCreate(NULL, &ce), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeCreate(tree.domain.nic, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeGetId(NULL, &id), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeGetId(tree.ce, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeDestroy(NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeCheckResult(NULL, 24), GNI_RC_INVALID_PARAM);

    child = tree_ep(&tree, 0, 0, 4, GNI_CE_CHILD_PE);
    same = tree_ep(&tree, 0, 0, 4, GNI_CE_CHILD_VCE);
    parent = tree_ep(&tree, 0, 1, 5, GNI_CE_CHILD_VCE);
    plain = domain_connect(rank, &tree.domain, 0);
    assert_ok(GNI_EpCreate(tree.domain.nic, NULL, &unbound));
    assert_rc(GNI_EpSetCeAttr(NULL, 0, 0, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, 32, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, UINT32_MAX, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, 0, GNI_CE_CHILD_UNUSED), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(plain, 0, 0, (gni_ce_child_t)3), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpSetCeAttr(unbound, 0, 0, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);

    assert_rc(GNI_CeConfigure(NULL, &child, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, NULL, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 0, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, ((gni_ep_handle_t[]){child, same}), 2, NULL, NULL, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, ((gni_ep_handle_t[]){child, plain}), 2, NULL, NULL, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, ((gni_ep_handle_t[]){child, NULL}), 2, NULL, NULL, 0),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &unbound, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, plain, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, child, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL, 0x800), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL, 0x20), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                              GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_DOWN),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                              GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_CQE_ONERR),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                              GNI_CE_MODE_RC_ADAPT | GNI_CE_MODE_RC_MIN_HASH),
              GNI_RC_INVALID_PARAM);

    domain_open_as(&other, 77, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, NULL, other.source, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpCreate(other.nic, other.source, &foreign));
    assert_ok(GNI_EpBind(foreign, other.address, 1));
    assert_ok(GNI_EpSetCeAttr(foreign, 0, 1, GNI_CE_CHILD_PE));
    assert_rc(GNI_CeConfigure(tree.ce, &foreign, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
    assert_ok(
        GNI_CeConfigure(tree.ce, &child, 1, parent, NULL,
                        GNI_CE_MODE_RC_NMIN_HASH | GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_ROUND_UP));
    assert_ok(GNI_CeConfigure(tree.ce, &child, 1, NULL, tree.events, GNI_CE_MODE_RC_MNON_HASH));
    /* The queue is in use, and free again with the engine. */
    assert_rc(GNI_CqDestroy(tree.events), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CeDestroy(tree.ce));
    assert_rc(GNI_CeDestroy(tree.ce), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeGetId(tree.ce, &id), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CeConfigure(tree.ce, &child, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);

    assert_ok(GNI_CqDestroy(tree.events));
    domain_close(&other);
    tree_close(&tree);
}

static void ugni_122_arguments(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = arguments_main});
}

static void posts_main(struct rank *rank)
{
    struct tree tree;
    gni_ep_handle_t leaf;

    tree_open(rank, &tree, 1, 0);
    tree_describe(&tree, 0, GNI_FMA_CE_AND, 0, 1, 1, 1);
    tree.descr.cq_mode = GNI_CQMODE_LOCAL_EVENT;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    tree.descr.ce_cmd = (gni_ce_cmd_type_t)6;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.ce_cmd = GNI_FMA_CE_OR;
    tree.descr.ce_mode = 1 << 5;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.ce_mode = 0;
    tree.descr.local_mem_hndl.qword1 ^= 0x100;
    assert_rc(GNI_PostFma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    tree.descr.local_mem_hndl = tree.handle;
    assert_rc(GNI_PostRdma(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostCqWrite(tree.leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    /* Endpoints without attributes, or with those of an engine, do not join. */
    leaf = domain_connect(rank, &tree.domain, 0);
    assert_rc(GNI_PostFma(leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpSetCeAttr(leaf, 0, 0, GNI_CE_CHILD_VCE));
    assert_rc(GNI_PostFma(leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    /* Attributes go with the peer. */
    assert_ok(GNI_EpSetCeAttr(leaf, 0, 0, GNI_CE_CHILD_PE));
    assert_ok(GNI_EpUnbind(leaf));
    assert_ok(GNI_EpBind(leaf, tree.domain.address, 0));
    assert_rc(GNI_PostFma(leaf, &tree.descr), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpSetCeAttr(leaf, 0, 0, GNI_CE_CHILD_PE));
    tree.descr.length = 99; /* the length has no meaning */
    assert_ok(GNI_PostFma(leaf, &tree.descr));
    complete(tree.domain.source, &tree.descr);
    assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
    tree_close(&tree);
}

static void ugni_122_posts(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = posts_main});
}

/* ---- channels are few ------------------------------------------------------------------------ */

static void channels_main(struct rank *rank)
{
    gni_ce_handle_t ce[4], fifth;
    gni_dev_res_desc_t device;
    gni_job_res_desc_t job;
    struct domain domain, other;
    uint32_t id, seen = 0, i;

    domain_open(rank, &domain, 0);
    domain_open_as(&other, 9, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    for (i = 0; i < 4; i++) { /* of a NIC, not of a domain */
        assert_ok(GNI_CeCreate(i % 2 ? other.nic : domain.nic, &ce[i]));
        assert_ok(GNI_CeGetId(ce[i], &id));
        assert_in_range(id, 0, 3);
        seen |= 1u << id;
    }
    assert_int_equal(seen, 0xf);
    assert_rc(GNI_CeCreate(domain.nic, &fifth), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_GetDevResInfo(0, GNI_DEV_RES_CE, &device));
    assert_int_equal(device.total, 4);
    assert_int_equal(device.held, 4);
    assert_int_equal(device.available, 0);
    assert_ok(GNI_GetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_CE, &job));
    assert_int_equal(job.used, 2);
    assert_ok(GNI_CeDestroy(ce[2]));
    assert_ok(GNI_CeCreate(domain.nic, &fifth));
    domain_close(&other); /* with its two */
    assert_rc(GNI_CeGetId(ce[1], &id), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CeCreate(domain.nic, &ce[1]));
    assert_ok(GNI_CeCreate(domain.nic, &ce[3]));
    assert_rc(GNI_CeCreate(domain.nic, &ce[3]), GNI_RC_ERROR_RESOURCE);
    domain_close(&domain);
}

static void four_channels(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = channels_main});
}

/* Several trees at a time, one per channel, over the same ranks. */
static void four_trees_main(struct rank *rank)
{
    gni_ep_handle_t eps[3], leaf[4];
    struct tree tree;
    gni_ce_handle_t ce;
    uint32_t i, k, root;

    tree_prepare(rank, &tree, 1);
    if (rank->id == 0) {
        assert_ok(GNI_CeDestroy(tree.ce));
        for (i = 0; i < 4; i++) {
            assert_ok(GNI_CeCreate(tree.domain.nic, &ce));
            assert_ok(GNI_CeGetId(ce, &root));
            assert_int_equal(root, i);
            for (k = 0; k < 3; k++)
                eps[k] = tree_ep(&tree, k, 0, k, GNI_CE_CHILD_PE);
            assert_ok(GNI_CeConfigure(ce, eps, 3, NULL, NULL, 0));
        }
    }
    machine_barrier(rank);
    for (i = 0; i < 4; i++) {
        gni_post_descriptor_t descr;

        leaf[i] = tree_ep(&tree, 0, i, rank->id, GNI_CE_CHILD_PE);
        tree_describe(&tree, i, GNI_FMA_CE_IADD, 0, i, rank->id + i, 0);
        tree.descr.cq_mode = GNI_CQMODE_SILENT;
        descr = tree.descr;
        assert_ok(GNI_PostFma(leaf[i], &descr));
    }
    for (i = 4; i-- > 0;) {
        assert_rc(tree_wait(&tree), GNI_RC_SUCCESS);
        assert_int_equal(tree.result->result1, 3 + 3 * i);
        tree.result = (gni_ce_result_t *)(void *)((char *)tree.result - 64);
    }
    tree_close(&tree);
}

static void four_trees_at_a_time(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = four_trees_main});
}

/* ---- limits of a job ------------------------------------------------------------------------- */

static void job_limit_main(struct rank *rank)
{
    gni_job_limits_t limits = {.mdd_limit = GNI_JOB_INVALID_LIMIT,
                               .a.mrt_limit = GNI_JOB_INVALID_LIMIT,
                               .b.gart_limit = GNI_JOB_INVALID_LIMIT,
                               .fma_limit = GNI_JOB_INVALID_LIMIT,
                               .bte_limit = GNI_JOB_INVALID_LIMIT,
                               .cq_limit = GNI_JOB_INVALID_LIMIT};
    gni_ce_handle_t first, second;
    struct domain domain;
    uint32_t id;

    limits.a.m.ce_limit = 1;
    limits.ntt_ctrl = GNI_JOB_CTRL_ALL_CE_MASK; /* of translation: says nothing of channels */
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, &limits));
    domain_open(rank, &domain, 0);
    assert_ok(GNI_CeCreate(domain.nic, &first));
    assert_rc(GNI_CeCreate(domain.nic, &second), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CeDestroy(first));
    assert_ok(GNI_CeCreate(domain.nic, &second));
    limits.a.m.ce_limit = 2;
    limits.ntt_ctrl = GNI_JOB_CTRL_CE0_MASK;
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, &limits));
    assert_ok(GNI_CeCreate(domain.nic, &first));
    assert_ok(GNI_CeGetId(first, &id)); /* the lowest one that is free */
    assert_int_equal(id, 1);
    domain_close(&domain);
}

static void limit_of_a_job(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .privileged = true, .main = job_limit_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_122_arguments), cmocka_unit_test(ugni_122_posts),
        cmocka_unit_test(four_channels),      cmocka_unit_test(four_trees_at_a_time),
        cmocka_unit_test(limit_of_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
