// The budgets of looks, of looks at the clock, and of collapsing.
#include "policy/budget.h"

uint64_t budget_debt_ns(uint64_t spent_ns, uint64_t busy_ns) {
    uint64_t due_ns = spent_ns > LEARN_FREE_NS ? (spent_ns - LEARN_FREE_NS) * LEARN_BUSY_SHARE : 0;
    return due_ns > busy_ns ? due_ns - busy_ns : 0;
}

uint64_t budget_look_ns(uint64_t before_ns, uint64_t took_ns, uint64_t once_ns) {
    uint64_t most = before_ns + before_ns / 4, again = took_ns - once_ns;
    return again < most ? again : most;
}

unsigned budget_turns(unsigned turns, uint64_t took_ns) {
    if (took_ns > LEARN_CLOCK_NS) // it has become slower
        return LEARN_TURNS;
    return took_ns < LEARN_CLOCK_NS / 2 && turns < LEARN_MOST_TURNS ? 2 * turns : turns;
}

bool budget_may_try(double regret_ns, uint64_t busy_ns, size_t share) {
    return regret_ns * (double)share <= (double)busy_ns;
}

void budget_start(struct budget *budget) {
    *budget = (struct budget){.cost_ns = COLLAPSE_COST_NS};
}

unsigned budget_due(const struct budget *budget, uint64_t busy_ns, size_t in_use_bytes) {
    uint64_t allowed_ns = busy_ns / COLLAPSE_SHARE;
    bool may = in_use_bytes >= COLLAPSE_LEAST_BYTES && allowed_ns >= budget->spent_ns + budget->cost_ns;
    return may ? COLLAPSE_MOST_GROUPS : 0;
}

void budget_note(struct budget *budget, uint64_t took_ns, unsigned groups) {
    budget->spent_ns += took_ns;
    if (groups > 0)
        budget->cost_ns = (3 * budget->cost_ns + took_ns) / 4;
}
