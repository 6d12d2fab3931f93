/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Authentication of clients; pmi2/auth.h describes the answer to a challenge. */
#include "pmi2/auth.h"

#include <assert.h>

#include "internal.h"

#define NONCE_BYTES 16
static_assert(sizeof(((struct pmi2_unauthenticated_client *)NULL)->nonce) == 2 * NONCE_BYTES + 1,
              "a nonce in hexadecimal and a NUL");

int pmi2_auth_challenge(struct pmi2_server *server,
                        struct pmi2_unauthenticated_client *unauthenticated)
{
    uint8_t bytes[NONCE_BYTES];
    size_t i;

    if (!server->has_key || server->config.random == NULL)
        return WIRE_FAIL;
    server->config.random(server->config.context, bytes, sizeof(bytes));
    for (i = 0; i < sizeof(bytes); i++)
        snprintf(unauthenticated->nonce + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static bool same(const char *digest, struct pmi2_slice answer)
{
    unsigned difference = 0;
    size_t i;

    if (answer.length != PMI2_AUTH_ANSWER - 1)
        return false;
    for (i = 0; i < PMI2_AUTH_ANSWER - 1;
         i++) /* compares all bytes, so that the time reveals nothing */
        difference |= (unsigned char)digest[i] ^ (unsigned char)answer.at[i];
    return difference == 0;
}

bool pmi2_auth_check(const struct pmi2_server *server,
                     const struct pmi2_unauthenticated_client *unauthenticated,
                     struct pmi2_slice answer)
{
    struct pmi2_slice nonce = {unauthenticated->nonce, strlen(unauthenticated->nonce)};
    char wanted[PMI2_AUTH_ANSWER];

    assert(unauthenticated->claimed != NULL);
    if (nonce.length == 0 || !server->has_key)
        return false;
    if (unauthenticated->draft)
        pmi2_auth_answer_draft(server->key, sizeof(server->key), nonce, wanted);
    else
        pmi2_auth_answer(server->key, sizeof(server->key), nonce, job_id(unauthenticated->claimed),
                         unauthenticated->rank, wanted);
    return same(wanted, answer);
}
