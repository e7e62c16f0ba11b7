// Windows of arms.
#include "policy/tryout.h"

#include "policy/cost.h"

void tryout_start(struct tryout *tryout) {
    *tryout = (struct tryout){.arm = TRYOUT_NO_ARM, .regret_ns = tryout->regret_ns};
}

void tryout_break_off(struct tryout *tryout) {
    tryout->last.now_ns = 0;
    tryout->arm = TRYOUT_NO_ARM;
}

bool tryout_has_window(const struct tryout *tryout) {
    return tryout->last.now_ns != 0;
}

bool tryout_is_due(const struct tryout *tryout, uint64_t now_ns) {
    return now_ns - tryout->last.now_ns >= TRYOUT_NS;
}

bool tryout_has_enough(const struct tryout *tryout, const struct tryout_seen *seen) {
    return seen->done_bytes - tryout->last.done_bytes >= TRYOUT_LEAST_BYTES && tryout->last.busy_ns != 0 &&
           seen->busy_ns > tryout->last.busy_ns;
}

void tryout_begin_window(struct tryout *tryout, const struct tryout_seen *seen, uint32_t arm, uint32_t usual) {
    tryout->last = *seen;
    if (arm != tryout->arm) {
        tryout->settling = TRYOUT_SETTLING_WINDOWS;
        tryout->settling_cost = 0;
    }
    tryout->arm = arm;
    tryout->is_usual = arm == usual;
}

static double measure_window(struct tryout *tryout, const struct tryout_seen *seen) {
    const struct tryout_seen *last = &tryout->last;
    struct cost_work work = {.elapsed_ns = seen->now_ns - last->now_ns,
                             .busy_ns = seen->busy_ns - last->busy_ns,
                             .done = seen->done_bytes - last->done_bytes,
                             .idle_bytes = seen->idle_bytes,
                             .price = seen->price};
    if (tryout->pace == 0)
        tryout->pace = (double)work.done / (double)work.elapsed_ns * (double)SECOND_NS;
    return cost_of_work(&work, tryout->pace);
}

// Until a window is not much cheaper than the one before.
static bool still_settles(struct tryout *tryout, double cost) {
    bool settled = tryout->settling_cost != 0 && cost * 100 >= tryout->settling_cost * TRYOUT_SETTLED_PERCENT;
    if (tryout->settling == 0)
        return false;
    tryout->settling = settled ? 0 : tryout->settling - 1;
    tryout->settling_cost = cost;
    return !settled;
}

// Work differs from window to window, whatever is in force: what one seems to have gained makes up for what another
// seems to have cost.
static void note_regret(struct tryout *tryout, const struct tryout_seen *seen, bool settles) {
    double done = (double)(seen->done_bytes - tryout->last.done_bytes);
    double busy_ns = (double)(seen->busy_ns - tryout->last.busy_ns);
    if (tryout->is_usual && !settles)
        tryout->usual_ns = tryout->usual_ns != 0 ? (3 * tryout->usual_ns + busy_ns / done) / 4 : busy_ns / done;
    if (tryout->is_usual || tryout->usual_ns == 0)
        return;
    double more_ns = busy_ns - done * tryout->usual_ns;
    tryout->regret_ns += settles ? 2 * more_ns : more_ns;
    tryout->regret_ns = tryout->regret_ns > 0 ? tryout->regret_ns : 0;
}

enum tryout_result tryout_end_window(struct tryout *tryout, const struct tryout_seen *seen, double *cost) {
    bool is_long = seen->now_ns - tryout->last.now_ns > TRYOUT_LONG_WINDOWS * TRYOUT_NS;
    if (!tryout_has_enough(tryout, seen))
        return TRYOUT_COUNTS_NOT;
    bool settles = false;
    if (!is_long) {
        *cost = measure_window(tryout, seen);
        settles = still_settles(tryout, *cost);
    }
    note_regret(tryout, seen, settles);
    return is_long ? TRYOUT_COUNTS_NOT : settles ? TRYOUT_SETTLES : TRYOUT_COUNTS;
}
