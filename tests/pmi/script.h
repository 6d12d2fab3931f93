/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A server that follows a script, in a thread at the other end of a socket pair: it expects bytes
 * and sends bytes. PMI_FD is set to the client's end, PMI_RANK to 1.
 */
#ifndef TESTS_PMI_SCRIPT_H
#define TESTS_PMI_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct step { /* text ending with `;` is the payload of a frame; other text is as it is */
    const char *expect; /* NULL: nothing is waited for */
    const char *reply; /* NULL: none */
};

/* `left`: lengths are written as Slurm's server does. */
void script_start(const struct step *steps, size_t count, bool left);
/* Until so many steps were followed, or one was not. */
void script_wait(size_t steps);
/* The whole script was followed. Closes the server's end. */
void script_end(void);

#define HYDRA_INIT                                                                         \
    {"cmd=init pmi_version=2 pmi_subversion=0\n",                                          \
     "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},                        \
    {                                                                                      \
        "cmd=fullinit;pmirank=1;threaded=TRUE;cli-caps=strict-fence,thrid,escape,getall;", \
            "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=3;appnum=0;" \
            "debugged=FALSE;pmiverbose=FALSE;rc=0;"                                        \
    }
#define SLURM_INIT                                                                               \
    {"cmd=init pmi_version=2 pmi_subversion=0\n",                                                \
     "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"},                              \
    {                                                                                            \
        "cmd=fullinit;pmirank=1;threaded=TRUE;cli-caps=strict-fence,thrid,escape,getall;",       \
            "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=3;appnum=-1;" \
            "debugged=FALSE;pmiverbose=FALSE;"                                                   \
    }
#define OUR_INIT                                                                           \
    {"cmd=init pmi_version=2 pmi_subversion=0\n",                                          \
     "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},                        \
    {                                                                                      \
        "cmd=fullinit;pmirank=1;threaded=TRUE;cli-caps=strict-fence,thrid,escape,getall;", \
            "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=3;appnum=2;" \
            "spawner-jobid=1.0;debugged=FALSE;pmiverbose=FALSE;"                           \
            "srv-caps=strict-fence,thrid,escape,getall,survivors;rc=0;"                    \
    }
#define FINALIZE                                       \
    {                                                  \
        "cmd=finalize;", "cmd=finalize-response;rc=0;" \
    }

#endif
