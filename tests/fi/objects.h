/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What all tests of libfabric do in the same way, in a simulation and between processes: they make
 * an endpoint with its objects bound, and close objects in order. Each test reports failures in its
 * own way, so these functions only return them.
 */
#ifndef TESTS_FI_OBJECTS_H
#define TESTS_FI_OBJECTS_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stddef.h>

/* The objects of an endpoint. NULL: not bound; rx_cq may be tx_cq. */
struct fi_objects {
    struct fid_domain *domain;
    struct fi_info *info;
    struct fid_cq *tx_cq, *rx_cq;
    uint64_t cq_flags; /* besides the direction: FI_SELECTIVE_COMPLETION */
    struct fid_av *av;
    struct fid_eq *eq;
};
/*
 * Opens an endpoint and binds these objects; does not enable it. 0, or the negative errno of the
 * call that failed; *call is its name.
 */
int fi_objects_endpoint(const struct fi_objects *objects, struct fid_ep **ep, const char **call);

/*
 * Closes objects in this order, and leaves out those that are NULL. All are tried. 0, or the first
 * negative errno; *failed is the place of that object in the array.
 */
int fi_objects_close(struct fid *const *fids, size_t count, size_t *failed);

/* The fid of an object that may be NULL, for that array. */
#define FI_OBJECT(object) ((object) != NULL ? &(object)->fid : NULL)

#endif
