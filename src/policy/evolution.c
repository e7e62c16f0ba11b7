// The life cycle of what is learned.
#include "policy/evolution.h"

#define WINDOW_LEAST_NS (50 * MS_NS)
#define WINDOW_MOST_NS (2000 * MS_NS)
#define WINDOW_SHARE 8                  // (1/N) of the time since the state began
#define WINDOW_SUSPECT_NS (100 * MS_NS) // at most, after one in FROZEN that was worse
#define LEARN_LEAST_WINDOWS 6           // before anything is frozen
#define LEARN_MOST_WINDOWS 64           // and then it is, however it moves: what was decided is tried as it is
#define LEARN_MOST_IN_ALL 1024          // also where the program has one phase after another
#define STABLE_WINDOWS 3                // in a row without a decision
#define P99_STABLE 0.25                 // differs by so much from window to window at most
#define CANARY_PAIRS 6
#define CANARY_WINS 3    // pairs in which what was decided must not be worse
#define WORSE_SHARE 0.01 // by which a window counts as worse
#define P99_WORSE 1.20   // FROZEN: so much worse than it was in any of the first windows
#define P99_WINDOWS 4    // of them in which it is known
#define COST_WORSE 1.50  // and so much dearer, by at least so many nanoseconds a second
#define COST_LEAST 1e7
#define WORSE_WINDOWS 3    // in a row
#define DISTANCE_MOST 0.25 // of the sizes asked for from those when it was frozen
#define OTHER_WINDOWS 2    // with other sizes in a row: LEARN begins again

void evolution_start(struct evolution *state, uint64_t now_ns) {
    *state = (struct evolution){.state = EVOLUTION_LEARN, .begin_ns = now_ns, .window_ns = now_ns};
}

bool evolution_suspects(const struct evolution *state) {
    return state->state == EVOLUTION_FROZEN && state->stable > 0;
}

bool evolution_is_due(const struct evolution *state, uint64_t now_ns) {
    uint64_t length = (now_ns - state->begin_ns) / WINDOW_SHARE;
    length = length < WINDOW_LEAST_NS ? WINDOW_LEAST_NS : length > WINDOW_MOST_NS ? WINDOW_MOST_NS : length;
    if (evolution_suspects(state) && length > WINDOW_SUSPECT_NS)
        length = WINDOW_SUSPECT_NS;
    return now_ns - state->window_ns >= length;
}

double evolution_distance(const double *shares, const double *others) {
    double sum = 0;
    for (unsigned i = 0; i < EVOLUTION_SIZES; i++)
        sum += shares[i] > others[i] ? shares[i] - others[i] : others[i] - shares[i];
    return sum / 2;
}

// False: too few were seen.
static bool shares_of(const struct evolution_window *window, double *shares) {
    uint64_t all = 0;
    for (unsigned i = 0; i < EVOLUTION_SIZES; i++)
        all += window->sizes[i];
    for (unsigned i = 0; i < EVOLUTION_SIZES && all > 0; i++)
        shares[i] = (double)window->sizes[i] / (double)all;
    return all >= EVOLUTION_LEAST_SEEN;
}

static void enter(struct evolution *state, enum evolution_state next, enum evolution_reason reason, uint64_t now_ns) {
    state->begin_ns = now_ns;
    state->in_all = next == EVOLUTION_LEARN && state->state == EVOLUTION_LEARN ? state->in_all + state->windows : 0;
    state->windows = 0;
    state->stable = 0;
    state->state = next;
    state->reason = reason;
    state->pairs = 0;
    state->wins = 0;
    state->p99_windows = 0;
    state->p99_ns = 0;
    state->cost = 0;
    state->shares_known = false;
    state->others = 0;
    state->frozen += next == EVOLUTION_FROZEN;
    state->relearned += next == EVOLUTION_LEARN;
}

static bool p99_is_stable(double before, double now) {
    double difference = before > now ? before - now : now - before;
    return before == 0 || now == 0 || difference <= before * P99_STABLE;
}

enum sizes {
    SIZES_UNKNOWN, // too few were seen
    SIZES_ALIKE,
    SIZES_OTHER,
};

static enum sizes compare_sizes(struct evolution *state, const struct evolution_window *window) {
    double shares[EVOLUTION_SIZES] = {0};
    if (!shares_of(window, shares))
        return SIZES_UNKNOWN;
    if (state->shares_known)
        return evolution_distance(shares, state->shares) > DISTANCE_MOST ? SIZES_OTHER : SIZES_ALIKE;
    for (unsigned i = 0; i < EVOLUTION_SIZES; i++)
        state->shares[i] = shares[i];
    state->shares_known = true;
    return SIZES_ALIKE;
}

static enum evolution_act step_learn(struct evolution *state, const struct evolution_window *window) {
    enum sizes sizes = compare_sizes(state, window);
    if (sizes != SIZES_UNKNOWN)
        state->others = sizes == SIZES_OTHER ? state->others + 1 : 0;
    bool is_over = state->windows >= LEARN_MOST_WINDOWS || state->in_all + state->windows >= LEARN_MOST_IN_ALL;
    if (state->others == OTHER_WINDOWS &&
        !is_over) { // another phase of the program: its beginning is looked at often again
        enter(state, EVOLUTION_LEARN, EVOLUTION_OTHER, window->now_ns);
        return EVOLUTION_GO_ON;
    }
    bool is_stable = !window->has_changed && p99_is_stable(state->p99_ns, window->p99_ns);
    state->stable = is_stable ? state->stable + 1 : 0;
    state->p99_ns = window->p99_ns;
    bool is_still = state->windows >= LEARN_LEAST_WINDOWS && state->stable >= STABLE_WINDOWS;
    if (!is_still && !is_over)
        return EVOLUTION_GO_ON;
    enter(state, window->is_new ? EVOLUTION_CANARY : EVOLUTION_FROZEN, is_still ? EVOLUTION_STILL : EVOLUTION_RESTLESS,
          window->now_ns);
    return window->is_new ? EVOLUTION_SHOW_OLD : EVOLUTION_KEEP_NEW;
}

// Windows alternate: what was before, what was decided; in every other pair the other way round, so that a trend
// favours neither.
static enum evolution_act step_canary(struct evolution *state, const struct evolution_window *window) {
    bool is_reversed = state->pairs % 2 == 1;
    if (state->windows % 2 == 1) {
        state->first_cost = window->cost;
        return is_reversed ? EVOLUTION_SHOW_OLD : EVOLUTION_SHOW_NEW;
    }
    double old_cost = is_reversed ? window->cost : state->first_cost;
    double new_cost = is_reversed ? state->first_cost : window->cost;
    state->pairs++;
    state->wins += new_cost <= old_cost * (1 + WORSE_SHARE);
    if (state->pairs < CANARY_PAIRS)
        return is_reversed ? EVOLUTION_SHOW_OLD : EVOLUTION_SHOW_NEW; // the next pair's first
    bool keeps_new = state->wins >= CANARY_WINS;
    state->kept_old += !keeps_new;
    enter(state, EVOLUTION_FROZEN, keeps_new ? EVOLUTION_NO_WORSE : EVOLUTION_WORSE, window->now_ns);
    return keeps_new ? EVOLUTION_KEEP_NEW : EVOLUTION_KEEP_OLD;
}

static bool has_worse_p99(struct evolution *state, double p99_ns) {
    if (p99_ns == 0)
        return false;
    if (state->p99_windows++ >= P99_WINDOWS)
        return p99_ns > state->p99_ns * P99_WORSE;
    state->p99_ns = p99_ns > state->p99_ns ? p99_ns : state->p99_ns;
    return false;
}

// Of calls or requests there may be too few in a window to say that it is as it was.
static bool says_nothing(const struct evolution *state, const struct evolution_window *window, enum sizes sizes) {
    return (state->suspected == EVOLUTION_SLOWER && window->p99_ns == 0) ||
           (state->suspected == EVOLUTION_OTHER && sizes == SIZES_UNKNOWN);
}

static enum evolution_act step_frozen(struct evolution *state, const struct evolution_window *window) {
    bool is_worse = has_worse_p99(state, window->p99_ns);
    bool is_dear = state->cost > 0 && window->cost > state->cost * COST_WORSE + COST_LEAST;
    enum sizes sizes = compare_sizes(state, window);
    if (state->cost == 0)
        state->cost = window->cost;
    if (is_worse || is_dear || sizes == SIZES_OTHER) {
        state->stable++;
        state->suspected = is_worse ? EVOLUTION_SLOWER : sizes == SIZES_OTHER ? EVOLUTION_OTHER : EVOLUTION_DEARER;
    } else if (!says_nothing(state, window, sizes)) {
        state->stable = 0;
    }
    if (state->stable < WORSE_WINDOWS)
        return EVOLUTION_GO_ON;
    enter(state, EVOLUTION_LEARN, state->suspected, window->now_ns);
    return EVOLUTION_LEARN_ANEW;
}

enum evolution_act evolution_step(struct evolution *state, const struct evolution_window *window) {
    state->window_ns = window->now_ns;
    state->windows++;
    switch (state->state) {
    case EVOLUTION_LEARN:
        return step_learn(state, window);
    case EVOLUTION_CANARY:
        return step_canary(state, window);
    case EVOLUTION_FROZEN:
        break;
    }
    return step_frozen(state, window);
}
