/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proof.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void proof_make(const uint8_t *key, const char *who, const struct proof_hello *hello,
                const uint8_t *nonce_above, uint8_t *proof)
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, PROOF_BYTES);
    gsize length = PROOF_BYTES;

    g_hmac_update(hmac, (const guchar *)who, (gssize)strlen(who));
    g_hmac_update(hmac, (const guchar *)hello, sizeof(*hello));
    g_hmac_update(hmac, nonce_above, PROOF_BYTES);
    g_hmac_get_digest(hmac, proof, &length);
    g_hmac_unref(hmac);
}

gboolean proof_equal(const uint8_t *one, const uint8_t *other)
{
    unsigned difference = 0;
    int i;

    for (i = 0; i < PROOF_BYTES; i++)
        difference |= (unsigned)one[i] ^ other[i];
    return difference == 0;
}

void proof_random(void *bytes, gsize length)
{
    if (getrandom(bytes, length, 0) != (ssize_t)length)
        abort(); /* not without secrets */
}
