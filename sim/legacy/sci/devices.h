/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cards of an SCI network. */
#ifndef JACQUARD_LEGACY_SCI_DEVICES_H
#define JACQUARD_LEGACY_SCI_DEVICES_H

#include "model.h"

/* The numbers of the model, behind those of the library's steps. */
enum sci_param {
    SCI_LINE_US = LEGACY_STEPS, /* a line on the link of the sender's card */
    SCI_BASE_US, /* from there until the receiver's processor sees it */
    SCI_BARRIER_US, /* after the last line has left */
    SCI_HOLD_US, /* a line that is not full waits so long in the card */
    SCI_RETRY_US, /* the card repeats a lost line after so long */
    SCI_DEAD_US, /* an error that lasts so long is fatal */
    SCI_DMA_SETUP_US,
    SCI_DMA_US, /* for each byte */
    SCI_CONNECT_US,
    SCI_PARAMS
};

enum { SCI_LINE_BYTES = 64 };

/* The card of an endpoint. */
struct sci_card {
    struct legacy_resource link; /* out of the card */
};
struct sci_devices {
    struct legacy_network *network;
    struct sci_card *cards; /* by endpoint */
};

#endif
