// Says what learning did, and which decisions are in force: a part of the statistics.
#ifndef API_LEARNING_H
#define API_LEARNING_H

#include "hakmem/hakmem.h"
#include "learn/learn.h"
#include "sys/report.h"

INTERNAL void learning_fill(const struct learn_told *told, struct hakmem_stats *full);
// Members of an object, a comma before each: "decisions", those in force that are not the default, and where something
// is learned "learning".
INTERNAL void learning_say_json(struct report *report, const struct learn_told *told);
// Nothing where nothing is learned and all decisions are the default.
INTERNAL void learning_say_text(struct report *report, const struct learn_told *told);

#endif
