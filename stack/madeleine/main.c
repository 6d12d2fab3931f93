/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mad_init and mad_exit: the session of a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "driver/mpi.h"
#include "session.h"

const struct mad_driver_entry mad_drivers[] = {
#ifndef MAD_SIMULATED /* these are the host's */
    {"tcp", mad_TCP, mad_tcp_register, NULL, NULL},
#endif
    {"gni", mad_GNI, mad_gni_register, mad_gni_usable, NULL},
    {"lnet", mad_LNET, mad_lnet_register, mad_lnet_usable, NULL},
#ifdef MAD_SIMULATED
    {"sisci", mad_SISCI, mad_sisci_register, mad_sisci_usable, NULL},
    {"tcp", mad_TCP, mad_tcp_register, mad_tcp_usable, NULL},
    {"via", mad_VIA, mad_via_register, mad_via_usable, NULL},
    {"sbp", mad_SBP, mad_sbp_register, mad_sbp_usable, NULL},
    {"mpi", mad_MPI, mad_mpi_register, mad_mpi_usable, NULL},
#endif
#ifndef MAD_SIMULATED
    {"shm", mad_SHM, mad_shm_register, NULL, NULL},
    {"loop", mad_LOOP, mad_loop_register, NULL, NULL},
    {"mpi", mad_MPI, mad_mpi_register, mad_mpi_usable, mad_mpi_boot},
#endif
    {NULL},
};

/* Parameters of drivers that both ends of a connection must share. */
static const struct {
    const char *name, *driver; /* NULL: of any session */
} shared_parameters[] = {
    {"MAD_TCP_EAGER", NULL},        {"MAD_GNI_SMSG_MAX", NULL},      {"MAD_GNI_BTE_MIN", NULL},
    {"MAD_LNET_EAGER_MAX", NULL},   {"MAD_LNET_PORTAL", NULL},       {"MAD_FORWARD_MTU", NULL},
    {"MAD_FORWARD_DEPTH", NULL},    {"MAD_SISCI_SEGMENTS", "sisci"}, {"MAD_SISCI_OPT_MAX", "sisci"},
    {"MAD_SISCI_DMA_MIN", "sisci"}, {"MAD_VIA_FORCE", "via"},
};

/* Words that a parameter may have in place of a number: the methods of VIA, by link, from 1. */
static const char *const parameter_words[] = {"static", "dynamic", "rdma"};

static bool session_has(const mad_madeleine_t *madeleine, const char *driver)
{
    for (int i = 0; i < madeleine->nb_adapter; i++)
        if (strcmp(madeleine->adapter[i].driver->name, driver) == 0)
            return true;
    return false;
}

long mad_parameter(const char *name, long otherwise)
{
    char **each = mad_process()->parameters;
    const char *text = port_getenv(name);
    size_t length = strlen(name);
    char *end;
    long value;

    for (; each != NULL && *each != NULL; each++)
        if (strncmp(*each, name, length) == 0 && (*each)[length] == '=')
            text = *each + length + 1;
    if (text == NULL || *text == '\0')
        return otherwise;
    for (size_t i = 0; i < sizeof(parameter_words) / sizeof(parameter_words[0]); i++)
        if (strcmp(text, parameter_words[i]) == 0)
            return (long)i + 1;
    value = strtol(text, &end, 10);
    return *end == '\0' ? value : otherwise;
}

void mad_parameter_text(const mad_madeleine_t *madeleine, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < madeleine->nb_adapter && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s,", madeleine->adapter[i].driver->name);
    for (size_t i = 0; i < sizeof(shared_parameters) / sizeof(shared_parameters[0]); i++)
        if (used < size && (shared_parameters[i].driver == NULL ||
                            session_has(madeleine, shared_parameters[i].driver)))
            used += (size_t)snprintf(text + used, size - used, "%s:%ld,", shared_parameters[i].name,
                                     mad_parameter(shared_parameters[i].name, 0));
}

p_mad_madeleine_t mad_get_madeleine(void)
{
    return mad_process()->session;
}

/* The adapters and channels of a configuration file. */
struct configuration {
    struct mad_plan *plan; /* of a file in the configuration language, or NULL */
    char **hosts; /* of a file of 2000, or NULL */
    p_mad_adapter_set_t adapters; /* of the plan or the environment, or NULL */
};

static bool read_plan(const char *path, struct mad_session_options *options,
                      struct configuration *configuration)
{
    char error[MAD_CONFIG_ERROR_MAX];

    configuration->plan = mad_plan_make(path, mad_plan_file, error);
    if (configuration->plan == NULL) {
        MAD_REPORT(MAD_ECONFIG, error, NULL, -1);
        return false;
    }
    if (configuration->plan->channel_count != 0)
        options->host_names = configuration->plan->hosts;
    options->host_count = configuration->plan->size;
    mad_process()->parameters = configuration->plan->parameters;
    configuration->adapters = mad_plan_adapters(configuration->plan, mad_drivers);
    options->adapters = configuration->adapters;
    return configuration->adapters != NULL;
}

/* The hosts, adapters and channels that a file names. False: reported. */
static bool read_configuration(const char *file, const struct mad_command_line *line,
                               struct mad_session_options *options,
                               struct configuration *configuration)
{
    const char *variable = port_getenv("MAD_CONF");
    char path[4096];

    if (file == NULL && line->directory == NULL && variable == NULL)
        return true;
    if (file != NULL || line->directory == NULL)
        snprintf(path, sizeof(path), "%s", file != NULL ? file : variable);
    else
        snprintf(path, sizeof(path), "%s/.mad2_conf", line->directory);
    if (mad_plan_is_meant(path))
        return read_plan(path, options, configuration);
    configuration->hosts = mad_hosts_read(path, &options->host_count);
    options->host_names = configuration->hosts;
    return configuration->hosts != NULL;
}

/* The plan has the parameters of the session's drivers, so it stays with the session. */
static void configuration_free(struct configuration *configuration, int host_count)
{
    struct mad_process *process = mad_process();

    mad_hosts_free(configuration->hosts, host_count);
    mad_adapter_set_free(configuration->adapters);
    process->plan = configuration->plan;
    if (process->session != NULL)
        return;
    process->plan = NULL;
    process->parameters = NULL;
    mad_plan_free(configuration->plan);
}

/* Whether the options of the command line fit to the session. */
static const char *contradiction(const struct mad_boot *boot, const struct mad_command_line *line,
                                 const struct mad_session_options *options, int adapters)
{
    if (line->devices > adapters)
        return "too much parameters";
    if (line->devices != 0 && line->devices < adapters)
        return "not enough parameters";
    if (line->rank >= 0 && line->rank != boot->rank)
        return "the option -rank is not the rank that the process manager gave";
    if (options->host_names != NULL && options->host_count != boot->size)
        return "the configuration file has another number of hosts than the session has processes; "
               "start them with pmrun";
    return NULL;
}

static int check_level(void)
{
    long level = mad_parameter("MAD_CHECK", 0);

    return level < 0 ? 0 : level > 2 ? 2 : (int)level;
}

static int adapter_count(const mad_adapter_set_t *set)
{
    int usable = 0;

    if (set != NULL)
        return set->size;
    for (const struct mad_driver_entry *each = mad_drivers; each->name != NULL; each++)
        usable += each->usable == NULL || each->usable();
    return usable;
}

/* By the network that starts the processes, if an adapter is one of its; else by PMI-2. */
static struct mad_boot *find_boot(const mad_adapter_set_t *set)
{
    const struct mad_driver_entry *each;

    for (int i = 0; set != NULL && i < set->size; i++)
        for (each = mad_drivers; each->name != NULL; each++) {
            if (each->boot != NULL && each->id == set->description[i].driver_id)
                return each->boot(set->description[i].adapter_selector);
        }
    return mad_boot_pmi2();
}

static p_mad_madeleine_t start(const struct mad_command_line *line,
                               const struct mad_session_options *options)
{
    struct mad_boot *boot = find_boot(options->adapters);
    const char *wrong;

    if (boot == NULL) {
        MAD_REPORT(MAD_EBOOT, "the process manager does not answer", NULL, -1);
        return NULL;
    }
    wrong = contradiction(boot, line, options, adapter_count(options->adapters));
    if (wrong != NULL) {
        boot->ops->close(boot);
        MAD_REPORT(MAD_EBOOT, wrong, NULL, -1);
        return NULL;
    }
    return mad_session_start(boot, options);
}

/* Also opens the channels of a configuration. NULL: reported. */
static p_mad_madeleine_t start_with(const struct mad_command_line *line,
                                    const struct mad_session_options *options,
                                    const struct mad_plan *plan)
{
    p_mad_madeleine_t madeleine = start(line, options);

    if (madeleine == NULL || plan == NULL || mad_plan_open(madeleine, plan))
        return madeleine;
    mad_session_end(madeleine);
    return NULL;
}

p_mad_madeleine_t mad_init(int *argc, char **argv, char *configuration_file,
                           p_mad_adapter_set_t adapter_set)
{
    struct mad_process *process = mad_process();
    struct mad_session_options options = {
        .drivers = mad_drivers, .adapters = adapter_set, .check = check_level()};
    const char *list = port_getenv("MAD_ADAPTERS");
    struct configuration configuration = {.plan = NULL};
    struct mad_command_line line;
    const char *wrong = mad_command_line(argc, argv, &line);

    if (process->session != NULL || wrong != NULL) {
        MAD_REPORT(wrong != NULL ? MAD_EBOOT : MAD_ESTATE,
                   wrong != NULL ? wrong : "mad_init: the process has a session", NULL, -1);
        return NULL;
    }
    if (adapter_set != NULL && mad_adapter_set_complete(adapter_set, mad_drivers) != MAD_OK) {
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        return NULL;
    }
    if (read_configuration(configuration_file, &line, &options, &configuration)) {
        if (options.adapters == NULL && list != NULL) {
            configuration.adapters = mad_adapter_set_parse(list, mad_drivers);
            options.adapters = configuration.adapters;
        }
        process->sessions++;
        if (options.adapters != NULL || list == NULL)
            process->session = start_with(&line, &options, configuration.plan);
    }
    configuration_free(&configuration, configuration.plan == NULL ? options.host_count : 0);
    return process->session;
}

void mad_exit(p_mad_madeleine_t madeleine)
{
    struct mad_process *process = mad_process();

    if (madeleine == NULL || madeleine != process->session) {
        MAD_REPORT(MAD_EINVAL, "mad_exit: not the session of this process", NULL, -1);
        return;
    }
    process->session = NULL;
    mad_session_end(madeleine);
    mad_plan_free(process->plan);
    process->plan = NULL;
    process->parameters = NULL;
}
