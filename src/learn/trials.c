// What is tried in a running program.
#include "learn/trials.h"

#include "learn/parts.h"
#include "learn/rules.h"
#include "learn/tournament.h"
#include "policy/budget.h"
#include "sys/options.h"

static struct {
    bool has_turn;            // something is tried now
    bool are_on;              // or was a moment ago
    uint64_t until_ns;        // it counts for so long
    size_t held_bytes;        // in use and free together, at most, where nothing is tried
    size_t held_most;         // decided before
    size_t free_bytes;        // when the turn began
    uint64_t refaulted_bytes; // meanwhile, so far
    uint64_t seen_bytes;      // of all, at the last step
    double before_ns;         // the regret when the turn began
    double next_ns;           // what the next turn may cost
} trials;

bool trials_are_on(void) {
    return trials.are_on;
}

uint64_t trials_refaulted_bytes(void) {
    return trials.refaulted_bytes;
}

double trials_regret_ns(void) {
    return tournament_regret_ns() + rules_regret_ns();
}

// The program has grown since the turn began, and has no room any more for a quarter of what was free then.
static bool lacks_room(const struct observation *seen, const struct snapshot *decided) {
    return trials.are_on && seen->in_use_bytes + trials.free_bytes / 4 > decided->held_most;
}

// A turn is paid before it begins.
static enum tryout_leave leave_to_try(const struct observation *seen, const struct snapshot *decided) {
    double window_ns = (double)TRYOUT_NS / LEARN_HASTE; // of the process, as the others
    double next_ns = trials.has_turn ? 0 : trials.next_ns > window_ns ? trials.next_ns : window_ns;
    size_t share = options.trial_share / LEARN_HASTE;
    if (seen->busy_ns < TRYOUT_FIRST_NS || lacks_room(seen, decided))
        return TRYOUT_MAY_NOT;
    return budget_may_try(trials_regret_ns() + next_ns, seen->busy_ns, share > 0 ? share : 1) ? TRYOUT_MAY
                                                                                              : TRYOUT_MAY_NOT;
}

static bool play(const struct observation *seen, struct snapshot *decided) {
    enum tryout_leave leave = leave_to_try(seen, decided);
    if (part_learns(PART_tournaments)) {
        bool plays = tournament_step(seen, decided, leave);
        if (plays || tournament_waits()) {
            rules_pause();
            return plays;
        }
    }
    return part_learns(PART_sites) && rules_step(seen, DECIDED(big_threshold), leave); // the user may have decided that
}

static void note_turn(bool plays) {
    if (plays && !trials.has_turn)
        trials.before_ns = trials_regret_ns();
    if (!plays && trials.has_turn)
        trials.next_ns = trials_regret_ns() - trials.before_ns;
    trials.has_turn = plays;
}

// What there may be in all meanwhile. What was decided before is in force again once it is over.
static void limit_held(const struct observation *seen, struct snapshot *decided) {
    size_t more = trials.has_turn ? trials.held_bytes / TRYOUT_MEMORY_SHARE : 0, most = trials.held_bytes + more;
    if (trials.has_turn)
        trials.until_ns = seen->now_ns + TRYOUT_COOLING_WINDOWS * TRYOUT_NS;
    trials.are_on = trials.has_turn || (trials.are_on && seen->now_ns < trials.until_ns);
    decided->held_most = trials.held_most;
    if (trials.are_on)
        decided->held_most = trials.held_most != 0 ? least_of(trials.held_most, most) : most;
}

bool trials_step(const struct observation *seen, struct snapshot *decided) {
    if (trials.are_on) {
        trials.refaulted_bytes += seen->refaulted_bytes - trials.seen_bytes;
    } else {
        trials.held_bytes = most_of(trials.held_bytes, seen->in_use_bytes + seen->retained_bytes);
        trials.held_most = decided->held_most;
        trials.free_bytes = seen->retained_bytes;
    }
    trials.seen_bytes = seen->refaulted_bytes;
    note_turn(play(seen, decided));
    limit_held(seen, decided);
    return trials.has_turn;
}

void trials_begin_life(struct snapshot *decided) {
    tournament_begin_life();
    rules_begin_life();
    if (trials.are_on)
        decided->held_most = trials.held_most;
    trials.has_turn = trials.are_on = false;
    trials.next_ns = 0;
    trials.held_bytes = 0;
}
