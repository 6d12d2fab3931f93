/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process that calls the driver without the user core, on memory of the test. */
#ifndef JACQUARD_TESTS_M0_PROCESS_H
#define JACQUARD_TESTS_M0_PROCESS_H

#include "user.h"

enum { SLOTS = 32 };

/* A descriptor with objects that are as they should be. */
struct process {
    struct nlx_dd_file *file;
    struct nlx_core_domain *cd;
    struct nlx_core_transfer_mc *ctm;
    struct nlx_core_buffer *cb;
    char *slots;
    struct nlx_core_sq *sq;
    char *memory; /* of the buffer: two pages */
    void *segments[2];
    m0_bcount_t counts[2];
    uint64_t id;
};

struct process process_new(unsigned node, uint64_t id);
void process_free_memory(struct process *p);
struct nlx_core_buffer_event *process_slot(const struct process *p, unsigned i);
int process_dom_init(const struct process *p);
int process_tm_start(struct process *p, unsigned node, uint32_t tmid);
int process_bless(const struct process *p, unsigned nr);
int process_register(const struct process *p);
int process_operation(const struct process *p, unsigned cmd);
long process_tm_verb(const struct process *p, unsigned cmd);
int process_wait(const struct process *p, m0_time_t timeout);
int process_deregister(const struct process *p);
int process_step(struct process *p, unsigned node, unsigned number);
struct process process_up(unsigned node, uint64_t id);
void process_close(struct process *p, unsigned node);

#endif
