/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proof.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

const struct pmrun_proof_kind pmrun_proof_tree = {"JQTREE1\n", "above", "below"},
                              pmrun_proof_names = {"JQNAMES1", "server", "client"};

void pmrun_proof_make(const uint8_t *key, const char *who, const struct pmrun_proof_hello *hello,
                      const uint8_t *nonce_above, uint8_t *proof)
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, PMRUN_PROOF_BYTES);
    gsize length = PMRUN_PROOF_BYTES;

    g_hmac_update(hmac, (const guchar *)who, (gssize)strlen(who));
    g_hmac_update(hmac, (const guchar *)hello, sizeof(*hello));
    g_hmac_update(hmac, nonce_above, PMRUN_PROOF_BYTES);
    g_hmac_get_digest(hmac, proof, &length);
    g_hmac_unref(hmac);
}

gboolean pmrun_proof_equal(const uint8_t *one, const uint8_t *other)
{
    unsigned difference = 0;
    int i;

    for (i = 0; i < PMRUN_PROOF_BYTES; i++)
        difference |= (unsigned)one[i] ^ other[i];
    return difference == 0;
}

void pmrun_proof_random(void *bytes, gsize length)
{
    if (getrandom(bytes, length, 0) != (ssize_t)length)
        abort(); /* not without secrets */
}

gboolean pmrun_proof_send(int fd, const struct pmrun_proof_kind *kind, const uint8_t *key,
                          uint32_t first, uint32_t last)
{
    struct pmrun_proof_hello hello = {.first = htonl(first), .last = htonl(last)};
    struct pmrun_proof_answer answer;
    uint8_t expected[PMRUN_PROOF_BYTES], own[PMRUN_PROOF_BYTES];

    memcpy(hello.magic, kind->magic, sizeof(hello.magic));
    pmrun_proof_random(hello.nonce, sizeof(hello.nonce));
    if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello) ||
        recv(fd, &answer, sizeof(answer), MSG_WAITALL) != (ssize_t)sizeof(answer))
        return FALSE;
    pmrun_proof_make(key, kind->here, &hello, answer.nonce, expected);
    if (!pmrun_proof_equal(expected, answer.proof))
        return FALSE;
    pmrun_proof_make(key, kind->there, &hello, answer.nonce, own);
    return send(fd, own, sizeof(own), MSG_NOSIGNAL) == (ssize_t)sizeof(own);
}
