/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_PMI2_WIRE_INTERNAL_H
#define JACQUARD_PMI2_WIRE_INTERNAL_H

#include "pmi2/wire.h"

static inline struct pmi2_slice pmi2_slice_of(const char *at, size_t length)
{
    return (struct pmi2_slice){at, length};
}

/* One more pair of the message being decoded. False: no memory. */
bool pmi2_decoder_pair(struct pmi2_decoder *decoder, struct pmi2_message *message,
                       struct pmi2_slice key, struct pmi2_slice value);
/* `key=value`, or a key alone, which has the empty value. */
bool pmi2_decoder_item(struct pmi2_decoder *decoder, struct pmi2_message *message,
                       struct pmi2_slice item);
/* What may stand behind `cmd=`: it comes back in answers. */
bool pmi2_command_valid(struct pmi2_slice command);

void pmi2_buffer_add(struct pmi2_buffer *buffer, const void *bytes, size_t length);
void pmi2_buffer_text(struct pmi2_buffer *buffer, const char *text);
/* Closes the message under construction; takes it back unless it may be sent. */
bool pmi2_buffer_close(struct pmi2_buffer *buffer, size_t maximum);
/* Decimal digits, as a slice of `digits`. */
struct pmi2_slice pmi2_format_int(int64_t value, char digits[24]);

#endif
