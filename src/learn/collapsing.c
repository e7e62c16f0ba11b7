// Collapsing within a budget.
#include "learn/collapsing.h"

#include "base/atomics.h"
#include "learn/learn.h"
#include "policy/budget.h"
#include "region/collapse.h"

static struct {
    struct budget budget;
    uint64_t groups; // collapsed in this life
} collapsing;
static uint64_t next_ns = UINT64_MAX; // read without the lock

void collapsing_begin_life(void) {
    budget_start(&collapsing.budget);
    collapsing.groups = 0;
    collapsing_try_at(UINT64_MAX);
}

bool collapsing_is_due(uint64_t now_ns) {
    return now_ns >= load_relaxed(&next_ns); // a hint
}

void collapsing_try_at(uint64_t ns) {
    store_relaxed(&next_ns, ns); // as above
}

void collapsing_go_on(uint64_t now_ns, uint64_t busy_ns, size_t in_use_bytes) {
    unsigned done = 0, due = budget_due(&collapsing.budget, busy_ns, in_use_bytes);
    collapsing_try_at(UINT64_MAX);
    if (due == 0)
        return;
    for (unsigned more = 1; more > 0 && done < due; done += more)
        more = collapse_next(due - done);
    uint64_t end_ns = learn_now_ns();
    budget_note(&collapsing.budget, end_ns - now_ns, done);
    collapsing.groups += done;
    if (done == COLLAPSE_MOST_GROUPS)
        collapsing_try_at(end_ns + COLLAPSE_PAUSE_NS);
}

uint64_t collapsing_spent_ns(void) {
    return collapsing.budget.spent_ns;
}

bool collapsing_pays(void) {
    return collapsing.groups >= COLLAPSE_PAYS_GROUPS;
}
