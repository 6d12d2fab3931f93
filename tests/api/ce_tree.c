/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ce_tree.h"

#include <string.h>

#define APART 64u

static uint8_t memory[MACHINE_RANKS][4096] __attribute__((aligned(4096)));

gni_ep_handle_t tree_ep(struct tree *tree, uint32_t peer, uint32_t ce_id, uint32_t child_id,
                        gni_ce_child_t type)
{
    gni_ep_handle_t ep = domain_connect(tree->rank, &tree->domain, peer);

    assert_ok(GNI_EpSetCeAttr(ep, ce_id, child_id, type));
    return ep;
}

static uint32_t leader_of(const struct tree *tree, uint32_t node)
{
    return node * tree->locals;
}

static uint32_t id_of(const struct tree *tree, uint32_t node)
{
    return (uint32_t)tree->rank->machine->shared[leader_of(tree, node)][0];
}

void tree_prepare(struct rank *rank, struct tree *tree, uint32_t radix)
{
    const struct machine *machine = rank->machine;

    *tree = (struct tree){.rank = rank, .radix = radix};
    tree->locals = machine->ranks_per_node;
    tree->nodes = machine->ranks / tree->locals;
    tree->node = rank->id / tree->locals;
    tree->local = rank->id % tree->locals;
    tree->leads = tree->local == 0;
    domain_open(rank, &tree->domain, GNI_CDM_MODE_ERR_NO_KILL);
    memset(memory[rank->id], 0, sizeof memory[rank->id]);
    tree->handle = domain_register(&tree->domain, memory[rank->id], sizeof memory[rank->id], NULL,
                                   GNI_MEM_READWRITE);
    if (tree->leads) {
        assert_ok(GNI_CeCreate(tree->domain.nic, &tree->ce));
        assert_ok(GNI_CeGetId(tree->ce, &tree->ce_id));
        assert_ok(
            GNI_CqCreate(tree->domain.nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &tree->events));
        rank->machine->shared[rank->id][0] = tree->ce_id;
    }
    machine_barrier(rank);
    tree->leaf = tree_ep(tree, leader_of(tree, tree->node), id_of(tree, tree->node), tree->local,
                         GNI_CE_CHILD_PE);
}

void tree_configure(struct tree *tree, uint32_t modes)
{
    gni_ep_handle_t children[GNI_CE_MAX_CHILDREN], parent = NULL;
    uint32_t radix = tree->radix > 0 ? tree->radix : 1, count = 0, i;

    if (!tree->leads)
        return;
    for (i = 0; i < tree->locals; i++, count++) /* a child's engine id does not matter: all ones */
        children[count] = tree_ep(tree, tree->rank->id + i, UINT32_MAX, count, GNI_CE_CHILD_PE);
    for (i = 1; i <= radix; i++) {
        uint32_t node = tree->node * radix + i;

        if (node >= tree->nodes)
            break;
        children[count] =
            tree_ep(tree, leader_of(tree, node), id_of(tree, node), count, GNI_CE_CHILD_VCE);
        count++;
    }
    if (tree->node > 0) {
        uint32_t above = (tree->node - 1) / radix;

        parent = tree_ep(tree, leader_of(tree, above), id_of(tree, above),
                         tree->locals + (tree->node - 1) % radix, GNI_CE_CHILD_VCE);
    }
    assert_ok(GNI_CeConfigure(tree->ce, children, count, parent, tree->events, modes));
}

void tree_open(struct rank *rank, struct tree *tree, uint32_t radix, uint32_t modes)
{
    tree_prepare(rank, tree, radix);
    tree_configure(tree, modes);
    machine_barrier(rank);
}

void tree_close(struct tree *tree)
{
    machine_barrier(tree->rank);
    domain_close(&tree->domain);
}

void tree_describe(struct tree *tree, uint32_t slot, gni_ce_cmd_type_t command, uint32_t mode,
                   uint64_t reduction_id, uint64_t first, uint64_t second)
{
    tree->result = (gni_ce_result_t *)(void *)(memory[tree->rank->id] + slot * APART);
    memset(tree->result, 0, sizeof *tree->result);
    tree->descr = (gni_post_descriptor_t){
        .type = GNI_POST_CE,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)tree->result,
        .local_mem_hndl = tree->handle,
        .ce_cmd = command,
        .ce_mode = mode,
        .ce_red_id = reduction_id,
        .first_operand = first,
        .second_operand = second,
    };
}

void tree_post(struct tree *tree)
{
    assert_ok(GNI_PostFma(tree->leaf, &tree->descr));
}

gni_return_t tree_wait(struct tree *tree)
{
    gni_return_t result;

    do {
        result = GNI_CeCheckResult(tree->result, sizeof *tree->result);
    } while (result == GNI_RC_NOT_DONE);
    return result;
}

gni_return_t tree_reduce(struct tree *tree, gni_ce_cmd_type_t command, uint32_t mode,
                         uint64_t reduction_id, uint64_t first, uint64_t second)
{
    tree_describe(tree, 0, command, mode, reduction_id, first, second);
    tree_post(tree);
    complete(tree->domain.source, &tree->descr);
    return tree_wait(tree);
}
