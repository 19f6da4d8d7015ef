/* policy_parts: what the files of the policy commands share. */
#ifndef CLI_POLICY_PARTS_H
#define CLI_POLICY_PARTS_H

#include "policy/policy.h"

/* An answer and what it answers. */
struct policy_report {
    const struct policy_problem *problem;
    const struct policy_answer *answer;
    enum policy_kind kind;
    double elapsed_ms;
};

int policy_print_json(const struct policy_report *r, struct err *e);
/* Tables for people; what is infeasible, too. */
void policy_print(const struct policy_report *r);

#endif
