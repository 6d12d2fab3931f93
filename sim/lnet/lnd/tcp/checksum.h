/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The checksum of messages in version 2: CRC-32 over header (with the field 0), LNet header and
 * payload, with the seed ~0 and no final inversion, as in the kernel's crc32_le. */
#ifndef JACQUARD_LNET_TCP_CHECKSUM_H
#define JACQUARD_LNET_TCP_CHECKSUM_H

#include "sock.h"

uint32_t lnet_sock_crc32(uint32_t crc, const void *bytes, size_t length);
/* Never 0: 0 stands for none. `header` and tx->head behind it are ready. */
uint32_t lnet_sock_checksum_tx(const struct lnet_sock_header *header,
                               const struct lnet_sock_tx *tx);
/* Of the message that was received completely. */
uint32_t lnet_sock_checksum_rx(const struct lnet_sock_conn *conn);

#endif
