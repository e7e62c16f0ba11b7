// How much free memory may stay resident.
#include "region/retain.h"

#include "base/atomics.h"
#include "base/tuning.h"
#include "policy/snapshot.h"
#include "sys/options.h"
#include "sys/os.h"

INTERNAL struct retain retain;

static size_t fade_traffic = REFAULT_FADE_TRAFFIC;
static size_t most_slices;             // in use and retained together, since the allowance last faded
static size_t highest_retained_slices; // since then
static size_t returned_slices;         // faulted in again since then
static size_t refaulted_rest;          // bytes, of a slice
static size_t purged_inside_bytes;     // of what is retained
static size_t given_slices;            // since the allowance last faded
static size_t lowest_idle_slices;      // outside, since then
static size_t first_gone_slices;       // of the allowance to begin with
static struct retain_extremes extremes[RETAIN_WATCHERS];
static struct retain_extremes narrowest; // of those, each: what lies within changes none
static size_t grown_slices;              // clean ones taken since growth last purged others (N3)

static size_t less(size_t from, size_t bytes) {
    return from > bytes ? from - bytes : 0;
}

size_t retain_all_slices(void) {
    return retain.retained_slices + (retain.outside.idle_bytes >> SLICE_SHIFT);
}

static size_t all_in_use_slices(void) {
    return retain.in_use_slices + (retain.outside.in_use_bytes >> SLICE_SHIFT);
}

static void note_extremes(size_t in_use, size_t retained) {
    narrowest = (struct retain_extremes){.highest_retained_slices = SIZE_MAX, .highest_in_use_slices = SIZE_MAX};
    for (unsigned i = 0; i < RETAIN_WATCHERS; i++) {
        struct retain_extremes *seen = &extremes[i];
        seen->lowest_retained_slices = least_of(seen->lowest_retained_slices, retained);
        seen->highest_retained_slices = most_of(seen->highest_retained_slices, retained);
        seen->lowest_in_use_slices = least_of(seen->lowest_in_use_slices, in_use);
        seen->highest_in_use_slices = most_of(seen->highest_in_use_slices, in_use);
        narrowest.lowest_retained_slices = most_of(narrowest.lowest_retained_slices, seen->lowest_retained_slices);
        narrowest.highest_retained_slices = least_of(narrowest.highest_retained_slices, seen->highest_retained_slices);
        narrowest.lowest_in_use_slices = most_of(narrowest.lowest_in_use_slices, seen->lowest_in_use_slices);
        narrowest.highest_in_use_slices = least_of(narrowest.highest_in_use_slices, seen->highest_in_use_slices);
    }
}

void retain_note_change(void) {
    size_t in_use = all_in_use_slices(), retained = retain_all_slices(), all = in_use + retained;
    store_relaxed(&retain.held_slices, all); // read without the lock in runs_held_bytes
    if (most_slices < all)
        most_slices = all;
    if (highest_retained_slices < retained)
        highest_retained_slices = retained;
    if (retained < narrowest.lowest_retained_slices || retained > narrowest.highest_retained_slices ||
        in_use < narrowest.lowest_in_use_slices || in_use > narrowest.highest_in_use_slices)
        note_extremes(in_use, retained);
    lowest_idle_slices = least_of(lowest_idle_slices, retain.outside.idle_bytes >> SLICE_SHIFT);
    retain.allowance_slices = least_of(retain.allowance_slices, most_slices); // no program needs more than it had
}

struct retain_extremes retain_take_extremes(enum retain_watcher watcher) {
    struct retain_extremes taken = extremes[watcher];
    taken.in_use_slices = all_in_use_slices();
    extremes[watcher] = (struct retain_extremes){.lowest_retained_slices = SIZE_MAX, .lowest_in_use_slices = SIZE_MAX};
    note_extremes(taken.in_use_slices, retain_all_slices());
    return taken;
}

void retain_note_growth(size_t slices) {
    grown_slices += slices;
}

void retain_note_refault(size_t bytes) {
    if (DECIDED(held_most) != 0) // N4
        return;
    refaulted_rest += bytes;
    retain.allowance_slices += refaulted_rest >> SLICE_SHIFT;
    returned_slices += refaulted_rest >> SLICE_SHIFT;
    refaulted_rest %= SLICE_BYTES;
}

void retain_note_purged_inside(size_t bytes) {
    purged_inside_bytes += bytes;
}

size_t retain_take_purged_inside(size_t slices) {
    if (slices == 0 || purged_inside_bytes == 0)
        return 0;
    bool all = slices >= retain.retained_slices;
    size_t taken = all ? purged_inside_bytes : purged_inside_bytes / retain.retained_slices * slices;
    purged_inside_bytes -= taken;
    return taken;
}

// N2. What is left of the allowance to begin with.
static size_t first_slices(void) {
    return least_of(less(DECIDED(allowance_first) >> SLICE_SHIFT, first_gone_slices), most_slices);
}

static size_t fading_slices(void) {
    size_t first = first_slices();
    return retain.allowance_slices > first ? retain.allowance_slices : first;
}

bool retain_note_given(size_t slices) {
    given_slices += slices;
    return given_slices > fade_traffic * fading_slices() && given_slices > most_slices;
}

// Where much came back, fading was wrong, and the next time comes after more traffic.
static void learn_traffic(void) {
    bool wrong = returned_slices > fading_slices() / REFAULT_WRONG_SHARE;
    if (wrong && fade_traffic < REFAULT_FADE_MOST_TRAFFIC)
        fade_traffic *= 2;
    else if (!wrong && fade_traffic > REFAULT_FADE_TRAFFIC)
        fade_traffic -= fade_traffic / REFAULT_PATIENCE_SHARE;
    returned_slices = 0;
}

void retain_fade(size_t cold_slices) {
    learn_traffic();
    size_t used = less(highest_retained_slices, cold_slices + lowest_idle_slices);
    size_t surplus = less(retain.allowance_slices, used);
    retain.allowance_slices -= (surplus + REFAULT_FADE_SHARE - 1) / REFAULT_FADE_SHARE;
    size_t begun_with = DECIDED(allowance_first) >> SLICE_SHIFT; // of which no program needs more than it had
    first_gone_slices = less(begun_with, first_slices());
    first_gone_slices += (less(first_slices(), used) + REFAULT_FADE_SHARE - 1) / REFAULT_FADE_SHARE;
    highest_retained_slices = retain_all_slices();
    most_slices = all_in_use_slices() + retain_all_slices();
    lowest_idle_slices = retain.outside.idle_bytes >> SLICE_SHIFT;
    given_slices = 0;
}

// Of the limits the one that is reached first.
static size_t least_limit_bytes(void) {
    size_t group = os_facts.group_limit_bytes, limit = SIZE_MAX;
    if (options.limit_soft != 0)
        limit = options.limit_soft;
    else if (group != SIZE_MAX)
        limit = group - group / LIMIT_SPARE_SHARE;
    if (DECIDED(held_most) != 0)
        limit = least_of(limit, DECIDED(held_most));
    return options.limit_hard != 0 ? least_of(options.limit_hard, limit) : limit;
}

size_t retain_limit_slices(void) {
    return less(least_limit_bytes() >> SLICE_SHIFT, all_in_use_slices());
}

bool retain_is_above_hard_limit(size_t more_slices) {
    return options.limit_hard != 0 && all_in_use_slices() + more_slices > options.limit_hard >> SLICE_SHIFT;
}

// N2.
static size_t allowance(size_t earned_slices) {
    return most_of(earned_slices, least_of(DECIDED(allowance_least) >> SLICE_SHIFT, most_slices));
}

size_t retain_bound_bytes(void) {
    size_t limit = retain_limit_slices() << SLICE_SHIFT;
    if (options.free_policy == OPTION_FREE_POLICY_KEEP)
        return limit;
    if (options.free_policy == OPTION_FREE_POLICY_BATCH)
        return least_of(options.release_batch, limit);
    size_t parts = DECIDED(retain_share);
    size_t share = (all_in_use_slices() << SLICE_SHIFT) / (parts > 0 ? parts : 1); // P1
    size_t least = DECIDED(retain_min);
    return least_of((share > least ? share : least) + (allowance(fading_slices()) << SLICE_SHIFT), limit);
}

size_t retain_surplus_bytes(size_t idle_bytes) {
    size_t idle = least_of(idle_bytes, retain.in_use_slices << SLICE_SHIFT); // no more can be, whatever a hint says
    size_t have = (retain.retained_slices << SLICE_SHIFT) + retain.outside.idle_bytes + idle;
    return less(have, retain_bound_bytes());
}

size_t retain_target_bytes(size_t bound) {
    return options.free_policy == OPTION_FREE_POLICY_BATCH ? 0 : bound - bound / PURGE_SLACK_SHARE;
}

// What growth leaves. What the allowance began with is for what falls and rises again, not for a new height.
static size_t growth_bound_slices(void) {
    size_t asked = DECIDED(retain_min); // whoever wants more than the default to stay gets it
    if (options.free_policy == OPTION_FREE_POLICY_KEEP)
        return SIZE_MAX;
    return allowance(retain.allowance_slices) + (asked > RETAIN_MIN_BYTES ? asked >> SLICE_SHIFT : 0);
}

size_t retain_growth_keeps(bool *owes) {
    size_t limit = retain_limit_slices();
    *owes = false;
    if (grown_slices < GROWTH_BYTES >> SLICE_SHIFT)
        return limit;
    size_t keep = most_of(growth_bound_slices(), less(retain.retained_slices, grown_slices));
    size_t unpaid = less(grown_slices, less(retain.retained_slices, keep));
    retain.outside.owed_bytes = retain_owed_bytes() + (unpaid << SLICE_SHIFT);
    *owes = unpaid > 0 && retain_owed_bytes() > 0;
    grown_slices = 0;
    return least_of(keep, limit);
}

size_t retain_owed_bytes(void) {
    size_t above = less(retain_all_slices(), growth_bound_slices()) << SLICE_SHIFT;
    return least_of(retain.outside.owed_bytes, least_of(above, retain.outside.idle_bytes));
}

void retain_note_less_idle(size_t bytes) {
    retain.outside.owed_bytes = less(retain.outside.owed_bytes, bytes);
}

size_t retain_surplus_of_growth(size_t bytes) {
    size_t have = retain_all_slices(), more = bytes >> SLICE_SHIFT;
    size_t growth = least_of(more, less(have, growth_bound_slices()));
    size_t above = less(have, less(retain_limit_slices(), more));
    return (growth > above ? growth : above) << SLICE_SHIFT;
}
