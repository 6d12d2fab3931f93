/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Steps of a post that single and chained posts share. */
#ifndef JACQUARD_ARIES_POST_H
#define JACQUARD_ARIES_POST_H

#include "api/delivery.h"
#include "api/front.h"

/* A post during the call: its descriptor and the queue that gets its events. */
struct aries_post {
    struct gni_ep *ep;
    gni_post_descriptor_t *descr;
    struct gni_cq *cq; /* gets its events; NULL: none */
    uint16_t expected; /* GNI_CQMODE_LOCAL_EVENT, _GLOBAL_EVENT */
    const char *call; /* a static string, shown in the trace */
};

/* The fields of a descriptor that an element of a chain has, too. */
struct aries_post_element {
    uint64_t local_addr, remote_addr, length;
    const gni_mem_handle_t *local_handle, *remote_handle; /* local: NULL if the type needs none */
    uint32_t amo_cmd;
    uint64_t first_operand, second_operand;
};

/* Checks length and alignment of FMA_PUT, FMA_GET, AMO and their variants. */
gni_return_t aries_fma_check_element(gni_post_type_t type,
                                     const struct aries_post_element *element);
/* Checks whether this domain may use the command of an AMO. */
gni_return_t aries_fma_check_command(const struct gni_nic *nic, gni_post_type_t type,
                                     uint32_t command);
/* Sets the fields of `work` that depend on type and element. */
void aries_fma_fill(struct aries_work *work, const struct gni_ep *ep, gni_post_type_t type,
                    const struct aries_post_element *element);
/* Sets the fields that come from endpoint and descriptor. */
void aries_work_fill(struct aries_work *work, const struct gni_ep *ep,
                     const gni_post_descriptor_t *descr);
void aries_cqwrite_fill(struct aries_work *work, const struct gni_ep *ep,
                        const gni_mem_handle_t *handle, uint64_t value);

/* Resolves post->cq and post->expected for a post that cannot name a queue of its own. */
gni_return_t aries_fma_check_events(struct aries_post *post);
/* Allocates the request, marks the descriptor, and submits the works to the NIC. */
gni_return_t aries_post_launch(const struct aries_post *post, struct aries_work *works,
                               uint32_t count);

#endif
