/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI-1's functions over PMI-2's services. */
#include "pmi.h"

#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "pmi1.h"
#include "pmi2/mapping.h"

/* With the terminating zero, as its functions count. */
enum { KEY_BYTES = 64, VALUE_BYTES = 1024, NAME_BYTES = 256 };

/* ---- state ------------------------------------------------------------------------------------*/

static void state_free(void *pmi1)
{
    struct pmi1_state *state = pmi1;

    free(state->node_of);
    pmi2_buffer_fini(&state->pairs);
    pmi2_decoder_fini(&state->iteration);
    free(state);
}

struct pmi1_state *pmi2_pmi1_state_get(struct pmi2_client *client, int *code)
{
    struct pmi1_state *state = client->pmi1;
    size_t needed;

    *code = PMI_SUCCESS;
    if (state != NULL)
        return state;
    state = calloc(1, sizeof(*state));
    *code = state != NULL ? pmi2_job_id(client, state->name, sizeof(state->name), &needed)
                          : PMI_ERR_NOMEM;
    if (*code != PMI_SUCCESS) {
        free(state);
        return NULL;
    }
    pmi2_decoder_init(&state->iteration);
    client->pmi1_free = state_free;
    client->pmi1 = state;
    return state;
}

/* Our servers say it, too, if it is longer than a value may be. NULL: they do not. */
static char *long_mapping(struct pmi2_client *client)
{
    static const char name[] = "PMI_process_mapping";
    size_t needed, room;
    char *text = NULL;
    bool found;

    if (pmi2_attribute_pieces(client, false, name, NULL, 0, &needed, &found) != PMI2_SUCCESS ||
        !found)
        return NULL;
    room = needed + 1;
    text = malloc(room);
    if (text != NULL &&
        pmi2_attribute_pieces(client, false, name, text, room, &needed, &found) == PMI2_SUCCESS &&
        found && needed < room)
        return text;
    free(text);
    return NULL;
}

/* If the manager does not report the nodes of ranks, each rank is on a node of its own. */
int pmi2_pmi1_nodes(struct pmi2_client *client, struct pmi1_state *state)
{
    char mapping[PMI2_VALUE_MAX + 1], *longer;
    uint32_t *node_of, rank, size = (uint32_t)client->size;
    size_t needed;
    bool found;
    int code;

    if (state->node_of != NULL)
        return PMI_SUCCESS;
    code = pmi2_attribute(client, false, "PMI_process_mapping", false, mapping, sizeof(mapping),
                          &needed, &found);
    if (code != PMI_SUCCESS)
        return code;
    node_of = calloc(size, sizeof(*node_of));
    if (node_of == NULL)
        return PMI_ERR_NOMEM;
    longer = found ? NULL : long_mapping(client);
    found = found || longer != NULL;
    if (!found || !pmi2_mapping_read(longer != NULL ? longer : mapping, size, node_of))
        for (rank = 0; rank < size; rank++)
            node_of[rank] = rank;
    free(longer);
    state->node_of = node_of;
    return PMI_SUCCESS;
}

int pmi2_pmi1_clique(int *ranks, int room, int *size)
{
    struct pmi2_client *client = pmi2_enter();
    struct pmi1_state *state;
    int rank, count = 0, code;

    if (client == NULL)
        return PMI_ERR_INIT;
    state = pmi2_pmi1_state_get(client, &code);
    if (state != NULL)
        code = pmi2_pmi1_nodes(client, state);
    for (rank = 0; code == PMI_SUCCESS && rank < client->size; rank++) {
        if (state->node_of[rank] != state->node_of[client->rank])
            continue;
        if (count < room)
            ranks[count] = rank;
        count++;
    }
    pmi2_leave(client);
    *size = count;
    return code;
}

/* ---- group ------------------------------------------------------------------------------------*/

int PMI_Init(int *spawned)
{
    PORT_CALL(__func__);
    struct pmi2_client *client;
    int code;

    if (spawned == NULL)
        return PMI_ERR_INVALID_ARG;
    code = pmi2_client_open(true);
    if (code != PMI_SUCCESS)
        return code;
    client = pmi2_enter();
    if (client == NULL)
        return PMI_ERR_INIT;
    *spawned = client->spawned ? PMI_TRUE : PMI_FALSE;
    pmi2_leave(client);
    return PMI_SUCCESS;
}

int PMI_Initialized(int *initialized)
{
    PORT_CALL(__func__);

    if (initialized == NULL)
        return PMI_ERR_INVALID_ARG;
    *initialized = pmi2_client_is_open() ? PMI_TRUE : PMI_FALSE;
    return PMI_SUCCESS;
}

int PMI_Finalize(void)
{
    PORT_CALL(__func__);

    return pmi2_client_close();
}

int PMI_Get_size(int *size)
{
    PORT_CALL(__func__);

    return pmi2_client_number(size, offsetof(struct pmi2_client, size));
}

int PMI_Get_rank(int *rank)
{
    PORT_CALL(__func__);

    return pmi2_client_number(rank, offsetof(struct pmi2_client, rank));
}

int PMI_Get_appnum(int *appnum)
{
    PORT_CALL(__func__);

    return pmi2_client_number(appnum, offsetof(struct pmi2_client, appnum));
}

int PMI_Get_universe_size(int *size)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    char text[24];
    size_t needed;
    int64_t number;
    bool found;
    int code;

    if (client == NULL)
        return PMI_ERR_INIT;
    code =
        pmi2_attribute(client, false, "universeSize", false, text, sizeof(text), &needed, &found);
    if (!found || !pmi2_slice_int(pmi2_text(text), 1, INT32_MAX, &number))
        number = client->size;
    pmi2_leave(client);
    if (size == NULL)
        return PMI_ERR_INVALID_ARG;
    *size = (int)number;
    return code;
}

int PMI_Barrier(void)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    int code;

    if (client == NULL)
        return PMI_ERR_INIT;
    code = pmi2_fence(client, false);
    pmi2_leave(client);
    return code;
}

int PMI_Abort(int exit_code, const char error_msg[])
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();

    if (client != NULL && client->protocol != 0)
        pmi2_abort(client, exit_code, true, error_msg);
    port_exit(exit_code);
}

/* ---- ids and the ranks of the node ------------------------------------------------------------*/

static int give_length(int *length, int value)
{
    if (length == NULL)
        return PMI_ERR_INVALID_ARG;
    *length = value;
    return PMI_SUCCESS;
}

int PMI_Get_id_length_max(int *length)
{
    PORT_CALL(__func__);

    return give_length(length, NAME_BYTES);
}

int pmi2_pmi1_copy_text(const char *text, char *to, int length)
{
    if (to == NULL)
        return PMI_ERR_INVALID_ARG;
    if (length <= (int)strlen(text))
        return PMI_ERR_INVALID_LENGTH;
    memcpy(to, text, strlen(text) + 1);
    return PMI_SUCCESS;
}

static int give_name(char *text, int length)
{
    struct pmi2_client *client = pmi2_enter();
    struct pmi1_state *state;
    int code;

    if (client == NULL)
        return PMI_ERR_INIT;
    state = pmi2_pmi1_state_get(client, &code);
    pmi2_leave(client);
    return state != NULL ? pmi2_pmi1_copy_text(state->name, text, length) : code;
}

int PMI_Get_id(char id_str[], int length)
{
    PORT_CALL(__func__);

    return give_name(id_str, length);
}

int PMI_Get_kvs_domain_id(char id_str[], int length)
{
    PORT_CALL(__func__);

    return give_name(id_str, length);
}

int PMI_Get_clique_size(int *size)
{
    PORT_CALL(__func__);

    return size != NULL            ? pmi2_pmi1_clique(NULL, 0, size)
           : pmi2_client_is_open() ? PMI_ERR_INVALID_ARG
                                   : PMI_ERR_INIT;
}

int PMI_Get_clique_ranks(int ranks[], int length)
{
    PORT_CALL(__func__);
    int size, code = pmi2_pmi1_clique(NULL, 0, &size);

    if (code != PMI_SUCCESS)
        return code;
    if (ranks == NULL)
        return PMI_ERR_INVALID_ARG;
    if (length < size)
        return PMI_ERR_INVALID_LENGTH;
    return pmi2_pmi1_clique(ranks, length, &size);
}

/* ---- key-value space --------------------------------------------------------------------------*/

int PMI_KVS_Get_my_name(char kvsname[], int length)
{
    PORT_CALL(__func__);

    return give_name(kvsname, length);
}

int PMI_KVS_Get_name_length_max(int *length)
{
    PORT_CALL(__func__);

    return give_length(length, NAME_BYTES);
}

int PMI_KVS_Get_key_length_max(int *length)
{
    PORT_CALL(__func__);

    return give_length(length, KEY_BYTES);
}

int PMI_KVS_Get_value_length_max(int *length)
{
    PORT_CALL(__func__);

    return give_length(length, VALUE_BYTES);
}

/* The client, if that is the name of its space. */
static struct pmi2_client *enter_space(const char *kvsname, int *code)
{
    struct pmi2_client *client = pmi2_enter();
    struct pmi1_state *state;

    *code = PMI_ERR_INIT;
    if (client == NULL)
        return NULL;
    state = pmi2_pmi1_state_get(client, code);
    if (state != NULL && (kvsname == NULL || strcmp(kvsname, state->name) != 0))
        *code = PMI_ERR_INVALID_KVS;
    if (*code == PMI_SUCCESS)
        return client;
    pmi2_leave(client);
    return NULL;
}

int PMI_KVS_Put(const char kvsname[], const char key[], const char value[])
{
    PORT_CALL(__func__);
    int code;
    struct pmi2_client *client = enter_space(kvsname, &code);

    if (client == NULL)
        return code;
    if (key == NULL)
        code = PMI_ERR_INVALID_KEY;
    else if (strlen(key) >= KEY_BYTES)
        code = PMI_ERR_INVALID_KEY_LENGTH;
    else if (value == NULL)
        code = PMI_ERR_INVALID_VAL;
    else if (strlen(value) >= VALUE_BYTES)
        code = PMI_ERR_INVALID_VAL_LENGTH;
    else
        code = pmi2_put(client, key, value, 0);
    pmi2_leave(client);
    return code;
}

/* The manager has them already; a barrier will show them. */
int PMI_KVS_Commit(const char kvsname[])
{
    PORT_CALL(__func__);
    int code;
    struct pmi2_client *client = enter_space(kvsname, &code);

    if (client == NULL)
        return code;
    if (client->protocol == 0)
        pmi2_alone_commit(client);
    pmi2_leave(client);
    return code;
}

int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length)
{
    PORT_CALL(__func__);
    char found[PMI2_VALUE_MAX + 1];
    size_t needed;
    int code;
    struct pmi2_client *client = enter_space(kvsname, &code);

    if (client == NULL)
        return code;
    code = key != NULL ? pmi2_get(client, NULL, PMI2_ID_NULL, key, found, sizeof(found), &needed)
                       : PMI_ERR_INVALID_KEY;
    pmi2_leave(client);
    if (code == PMI2_ERR_OTHER)
        return PMI_ERR_INVALID_KEY;
    if (code != PMI_SUCCESS)
        return code;
    if (value == NULL)
        return PMI_ERR_INVALID_VAL;
    if (length <= (int)needed)
        return PMI_ERR_INVALID_LENGTH;
    memcpy(value, found, needed + 1);
    return PMI_SUCCESS;
}

int PMI_KVS_Create(char kvsname[], int length)
{
    PORT_CALL(__func__);

    return pmi2_client_is_open() ? PMI_FAIL : PMI_ERR_INIT;
}

int PMI_KVS_Destroy(const char kvsname[])
{
    PORT_CALL(__func__);

    return pmi2_client_is_open() ? PMI_FAIL : PMI_ERR_INIT;
}

static int give_next(struct pmi1_state *state, char *key, int key_len, char *val, int val_len)
{
    struct pmi2_slice name = {NULL, 0}, value = {NULL, 0};
    struct pmi2_message pair;

    if (key == NULL || val == NULL || key_len < 1 || val_len < 1)
        return PMI_ERR_INVALID_ARG;
    if (pmi2_decoder_next(&state->iteration, &pair) == PMI2_DECODED_MESSAGE) {
        name = pmi2_message_value(&pair, "key");
        value = pmi2_message_value(&pair, "value");
    }
    if (!pmi2_copy(name, key, (size_t)key_len) || !pmi2_copy(value, val, (size_t)val_len))
        return PMI_ERR_INVALID_LENGTH;
    return PMI_SUCCESS;
}

int PMI_KVS_Iter_first(const char kvsname[], char key[], int key_len, char val[], int val_len)
{
    PORT_CALL(__func__);
    int code;
    struct pmi2_client *client = enter_space(kvsname, &code);
    struct pmi1_state *state;

    if (client == NULL)
        return code;
    state = client->pmi1;
    pmi2_buffer_clear(&state->pairs);
    code = pmi2_get_all(client, &state->pairs);
    pmi2_decoder_fini(&state->iteration);
    pmi2_decoder_init(&state->iteration);
    if (code == PMI_SUCCESS &&
        !pmi2_decoder_feed(&state->iteration, state->pairs.bytes, state->pairs.length))
        code = PMI_ERR_NOMEM;
    if (code == PMI_SUCCESS)
        code = give_next(state, key, key_len, val, val_len);
    pmi2_leave(client);
    return code;
}

int PMI_KVS_Iter_next(const char kvsname[], char key[], int key_len, char val[], int val_len)
{
    PORT_CALL(__func__);
    int code;
    struct pmi2_client *client = enter_space(kvsname, &code);

    if (client == NULL)
        return code;
    code = give_next(client->pmi1, key, key_len, val, val_len);
    pmi2_leave(client);
    return code;
}

/* ---- names and spawning -----------------------------------------------------------------------*/

int PMI_Publish_name(const char service_name[], const char port[])
{
    PORT_CALL(__func__);

    return pmi2_api_publish(service_name, NULL, NULL, port);
}

int PMI_Unpublish_name(const char service_name[])
{
    PORT_CALL(__func__);

    return pmi2_api_unpublish(service_name, NULL, NULL);
}

int PMI_Lookup_name(const char service_name[], char port[])
{
    PORT_CALL(__func__);

    return pmi2_api_lookup(service_name, NULL, NULL, port, PMI2_VALUE_MAX + 1);
}

static struct pmi2_spawn_record record(const struct pmi2_spawn_args *args, int i, int j)
{
    const PMI_keyval_t *const *infos = args->info, *preput = args->preput, *vector;

    vector = i < 0 ? preput : infos != NULL ? infos[i] : NULL;
    if (vector == NULL)
        return (struct pmi2_spawn_record){NULL, NULL};
    return (struct pmi2_spawn_record){vector[j].key, vector[j].val};
}

int PMI_Spawn_multiple(int count, const char *cmds[], const char **argvs[], const int maxprocs[],
                       const int info_keyval_sizesp[], const PMI_keyval_t *info_keyval_vectors[],
                       int preput_keyval_size, const PMI_keyval_t preput_keyval_vector[],
                       int errors[])
{
    PORT_CALL(__func__);
    struct pmi2_spawn_args args =
        pmi2_api_spawn_args(count, cmds, argvs, maxprocs, info_keyval_sizesp, info_keyval_vectors,
                            preput_keyval_size, preput_keyval_vector, errors);

    args.record = record;
    return pmi2_api_spawn(&args);
}
