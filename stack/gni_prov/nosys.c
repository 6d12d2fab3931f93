/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that an object does not offer; libfabric does not export its own ones. */
#include "gnip.h"
#include "nosys.h"

int gnip_no_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
    return -FI_ENOSYS;
}

int gnip_no_control(struct fid *fid, int command, void *argument)
{
    return -FI_ENOSYS;
}

int gnip_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    return -FI_EINVAL;
}

/* ---- options and contexts ------------------------------------------------------------------- */

int gnip_no_getopt(fid_t fid, int level, int option, void *value, size_t *bytes)
{
    return -FI_ENOPROTOOPT;
}

int gnip_no_setopt(fid_t fid, int level, int option, const void *value, size_t bytes)
{
    return -FI_ENOPROTOOPT;
}

int gnip_no_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
                   void *context)
{
    return -FI_ENOSYS;
}

int gnip_no_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
                   void *context)
{
    return -FI_ENOSYS;
}

ssize_t gnip_no_size_left(struct fid_ep *ep)
{
    return -FI_ENOSYS;
}

/* ---- connections ----------------------------------------------------------------------------- */

int gnip_no_connect(struct fid_ep *ep, const void *address, const void *data, size_t bytes)
{
    return -FI_ENOSYS;
}

int gnip_no_listen(struct fid_pep *pep)
{
    return -FI_ENOSYS;
}

int gnip_no_accept(struct fid_ep *ep, const void *data, size_t bytes)
{
    return -FI_ENOSYS;
}

int gnip_no_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t bytes)
{
    return -FI_ENOSYS;
}

int gnip_no_shutdown(struct fid_ep *ep, uint64_t flags)
{
    return -FI_ENOSYS;
}

int gnip_no_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
                   void *context)
{
    return -FI_ENOSYS;
}

int gnip_no_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
                 void *context)
{
    return -FI_ENOSYS;
}

/* ---- transfers: a scalable endpoint has its contexts for them -------------------------------- */

#define NOT(function, ...)                                  \
    static ssize_t function(struct fid_ep *ep, __VA_ARGS__) \
    {                                                       \
        return -FI_ENOSYS;                                  \
    }

NOT(recv, void *b, size_t n, void *d, fi_addr_t a, void *c)
NOT(recvv, const struct iovec *v, void **d, size_t n, fi_addr_t a, void *c)
NOT(recvmsg, const struct fi_msg *m, uint64_t f)
NOT(send, const void *b, size_t n, void *d, fi_addr_t a, void *c)
NOT(sendv, const struct iovec *v, void **d, size_t n, fi_addr_t a, void *c)
NOT(sendmsg, const struct fi_msg *m, uint64_t f)
NOT(inject, const void *b, size_t n, fi_addr_t a)
NOT(senddata, const void *b, size_t n, void *d, uint64_t i, fi_addr_t a, void *c)
NOT(injectdata, const void *b, size_t n, uint64_t i, fi_addr_t a)

const struct fi_ops_msg gnip_no_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = recv,
    .recvv = recvv,
    .recvmsg = recvmsg,
    .send = send,
    .sendv = sendv,
    .sendmsg = sendmsg,
    .inject = inject,
    .senddata = senddata,
    .injectdata = injectdata,
};

NOT(trecv, void *b, size_t n, void *d, fi_addr_t a, uint64_t t, uint64_t g, void *c)
NOT(trecvv, const struct iovec *v, void **d, size_t n, fi_addr_t a, uint64_t t, uint64_t g, void *c)
NOT(trecvmsg, const struct fi_msg_tagged *m, uint64_t f)
NOT(tsend, const void *b, size_t n, void *d, fi_addr_t a, uint64_t t, void *c)
NOT(tsendv, const struct iovec *v, void **d, size_t n, fi_addr_t a, uint64_t t, void *c)
NOT(tsendmsg, const struct fi_msg_tagged *m, uint64_t f)
NOT(tinject, const void *b, size_t n, fi_addr_t a, uint64_t t)
NOT(tsenddata, const void *b, size_t n, void *d, uint64_t i, fi_addr_t a, uint64_t t, void *c)
NOT(tinjectdata, const void *b, size_t n, uint64_t i, fi_addr_t a, uint64_t t)

const struct fi_ops_tagged gnip_no_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = trecv,
    .recvv = trecvv,
    .recvmsg = trecvmsg,
    .send = tsend,
    .sendv = tsendv,
    .sendmsg = tsendmsg,
    .inject = tinject,
    .senddata = tsenddata,
    .injectdata = tinjectdata,
};

NOT(rma_read, void *b, size_t n, void *d, fi_addr_t a, uint64_t r, uint64_t k, void *c)
NOT(rma_readv, const struct iovec *v, void **d, size_t n, fi_addr_t a, uint64_t r, uint64_t k,
    void *c)
NOT(rma_msg, const struct fi_msg_rma *m, uint64_t f)
NOT(rma_write, const void *b, size_t n, void *d, fi_addr_t a, uint64_t r, uint64_t k, void *c)
NOT(rma_inject, const void *b, size_t n, fi_addr_t a, uint64_t r, uint64_t k)
NOT(rma_writedata, const void *b, size_t n, void *d, uint64_t i, fi_addr_t a, uint64_t r,
    uint64_t k, void *c)
NOT(rma_injectdata, const void *b, size_t n, uint64_t i, fi_addr_t a, uint64_t r, uint64_t k)

const struct fi_ops_rma gnip_no_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_msg,
    .write = rma_write,
    .writev = rma_readv,
    .writemsg = rma_msg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};

NOT(atomic, const void *b, size_t n, void *d, fi_addr_t a, uint64_t r, uint64_t k,
    enum fi_datatype t, enum fi_op o, void *c)
NOT(atomicv, const struct fi_ioc *v, void **d, size_t n, fi_addr_t a, uint64_t r, uint64_t k,
    enum fi_datatype t, enum fi_op o, void *c)
NOT(atomicmsg, const struct fi_msg_atomic *m, uint64_t f)
NOT(atomic_inject, const void *b, size_t n, fi_addr_t a, uint64_t r, uint64_t k, enum fi_datatype t,
    enum fi_op o)
NOT(fetch, const void *b, size_t n, void *d, void *s, void *e, fi_addr_t a, uint64_t r, uint64_t k,
    enum fi_datatype t, enum fi_op o, void *c)
NOT(fetchv, const struct fi_ioc *v, void **d, size_t n, struct fi_ioc *s, void **e, size_t m,
    fi_addr_t a, uint64_t r, uint64_t k, enum fi_datatype t, enum fi_op o, void *c)
NOT(fetchmsg, const struct fi_msg_atomic *m, struct fi_ioc *s, void **e, size_t n, uint64_t f)
NOT(compare, const void *b, size_t n, void *d, const void *w, void *x, void *s, void *e,
    fi_addr_t a, uint64_t r, uint64_t k, enum fi_datatype t, enum fi_op o, void *c)
NOT(comparev, const struct fi_ioc *v, void **d, size_t n, const struct fi_ioc *w, void **x,
    size_t y, struct fi_ioc *s, void **e, size_t m, fi_addr_t a, uint64_t r, uint64_t k,
    enum fi_datatype t, enum fi_op o, void *c)
NOT(comparemsg, const struct fi_msg_atomic *m, const struct fi_ioc *w, void **x, size_t y,
    struct fi_ioc *s, void **e, size_t n, uint64_t f)

static int valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
    return -FI_ENOSYS;
}

const struct fi_ops_atomic gnip_no_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = atomic,
    .writev = atomicv,
    .writemsg = atomicmsg,
    .inject = atomic_inject,
    .readwrite = fetch,
    .readwritev = fetchv,
    .readwritemsg = fetchmsg,
    .compwrite = compare,
    .compwritev = comparev,
    .compwritemsg = comparemsg,
    .writevalid = valid,
    .readwritevalid = valid,
    .compwritevalid = valid,
};
