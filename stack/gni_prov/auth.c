/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credentials by authorization key, and the ranges of user-chosen memory keys that go with them. */
#include <stdlib.h>

#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "port/list.h"

#define DEVICE 0

/* ctx->lock is held. */
static struct gnip_auth *known(struct gnip_ctx *ctx, uint32_t cookie)
{
    struct port_link *link;

    for (link = ctx->auths.next; link != &ctx->auths; link = link->next) {
        struct gnip_auth *auth = gnip_container(link, struct gnip_auth, link);

        if (auth->cookie == cookie)
            return auth;
    }
    return NULL;
}

/* Credentials that differ from the launcher's: those of another application that shares its key. */
static int add(struct gnip_ctx *ctx, uint32_t cookie, struct gnip_auth **found)
{
    struct gnip_auth *auth;
    uint8_t ptag;

    if (GNI_GetPtag(DEVICE, cookie, &ptag) != GNI_RC_SUCCESS)
        return -FI_EINVAL;
    auth = calloc(1, sizeof(*auth));
    if (auth == NULL)
        return -FI_ENOMEM;
    auth->cookie = cookie;
    auth->ptag = ptag;
    auth->user_limit = ctx->user_key_limit;
    auth->prov_limit = ctx->prov_key_limit;
    port_list_init(&auth->nics);
    port_list_append(&ctx->auths, &auth->link);
    *found = auth;
    return 0;
}

int gnip_auth_find(struct gnip_ctx *ctx, const uint8_t *key, size_t key_bytes,
                   struct gnip_auth **auth)
{
    struct fi_gni_auth_key wanted;
    int rc = 0;

    if (key == NULL || key_bytes == 0) {
        if (key_bytes != 0)
            return -FI_EINVAL;
        port_mutex_lock(&ctx->lock);
        *auth = port_list_empty(&ctx->auths)
                    ? NULL
                    : gnip_container(ctx->auths.next, struct gnip_auth, link);
        port_mutex_unlock(&ctx->lock);
        return *auth != NULL ? 0 : -FI_EIO;
    }
    if (key_bytes != sizeof(wanted))
        return -FI_EINVAL;
    memcpy(&wanted, key, sizeof(wanted)); /* it may be unaligned */
    if (wanted.type != GNIX_AKT_RAW)
        return -FI_EINVAL;
    port_mutex_lock(&ctx->lock);
    *auth = known(ctx, wanted.raw.protection_key);
    if (*auth == NULL)
        rc = add(ctx, wanted.raw.protection_key, auth);
    port_mutex_unlock(&ctx->lock);
    return rc;
}

/* All processes of a node share the numbers of the credentials' keys: each has a part of them. */
static int divide_keys(const struct gnip_ctx *ctx, struct gnip_auth *auth)
{
    if (!auth->limits_set) {
        auth->user_limit = ctx->user_key_limit;
        auth->prov_limit = ctx->prov_key_limit;
    }
    auth->partition = auth->user_limit / ctx->node_processes;
    auth->offset = ctx->node_rank * auth->partition;
    auth->used = calloc(auth->partition / 64 + 1, sizeof(*auth->used));
    return auth->used != NULL ? 0 : -FI_ENOMEM;
}

int gnip_auth_use(struct gnip_ctx *ctx, struct gnip_auth *auth, bool vmdh)
{
    int rc = 0;

    port_mutex_lock(&ctx->lock);
    if (vmdh ? auth->used_basic : auth->used_vmdh)
        rc = -FI_EINVAL;
    else if (!auth->enabled)
        rc = divide_keys(ctx, auth);
    if (rc == 0) {
        auth->enabled = true;
        *(vmdh ? &auth->used_vmdh : &auth->used_basic) = true;
    }
    port_mutex_unlock(&ctx->lock);
    return rc;
}

int gnip_domain_auth(const struct gnip_domain *domain, const uint8_t *key, size_t bytes,
                     struct gnip_auth **auth)
{
    int rc;

    if (bytes == 0) {
        key = NULL;
    } else if (FI_VERSION_LT(domain->api_version, FI_VERSION(1, 5)) || key == NULL ||
               bytes != sizeof(struct fi_gni_auth_key)) {
        return -FI_EINVAL;
    }
    if (bytes == 0 && domain->auth != NULL) {
        *auth = domain->auth;
        return 0;
    }
    rc = gnip_auth_find(domain->ctx, key, bytes, auth);
    return rc != 0 ? rc : gnip_auth_use(domain->ctx, *auth, domain->vmdh);
}
