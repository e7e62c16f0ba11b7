// Runs of slices: who has what, against a naive model; what is clean, what is retained, what is purged.
#include "unit/decide.h"

#include "base/bits.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

#define PAGE os_facts.page_bytes

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

static char *address_of(size_t slice) {
    return window_address(slice);
}

static void touch_run(size_t first, size_t slices) {
    for (size_t slice = first; slice < first + slices; slice++)
        memset(address_of(slice), 0xee, SLICE_BYTES);
}

static size_t take(size_t slices, size_t align) {
    bool clean;
    size_t first = runs_take(slices, align, &clean);
    assert_int_not_equal(first, NO_SLICE);
    assert_int_equal(first % align, 0);
    return first;
}

static size_t resident_pages_of(size_t first, size_t slices) {
    static unsigned char resident[4096];
    size_t pages = (slices << SLICE_SHIFT) / PAGE, count = 0;
    assert_true(pages <= sizeof resident);
    assert_int_equal(mincore(address_of(first), slices << SLICE_SHIFT, resident), 0);
    for (size_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    return count;
}

// ---- the model: a byte a slice

enum { MODEL_SLICES = 1 << 16, HELD_RUNS = 256 };
enum { SLICE_UNKNOWN, SLICE_FREE, SLICE_USED };

struct held_run {
    size_t first;
    size_t slices;
};

static struct {
    uint8_t slices[MODEL_SLICES];
    size_t known; // slices of the window that were seen to exist
    size_t used;
    struct held_run held[HELD_RUNS];
    size_t held_count;
} model;

// What exists beyond what was known has just come into being, free.
static void model_grow(void) {
    struct runs_totals totals = runs_count();
    size_t exist = totals.in_use_slices + totals.free_slices;
    assert_true(exist >= model.known && exist <= MODEL_SLICES);
    for (; model.known < exist; model.known++)
        model.slices[model.known] = SLICE_FREE;
}

static void model_set(size_t first, size_t slices, uint8_t from, uint8_t to) {
    for (size_t slice = first; slice < first + slices; slice++) {
        assert_int_equal(model.slices[slice], from);
        model.slices[slice] = to;
    }
    model.used += to == SLICE_USED ? slices : -slices;
}

static void model_check_totals(void) {
    struct runs_totals totals = runs_count();
    assert_int_equal(totals.in_use_slices, model.used);
    assert_int_equal(totals.in_use_slices + totals.free_slices, model.known);
    assert_true(totals.retained_slices <= totals.free_slices);
}

// Lengths for which the index is exact: the size classes' and whole groups.
static bool is_indexed_length(size_t slices) {
    static const uint8_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32};
    return memchr(lengths, (int)slices, sizeof lengths) != NULL && slices <= GROUP_SLICES;
}

// Lowest group of the model with a free run of that length inside; the group count where there is none.
static size_t model_lowest_group(size_t slices) {
    for (size_t group = 0; group < model.known / GROUP_SLICES; group++) {
        size_t length = 0;
        for (size_t i = 0; i < GROUP_SLICES; i++) {
            length = model.slices[group * GROUP_SLICES + i] == SLICE_FREE ? length + 1 : 0;
            if (length == slices)
                return group;
        }
    }
    return model.known / GROUP_SLICES;
}

// Where the model's lowest free run of that length starts.
static size_t model_lowest_run(size_t slices) {
    size_t length = 0;
    for (size_t slice = 0; slice < model.known; slice++) {
        length = model.slices[slice] == SLICE_FREE ? length + 1 : 0;
        if (length == slices)
            return slice + 1 - slices;
    }
    return NO_SLICE;
}

static void model_take(struct random *random) {
    size_t slices = 1 + random_below(random, random_below(random, 4) == 0 ? 200 : 32);
    size_t align = random_below(random, 3) != 0 ? 1 : (size_t)1 << random_below(random, 8);
    size_t lowest = model_lowest_group(slices);
    bool clean;
    size_t first = runs_take(slices, align, &clean);
    assert_int_not_equal(first, NO_SLICE);
    assert_int_equal(first % align, 0);
    if (align == 1 && slices < RUN_ACROSS_SLICES) // R3
        assert_int_equal(first / GROUP_SLICES, lowest);
    model_grow();
    if (align == 1 && slices >= RUN_ACROSS_SLICES && (slices > GROUP_SLICES || is_indexed_length(slices)))
        assert_int_equal(first, model_lowest_run(slices));
    model_set(first, slices, SLICE_FREE, SLICE_USED);
    for (size_t slice = first; slice < first + slices; slice++) {
        assert_true(!clean || is_zero(address_of(slice), 64));
        memset(address_of(slice), 0xee, 64);
    }
    model.held[model.held_count++] = (struct held_run){first, slices};
}

static void model_give(struct random *random) {
    struct held_run *run = &model.held[random_below(random, model.held_count)];
    size_t keep =
        random_below(random, 3) == 0 ? random_below(random, run->slices) : 0; // the first ones, as realloc does
    runs_give(run->first + keep, run->slices - keep);
    model_set(run->first + keep, run->slices - keep, SLICE_USED, SLICE_FREE);
    struct runs_totals totals = runs_count();
    size_t share = totals.in_use_slices / DECIDED(retain_share);
    size_t least = DECIDED(retain_min) >> SLICE_SHIFT;
    assert_true(totals.retained_slices <= (share > least ? share : least) + totals.allowance_slices); // N1
    run->slices = keep;
    if (keep == 0)
        *run = model.held[--model.held_count];
}

static void model_grow_run(struct random *random) {
    struct held_run *run = &model.held[random_below(random, model.held_count)];
    size_t end = run->first + run->slices;
    size_t more = 1 + random_below(random, 40);
    bool zeroed;
    bool expected = end + more <= model.known;
    for (size_t slice = end; slice < end + more && expected; slice++)
        expected = model.slices[slice] == SLICE_FREE;
    assert_int_equal(runs_take_at(end, more, &zeroed), expected);
    if (!expected)
        return;
    model_set(end, more, SLICE_FREE, SLICE_USED);
    for (size_t slice = end; slice < end + more; slice++)
        memset(address_of(slice), 0xee, 64);
    run->slices += more;
}

static void model_purge(struct random *random) {
    size_t keep = random_below(random, 2) == 0 ? 0 : random_below(random, 8 * MIB);
    size_t before = runs_count().retained_slices;
    bool purged = runs_purge(keep);
    assert_true(runs_count().retained_slices <= keep >> SLICE_SHIFT);
    assert_int_equal(purged, before > keep >> SLICE_SHIFT);
}

static void random_takes_and_gives_agree_with_a_model(void **state) {
    struct random random = random_start();
    size_t retain_min = DECIDED(retain_min);
    (void)state;
    for (unsigned step = 0; step < 20000; step++) {
        DECIDE(retain_min, step % 4000 < 2000 ? 2 * MIB : 16 * MIB);
        size_t choice = random_below(&random, 100);
        if (model.held_count < HELD_RUNS && (model.held_count == 0 || choice < 50))
            model_take(&random);
        else if (choice < 90)
            model_give(&random);
        else if (choice < 98)
            model_grow_run(&random);
        else
            model_purge(&random);
        model_check_totals();
    }
    while (model.held_count > 0)
        model_give(&random);
    assert_int_equal(runs_count().in_use_slices, 0);
    DECIDE(retain_min, retain_min);
}

// ---- single behaviours

// The last one: what was purged lazily is not zero.
static void purged_lazily_they_agree_as_well(void **state) {
    bool zeroed;
    options.purge = OPTION_PURGE_LAZILY;
    size_t first = take(GROUP_SLICES, GROUP_SLICES);
    touch_run(first, GROUP_SLICES);
    runs_give(first, GROUP_SLICES);
    assert_true(runs_purge(0) && runs_count().retained_slices == 0);
    assert_true(runs_take(GROUP_SLICES, GROUP_SLICES, &zeroed) == first && !zeroed);
    runs_give(first, GROUP_SLICES);
    random_takes_and_gives_agree_with_a_model(state);
    DECIDE(huge_pages, OPTION_HUGE_PAGES_ON);
    random_takes_and_gives_agree_with_a_model(state);
}

static void everything_is_clean_after_a_purge_of_all(void **state) {
    (void)state;
    size_t first = take(40, 1);
    touch_run(first, 40);
    runs_give(first, 40);
    assert_true(runs_count().retained_slices >= 40);
    runs_purge(0);
    struct runs_totals totals = runs_count();
    assert_int_equal(totals.retained_slices, 0);
    assert_int_equal(resident_pages_of(first, 40), 0);
    bool clean = false;
    assert_int_equal(runs_take(40, 1, &clean), first);
    assert_true(clean);
    runs_give(first, 40);
    assert_int_equal(runs_count().purges, totals.purges); // 40 slices are within what may be retained
    assert_true(runs_purge(0));
}

static void a_run_with_one_used_slice_is_not_clean(void **state) {
    bool clean;
    (void)state;
    runs_purge(0);
    size_t first = take(8, 1);
    runs_give(first + 5, 3);
    assert_int_equal(runs_take(3, 1, &clean), first + 5);
    assert_false(clean);
    runs_give(first, 8);
    runs_purge(0);
}

static void purging_starts_at_the_highest_group(void **state) {
    enum { GROUPS = 6 };
    (void)state;
    runs_purge(0);
    size_t first = take(GROUPS * GROUP_SLICES, 1);
    touch_run(first, GROUPS * GROUP_SLICES);
    runs_give(first, GROUPS * GROUP_SLICES);
    assert_true(runs_purge(2 * GROUP_BYTES));
    for (size_t group = 0; group < GROUPS; group++) {
        size_t pages = resident_pages_of(first + group * GROUP_SLICES, GROUP_SLICES);
        assert_int_equal(pages, group < 2 ? GROUP_BYTES / PAGE : 0);
    }
    runs_purge(0);
}

static void purges_are_counted(void **state) {
    (void)state;
    runs_purge(0);
    size_t first = take(16, 1);
    runs_give(first, 16);
    struct runs_totals before = runs_count();
    assert_true(runs_purge(0));
    struct runs_totals after = runs_count();
    assert_int_equal(after.purged_bytes - before.purged_bytes, 16 * SLICE_BYTES);
    assert_true(after.purges > before.purges);
    assert_false(runs_purge(0)); // nothing is left to do
    assert_int_equal(runs_count().purges, after.purges);
}

static void locked_memory_stays_retained_and_ends_the_purge(void **state) {
    bool clean;
    (void)state;
    runs_purge(0);
    size_t first = take(2, 1);
    touch_run(first, 2);
    if (SANITIZED || mlock(address_of(first), SLICE_BYTES) != 0) {
        runs_give(first, 2);
        skip(); // not allowed here, or a sanitizer makes it do nothing
    }
    runs_give(first, 2);
    assert_false(runs_purge(0));
    assert_true(runs_count().retained_slices >= 1);
    assert_int_equal(runs_take(2, 1, &clean), first);
    assert_false(clean); // its content is still there
    munlock(address_of(first), SLICE_BYTES);
    runs_give(first, 2);
    assert_true(runs_purge(0));
    assert_int_equal(runs_count().retained_slices, 0);
}

static void more_than_the_bound_goes_back_at_once_and_less_stays(void **state) {
    (void)state;
    size_t slices = 2 * (DECIDED(retain_min) >> SLICE_SHIFT);
    runs_purge(0);
    size_t first = take(slices, 1);
    runs_give(first, 16);
    assert_int_equal(runs_count().retained_slices, 16);
    runs_give(first + 16, slices - 16);
    struct runs_totals totals = runs_count();
    assert_true(totals.retained_slices <= (DECIDED(retain_min) >> SLICE_SHIFT) + totals.allowance_slices);
    assert_true(totals.retained_slices > 0);
    runs_purge(0);
}

// N2, in a process that has purged nothing yet.
static void purge_and_take_again(void *context) {
    enum { SLICES = 1024 };
    bool clean;
    (void)context;
    DECIDE(retain_min, 0);
    DECIDE(retain_share, 1000000);
    MUST(runs_count().allowance_slices == 0);
    size_t first = runs_take(SLICES, 1, &clean);
    MUST(clean);
    runs_give(first, SLICES);
    MUST(runs_count().retained_slices == 0 && runs_count().refaulted_bytes == 0); // the first burst goes back at once
    MUST(runs_take(SLICES, 1, &clean) == first && clean);
    MUST(runs_count().refaulted_bytes == SLICES * SLICE_BYTES && runs_count().allowance_slices == SLICES);
    runs_give(first, SLICES);
    size_t allowance = runs_count().allowance_slices;
    MUST(allowance == SLICES);
    MUST(runs_count().retained_slices <= allowance && runs_count().retained_slices > 0);
    uint64_t purges = runs_count().purges, refaulted = runs_count().refaulted_bytes;
    for (unsigned i = 0; i < 20; i++) { // a loop over as much: purges become rare
        runs_take(SLICES / 2, 1, &clean);
        runs_give(first, SLICES / 2);
    }
    MUST(runs_count().purges == purges && runs_count().refaulted_bytes == refaulted);
    MUST(runs_count().reused_bytes >= 19 * (SLICES / 2) * SLICE_BYTES);
    for (unsigned i = 0; i < SLICES * 512 / 8; i++) { // traffic that needs little
        first = runs_take(8, 1, &clean);
        runs_give(first, 8);
    }
    MUST(runs_count().allowance_slices <= 16); // about what it needs
}

static void a_loop_over_the_same_memory_stops_paying_for_purges(void **state) {
    (void)state;
    child_must_succeed(purge_and_take_again, NULL);
}

// By turns many small runs and two large ones, which don't fit where the small ones lay: a slice of each group there
// stays.
static void take_turns(void *context) {
    enum { SMALL = 2, COUNT = 105, LARGE = 80, ROUNDS = 3000, GROUPS = 7 };
    size_t first[COUNT], pins[GROUPS * GROUP_SLICES];
    uint64_t purges = 0;
    (void)context;
    for (unsigned i = 0; i < COUNT_OF(pins); i++)
        pins[i] = take(1, 1);
    for (unsigned i = 0; i < COUNT_OF(pins); i++)
        if (i % GROUP_SLICES != 0)
            runs_give(pins[i], 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < COUNT; i++)
            first[i] = take(SMALL, 1);
        for (unsigned i = 0; i < COUNT; i++)
            runs_give(first[i], SMALL);
        size_t large = take(LARGE, 1), other = take(LARGE, 1);
        runs_give(large, LARGE);
        runs_give(other, LARGE);
        if (round == ROUNDS / 2)
            purges = runs_count().purges;
    }
    MUST(runs_count().purges == purges);
}

// Whoever trims again and again earns no more allowance than the program ever had in use.
static void trim_and_take_again(void *context) {
    enum { SLICES = 512 };
    (void)context;
    for (unsigned i = 0; i < 60; i++) {
        runs_give(take(SLICES, 1), SLICES);
        runs_purge(0);
    }
    MUST(runs_count().allowance_slices <= SLICES);
}

static void the_allowance_settles(void **state) {
    (void)state;
    child_must_succeed(take_turns, NULL);
    child_must_succeed(trim_and_take_again, NULL);
}

// N3, in a process that has purged nothing yet: what is retained does not fit what is taken.
static void grow_beside_fragments(void *context) {
    enum { SMALL = 4, COUNT = 64, LARGE = 8 };
    const size_t *retain_min = context;
    size_t first[COUNT];
    DECIDE(retain_min, *retain_min);
    for (unsigned i = 0; i < COUNT; i++)
        first[i] = take(SMALL, 1);
    for (unsigned i = 0; i < COUNT; i += 2)
        runs_give(first[i], SMALL);
    MUST(runs_count().retained_slices == SMALL * COUNT / 2 && runs_count().purges == 0);
    for (unsigned taken = 0; taken < SMALL * COUNT / 4; taken += LARGE) // half as much, where none of it fits
        take(LARGE, 1);
    bool more_is_wanted = *retain_min > RETAIN_MIN_BYTES;
    MUST(runs_count().retained_slices <= SMALL * COUNT / 4 || more_is_wanted);
    MUST(runs_count().retained_slices >= SMALL * COUNT / 4 - (GROWTH_BYTES >> SLICE_SHIFT));
    MUST((runs_count().purges == 0) == more_is_wanted);
    // What is purged and taken again earns an allowance: that much stays from now on.
    runs_purge(0);
    for (unsigned i = 0; i < COUNT; i += 2)
        first[i] = take(SMALL, 1);
    size_t allowance = runs_count().allowance_slices;
    MUST(allowance >= SMALL * COUNT / 4);
    uint64_t purges = runs_count().purges;
    for (unsigned i = 0; i < COUNT / 2; i += 2)
        runs_give(first[i], SMALL);
    for (unsigned taken = 0; taken < SMALL * COUNT / 4; taken += LARGE)
        take(LARGE, 1);
    MUST(runs_count().purges == purges);
}

static void growth_pays_with_what_is_retained(void **state) {
    size_t usual = RETAIN_MIN_BYTES, more = 2 * RETAIN_MIN_BYTES;
    (void)state;
    child_must_succeed(grow_beside_fragments, &usual);
    child_must_succeed(grow_beside_fragments, &more);
}

static void impossible_runs_are_refused(void **state) {
    bool clean;
    (void)state;
    struct runs_totals before = runs_count();
    errno = UNTOUCHED;
    assert_int_equal(runs_take(window.limit + 1, 1, &clean), NO_SLICE);
    assert_int_equal(errno, UNTOUCHED);
    assert_int_equal(runs_count().in_use_slices, before.in_use_slices);
}

// ---- threads

static uint8_t owners[MODEL_SLICES]; // who has the slice, as the threads believe

static void own_slices(const struct held_run *run, uint8_t owner_before, uint8_t owner) {
    for (size_t slice = run->first; slice < run->first + run->slices; slice++)
        MUST(exchange_total(&owners[slice], owner) == owner_before); // total: nothing here depends on the order
}

static void *take_and_give(void *number) {
    enum { RUNS = 16 };
    struct random random = {(uintptr_t)number};
    struct held_run held[RUNS] = {{0, 0}};
    uint8_t me = (uint8_t)((uintptr_t)number + 1);
    unsigned steps = SANITIZED ? 4000 : 20000;
    for (unsigned step = 0; step < steps + RUNS; step++) {
        struct held_run *run = &held[step < steps ? random_below(&random, RUNS) : step - steps];
        own_slices(run, me, 0);
        if (run->slices > 0)
            runs_give(run->first, run->slices);
        run->slices = 0;
        if (step >= steps)
            continue; // at the end all are given
        size_t align = (size_t)1 << random_below(&random, 4);
        bool clean;
        run->slices = 1 + random_below(&random, random_below(&random, 8) == 0 ? 80 : 12);
        run->first = runs_take(run->slices, align, &clean);
        MUST(run->first != NO_SLICE && run->first % align == 0);
        own_slices(run, 0, me);
        *address_of(run->first) = 1;
    }
    return NULL;
}

static void threads_never_get_the_same_slice(void **state) {
    size_t retain_min = DECIDED(retain_min);
    (void)state;
    DECIDE(retain_min, MIB); // so that purges come between
    threads_run(4, take_and_give);
    DECIDE(retain_min, retain_min);
    assert_int_equal(runs_count().in_use_slices, 0);
    assert_true(runs_count().purges > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_allowance_settles),
        cmocka_unit_test(growth_pays_with_what_is_retained),
        cmocka_unit_test(a_loop_over_the_same_memory_stops_paying_for_purges),
        cmocka_unit_test(random_takes_and_gives_agree_with_a_model),
        cmocka_unit_test(everything_is_clean_after_a_purge_of_all),
        cmocka_unit_test(a_run_with_one_used_slice_is_not_clean),
        cmocka_unit_test(purging_starts_at_the_highest_group),
        cmocka_unit_test(purges_are_counted),
        cmocka_unit_test(locked_memory_stays_retained_and_ends_the_purge),
        cmocka_unit_test(more_than_the_bound_goes_back_at_once_and_less_stays),
        cmocka_unit_test(impossible_runs_are_refused),
        cmocka_unit_test(threads_never_get_the_same_slice),
        cmocka_unit_test(purged_lazily_they_agree_as_well),
    };
    return cmocka_run_group_tests_name("runs", tests, start, NULL);
}
