// How many free blocks each class's stacks may hold.
#include "policy/depths.h"

#include "policy/cost.h"

#define STEP_LEAST_NS (20 * MS_NS) // in less time too little is counted
#define HELPED_SHARE 4             // doubling helped where at least this part (1/N) of the batches is gone
#define ANOTHER_RATE 2             // so many times more or less is another situation
#define IDLE_SHARE 8               // depth goes down where it costs so many times what it saves
#define OCCUPIED_SHARE 2           // of a stack's depth so much (1/N) is there in the mean
#define BUDGET_SHARE 8             // of what is in use so much (1/N) may lie in stacks, by their depths
#define BUDGET_TURNS 4             // steps from one trial of the budget to the next
#define BUDGET_HELPED_SHARE 8      // it helped where at least this part (1/N) of what batches cost is gone
#define BUDGET_GAIN_SHARE 4        // and it is expected to save so much (1/N)
#define BUDGET_DEAR_SHARE 2    // a doubled budget goes where more than this part (1/N) of what is in use lies in stacks
#define BUDGET_CACHED_SHARE 4  // of what is in use so much (1/N) may really lie in stacks, for them to get more
#define BUDGET_LEFT_SHARE 4    // and less than this part (1/N) of the budget is left, else it is not what limits them
#define BUDGET_DENIED_SHARE 16 // or so much (1/N) of what batches cost is for lack of a stack
#define BUDGET_RISEN_SHARE 4   // which it helped against if what others cost is no more than so much (1/N) above it
#define BUDGET_MOST_DOUBLINGS 3
#define BUDGET_PATIENCE_NS (150 * MS_NS) // it was so for that long without a break, else what limits is over soon

// Nanoseconds of processor time that batches of blocks of that size cost in a second.
static uint64_t batches_ns(uint64_t rate, uint32_t bytes) {
    return rate * cost_of_batch_ns(bytes);
}

// And what it costs to hold so many blocks in each thread for a second.
static uint64_t blocks_ns(const struct depths_seen *seen, uint64_t depth, uint32_t bytes) {
    return depth * bytes / OCCUPIED_SHARE * seen->threads / 1024 * seen->price / 1024;
}

// What so many blocks cost for a second: the memory, or what others lack who share the budget.
static uint64_t holding_ns(const struct depths_seen *seen, const struct depths *state, unsigned depth, uint32_t bytes) {
    uint64_t held_ns = blocks_ns(seen, depth, bytes);
    return held_ns > state->denied_ns ? held_ns : state->denied_ns;
}

static bool is_worth_doubling(const struct depth_class *own, uint64_t holding, uint32_t bytes, unsigned depth) {
    return depth < STACK_MAX_DEPTH && batches_ns(own->rate, bytes) / 2 > holding;
}

static bool is_useless(const struct depth_class *own) {
    return own->trial == DEPTH_USELESS && own->rate < ANOTHER_RATE * own->useless_rate &&
           own->rate > own->useless_rate / ANOTHER_RATE;
}

// Stacks of small blocks are parked where they are the deepest, and no others (heap/park.c): a class whose batches are
// few for that would have many. What it holds is hardly anything.
static bool keeps_deepest(uint32_t bytes, unsigned depth) {
    return depth == STACK_MAX_DEPTH && bytes <= PARK_MOST_BYTES;
}

static bool is_worth_halving(const struct depth_class *own, uint64_t holding, uint32_t bytes, unsigned depth) {
    return !keeps_deepest(bytes, depth) && batches_ns(own->rate, bytes) * IDLE_SHARE < holding;
}

// One less than the deepest is what is left of it, halved and doubled again.
static unsigned limited(unsigned depth) {
    return depth >= STACK_MAX_DEPTH - 1 ? STACK_MAX_DEPTH : depth;
}

static unsigned depth_in_force(const struct depths_seen *seen, unsigned class_index, unsigned depth) {
    unsigned usual = seen->usual != NULL ? seen->usual[class_index] : 0;
    return depth > usual ? depth : usual;
}

// A class's next depth.
static unsigned next_depth(const struct depths_seen *seen, struct depths *state, unsigned class_index, uint32_t rate,
                           unsigned depth) {
    struct depth_class *own = &state->classes[class_index];
    unsigned least = seen->defaults[class_index];
    uint32_t bytes = seen->class_bytes[class_index], before = own->rate;
    unsigned in_force = depth_in_force(seen, class_index, depth);
    bool helped = rate <= own->rate - own->rate / HELPED_SHARE;
    bool tried = own->trial == DEPTH_TRIED;
    own->rate = rate;
    own->trial = tried ? DEPTH_IDLE : own->trial;
    if (tried && !helped) {
        own->trial = DEPTH_USELESS;
        own->useless_rate = before;
        return own->depth_before;
    }
    if (!is_useless(own) && is_worth_doubling(own, holding_ns(seen, state, in_force, bytes), bytes, in_force)) {
        own->trial = DEPTH_TRIED;
        own->depth_before = (uint8_t)depth;
        return limited(2 * in_force);
    }
    if (depth <= least || !is_worth_halving(own, holding_ns(seen, state, depth / 2, bytes), bytes, depth))
        return depth;
    return depth / 2 > least ? depth / 2 : least;
}

static size_t within_row(enum decision decision, uint64_t value) {
    return value < decision_rows[decision].most ? (size_t)value : decision_rows[decision].most;
}

// What stacks may hold in one thread by default.
static uint64_t usual_budget(const struct depths_seen *seen) {
    uint64_t part = seen->all_threads_bytes / seen->threads;
    uint64_t most = (uint64_t)seen->thread_bytes * (seen->threads > 1 ? STACK_THREADS_TIMES : 1);
    return part < most ? part : most;
}

// What stacks may hold in one thread: as much more as depths are above the defaults, or the default doubled.
static void choose_budget(const struct depths_seen *seen, const struct depth_budget *own, struct snapshot *snapshot) {
    uint64_t wanted = seen->thread_bytes, most = seen->in_use_bytes / BUDGET_SHARE / seen->threads;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        if (snapshot->depth[i] > seen->defaults[i])
            wanted += (uint64_t)(snapshot->depth[i] - seen->defaults[i]) * seen->class_bytes[i];
    uint64_t budget = wanted < most ? wanted : most;
    if (own->doublings > 0 && budget < usual_budget(seen) << own->doublings)
        budget = usual_budget(seen) << own->doublings;
    snapshot->thread_bytes =
        within_row(DECISION_thread_bytes, budget < seen->thread_bytes ? seen->thread_bytes : budget);
    budget = snapshot->thread_bytes * seen->threads;
    budget = budget < seen->all_threads_bytes ? seen->all_threads_bytes : budget;
    snapshot->all_threads_bytes = within_row(DECISION_all_threads_bytes, budget);
}

// Ends the trials of classes, as they are.
static void settle_classes(struct depths *state) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        if (state->classes[i].trial == DEPTH_TRIED || state->classes[i].trial == DEPTH_ALONG)
            state->classes[i].trial = DEPTH_IDLE;
}

static void decide_depth(struct snapshot *snapshot, unsigned class_index, unsigned depth) {
    snapshot->depth[class_index] = (uint8_t)depth;
    snapshot->batch[class_index] = (uint8_t)((depth + 1) / 2);
}

// Along with the budget: also of classes to which it was of no use without room.
static unsigned double_along(const struct depths_seen *seen, struct depths *state, const uint32_t *rates,
                             struct snapshot *snapshot) {
    unsigned changed = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        struct depth_class *own = &state->classes[i];
        uint32_t bytes = seen->class_bytes[i];
        unsigned depth = depth_in_force(seen, i, snapshot->depth[i]);
        own->rate = rates[i];
        if (bytes == 0 || !is_worth_doubling(own, holding_ns(seen, state, depth, bytes), bytes, depth))
            continue;
        own->trial = DEPTH_ALONG;
        own->depth_before = snapshot->depth[i];
        decide_depth(snapshot, i, limited(2 * depth));
        changed++;
    }
    return changed;
}

static unsigned settle_along(struct depths *state, bool helped, struct snapshot *snapshot) {
    unsigned changed = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        struct depth_class *own = &state->classes[i];
        if (own->trial != DEPTH_ALONG)
            continue;
        own->trial = DEPTH_IDLE;
        if (helped)
            continue;
        decide_depth(snapshot, i, own->depth_before);
        changed++;
    }
    return changed;
}

void depths_settle(struct depths *state) {
    settle_classes(state);
    state->budget = (struct depth_budget){0};
}

// Whether it is the budget that keeps stacks from being deeper: hardly any of it is left, or threads go the long way
// for lack of it. Those that do nothing have granted little, which others cannot have.
static bool limits_stacks(const struct depths_seen *seen, const struct depth_budget *own, uint64_t cost_ns,
                          uint64_t denied_ns) {
    uint64_t budget = usual_budget(seen) * seen->threads << own->doublings;
    return seen->granted_bytes > budget - budget / BUDGET_LEFT_SHARE || denied_ns > cost_ns / BUDGET_DENIED_SHARE;
}

// Doubles the budget on trial, or settles the trial. True: it was one of that, and what batches cost says nothing about
// depths.
static bool try_budget(const struct depths_seen *seen, struct depth_budget *own, uint64_t cost_ns, uint64_t denied_ns,
                       unsigned steps) {
    uint64_t before = own->cost_ns, held_ns = seen->cached_bytes / 1024 * seen->price / 1024;
    uint64_t denied_before = own->denied_ns;
    own->cost_ns = cost_ns;
    own->denied_ns = denied_ns;
    if (own->trial == DEPTH_TRIED) {
        bool served = denied_before > before / BUDGET_DENIED_SHARE && denied_ns < denied_before / 2 &&
                      cost_ns < before + before / BUDGET_RISEN_SHARE; // a faster program moves more
        bool helped = served || cost_ns <= before - before / BUDGET_HELPED_SHARE;
        own->doublings -= !helped;
        own->trial = helped ? DEPTH_IDLE : DEPTH_USELESS;
        own->useless_cost_ns = before;
        return true;
    }
    if (steps % BUDGET_TURNS != 0)
        return false;
    bool is_useless = own->trial == DEPTH_USELESS && cost_ns < ANOTHER_RATE * own->useless_cost_ns &&
                      cost_ns > own->useless_cost_ns / ANOTHER_RATE;
    if (!is_useless && own->doublings < BUDGET_MOST_DOUBLINGS && cost_ns / BUDGET_GAIN_SHARE > held_ns &&
        own->limits_ns >= BUDGET_PATIENCE_NS && seen->cached_bytes < seen->in_use_bytes / BUDGET_CACHED_SHARE &&
        seen->granted_bytes <= own->least_in_use) {
        own->doublings++;
        own->trial = DEPTH_TRIED;
        return true;
    }
    bool is_dear = cost_ns * IDLE_SHARE < held_ns || seen->cached_bytes > seen->in_use_bytes / BUDGET_DEAR_SHARE;
    own->doublings -= own->doublings > 0 && is_dear;
    return false;
}

static void note_limited(struct depths *state, const struct depths_seen *seen, uint64_t cost_ns, uint64_t elapsed_ns) {
    struct depth_budget *own = &state->budget;
    bool limits = limits_stacks(seen, own, cost_ns, state->denied_ns);
    if (own->limits_ns == 0 || seen->in_use_bytes < own->least_in_use)
        own->least_in_use = seen->in_use_bytes;
    own->limits_ns = limits ? own->limits_ns + elapsed_ns : 0;
    if (own->doublings == 0 && !limits)
        return;
    state->limited_ns += elapsed_ns;
    state->doubled_ns += elapsed_ns * own->doublings;
}

unsigned depths_lasting_doublings(const struct depths *state) {
    if (state->limited_ns == 0)
        return 0;
    return (unsigned)((state->doubled_ns + state->limited_ns / 2) / state->limited_ns);
}

double depths_saved_ns(const struct depths_life *life, unsigned before, unsigned depth) {
    double batches_ns = life->moved * (double)cost_of_batch_ns(life->bytes); // at depth 1
    return batches_ns / before - batches_ns / depth;
}

unsigned depths_of_life(const struct depths_life *life, unsigned least, unsigned most) {
    double block_mibs = (double)life->bytes / OCCUPIED_SHARE / (double)MIB;
    double block_ns = block_mibs * life->thread_ns / (double)SECOND_NS * (double)life->price;
    unsigned depth = least;
    while (depth < most && depths_saved_ns(life, depth, depth + 1) > block_ns)
        depth++;
    return depth;
}

// How many there were per second since the last step.
static uint32_t rate_since(uint64_t *before, uint64_t now, uint64_t elapsed_ns) {
    uint64_t rate = (now - *before) * SECOND_NS / elapsed_ns;
    *before = now;
    return rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
}

static void note_first_look(struct depths *state, const struct depths_seen *seen) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        state->classes[i].batches = seen->batches[i];
        state->classes[i].denied = seen->denied != NULL ? seen->denied[i] : 0;
    }
    state->last_ns = seen->now_ns;
}

// What it costs per second that stacks are denied: each such request moves one block the long way.
static uint64_t denials_ns(struct depths *state, const struct depths_seen *seen, uint64_t elapsed_ns) {
    uint64_t cost_ns = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END && seen->denied != NULL; i++)
        cost_ns += batches_ns(rate_since(&state->classes[i].denied, seen->denied[i], elapsed_ns), seen->class_bytes[i]);
    return cost_ns;
}

unsigned depths_step(struct depths *state, const struct depths_seen *seen, struct snapshot *snapshot) {
    static uint32_t rates[CLASS_END];
    uint64_t elapsed = seen->now_ns - state->last_ns, cost_ns = 0;
    unsigned changed = 0;
    if (state->last_ns == 0) {
        note_first_look(state, seen);
        return 0;
    }
    if (elapsed < STEP_LEAST_NS || seen->threads == 0)
        return 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        rates[i] = rate_since(&state->classes[i].batches, seen->batches[i], elapsed);
        cost_ns += batches_ns(rates[i], seen->class_bytes[i]);
    }
    state->denied_ns = denials_ns(state, seen, elapsed);
    cost_ns += state->denied_ns;
    note_limited(state, seen, cost_ns, elapsed);
    bool is_about_budget = try_budget(seen, &state->budget, cost_ns, state->denied_ns, ++state->steps);
    if (is_about_budget && state->budget.trial == DEPTH_TRIED) { // what it changes would be credited to them
        settle_classes(state);
        changed += double_along(seen, state, rates, snapshot);
    } else if (is_about_budget) {
        changed += settle_along(state, state->budget.trial == DEPTH_IDLE, snapshot);
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_END && !is_about_budget; i++) {
        if (seen->class_bytes[i] == 0 || seen->batches[i] == 0) // nobody uses it
            continue;
        unsigned depth = snapshot->depth[i], next = next_depth(seen, state, i, rates[i], depth);
        decide_depth(snapshot, i, next);
        changed += next != depth;
    }
    choose_budget(seen, &state->budget, snapshot);
    state->last_ns = seen->now_ns;
    return changed;
}
