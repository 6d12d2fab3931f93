/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sessions: drivers and adapters, who the processes are, start and end. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

static struct mad_session *full(p_mad_madeleine_t madeleine)
{
    return (struct mad_session *)madeleine;
}

/* ---- drivers and adapters -------------------------------------------------------------------- */

static int drivers_init(p_mad_madeleine_t madeleine, const struct mad_driver_entry *table)
{
    int count = 0, error = MAD_OK, i;

    while (table[count].name != NULL)
        count++;
    madeleine->driver = calloc((size_t)count, sizeof(*madeleine->driver));
    if (madeleine->driver == NULL)
        return MAD_ENOMEM;
    for (i = 0; i < count && error == MAD_OK; i++) {
        p_mad_driver_t driver = &madeleine->driver[madeleine->nb_driver];

        driver->madeleine = madeleine;
        driver->id = table[i].id;
        table[i].register_driver(driver);
        if (driver->interface == NULL)
            continue;
        assert(driver->interface->abi_version == MAD_DRIVER_ABI);
        driver->name = strdup(table[i].name);
        madeleine->nb_driver++;
        error = driver->name == NULL                     ? MAD_ENOMEM
                : driver->interface->driver_init != NULL ? driver->interface->driver_init(driver)
                                                         : MAD_OK;
    }
    return error;
}

static p_mad_driver_t find_driver(p_mad_madeleine_t madeleine, mad_driver_id_t id)
{
    for (int i = 0; i < madeleine->nb_driver; i++)
        if (madeleine->driver[i].id == id)
            return &madeleine->driver[i];
    return NULL;
}

static int adapter_init(p_mad_madeleine_t madeleine, mad_driver_id_t id, const char *selector)
{
    p_mad_adapter_t adapter = &madeleine->adapter[madeleine->nb_adapter];
    p_mad_driver_t driver = find_driver(madeleine, id);

    if (driver == NULL)
        return MAD_ENOTSUP;
    adapter->driver = driver;
    adapter->id = madeleine->nb_adapter;
    if (selector != NULL) {
        adapter->selector = strdup(selector);
        if (adapter->selector == NULL)
            return MAD_ENOMEM;
    }
    madeleine->nb_adapter++;
    return driver->interface->adapter_init(adapter);
}

static int default_adapters_init(p_mad_madeleine_t madeleine, const struct mad_driver_entry *table)
{
    int error = MAD_OK;

    for (; table->name != NULL && error == MAD_OK; table++)
        if (table->usable == NULL || table->usable())
            error = adapter_init(madeleine, table->id, NULL);
    return error;
}

static int adapters_init(p_mad_madeleine_t madeleine, const struct mad_session_options *options)
{
    const mad_adapter_set_t *set = options->adapters;
    int count = set != NULL ? set->size : madeleine->nb_driver, error = MAD_OK, i;

    madeleine->adapter = calloc((size_t)count, sizeof(*madeleine->adapter));
    if (madeleine->adapter == NULL)
        return MAD_ENOMEM;
    if (set == NULL)
        return default_adapters_init(madeleine, options->drivers);
    for (i = 0; i < count && error == MAD_OK; i++) {
        const mad_adapter_description_t *each = &set->description[i];

        error = adapter_init(madeleine, each->driver_id, each->adapter_selector);
    }
    return error;
}

static void adapter_fini(p_mad_adapter_t adapter)
{
    const mad_driver_interface_t *interface = adapter->driver->interface;

    if (interface->adapter_exit != NULL)
        interface->adapter_exit(adapter);
    else
        free(adapter->specific);
    free(adapter->name);
    free(adapter->selector);
    free(adapter->parameter);
    free(adapter->place);
    free(adapter->master_parameter);
}

/* ---- who the processes are ------------------------------------------------------------------- */

static uint32_t crc32(const char *text)
{
    uint32_t crc = UINT32_MAX;

    for (; *text != '\0'; text++) {
        crc ^= (unsigned char)*text;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~crc;
}

static int configuration_init(p_mad_madeleine_t madeleine, const struct mad_boot *boot,
                              const struct mad_session_options *options)
{
    mad_configuration_t *configuration = &madeleine->configuration;

    madeleine->configuration_pointer = configuration;
    configuration->size = boot->size;
    configuration->local_host_id = boot->rank;
    configuration->host_name = calloc((size_t)boot->size, sizeof(char *));
    if (configuration->host_name == NULL)
        return MAD_ENOMEM;
    for (int i = 0; i < boot->size; i++) {
        configuration->host_name[i] =
            strdup(options->host_names != NULL ? options->host_names[i] : "");
        if (configuration->host_name[i] == NULL)
            return MAD_ENOMEM;
    }
    return MAD_OK;
}

/* Where no file of 2000 has named it. */
static int name_host(p_mad_madeleine_t madeleine, ntbx_host_id_t rank, const char *host)
{
    char **name = &madeleine->configuration.host_name[rank], *copy;

    if ((*name)[0] != '\0')
        return MAD_OK;
    copy = strdup(host);
    if (copy == NULL)
        return MAD_ENOMEM;
    free(*name);
    *name = copy;
    return MAD_OK;
}

static int publish(p_mad_madeleine_t madeleine, struct mad_boot *boot)
{
    char key[MAD_KEY_MAX], host[256] = "";
    int error, i;

    port_host_name(host, sizeof(host));
    if (host[0] == '\0')
        snprintf(host, sizeof(host), "localhost");
    error = name_host(madeleine, boot->rank, host);
    snprintf(key, sizeof(key), "mad.h.%d", boot->rank);
    if (error == MAD_OK)
        error = boot->ops->put(boot, key, host);
    for (i = 0; i < madeleine->nb_adapter && error == MAD_OK; i++) {
        snprintf(key, sizeof(key), "mad.a.%d.%d", boot->rank, i);
        error = boot->ops->put(boot, key, madeleine->adapter[i].parameter);
    }
    return error;
}

static int agree(p_mad_madeleine_t madeleine, struct mad_boot *boot, char *text, size_t size)
{
    char parameters[MAD_VALUE_MAX], value[128];

    mad_parameter_text(madeleine, parameters, sizeof(parameters));
    snprintf(value, sizeof(value), "1,%d,%d,%d,%08x", boot->size, full(madeleine)->check,
             madeleine->nb_adapter, (unsigned)crc32(parameters));
    return mad_agree(boot, "mad.v", "mad.x.0.0", value, text, size);
}

static int adapters_configure(p_mad_madeleine_t madeleine)
{
    char text[MAD_VALUE_MAX + 1];
    int error = MAD_OK, i;

    for (i = 0; i < madeleine->nb_adapter && error == MAD_OK; i++) {
        p_mad_adapter_t adapter = &madeleine->adapter[i];
        const mad_driver_interface_t *interface = adapter->driver->interface;

        error = mad_adapter_parameter(adapter, 0, text, sizeof(text));
        if (error != MAD_OK)
            break;
        adapter->master_parameter = strdup(text);
        if (adapter->master_parameter == NULL)
            error = MAD_ENOMEM;
        else if (interface->adapter_configuration_init != NULL)
            error = interface->adapter_configuration_init(adapter);
    }
    return error;
}

int mad_adapter_parameter(p_mad_adapter_t adapter, ntbx_host_id_t rank, char *text, size_t size)
{
    struct mad_boot *boot = full(adapter->driver->madeleine)->boot;
    char key[MAD_KEY_MAX];
    int error;

    snprintf(key, sizeof(key), "mad.a.%d.%d", rank, adapter->id);
    error = boot->ops->get(boot, rank, key, text, size);
    return error == MAD_OK && text[0] == '\0' ? MAD_EBOOT : error;
}

int mad_host_of(p_mad_madeleine_t madeleine, ntbx_host_id_t rank, char *text, size_t size)
{
    struct mad_boot *boot = full(madeleine)->boot;
    char key[MAD_KEY_MAX];
    int error;

    snprintf(key, sizeof(key), "mad.h.%d", rank);
    error = boot->ops->get(boot, rank, key, text, size);
    if (error == MAD_OK && text[0] == '\0')
        error = MAD_EBOOT;
    return error == MAD_OK ? name_host(madeleine, rank, text) : error;
}

uint64_t mad_job_hash(p_mad_madeleine_t madeleine)
{
    return full(madeleine)->job_hash;
}

/* ---- start and end --------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

/* Frees everything; the channels are closed. */
static void session_free(p_mad_madeleine_t madeleine)
{
    struct mad_boot *boot = full(madeleine)->boot;
    int i;

    for (i = 0; i < madeleine->nb_adapter; i++)
        adapter_fini(&madeleine->adapter[i]);
    free(madeleine->adapter);
    for (i = 0; i < madeleine->nb_driver; i++) {
        p_mad_driver_t driver = &madeleine->driver[i];

        if (driver->interface->driver_exit != NULL)
            driver->interface->driver_exit(driver);
        else
            free(driver->specific);
        free(driver->name);
    }
    free(madeleine->driver);
    mad_directory_free(madeleine);
    mad_hosts_free(madeleine->configuration.host_name, madeleine->configuration.size);
    free(madeleine->configuration.program_name);
    boot->ops->close(boot);
    free(madeleine);
}

p_mad_madeleine_t mad_session_start(struct mad_boot *boot,
                                    const struct mad_session_options *options)
{
    struct mad_session *session = calloc(1, sizeof(*session));
    char text[MAD_TEXT_MAX] = "";
    int error;

    if (session == NULL) {
        boot->ops->close(boot);
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        return NULL;
    }
    session->boot = boot;
    session->check = options->check;
    session->job_hash = hash_of(boot->job);
    error = configuration_init(&session->object, boot, options);
    if (error == MAD_OK)
        error = drivers_init(&session->object, options->drivers);
    if (error == MAD_OK)
        error = adapters_init(&session->object, options);
    if (error == MAD_OK)
        error = publish(&session->object, boot);
    if (error == MAD_OK)
        error = agree(&session->object, boot, text, sizeof(text));
    if (error == MAD_OK)
        error = adapters_configure(&session->object);
    if (error != MAD_OK) {
        session_free(&session->object);
        MAD_REPORT(error, text[0] != '\0' ? text : mad_error_text(error), NULL, -1);
        return NULL;
    }
    return &session->object;
}

void mad_session_end(p_mad_madeleine_t madeleine)
{
    mad_close_channels(madeleine);
    full(madeleine)->boot->ops->fence(full(madeleine)->boot);
    session_free(madeleine);
}

int mad_protocol_available(p_mad_madeleine_t madeleine, char *name)
{
    for (int i = 0; i < madeleine->nb_driver; i++)
        if (strcmp(madeleine->driver[i].name, name) == 0)
            return (int)madeleine->driver[i].id;
    return -1;
}
