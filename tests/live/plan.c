/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scenario's text as processes of a fabric read it: what is right, what is not, and chance. */
#include <stdio.h>
#include <stdlib.h>
#include "plan.h"

#define EXPECT(condition)                                                   \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static const char good[] =
    "jacquard-fabric 1\n"
    "net 2 2 4 2\n"
    "param aries.nic.tx_ns 100\n"
    "latency xc30_snb\n"
    "rule aries.packet drop loss 10000000 5000000000 9007199254741 0 0 any any any any any 0 0\n"
    "rule aries.cq drop full 0 any 9007199254740992 3 1 any 5 0 any any 0 0\n"
    "timed 2000000000 node 3 crash\n"
    "timed 1 node 3 hang 100\n"
    "timed 5 cq-overrun 2 any\n"
    "timed 5 memory 2 7\n"
    "timed 6 error 1 8 47\n"
    "timed 7 link 1 2 0 down\n"
    "timed 9 router 5 up\n";

static const char *const bad[] = {
    "jacquard-fabric 2\n",
    "jacquard-fabric 1\nnet 2 2 4\n",
    "jacquard-fabric 1\nnet 0 2 4 2\n",
    "jacquard-fabric 1\nrule aries.packet explode x 0 any 0 0 0 any any any any any 0 0\n",
    ("jacquard-fabric 1\nrule aries.packet drop x 0 any 9007199254740993 0 0 any any any any any 0 "
     "0\n"),
    "jacquard-fabric 1\ntimed 99999999999999999999 node 3 crash\n",
    "jacquard-fabric 1\ntimed 1 node 4294967295 crash\n",
    "jacquard-fabric 1\ntimed 7 link 1 2 0 gone\n",
    "jacquard-fabric 1\ntimed 7 link 1 2 down\n",
    "jacquard-fabric 1\ntimed 7 router any down\n",
    "jacquard-fabric 1\nlatency a\nlatency b\n",
    "jacquard-fabric 1\n  \n",
    "jacquard-fabric 1\nparam a nan\n",
};

int main(void)
{
    struct lnic_plan plan;
    char why[256], text[sizeof(good)];
    size_t i, place;

    EXPECT(lnic_plan_read(&plan, "", 0, why, sizeof(why)) && plan.rules_count == 0);
    EXPECT(lnic_plan_read(&plan, good, sizeof(good) - 1, why, sizeof(why)));
    EXPECT(plan.groups == 2 && plan.cables == 2 && plan.params_count == 1);
    EXPECT(strcmp(plan.profile, "xc30_snb") == 0);
    EXPECT(plan.rules_count == 2 && plan.rules[0].rule.action == SIM_FAULT_DROP);
    EXPECT(plan.rules[0].rule.source == SIM_FAULT_ANY && plan.rules[1].rule.target == 5);
    EXPECT(plan.rules[1].rule.probability == 1.0 && plan.rules[1].rule.until == SIM_NEVER);
    EXPECT(plan.timed_count == 4 && plan.timed[0].fate == LNIC_CRASH && plan.timed[0].node == 3);
    EXPECT(plan.changes_count == 2 && plan.changes[0].b == 2 && !plan.changes[0].alive);
    EXPECT(plan.changes[1].is_router && plan.changes[1].a == 5 && plan.changes[1].alive);
    lnic_plan_free(&plan);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(!lnic_plan_read(&plan, bad[i], strlen(bad[i]), why, sizeof(why)));
    srand(7);
    for (i = 0; i < 200000; i++) { /* it may be understood or not; it must end well */
        memcpy(text, good, sizeof(text));
        for (place = 0; place < 1 + (size_t)rand() % 4; place++)
            text[(size_t)rand() % sizeof(text)] = "\n 0129any\0z"[rand() % 11];
        if (lnic_plan_read(&plan, text, (size_t)rand() % sizeof(text), why, sizeof(why)))
            lnic_plan_free(&plan);
    }
    return 0;
}
