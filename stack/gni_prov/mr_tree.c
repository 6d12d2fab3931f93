/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trees of registrations: treaps in the order of first page and age. Each node knows the greatest
 * end in its subtree, so that a search for a range skips subtrees that end before it.
 */
#include "gnip.h"
#include "mr_cache.h"

typedef struct gnip_mr_entry node;

static bool precedes(const node *a, const node *b)
{
    return a->first != b->first ? a->first < b->first : a->sequence < b->sequence;
}

static node *updated(node *root)
{
    root->end_max = root->end;
    if (root->left != NULL && root->left->end_max > root->end_max)
        root->end_max = root->left->end_max;
    if (root->right != NULL && root->right->end_max > root->end_max)
        root->end_max = root->right->end_max;
    return root;
}

static void split(node *root, const node *at, node **low, node **high)
{
    if (root == NULL) {
        *low = *high = NULL;
    } else if (precedes(root, at)) {
        split(root->right, at, &root->right, high);
        *low = updated(root);
    } else {
        split(root->left, at, low, &root->left);
        *high = updated(root);
    }
}

static node *joined(node *low, node *high)
{
    if (low == NULL || high == NULL)
        return low != NULL ? low : high;
    if (low->priority > high->priority) {
        low->right = joined(low->right, high);
        return updated(low);
    }
    high->left = joined(low, high->left);
    return updated(high);
}

node *gnip_mr_tree_insert(node *root, node *added)
{
    if (root == NULL || added->priority > root->priority) {
        split(root, added, &added->left, &added->right);
        return updated(added);
    }
    if (precedes(added, root))
        root->left = gnip_mr_tree_insert(root->left, added);
    else
        root->right = gnip_mr_tree_insert(root->right, added);
    return updated(root);
}

node *gnip_mr_tree_remove(node *root, node *removed)
{
    if (root == removed)
        return joined(root->left, root->right);
    if (precedes(removed, root))
        root->left = gnip_mr_tree_remove(root->left, removed);
    else
        root->right = gnip_mr_tree_remove(root->right, removed);
    return updated(root);
}

node *gnip_mr_tree_find(node *root, uint64_t first, uint64_t end)
{
    while (root != NULL && root->end_max >= end) {
        if (root->first > first)
            root = root->left;
        else if (root->end >= end)
            return root;
        else if (root->left != NULL && root->left->end_max >= end)
            root = root->left; /* all registrations there begin early enough */
        else
            root = root->right;
    }
    return NULL;
}

void gnip_mr_tree_touching(node *root, uint64_t first, uint64_t end, node **list)
{
    if (root == NULL || root->end_max < first)
        return;
    gnip_mr_tree_touching(root->left, first, end, list);
    if (root->first > end)
        return;
    if (root->end >= first) {
        root->next = *list;
        *list = root;
    }
    gnip_mr_tree_touching(root->right, first, end, list);
}
