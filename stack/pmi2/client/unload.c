/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frees everything at dlclose, and at the end of a process. */
#include "client.h"

static __attribute__((destructor)) void unload(void)
{
    struct pmi2_client **slot = (struct pmi2_client **)port_slot(PORT_SLOT_PMI2);

    if (*slot != NULL && (*slot)->state == PMI2_CLOSED) {
        pmi2_client_free(*slot);
        *slot = NULL;
    }
}
