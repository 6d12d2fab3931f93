/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layer in a process, transports and domains. */
#include <stdio.h>

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "motr/magic.h"
#include "net/net_internal.h"

struct m0_net_root *m0_net_root(void)
{
    void **slot = port_slot(PORT_SLOT_M0_NET);
    struct m0_net_root *root = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    if (root != NULL)
        return root;
    M0_ALLOC_PTR(root);
    if (root == NULL)
        port_panic("there is no memory for m0_net");
    m0_mutex_init(&root->nr_mutex);
    m0_mutex_init(&root->nr_leaf);
    m0_list_init(&root->nr_provisioners);
    if (!m0_atomic64_cas_ptr(slot, NULL, root)) {
        m0_free(root); /* another thread was faster */
        root = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    }
    return root;
}

int m0_net_init(void)
{
    m0_net_root();
    return 0;
}

void m0_net_fini(void)
{
    void **slot = port_slot(PORT_SLOT_M0_NET);
    struct m0_net_root *root = *slot;
    enum port_book book;

    if (root == NULL)
        return;
    for (book = PORT_BOOK_M0_BUFFER; book < PORT_BOOK_KERNEL; book++)
        port_book_close(book);
    m0_list_fini(&root->nr_provisioners);
    m0_mutex_fini(&root->nr_leaf);
    m0_mutex_fini(&root->nr_mutex);
    m0_free(root);
    *slot = NULL;
}

/* ---- transports ------------------------------------------------------------------------------ */

static int place_of(const struct m0_net_root *root, const struct m0_net_xprt *xprt)
{
    int i;

    for (i = 0; i < root->nr_xprt_nr; i++)
        if (root->nr_xprts[i] == xprt)
            return i;
    return -1;
}

void m0_net_xprt_register(const struct m0_net_xprt *xprt)
{
    struct m0_net_root *root = m0_net_root();

    M0_PRE(place_of(root, xprt) < 0);
    M0_PRE(root->nr_xprt_nr < M0_NET_XPRT_MAX);
    root->nr_xprts[root->nr_xprt_nr++] = xprt;
}

void m0_net_xprt_deregister(const struct m0_net_xprt *xprt)
{
    struct m0_net_root *root = m0_net_root();
    int place = place_of(root, xprt);

    M0_PRE(place >= 0);
    for (root->nr_xprt_nr--; place < root->nr_xprt_nr; place++)
        root->nr_xprts[place] = root->nr_xprts[place + 1];
    root->nr_xprts[root->nr_xprt_nr] = NULL;
    if (root->nr_default == xprt)
        root->nr_default = NULL;
}

void m0_net_xprt_default_set(const struct m0_net_xprt *xprt)
{
    m0_net_root()->nr_default = xprt;
}

/* Sources of others hold transports in variables that are not const. */
struct m0_net_xprt *m0_net_xprt_default_get(void)
{
    return (struct m0_net_xprt *)m0_net_root()->nr_default;
}

struct m0_net_xprt **m0_net_all_xprt_get(void)
{
    return (struct m0_net_xprt **)m0_net_root()->nr_xprts;
}

int m0_net_xprt_nr(void)
{
    return m0_net_root()->nr_xprt_nr;
}

bool m0_net_check_xprt(const struct m0_net_xprt *xprt)
{
    return place_of(m0_net_root(), xprt) >= 0;
}

bool m0_net_xprt_is_registered(const struct m0_net_xprt *xprt)
{
    return m0_net_check_xprt(xprt);
}

void m0_net_print_xprt(void)
{
    struct m0_net_root *root = m0_net_root();
    int i;

    for (i = 0; i < root->nr_xprt_nr; i++)
        printf("%s\n", root->nr_xprts[i]->nx_name);
}

/* ---- domains --------------------------------------------------------------------------------- */

int m0_net_domain_init(struct m0_net_domain *dom, const struct m0_net_xprt *xprt)
{
    struct m0_net_root *root = m0_net_root();
    const struct m0_net_xprt_ops *ops = xprt->nx_ops;
    int rc;

    M0_PRE(dom->nd_xprt == NULL);
    m0_mutex_lock(&root->nr_mutex);
    m0_mutex_init(&dom->nd_mutex);
    m0_list_init(&dom->nd_registered_bufs);
    m0_list_init(&dom->nd_tms);
    dom->nd_xprt_private = NULL;
    dom->nd_xprt = xprt;
    dom->nd_magix = M0_NET_DOMAIN_MAGIC;
    rc = ops->xo_dom_init(xprt, dom);
    if (rc == 0) {
        dom->nd_get_max_buffer_size = ops->xo_get_max_buffer_size(dom);
        dom->nd_get_max_buffer_segment_size = ops->xo_get_max_buffer_segment_size(dom);
        dom->nd_get_max_buffer_segments = (uint32_t)ops->xo_get_max_buffer_segments(dom);
        dom->nd_get_max_buffer_desc_size = ops->xo_get_max_buffer_desc_size(dom);
    } else {
        m0_mutex_fini(&dom->nd_mutex);
        dom->nd_xprt = NULL;
    }
    m0_mutex_unlock(&root->nr_mutex);
    return rc;
}

void m0_net_domain_fini(struct m0_net_domain *dom)
{
    struct m0_net_root *root = m0_net_root();

    M0_PRE(dom->nd_xprt != NULL);
    m0_net__provisioner_stop(dom);
    m0_mutex_lock(&root->nr_mutex);
    M0_PRE(m0_list_is_empty(&dom->nd_tms));
    M0_PRE(m0_list_is_empty(&dom->nd_registered_bufs));
    dom->nd_xprt->nx_ops->xo_dom_fini(dom);
    m0_list_fini(&dom->nd_tms);
    m0_list_fini(&dom->nd_registered_bufs);
    m0_mutex_fini(&dom->nd_mutex);
    dom->nd_xprt = NULL;
    dom->nd_magix = 0;
    m0_mutex_unlock(&root->nr_mutex);
}

m0_bcount_t m0_net_domain_get_max_buffer_size(struct m0_net_domain *dom)
{
    M0_PRE(dom->nd_xprt != NULL);
    return dom->nd_get_max_buffer_size;
}

m0_bcount_t m0_net_domain_get_max_buffer_segment_size(struct m0_net_domain *dom)
{
    M0_PRE(dom->nd_xprt != NULL);
    return dom->nd_get_max_buffer_segment_size;
}

int32_t m0_net_domain_get_max_buffer_segments(struct m0_net_domain *dom)
{
    M0_PRE(dom->nd_xprt != NULL);
    return (int32_t)dom->nd_get_max_buffer_segments;
}

m0_bcount_t m0_net_domain_get_max_buffer_desc_size(struct m0_net_domain *dom)
{
    M0_PRE(dom->nd_xprt != NULL);
    return dom->nd_get_max_buffer_desc_size;
}

/* ---- advice of transports that have no better ------------------------------------------------ */

m0_bcount_t default_xo_rpc_max_seg_size(struct m0_net_domain *ndom)
{
    return 131072;
}

uint32_t default_xo_rpc_max_segs_nr(struct m0_net_domain *ndom)
{
    return 1;
}

m0_bcount_t default_xo_rpc_max_msg_size(struct m0_net_domain *ndom, m0_bcount_t rpc_size)
{
    m0_bcount_t most = m0_net_domain_get_max_buffer_size(ndom);

    if (rpc_size == 0 || rpc_size > most)
        return most;
    return rpc_size < M0_SEG_SIZE ? M0_SEG_SIZE : rpc_size;
}

uint32_t default_xo_rpc_max_recv_msgs(struct m0_net_domain *ndom, m0_bcount_t rpc_size)
{
    return 1;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int m0_net_desc_copy(const struct m0_net_buf_desc *from, struct m0_net_buf_desc *to)
{
    M0_PRE(from->nbd_len > 0);
    to->nbd_data = m0_alloc(from->nbd_len);
    if (to->nbd_data == NULL)
        return -ENOMEM;
    memcpy(to->nbd_data, from->nbd_data, from->nbd_len);
    to->nbd_len = from->nbd_len;
    return 0;
}

void m0_net_desc_free(struct m0_net_buf_desc *desc)
{
    m0_free(desc->nbd_data);
    *desc = (struct m0_net_buf_desc){.nbd_len = 0};
}

/* ---- the syntax of addresses ----------------------------------------------------------------- */

/* Up to `digits` digits, at most `most`; NULL: there is no such number. */
static const char *number(const char *text, int digits, unsigned long most)
{
    unsigned long value = 0;
    int i;

    for (i = 0; isdigit((unsigned char)text[i]) && i < digits; i++)
        value = value * 10 + (unsigned long)(text[i] - '0');
    return i == 0 || isdigit((unsigned char)text[i]) || value > most ? NULL : text + i;
}

static const char *after(const char *text, const char *word)
{
    size_t length = strlen(word);

    return text != NULL && strncmp(text, word, length) == 0 ? text + length : NULL;
}

static const char *host(const char *text)
{
    const char *at = after(text, "0@lo"), *net;
    int i;

    if (at != NULL)
        return at;
    for (at = text, i = 0; at != NULL && i < 4; i++) {
        at = number(at, 3, 255);
        if (at != NULL && i < 3)
            at = after(at, ".");
    }
    net = after(at, "@tcp");
    if (net == NULL)
        net = after(at, "@o2ib");
    return net != NULL && isdigit((unsigned char)*net) ? net + 1 : net;
}

bool m0_net_endpoint_is_valid(const char *ep)
{
    const char *at = ep == NULL ? NULL : after(host(ep), ":12345:");

    at = at == NULL ? NULL : after(number(at, 9, 999999999), ":");
    at = at == NULL ? NULL : number(at, 9, 999999999);
    return at != NULL && *at == '\0';
}
