/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions of the application, and keys.
 *
 * Basic registration: regions share registrations (mr_cache.c), addresses are virtual ones, and the
 * key is made from the memory handle. With FI_MR_MMU_NOTIFY (VMDH): a region is reserved under the
 * key that the application chose, and addresses are offsets from its first page. Its pages become
 * accessible when the region is registered if they are mapped, else with fi_mr_refresh.
 */
#include <stdlib.h>

#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "findings.h"
#include "gnip.h"
#include "lock.h"
#include "mr.h"
#include "nosys.h"
#include "onesided.h"
#include "req.h"
#include "vc.h"

#define PAGE 4096ull
#define ACCESS (FI_READ | FI_WRITE | FI_RECV | FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE)
/* The network writes to the memory. */
#define WRITTEN (FI_RECV | FI_READ | FI_REMOTE_WRITE)

/* ---- keys ------------------------------------------------------------------------------------ */

/*
 * 64 bits: 36:0 page of the address, 48:37 number of the memory descriptor, 49 the handle was of
 * format 2, 50 read-only, 51 always 1, which tells the provider's keys from the application's.
 */
#define KEY_PAGES 37
#define KEY_FORMAT_2 (1ull << 49)
#define KEY_READ_ONLY (1ull << 50)
#define KEY_BASIC (1ull << 51)
/* Handles: qword1 63:52 descriptor (format 2: qword2 53:42), 51:0 page; qword2 63:56 checksum,
 * 41:34 flags, 33:28 log2 of the page size, 27:0 pages. */
#define HANDLE_READ_ONLY 0x01ull
#define HANDLE_VMDH 0x02ull
#define HANDLE_FORMAT_2 0x80ull
#define HANDLE_PAGES 0xfffffffull
#define MDH_MASK 0xfffu

/* CRC-8 of all other bytes, as a sum of 5e bc 61 c2 9d 23 46 8c for the bits that are set. */
static uint8_t checksum(uint64_t qword1, uint64_t qword2)
{
    static const uint8_t low[16] = {0x00, 0x5e, 0xbc, 0xe2, 0x61, 0x3f, 0xdd, 0x83,
                                    0xc2, 0x9c, 0x7e, 0x20, 0xa3, 0xfd, 0x1f, 0x41};
    static const uint8_t high[16] = {0x00, 0x9d, 0x23, 0xbe, 0x46, 0xdb, 0x65, 0xf8,
                                     0x8c, 0x11, 0xaf, 0x32, 0xca, 0x57, 0xe9, 0x74};
    uint8_t crc = 0;
    unsigned i;

    for (i = 0; i < 15; i++) {
        crc ^= (uint8_t)(i < 8 ? qword1 >> 8 * i : qword2 >> 8 * (i - 8));
        crc = low[crc & 0xf] ^ high[crc >> 4];
    }
    return crc;
}

static void make_handle(uint64_t page, uint32_t mdh, uint64_t flags, gni_mem_handle_t *handle)
{
    handle->qword1 = (uint64_t)mdh << 52 | (page & 0xfffffffffffffull);
    handle->qword2 = flags << 34 | 12ull << 28 | HANDLE_PAGES;
    handle->qword2 |= (uint64_t)checksum(handle->qword1, handle->qword2) << 56;
}

gnip_noinline void gnip_key_handle(const struct gnip_vc *vc, uint64_t key, gni_mem_handle_t *handle)
{
    uint64_t flags = key & KEY_READ_ONLY ? HANDLE_READ_ONLY : 0;
    int64_t page = (int64_t)(key << (64 - KEY_PAGES)) >> (64 - KEY_PAGES);

    if (key & KEY_BASIC)
        make_handle((uint64_t)page, (uint32_t)(key >> KEY_PAGES) & MDH_MASK, flags, handle);
    else
        make_handle(0, (uint32_t)(key + vc->peer_key_offset) & MDH_MASK, HANDLE_VMDH, handle);
}

uint64_t gnip_handle_key(const gni_mem_handle_t *handle, bool read_only)
{
    bool format_2 = (handle->qword2 >> 34 & HANDLE_FORMAT_2) != 0;
    uint64_t mdh = (format_2 ? handle->qword2 >> 42 : handle->qword1 >> 52) & MDH_MASK;

    return (handle->qword1 & ((1ull << KEY_PAGES) - 1)) | mdh << KEY_PAGES | KEY_BASIC |
           (format_2 ? KEY_FORMAT_2 : 0) | (read_only ? KEY_READ_ONLY : 0);
}

/* ---- VMDH ------------------------------------------------------------------------------------ */

static bool claim_key(struct gnip_auth *auth, uint64_t key)
{
    uint64_t bit = 1ull << key % 64;

    return (__atomic_fetch_or(&auth->used[key / 64], bit, __ATOMIC_ACQ_REL) & bit) == 0;
}

static void release_key(struct gnip_auth *auth, uint64_t key)
{
    __atomic_fetch_and(&auth->used[key / 64], ~(1ull << key % 64), __ATOMIC_ACQ_REL);
}

static uint32_t flags_of(const struct gnip_mr *mr)
{
    return GNI_MEM_USE_VMDH | (mr->access & WRITTEN ? GNI_MEM_READWRITE : GNI_MEM_READ_ONLY);
}

/* Makes pages of a reserved region accessible if they are mapped. */
static gni_return_t update(struct gnip_mr *mr, uint64_t address, uint64_t bytes)
{
    uint32_t index = mr->auth->offset + (uint32_t)mr->fid.key;
    gni_return_t rc;

    gnip_lock(&mr->nic->lock);
    rc = GNI_MemRegister(mr->nic->gni, address, bytes, NULL, flags_of(mr) | GNI_MEM_UPDATE_REGION,
                         index, &mr->handle);
    gnip_unlock(&mr->nic->lock);
    return rc;
}

static int reserve(struct gnip_mr *mr)
{
    uint32_t index = mr->auth->offset + (uint32_t)mr->fid.key;
    gni_return_t rc;

    gnip_lock(&mr->nic->lock);
    rc = GNI_SetMddResources(mr->nic->gni, mr->auth->user_limit + mr->auth->prov_limit);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_MemRegister(mr->nic->gni, mr->address, mr->bytes, NULL,
                             flags_of(mr) | GNI_MEM_RESERVE_REGION, index, &mr->handle);
    gnip_unlock(&mr->nic->lock);
    if (rc == GNI_RC_ERROR_RESOURCE)
        return -FI_ENOSPC;
    return -gnip_errno(rc);
}

int gnip_mr_reserve_anew(struct gnip_mr *mr)
{
    int rc = reserve(mr);

    if (rc == 0)
        update(mr, mr->address, mr->bytes);
    return rc;
}

static int register_vmdh(struct gnip_mr *mr, uint64_t key)
{
    int rc;

    if (key >= mr->auth->partition)
        return -FI_EKEYREJECTED;
    if (mr->address % PAGE != 0) /* offsets must begin with 0 */
        return -FI_EINVAL;
    if (!claim_key(mr->auth, key))
        return -FI_ENOKEY;
    mr->vmdh = true;
    mr->fid.key = key;
    rc = reserve(mr);
    if (rc != 0)
        release_key(mr->auth, key);
    else
        update(mr, mr->address,
               mr->bytes); /* those pages that are mapped; fi_mr_refresh does the others */
    return rc;
}

static gnip_cold void deregister_vmdh(struct gnip_mr *mr)
{
    gnip_lock(&mr->nic->lock);
    GNI_MemDeregister(mr->nic->gni, &mr->handle);
    gnip_unlock(&mr->nic->lock);
    release_key(mr->auth, mr->fid.key);
}

static int refresh(struct gnip_mr *mr, const struct fi_mr_modify *modify)
{
    size_t i;

    if (!mr->vmdh || modify == NULL || modify->flags != 0 || modify->attr.mr_iov == NULL)
        return -FI_EINVAL;
    for (i = 0; i < modify->attr.iov_count; i++) {
        uint64_t address = (uintptr_t)modify->attr.mr_iov[i].iov_base;
        uint64_t bytes = modify->attr.mr_iov[i].iov_len;
        gni_return_t rc;

        if (bytes == 0 || address < mr->address || address - mr->address > mr->bytes ||
            bytes > mr->bytes - (address - mr->address))
            return -FI_EINVAL;
        rc = update(mr, address, bytes);
        if (rc != GNI_RC_SUCCESS)
            return -gnip_errno(rc);
    }
    return 0;
}

/* ---- regions --------------------------------------------------------------------------------- */

static int register_basic(struct gnip_mr *mr)
{
    bool written = (mr->access & WRITTEN) != 0;
    struct gnip_mr *registered;
    int rc = gnip_mr_cache_get(mr->domain, mr->auth, (void *)(uintptr_t)mr->address, mr->bytes,
                               written, &registered);

    if (rc != 0)
        return rc == -FI_EAGAIN ? -FI_ENOSPC : rc;
    mr->entry = registered->entry;
    mr->handle = registered->handle;
    if (mr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE))
        gnip_mr_cache_expose(mr->entry);
    mr->fid.key = gnip_handle_key(&mr->handle, !written);
    return 0;
}

bool gnip_mr_serves(const struct gnip_ep *ep, const struct gnip_mr *mr, const void *buffer,
                    uint64_t bytes, bool written)
{
    uint64_t address = (uintptr_t)buffer;

    if (mr->fid.fid.fclass != FI_CLASS_MR || mr->domain != ep->domain)
        return false;
    return address >= mr->address && bytes <= mr->bytes &&
           address - mr->address <= mr->bytes - bytes && (!written || (mr->access & WRITTEN) != 0);
}

void gnip_mr_use(struct gnip_mr *mr)
{
    if (mr->entry != NULL && mr->fid.fid.fclass != FI_CLASS_MR)
        gnip_mr_cache_use(mr->entry);
    else
        __atomic_fetch_add(&mr->uses, 1, __ATOMIC_RELAXED);
}

void gnip_mr_release(struct gnip_mr *mr)
{
    if (mr->fid.fid.fclass != FI_CLASS_MR) { /* from gnip_mr_auto: it is the registration itself */
        gnip_mr_cache_put(mr->entry);
        return;
    }
    if (__atomic_sub_fetch(&mr->uses, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    gnip_mr_cache_remove_region(mr);
    if (mr->vmdh)
        deregister_vmdh(mr);
    else
        gnip_mr_cache_put(mr->entry);
    gnip_unref(&mr->domain->refs);
    free(mr);
}

/* Operations that use the region keep it registered until they end. */
static int mr_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_mr *mr;

    if (fid->fclass != FI_CLASS_MR)
        return -FI_EINVAL;
    mr = gnip_container(fid, struct gnip_mr, fid.fid);
    if (port_checks())
        gnip_findings_mr_closes(mr);
    gnip_mr_release(mr);
    return 0;
}

static int mr_control(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_mr *mr = gnip_container(fid, struct gnip_mr, fid.fid);

    return command == FI_REFRESH ? refresh(mr, argument) : -FI_EOPNOTSUPP;
}

static const struct fi_ops mr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = gnip_no_bind,
    .control = mr_control,
    .ops_open = gnip_no_ops_open,
};

/* ---- registering ----------------------------------------------------------------------------- */

static int check(const struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                 struct fid_mr **mr)
{
    if (flags != 0)
        return -FI_EBADFLAGS;
    if (fid->fclass != FI_CLASS_DOMAIN || mr == NULL || attr == NULL || attr->mr_iov == NULL ||
        attr->iov_count == 0)
        return -FI_EINVAL;
    if (attr->iov_count > 1)
        return -FI_EOPNOTSUPP;
    if (attr->offset != 0 || attr->mr_iov->iov_base == NULL || attr->mr_iov->iov_len == 0 ||
        attr->access == 0 || (attr->access & ~(uint64_t)ACCESS) != 0)
        return -FI_EINVAL;
    return 0;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **out)
{
    PORT_CALL("fi_mr_regattr");
    struct gnip_domain *domain = gnip_container(fid, struct gnip_domain, fid.fid);
    struct gnip_auth *auth;
    struct gnip_mr *mr;
    int rc = check(fid, attr, flags, out);

    if (rc == 0)
        rc = gnip_domain_auth(domain, attr->auth_key, attr->auth_key_size, &auth);
    if (rc == 0)
        rc = gnip_mr_cache_open(domain, auth, NULL);
    if (rc != 0)
        return rc;
    mr = calloc(1, sizeof(*mr));
    if (mr == NULL)
        return -FI_ENOMEM;
    mr->fid.fid.fclass = FI_CLASS_MR;
    mr->fid.fid.context = attr->context;
    mr->fid.fid.ops = (struct fi_ops *)&mr_fid_ops;
    mr->fid.mem_desc = mr;
    mr->domain = domain;
    mr->auth = auth;
    mr->nic = gnip_mr_cache_nic(domain, auth);
    mr->address = (uintptr_t)attr->mr_iov->iov_base;
    mr->bytes = attr->mr_iov->iov_len;
    mr->access = attr->access;
    mr->uses = 1;
    rc = domain->vmdh ? register_vmdh(mr, attr->requested_key) : register_basic(mr);
    if (rc != 0) {
        free(mr);
        return rc;
    }
    gnip_mr_cache_add_region(mr);
    gnip_ref(&domain->refs);
    *out = &mr->fid;
    return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
                   void *context)
{
    PORT_CALL("fi_mr_regv");
    struct fi_mr_attr attr = {
        .mr_iov = iov,
        .iov_count = count,
        .access = access,
        .offset = offset,
        .requested_key = requested_key,
        .context = context,
    };

    return mr_regattr(fid, &attr, flags, mr);
}

int gnip_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
                uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
    PORT_CALL("fi_mr_reg");
    struct iovec iov = {(void *)(uintptr_t)buf, len};

    return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

const struct fi_ops_mr gnip_mr_ops = {
    .size = sizeof(struct fi_ops_mr),
    .reg = gnip_mr_reg,
    .regv = mr_regv,
    .regattr = mr_regattr,
};

/* ---- for operations -------------------------------------------------------------------------- */

int gnip_mr_prepare(struct gnip_ep *ep)
{
    return ep->nic == NULL ? 0 : gnip_mr_cache_open(ep->domain, ep->auth, ep->nic);
}

/* Basic registration in a domain with VMDH, too: the keys belong to the application. */
gnip_noinline int gnip_mr_auto(struct gnip_ep *ep, const void *address, uint64_t bytes,
                               bool written, struct gnip_mr **mr)
{
    return gnip_mr_cache_get(ep->domain, ep->auth, address, bytes, written, mr);
}
