/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_getinfo: what it answers fits the hints, an answer is a hint that gives itself, what cannot be
 * is -FI_ENODATA, and an answer opens.
 */
#include "common.h"

/* The provider's own answer; what libfabric puts on top of it (ofi_rxm, ofi_rxd) can do other
 * things. */
static struct fi_info *ask(struct side *side, struct fi_info *hints)
{
    struct fi_info *info = NULL, *each, *own = NULL;
    int status = fi_getinfo(API_VERSION, side->source, NULL, side->source != NULL ? FI_SOURCE : 0,
                            hints, &info);

    if (status == -FI_ENODATA)
        return NULL;
    CHECK(status);
    HOLDS(info != NULL);
    for (each = info; each != NULL && own == NULL; each = each->next)
        if (strcmp(each->fabric_attr->prov_name, side->provider) == 0)
            own = fi_dupinfo(each);
    fi_freeinfo(info);
    return own;
}

static void nothing(struct side *side, struct fi_info *hints, const char *what)
{
    step("%s", what);
    HOLDS(ask(side, hints) == NULL);
}

/* What every answer must be like. */
static void sane(struct side *side, const struct fi_info *info, uint64_t caps)
{
    HOLDS(info->fabric_attr->name != NULL && info->domain_attr->name != NULL);
    HOLDS((info->caps & caps) == caps);
    HOLDS(info->ep_attr->type == side->type);
    HOLDS(info->ep_attr->max_msg_size > 0);
    HOLDS(info->tx_attr->size > 0 && info->rx_attr->size > 0);
    HOLDS(info->tx_attr->iov_limit > 0 && info->rx_attr->iov_limit > 0);
    HOLDS((info->tx_attr->caps & ~(info->caps | FI_LOCAL_COMM | FI_REMOTE_COMM)) == 0);
    HOLDS(info->tx_attr->inject_size <= info->ep_attr->max_msg_size);
}

static void opens(struct fi_info *info)
{
    struct fid_fabric *fabric;
    struct fid_domain *domain;

    CHECK(fi_fabric(info->fabric_attr, &fabric, NULL));
    CHECK(fi_domain(fabric, info, &domain, NULL));
    close_fid(&domain->fid);
    close_fid(&fabric->fid);
}

int main(int argc, char **argv)
{
    static const uint64_t all[] = {FI_MSG, FI_TAGGED, FI_RMA, FI_ATOMIC,
                                   FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC};
    struct side side;
    struct fi_info *info, *each, *again, *hints;
    unsigned i, found = 0, rounds;

    side_begin(&side, argc, argv);
    hints = side.hints;
    for (i = 0; i < ARRAY_SIZE(all); i++) {
        step("capabilities %#llx", (unsigned long long)all[i]);
        hints->caps = all[i];
        info = ask(&side, hints);
        if (info == NULL)
            continue;
        sane(&side, info, all[i]);
        again = fi_dupinfo(info);
        each = ask(&side, again);
        HOLDS(each != NULL);
        HOLDS(strcmp(each->domain_attr->name, info->domain_attr->name) == 0);
        HOLDS((each->caps & info->caps) == info->caps);
        opens(each);
        fi_freeinfo(each);
        fi_freeinfo(again);
        fi_freeinfo(info);
        found++;
    }
    if (found == 0)
        skip(&side, "%s has no such endpoint", side.provider);
    hints->caps = FI_MSG;
    info = ask(&side, hints);
    if (info == NULL)
        skip(&side, "%s sends no messages", side.provider);

    step("the same again and again");
    for (rounds = 0; rounds < 50; rounds++) {
        again = ask(&side, hints);
        HOLDS(again != NULL && again->caps == info->caps &&
              again->ep_attr->max_msg_size == info->ep_attr->max_msg_size);
        fi_freeinfo(again);
    }
    hints->ep_attr->max_msg_size = info->ep_attr->max_msg_size + 1;
    if (hints->ep_attr->max_msg_size != 0)
        nothing(&side, hints, "larger messages than there are");
    hints->ep_attr->max_msg_size = 0;
    hints->tx_attr->iov_limit = info->tx_attr->iov_limit + 1;
    nothing(&side, hints, "more segments than there can be");
    hints->tx_attr->iov_limit = 0;
    hints->ep_attr->protocol = FI_PROTO_MXM;
    nothing(&side, hints, "another protocol");
    hints->ep_attr->protocol = FI_PROTO_UNSPEC;
    hints->domain_attr->name = strdup("no-such-domain");
    if (side.strict)
        nothing(&side, hints, "another domain");
    free(hints->domain_attr->name);
    hints->domain_attr->name = NULL;
    step("the answer of before");
    again = ask(&side, hints);
    HOLDS(again != NULL);
    fi_freeinfo(again);
    fi_freeinfo(info);
    return side_end(&side);
}
