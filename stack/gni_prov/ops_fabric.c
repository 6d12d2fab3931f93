/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_open_ops() of a fabric: "fab ops 1" to "fab ops 3". */
#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "params.h"
#include "port/list.h"

#define KEYS_MAX 4096

static struct gnip_fabric *fabric_of(struct fid *fid)
{
    return fid != NULL && fid->fclass == FI_CLASS_FABRIC
               ? gnip_container(fid, struct gnip_fabric, fid.fid)
               : NULL;
}

/* ---- "fab ops 1" ----------------------------------------------------------------------------- */

static uint32_t *value_of(struct gnip_ctx *ctx, fab_ops_val_t which)
{
    switch (which) {
    case GNI_WAIT_THREAD_SLEEP:
        return &ctx->wait_sleep;
    case GNI_DEFAULT_USER_REGISTRATION_LIMIT:
        return &ctx->user_key_limit;
    case GNI_DEFAULT_PROV_REGISTRATION_LIMIT:
        return &ctx->prov_key_limit;
    case GNI_WAIT_SHARED_MEMORY_TIMEOUT:
        return &ctx->shared_memory_timeout;
    default:
        return NULL;
    }
}

/* Credentials that are not in use and have no limits of their own get the default ones. */
static void pass_on(struct gnip_ctx *ctx)
{
    struct port_link *link;

    for (link = ctx->auths.next; link != &ctx->auths; link = link->next) {
        struct gnip_auth *auth = gnip_container(link, struct gnip_auth, link);

        if (auth->enabled || auth->limits_set)
            continue;
        auth->user_limit = ctx->user_key_limit;
        auth->prov_limit = ctx->prov_key_limit;
    }
}

static int set_1(struct fid *fid, fab_ops_val_t which, void *value)
{
    struct gnip_fabric *fabric = fabric_of(fid);
    uint32_t *place = fabric != NULL ? value_of(fabric->ctx, which) : NULL;
    bool keys = which == GNI_DEFAULT_USER_REGISTRATION_LIMIT ||
                which == GNI_DEFAULT_PROV_REGISTRATION_LIMIT;

    if (place == NULL || value == NULL || (keys && *(uint32_t *)value > KEYS_MAX))
        return -FI_EINVAL;
    port_mutex_lock(&fabric->ctx->lock);
    *place = *(uint32_t *)value;
    if (keys)
        pass_on(fabric->ctx);
    port_mutex_unlock(&fabric->ctx->lock);
    return 0;
}

static int get_1(struct fid *fid, fab_ops_val_t which, void *value)
{
    struct gnip_fabric *fabric = fabric_of(fid);
    uint32_t *place = fabric != NULL ? value_of(fabric->ctx, which) : NULL;

    if (place == NULL || value == NULL)
        return -FI_EINVAL;
    port_mutex_lock(&fabric->ctx->lock);
    *(uint32_t *)value = *place;
    port_mutex_unlock(&fabric->ctx->lock);
    return 0;
}

static const struct fi_gni_ops_fab ops_1 = {.set_val = set_1, .get_val = get_1};

/* ---- keys of credentials --------------------------------------------------------------------- */

static int find_auth(struct gnip_ctx *ctx, const uint8_t *key, size_t bytes,
                     struct gnip_auth **auth)
{
    /* libfabric's own provider also has a key for the default credentials. */
    return gnip_auth_find(ctx, bytes != 0 ? key : NULL, key != NULL ? bytes : 0, auth);
}

static int set_limit(struct gnip_ctx *ctx, const uint8_t *key, size_t bytes,
                     gnix_auth_key_opt_t option, uint32_t value)
{
    struct gnip_auth *auth;
    int rc;

    if (option == GNIX_TOTAL_KEYS_NEEDED || option == GNIX_USER_KEY_MAX_PER_RANK)
        return -FI_EOPNOTSUPP;
    if ((option != GNIX_USER_KEY_LIMIT && option != GNIX_PROV_KEY_LIMIT) || value >= KEYS_MAX)
        return -FI_EINVAL;
    rc = find_auth(ctx, key, bytes, &auth);
    if (rc != 0)
        return rc;
    port_mutex_lock(&ctx->lock);
    if (auth->enabled) {
        rc = -FI_EAGAIN;
    } else {
        *(option == GNIX_USER_KEY_LIMIT ? &auth->user_limit : &auth->prov_limit) = value;
        auth->limits_set = true;
    }
    port_mutex_unlock(&ctx->lock);
    return rc;
}

static int get_limit(struct gnip_ctx *ctx, const uint8_t *key, size_t bytes,
                     gnix_auth_key_opt_t option, uint32_t *value)
{
    struct gnip_auth *auth;
    int rc = find_auth(ctx, key, bytes, &auth);

    if (rc != 0)
        return rc;
    port_mutex_lock(&ctx->lock);
    switch (option) {
    case GNIX_USER_KEY_LIMIT:
        *value = auth->user_limit;
        break;
    case GNIX_PROV_KEY_LIMIT:
        *value = auth->prov_limit;
        break;
    case GNIX_TOTAL_KEYS_NEEDED:
        *value = auth->user_limit + auth->prov_limit;
        break;
    case GNIX_USER_KEY_MAX_PER_RANK:
        *value = auth->user_limit / ctx->node_processes;
        break;
    default:
        rc = -FI_EINVAL;
    }
    port_mutex_unlock(&ctx->lock);
    return rc;
}

static int set_2(uint8_t *key, size_t bytes, gnix_auth_key_opt_t option, void *value)
{
    struct gnip_ctx *ctx = gnip_ctx_current();

    return value == NULL || ctx == NULL ? -FI_EINVAL
                                        : set_limit(ctx, key, bytes, option, *(uint32_t *)value);
}

static int get_2(uint8_t *key, size_t bytes, gnix_auth_key_opt_t option, void *value)
{
    struct gnip_ctx *ctx = gnip_ctx_current();

    return value == NULL || ctx == NULL ? -FI_EINVAL : get_limit(ctx, key, bytes, option, value);
}

static const struct fi_gni_auth_key_ops_fab ops_2 = {.set_val = set_2, .get_val = get_2};

/* ---- "fab ops 3" ----------------------------------------------------------------------------- */

static int get_3(struct fid *fid, const char *key, size_t bytes, gnix_auth_key_opt_t option,
                 uint32_t *value)
{
    struct gnip_fabric *fabric = fabric_of(fid);

    return fabric == NULL || value == NULL
               ? -FI_EINVAL
               : get_limit(fabric->ctx, (const uint8_t *)key, bytes, option, value);
}

static int set_3(struct fid *fid, const char *key, size_t bytes, gnix_auth_key_opt_t option,
                 uint32_t value)
{
    struct gnip_fabric *fabric = fabric_of(fid);

    return fabric == NULL ? -FI_EINVAL
                          : set_limit(fabric->ctx, (const uint8_t *)key, bytes, option, value);
}

static int set_tunable(struct fid *fid, dom_ops_val_t which, const void *value, size_t bytes)
{
    struct gnip_fabric *fabric = fabric_of(fid);
    size_t wanted = gnip_params_bytes(which);
    const char *text = value;
    int rc;

    if (fabric == NULL || value == NULL)
        return -FI_EINVAL;
    /* A text is passed directly, not by a pointer to it, with or without its final zero. */
    if (which == GNI_MR_CACHE) {
        text = gnip_params_cache_of(value, bytes);
        value = &text;
    } else if (wanted == 0 || bytes != wanted) {
        return -FI_EINVAL;
    }
    port_mutex_lock(&fabric->lock);
    rc = gnip_params_set(&fabric->params, which, value);
    port_mutex_unlock(&fabric->lock);
    return rc;
}

static const struct fi_gni_ops_fab3 ops_3 = {
    .get_u32 = get_3, .set_u32 = set_3, .set_tunable = set_tunable};

int gnip_fabric_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    PORT_CALL("fi_open_ops");
    if (fabric_of(fid) == NULL || name == NULL || ops == NULL)
        return -FI_EINVAL;
    if (strcmp(name, FI_GNI_FAB_OPS_1) == 0)
        *ops = (void *)&ops_1;
    else if (strcmp(name, FI_GNI_FAB_OPS_2) == 0)
        *ops = (void *)&ops_2;
    else if (strcmp(name, FI_GNI_FAB_OPS_3) == 0)
        *ops = (void *)&ops_3;
    else
        return -FI_EINVAL;
    return 0;
}
