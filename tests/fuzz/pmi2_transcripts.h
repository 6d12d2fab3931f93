/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of clients and random changes of them, for runs with fixed seeds. */
#ifndef JACQUARD_FUZZ_PMI2_TRANSCRIPTS_H
#define JACQUARD_FUZZ_PMI2_TRANSCRIPTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const transcripts[] = {
    "    26cmd=kvs-put;key=a;value=1;    14cmd=kvs-fence;    33cmd=kvs-get;jobid=;srcid=0;key=a;;",
    "    38cmd=info-getnodeattr;key=n;wait=TRUE;    39cmd=info-putnodeattr;key=n;value=x;;y;",
    "    49cmd=name-publish;name=svc;port=port;;1;infokeycount=0;",
    "   190cmd=spawn;ncmds=2;preputcount=1;ppkey0=P;ppval0=tag#0;subcmd=prog;maxprocs=1;argc=2;"
    "argv0=a1;argv1=a 2;infokeycount=1;infokey0=wdir;infoval0=/t;subcmd=prog2;maxprocs=2;argc=0;"
    "infokeycount=0;",
    "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_appnum\ncmd=barrier_in\n"
    "cmd=put kvsname=1.0 key=k value=v\ncmd=get kvsname=1.0 key=k\ncmd=finalize\n",
    "mcmd=spawn\nnprocs=1\nexecname=prog\ntotspawns=1\nspawnssofar=1\narg1=x\nargcnt=1\n"
    "preput_num=1\npreput_key_0=k\npreput_val_0=v\ninfo_num=0\nendcmd\n",
    "    39cmd=ring;ring-count=1;ring-left=a;ring-ri;    30cmd=abort;isworld=FALSE;msg=b;;;",
};

static uint64_t state;

static inline uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % limit;
}

static inline void start_seed(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15ull;
}

/* One to four transcripts behind the first `begin` bytes, changed in up to five places. There is
 * room for 4096 bytes. */
static inline size_t changed_transcripts(uint8_t *bytes, size_t begin)
{
    size_t length = begin, count = 1 + below(4), i;

    while (count-- > 0) {
        const char *text = transcripts[below(sizeof(transcripts) / sizeof(transcripts[0]))];

        while (*text != '\0')
            bytes[length++] = (uint8_t)*text++;
    }
    for (i = below(6); i > 0 && length > begin + 1; i--) {
        size_t at = begin + below((uint32_t)(length - begin));

        switch (below(4)) {
        case 0:
            bytes[at] = (uint8_t)below(256);
            break;
        case 1:
            bytes[at] = (uint8_t) "; =\n0;"[below(6)];
            break;
        case 2:
            memmove(bytes + at, bytes + at + 1, length - at - 1);
            length--;
            break;
        default:
            length = at + 1;
            break;
        }
    }
    return length;
}

#endif
