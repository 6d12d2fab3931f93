/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gnip.h"
#include "params.h"
#include "proto.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "gni_prov/prov.h"

enum type { U32, I32, BOOL, TEXT };

#define AT(member) offsetof(struct gnip_params, member)

/* By dom_ops_val_t. */
static const struct parameter {
    const char *name; /* in the environment GNIX_NAME or FI_GNI_NAME */
    uint32_t offset;
    enum type type;
    int64_t initial, least;
    const char *meaning;
} parameters[GNI_NUM_DOM_OPS] = {
    [GNI_MSG_RENDEZVOUS_THRESHOLD] = {"MSG_RENDEZVOUS_THRESHOLD", AT(msg_rendezvous_threshold), U32,
                                      16384, 0,
                                      "Messages of this many bytes or more use rendezvous"},
    [GNI_RMA_RDMA_THRESHOLD] = {"RMA_RDMA_THRESHOLD", AT(rma_rdma_threshold), U32, 8192, 0,
                                "Transfers of this many bytes or more use the block engine"},
    [GNI_CONN_TABLE_INITIAL_SIZE] = {"CONN_TABLE_INITIAL_SIZE", AT(conn_table_initial), U32, 64, 1,
                                     "Buckets of an endpoint's table of connections at first"},
    [GNI_CONN_TABLE_MAX_SIZE] = {"CONN_TABLE_MAX_SIZE", AT(conn_table_max), U32, 16384, 1,
                                 "Buckets of an endpoint's table of connections at most"},
    [GNI_CONN_TABLE_STEP_SIZE] = {"CONN_TABLE_STEP_SIZE", AT(conn_table_step), U32, 2, 2,
                                  "Factor by which the table of connections grows"},
    [GNI_VC_ID_TABLE_CAPACITY] = {"VC_ID_TABLE_CAPACITY", AT(vc_id_capacity), U32, 128, 1,
                                  "Connections of a NIC at first"},
    [GNI_MBOX_PAGE_SIZE] = {"MBOX_PAGE_SIZE", AT(mbox_page), U32, 2 << 20, 1,
                            "Page size of the memory for mailboxes"},
    [GNI_MBOX_NUM_PER_SLAB] = {"MBOX_NUM_PER_SLAB", AT(mbox_per_slab), U32, 2048, 1,
                               "Mailboxes that are registered together"},
    [GNI_MBOX_MAX_CREDIT] = {"MBOX_MAX_CREDIT", AT(mbox_credits), U32, 64, GNIP_CREDITS_LEAST,
                             "Messages that a mailbox holds"},
    [GNI_MBOX_MSG_MAX_SIZE] = {"MBOX_MSG_MAX_SIZE", AT(mbox_message), U32, 16384, GNIP_SMSG_LEAST,
                               "Bytes of the largest message in a mailbox"},
    [GNI_RX_CQ_SIZE] = {"RX_CQ_SIZE", AT(rx_cq_size), U32, 16384, 1,
                        "Entries of a NIC's queue for arrivals"},
    [GNI_TX_CQ_SIZE] = {"TX_CQ_SIZE", AT(tx_cq_size), U32, 2048, 1,
                        "Transactions of a NIC that may be in flight"},
    [GNI_MAX_RETRANSMITS] = {"MAX_RETRANSMITS", AT(max_retransmits), U32, 5, 0,
                             "Attempts that an operation has"},
    [GNI_ERR_INJECT_COUNT] = {"ERR_INJECT_COUNT", AT(error_inject), I32, 0, INT32_MIN,
                              "Attempts that fail, for tests"},
    [GNI_MR_CACHE_LAZY_DEREG] = {"MR_CACHE_LAZY_DEREG", AT(mr_lazy), I32, 1, 0,
                                 "Registrations are kept when they are not in use"},
    [GNI_MR_CACHE] = {"MR_CACHE", AT(mr_cache), TEXT, 0, 0,
                      "Cache of registrations: internal or none"},
    [GNI_MR_UDREG_REG_LIMIT] = {"MR_UDREG_REG_LIMIT", AT(mr_udreg_limit), U32, 2048, 1,
                                "Registrations in udreg's cache"},
    [GNI_MR_SOFT_REG_LIMIT] = {"MR_SOFT_REG_LIMIT", AT(mr_soft_limit), U32, 4096, 0,
                               "Number of registrations from which unused ones are ended"},
    [GNI_MR_HARD_REG_LIMIT] = {"MR_HARD_REG_LIMIT", AT(mr_hard_limit), I32, -1, -1,
                               "Registrations at most; -1: no limit"},
    [GNI_MR_HARD_STALE_REG_LIMIT] = {"MR_HARD_STALE_REG_LIMIT", AT(mr_stale_limit), U32, 128, 0,
                                     "Unused registrations that are kept"},
    [GNI_XPMEM_ENABLE] = {"XPMEM_ENABLE", AT(xpmem), BOOL, 0, 0,
                          "Processes of a node read each other's memory"},
    [GNI_DGRAM_PROGRESS_TIMEOUT] = {"DGRAM_PROGRESS_TIMEOUT", AT(dgram_timeout), U32, 100, 1,
                                    "Milliseconds between attempts to connect"},
    [GNI_EAGER_AUTO_PROGRESS] = {"EAGER_AUTO_PROGRESS", AT(eager_auto_progress), U32, 0, 0,
                                 "Short messages wake the peer's helper thread"},
};

static const char *const caches[] = {"internal", "none", "udreg"}; /* udreg: as internal */

/* ---- by number ------------------------------------------------------------------------------- */

static const struct parameter *find(dom_ops_val_t which)
{
    return (unsigned)which < GNI_NUM_DOM_OPS ? &parameters[which] : NULL;
}

static void *place(struct gnip_params *params, const struct parameter *parameter)
{
    return (char *)params + parameter->offset;
}

const char *gnip_params_cache_of(const char *name, size_t bytes)
{
    size_t length = strnlen(name, bytes), i;

    for (i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
        if (strlen(caches[i]) == length && memcmp(name, caches[i], length) == 0)
            return caches[i];
    return NULL;
}

size_t gnip_params_bytes(dom_ops_val_t which)
{
    static const size_t bytes[] = {
        [U32] = sizeof(uint32_t), [I32] = sizeof(int32_t), [BOOL] = sizeof(bool), [TEXT] = 0};
    const struct parameter *parameter = find(which);

    return parameter != NULL ? bytes[parameter->type] : 0;
}

/* Parameters of libfabric's own provider; no other value would change anything here. */
static bool is_fixed(const struct parameter *parameter)
{
    return parameter == &parameters[GNI_XPMEM_ENABLE] ||
           parameter == &parameters[GNI_MR_UDREG_REG_LIMIT];
}

static int set_text(struct gnip_params *params, const char *text)
{
    const char *known = text != NULL ? gnip_params_cache_of(text, strlen(text)) : NULL, *used;

    if (known == NULL)
        return -FI_EINVAL;
    used = strcmp(known, "none") == 0 ? known : caches[0];
    params->given_cache = known;
    memset(params->mr_cache, 0, sizeof(params->mr_cache));
    memcpy(params->mr_cache, used, strlen(used));
    return 0;
}

static int set_number(struct gnip_params *params, const struct parameter *parameter, int64_t number)
{
    int64_t used = number < parameter->least ? parameter->least : number;
    uint32_t word;
    bool on;

    params->given[parameter - parameters] = number;
    if (is_fixed(parameter))
        used = parameter->initial;
    word = (uint32_t)used;
    on = used != 0;
    if (parameter->type == BOOL)
        memcpy(place(params, parameter), &on, sizeof(on));
    else
        memcpy(place(params, parameter), &word, sizeof(word));
    return 0;
}

/* From the environment, where a value that would not be used is an error. */
static int set_possible(struct gnip_params *params, const struct parameter *parameter,
                        int64_t number)
{
    if (number < parameter->least)
        return -FI_EINVAL;
    if (is_fixed(parameter) && number != parameter->initial)
        return -FI_EOPNOTSUPP;
    return set_number(params, parameter, number);
}

static int set_possible_text(struct gnip_params *params, const char *text)
{
    return strcmp(text, "udreg") == 0 ? -FI_EOPNOTSUPP : set_text(params, text);
}

int gnip_params_set(struct gnip_params *params, dom_ops_val_t which, const void *value)
{
    const struct parameter *parameter = find(which);

    if (parameter == NULL || value == NULL)
        return -FI_EINVAL;
    switch (parameter->type) {
    case U32:
        return set_number(params, parameter, *(const uint32_t *)value);
    case I32:
        return set_number(params, parameter, *(const int32_t *)value);
    case BOOL:
        return set_number(params, parameter, *(const bool *)value);
    default:
        return set_text(params, *(const char *const *)value);
    }
}

int gnip_params_get(const struct gnip_params *params, dom_ops_val_t which, void *value)
{
    const struct parameter *parameter = find(which);
    uint32_t word;
    bool on;

    if (parameter == NULL || value == NULL)
        return -FI_EINVAL;
    word = (uint32_t)params->given[which];
    on = params->given[which] != 0;
    if (parameter->type == TEXT)
        *(const char **)value = params->given_cache;
    else if (parameter->type == BOOL)
        memcpy(value, &on, sizeof(on));
    else
        memcpy(value, &word, sizeof(word));
    return 0;
}

/* ---- defaults -------------------------------------------------------------------------------- */

static const char *from_environment(const char *prefix, const struct parameter *parameter)
{
    char name[64];
    int length = snprintf(name, sizeof(name), "%s%s", prefix, parameter->name);

    assert(length > 0 && (size_t)length < sizeof(name));
    (void)length;
    return port_getenv(name);
}

void gnip_params_label(dom_ops_val_t which, char label[GNIP_PARAMS_LABEL])
{
    const char *name = parameters[which].name;
    size_t i;

    assert(strlen(name) < GNIP_PARAMS_LABEL);
    for (i = 0; name[i] != '\0'; i++)
        label[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    label[i] = '\0';
}

static int set_from_text(struct gnip_params *params, const struct parameter *parameter,
                         const char *text)
{
    char *end;
    long long number;

    if (parameter->type == TEXT)
        return set_possible_text(params, text);
    number = strtoll(text, &end, 0);
    if (end == text || *end != '\0' || number > (parameter->type == I32 ? INT32_MAX : UINT32_MAX))
        return -FI_EINVAL;
    return set_possible(params, parameter, number);
}

/*
 * The value that libfabric has for FI_GNI_NAME. 0; -FI_ENODATA: not set; -FI_ENOENT: the parameter
 * is not defined, as in a simulation; -FI_EINVAL.
 */
static int set_from_libfabric(struct gnip_params *params, const struct parameter *parameter)
{
    const struct fi_provider *provider = gni_prov_ini();
    char label[GNIP_PARAMS_LABEL], *text = NULL;
    size_t size = 0;
    int number = 0, rc;

    gnip_params_label((dom_ops_val_t)(parameter - parameters), label);
    switch (parameter->type) {
    case TEXT:
        rc = fi_param_get_str((struct fi_provider *)provider, label, &text);
        return rc == 0 ? set_possible_text(params, text) : rc;
    case U32:
        rc = fi_param_get_size_t((struct fi_provider *)provider, label, &size);
        if (rc == 0 && size > UINT32_MAX)
            return -FI_EINVAL;
        return rc == 0 ? set_possible(params, parameter, (int64_t)size) : rc;
    case BOOL:
        rc = fi_param_get_bool((struct fi_provider *)provider, label, &number);
        break;
    default:
        rc = fi_param_get_int((struct fi_provider *)provider, label, &number);
    }
    return rc == 0 ? set_possible(params, parameter, number) : rc;
}

/*
 * GNIX_NAME, or FI_GNI_NAME through libfabric. libfabric reads the environment of its process, but
 * in a simulation each rank has an environment of its own: there no parameter is defined, and the
 * port is asked for FI_GNI_NAME.
 */
static int set_from_user(struct gnip_params *params, const struct parameter *parameter)
{
    const char *text = from_environment("GNIX_", parameter);
    int rc;

    if (text != NULL)
        return set_from_text(params, parameter, text);
    rc = set_from_libfabric(params, parameter);
    if (rc != -FI_ENOENT)
        return rc;
    text = from_environment("FI_GNI_", parameter);
    return text != NULL ? set_from_text(params, parameter, text) : -FI_ENODATA;
}

bool gnip_params_max_nics(uint32_t *nics)
{
    const char *text = port_getenv("GNIX_MAX_NICS");
    size_t wanted = 0;
    int rc = -FI_ENOENT;
    char *end;

    if (text == NULL)
        rc = fi_param_get_size_t(gni_prov_ini(), GNIP_PARAM_MAX_NICS, &wanted);
    if (text == NULL && rc == -FI_ENOENT) /* in a simulation */
        text = port_getenv("FI_GNI_MAX_NICS");
    if (text != NULL) {
        wanted = (size_t)strtoll(text, &end, 0);
        rc = *end == '\0' ? 0 : -FI_EINVAL;
    }
    if (rc == -FI_ENOENT || rc == -FI_ENODATA)
        return false;
    if (rc != 0 || wanted == 0 || wanted > UINT16_MAX) {
        gnip_warn(FI_LOG_CORE,
                  "the value of GNIX_MAX_NICS or FI_GNI_MAX_NICS is not possible: ignored");
        return false;
    }
    *nics = (uint32_t)wanted;
    return true;
}

bool gnip_params_strict(void)
{
    const char *text = port_getenv("GNIX_STRICT");
    int on = 1;

    if (text == NULL && fi_param_get_bool(gni_prov_ini(), GNIP_PARAM_STRICT, &on) == 0)
        return on != 0;
    if (text == NULL) /* in a simulation */
        text = port_getenv("FI_GNI_STRICT");
    return text == NULL || strtoll(text, NULL, 0) != 0;
}

void gnip_params_init(struct gnip_params *params)
{
    size_t i;
    int rc;

    memset(params, 0, sizeof(*params));
    set_text(params, caches[0]);
    for (i = 0; i < GNI_NUM_DOM_OPS; i++) {
        if (parameters[i].type != TEXT)
            set_number(params, &parameters[i], parameters[i].initial);
        rc = set_from_user(params, &parameters[i]);
        if (rc != 0 && rc != -FI_ENODATA)
            gnip_warn(FI_LOG_CORE, "the value of GNIX_%s or FI_GNI_%s is not possible: ignored",
                      parameters[i].name, parameters[i].name);
    }
    if (params->mr_lazy != 0 && port_memory_watch() != 0) {
        /* the provider would not notice that other memory has the address now */
        set_number(params, &parameters[GNI_MR_CACHE_LAZY_DEREG], 0);
        gnip_info(FI_LOG_MR, "changes of memory cannot be noticed: no registration is kept");
    }
}

const char *gnip_params_name(dom_ops_val_t which, enum fi_param_type *type, const char **meaning)
{
    static const enum fi_param_type types[] = {
        [U32] = FI_PARAM_SIZE_T,
        [I32] = FI_PARAM_INT,
        [BOOL] = FI_PARAM_BOOL,
        [TEXT] = FI_PARAM_STRING,
    };

    *type = types[parameters[which].type];
    *meaning = parameters[which].meaning;
    return parameters[which].name;
}
