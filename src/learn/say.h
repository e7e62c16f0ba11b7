// Says a policy as the text of a file.
#ifndef LEARN_SAY_H
#define LEARN_SAY_H

#include "policy/policy.h"
#include "sys/report.h"

INTERNAL void say_policy(struct report *report, const struct policy *policy);

#endif
