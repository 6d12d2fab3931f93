/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scenario's text as processes of a fabric read it: valid plans, invalid ones, and random
 * changes. */
#include <stdio.h>
#include <stdlib.h>
#include "full.h"
#include "plan.h"

#define EXPECT(condition)                                                   \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static const char good[] =
    "[fabric]\nversion=2\ngroups=2\nchassis=2\nslots=4\ncables=2\nlatency=xc30_snb\n"
    "[params]\naries.nic.tx_ns=100\n"
    "[rule 0]\npoint=aries.packet\naction=drop\nlabel=a loss\nfrom=10000000\nuntil=5000000000\n"
    "probability=0.001\n"
    "[rule 1]\npoint=aries.cq\naction=drop\nlabel=full\nskip=3\ncount=1\ntarget=5\nkind=0\n"
    "[timed 2]\ntime=2000000000\nwhat=node\nnode=3\naction=crash\n"
    "[timed 3]\ntime=1\nwhat=node\nnode=3\naction=hang\n"
    "[timed 4]\ntime=5\nwhat=cq_overrun\nnode=2\n"
    "[timed 5]\ntime=5\nwhat=memory\nnode=2\nregion=7\n"
    "[timed 6]\ntime=6\nwhat=error\nnode=1\ncategory=8\ncode=47\n"
    "[timed 7]\ntime=7\nwhat=link\nrouter=1\npeer=2\nwhich=0\nstate=down\n"
    "[timed 8]\ntime=9\nwhat=router\nrouter=5\nstate=up\n";

#define FABRIC "[fabric]\nversion=2\n"
static const char *const bad[] = {
    "[fabric]\nversion=1\n",
    "[params]\na=1\n",
    "jacquard-fabric 1\n",
    FABRIC "groups=2\nchassis=2\nslots=4\n",
    FABRIC "groups=0\nchassis=2\nslots=4\ncables=2\n",
    FABRIC "[rule 0]\npoint=aries.packet\naction=explode\nlabel=x\n",
    FABRIC "[rule 0]\npoint=aries.packet\naction=deliver\nlabel=x\n",
    FABRIC "[rule 0]\naction=drop\nlabel=x\n",
    FABRIC "[rule 0]\npoint=aries.packet\naction=drop\nlabel=x\nprobability=1.5\n",
    FABRIC "[rule 0]\npoint=aries.packet\naction=drop\nlabel=x\nprobability=nan\n",
    FABRIC "[timed 0]\ntime=99999999999999999999\nwhat=node\nnode=3\naction=crash\n",
    FABRIC "[timed 0]\ntime=1\nwhat=node\nnode=4294967295\naction=crash\n",
    FABRIC "[timed 0]\ntime=1\nwhat=node\naction=crash\n",
    FABRIC "[timed 0]\ntime=7\nwhat=link\nrouter=1\npeer=2\nwhich=0\nstate=gone\n",
    FABRIC "[timed 0]\ntime=7\nwhat=link\nrouter=1\npeer=2\nstate=down\n",
    FABRIC "[timed 0]\ntime=7\nwhat=router\nstate=down\n",
    FABRIC "[other]\na=1\n",
    FABRIC "[params]\na=nan\n",
};

/* Each group with a key that it cannot have, which the one line of explanation names. */
static const char *const unknown[] = {
    FABRIC "colour=2\n",
    FABRIC "[rule 0]\npoint=aries.packet\naction=drop\nlabel=x\ncolour=1\n",
    FABRIC "[timed 0]\ntime=1\nwhat=node\nnode=3\naction=crash\ncolour=1\n",
    FABRIC "[timed 0]\ntime=5\nwhat=cq_overrun\nnode=2\ncolour=7\n",
    FABRIC "[timed 0]\ntime=5\nwhat=memory\nnode=2\ncolour=7\n",
    FABRIC "[timed 0]\ntime=6\nwhat=error\nnode=1\ncategory=8\ncode=47\ncolour=1\n",
    FABRIC "[timed 0]\ntime=7\nwhat=link\nrouter=1\npeer=2\nwhich=0\nstate=down\ncolour=1\n",
    FABRIC "[timed 0]\ntime=9\nwhat=router\nrouter=5\nstate=up\ncolour=1\n",
    FABRIC "[timed 0]\ntime=9\nwhat=router\nrouter=5\nstate=up\npeer=1\n", /* of a link only */
};

static void unknown_keys_are_refused(void)
{
    struct aries_live_plan plan;
    char why[256];
    size_t i;

    for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        why[0] = '\0';
        EXPECT(!aries_live_plan_read(&plan, unknown[i], strlen(unknown[i]), why, sizeof(why)));
        EXPECT(strstr(why, "unknown key \"colour\" in group [") != NULL ||
               strstr(why, "unknown key \"peer\" in group [timed 0]") != NULL);
        EXPECT(strchr(why, '\n') == NULL);
    }
}

int main(void)
{
    struct aries_live_plan plan;
    char why[256], text[sizeof(good)];
    size_t i, place;

    EXPECT(aries_live_plan_read(&plan, "", 0, why, sizeof(why)) && plan.rules_count == 0);
    EXPECT(aries_live_plan_read(&plan, good, sizeof(good) - 1, why, sizeof(why)));
    EXPECT(plan.groups == 2 && plan.cables == 2 && plan.params_count == 1);
    EXPECT(strcmp(plan.profile, "xc30_snb") == 0);
    EXPECT(plan.rules_count == 2 && plan.rules[0].rule.action == SIM_FAULT_DROP);
    EXPECT(strcmp(plan.rules[0].rule.label, "a loss") == 0);
    EXPECT(plan.rules[0].rule.probability == 0.001);
    EXPECT(plan.rules[0].rule.source == SIM_FAULT_ANY && plan.rules[1].rule.target == 5);
    EXPECT(plan.rules[1].rule.probability == 1.0 && plan.rules[1].rule.until == SIM_NEVER);
    EXPECT(plan.timed_count == 4 && plan.timed[0].fault == ARIES_LIVE_CRASH &&
           plan.timed[0].node == 3);
    EXPECT(plan.changes_count == 2 && plan.changes[0].b == 2 && !plan.changes[0].alive);
    EXPECT(plan.changes[1].is_router && plan.changes[1].a == 5 && plan.changes[1].alive);
    aries_live_plan_free(&plan);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(!aries_live_plan_read(&plan, bad[i], strlen(bad[i]), why, sizeof(why)));
    unknown_keys_are_refused();
    srand(7);
    for (i = 0; i < (size_t)test_seeds(200000, 200000);
         i++) { /* it may be understood or not; it must end well */
        memcpy(text, good, sizeof(text));
        for (place = 0; place < 1 + (size_t)rand() % 4; place++)
            text[(size_t)rand() % sizeof(text)] = "\n 0129=[]\0z"[rand() % 11];
        if (aries_live_plan_read(&plan, text, (size_t)rand() % sizeof(text), why, sizeof(why)))
            aries_live_plan_free(&plan);
    }
    return 0;
}
