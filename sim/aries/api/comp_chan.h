/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion channels: the structure that several files of api/ use. */
#ifndef JACQUARD_ARIES_COMP_CHAN_H
#define JACQUARD_ARIES_COMP_CHAN_H

#include "nic/interface.h"

struct gni_comp_chan {
    uint32_t magic;
    uint32_t refs; /* the handle, plus one for each thread blocked in it */
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    int fd; /* an eventfd that counts the channel events not collected */
    struct aries_list attached; /* queues */
    /* Queues that have fired, in the order in which GNI_CompChanGetEvent reports them. */
    struct aries_list fired;
    struct aries_list nic_link;
};

#endif
