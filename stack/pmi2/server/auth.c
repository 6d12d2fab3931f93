/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Proof of who a client is; what it has to answer is described in pmi2/auth.h. */
#include "pmi2/auth.h"
#include "internal.h"

int pmi2_auth_challenge(struct pmi2_server *server, struct stranger *stranger)
{
    uint8_t bytes[16];
    size_t i;

    if (!server->has_key || server->config.random == NULL)
        return WIRE_FAIL;
    server->config.random(server->config.context, bytes, sizeof(bytes));
    for (i = 0; i < sizeof(bytes); i++)
        snprintf(stranger->nonce + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static bool same(const char *digest, struct pmi2_slice answer)
{
    unsigned difference = 0;
    size_t i;

    if (answer.length != PMI2_AUTH_ANSWER - 1)
        return false;
    for (i = 0; i < PMI2_AUTH_ANSWER - 1;
         i++) /* always all of it: how long it takes tells nothing */
        difference |= (unsigned char)digest[i] ^ (unsigned char)answer.at[i];
    return difference == 0;
}

bool pmi2_auth_check(const struct pmi2_server *server, const struct stranger *stranger, bool draft,
                     struct pmi2_slice answer)
{
    char wanted[PMI2_AUTH_ANSWER];

    if (stranger->nonce[0] == '\0' || !server->has_key)
        return false;
    pmi2_auth_answer(server->key, sizeof(server->key),
                     (struct pmi2_slice){stranger->nonce, strlen(stranger->nonce)},
                     job_id(stranger->claimed), draft ? -1 : (int64_t)stranger->rank, wanted);
    return same(wanted, answer);
}
