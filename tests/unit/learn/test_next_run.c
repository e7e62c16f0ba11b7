// What is decided for the next run: huge pages from the first on where the heap was dense, and W_MAX where many classes
// were used little. Each test is a process: what is noted stays.
#include "unit/unit.h"

#include "learn/next_run.h"
#include "learn/parts.h"
#include "policy/tolerance.h"
#include "region/density.h"
#include "region/groups.h"
#include "region/window.h"
#include "sample/sizes.h"
#include "sys/options.h"

enum { GROUPS = 4 * DENSITY_AGE };
static struct observation seen;
static struct policy learned;
static const struct policy_value *const huge = &learned.values[DECISION_huge_least];
static const struct policy_value *const threshold = &learned.values[DECISION_big_threshold];
static const struct policy_value *const w_max = &learned.values[DECISION_w_max];

static int start(void **state) {
    size_t first, count;
    (void)state;
    os_start();
    options.memory_price = 1000 * SECOND_NS; // dear: rounding costs time
    size_class_start();
    if (!window_start() || !window_extend((size_t)GROUPS * GROUP_SLICES, &first, &count))
        return -1;
    groups_start();
    group_count = GROUPS;
    return 0;
}

// A look at the heap, in whose groups so much is touched.
static void look_at_density(size_t touched_bytes) {
    struct density_look look;
    for (size_t number = 0; number < GROUPS; number++) {
        memset(window_address(number * GROUP_SLICES), 1, touched_bytes);
        groups[number] = (struct group){0};
        store_relaxed(&window.info[number * GROUP_SLICES], SLICE_RUN_INSIDE);
        density_note_plain(number);
    }
    MUST(density_begin_look(&look, 0));
    density_finish_look(&look);
}

static void note(size_t in_use_bytes) {
    seen.threads = 4;
    seen.in_use_bytes = in_use_bytes;
    next_run_note(&seen);
}

// Each class has a slab with so many blocks.
static void use_all_classes(unsigned blocks) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        seen.classes[i].refilled_blocks = blocks;
        seen.classes[i].slab_bytes = blocks == 0 ? 0 : SLICE_BYTES + blocks * class_bytes(i);
    }
}

// ---- huge pages

static void be_dense(void *unused) {
    (void)unused;
    look_at_density(GROUP_BYTES);
    note(64 * MIB);
    note(MIB); // at the end
    next_run_decide(&learned);
    MUST(huge->is_given && huge->value == 0 && huge->evidence.windows == 2);
    MUST(strcmp(huge->evidence.why, "dense") == 0);
}

static void be_sparse(void *unused) {
    (void)unused;
    learned.values[DECISION_huge_least] = (struct policy_value){.is_given = true, .value = 0}; // by the file
    look_at_density(GROUP_BYTES / 2);
    note(64 * MIB);
    next_run_decide(&learned);
    MUST(!huge->is_given);
}

// So many of each group's slices were never touched, for a second.
static void leave_clean(unsigned slices) {
    for (size_t number = 0; number < GROUPS; number++)
        groups[number] = (struct group){.free = (1u << slices) - 1, .clean = (1u << slices) - 1};
    seen.now_ns = SECOND_NS;
    note(64 * MIB);
    for (size_t number = 0; number < GROUPS; number++)
        groups[number] = (struct group){0};
    seen.now_ns = 2 * SECOND_NS;
    note(64 * MIB);
}

static void be_scattered(void *unused) {
    (void)unused;
    look_at_density(GROUP_BYTES);
    leave_clean(GROUP_SLICES / HUGE_COMPACT_SHARE + 1);
    next_run_decide(&learned);
    MUST(!huge->is_given);
    seen.now_ns = 4 * SECOND_NS; // two more seconds in which all was used
    note(64 * MIB);
    next_run_decide(&learned);
    MUST(huge->is_given && huge->value == 0);
}

static void be_compact(void *unused) {
    (void)unused;
    look_at_density(GROUP_BYTES);
    leave_clean(GROUP_SLICES / HUGE_COMPACT_SHARE - 1);
    next_run_decide(&learned);
    MUST(huge->is_given && huge->value == 0);
}

static void be_huge_already(void *unused) {
    (void)unused;
    look_at_density(GROUP_BYTES);
    for (size_t number = 0; number < GROUPS; number++)
        groups[number] = (struct group){.free = GROUP_WHOLE / 2, .clean = GROUP_WHOLE / 2, .is_huge = true};
    seen.now_ns = SECOND_NS;
    note(64 * MIB);
    seen.now_ns = 2 * SECOND_NS;
    note(64 * MIB);
    next_run_decide(&learned);
    MUST(huge->is_given);
}

static void be_small(void *unused) {
    (void)unused;
    look_at_density(GROUP_BYTES);
    note(4 * MIB);
    next_run_decide(&learned);
    MUST(!huge->is_given);
}

static void be_unknown(void *unused) {
    (void)unused;
    note(64 * MIB);
    next_run_decide(&learned);
    MUST(!huge->is_given);
    learned.values[DECISION_huge_least] = (struct policy_value){.is_given = true, .value = 0};
    next_run_decide(&learned);
    MUST(huge->is_given && huge->value == 0 && huge->evidence.windows == 0); // as the file says
}

static void a_dense_heap_gets_huge_pages_from_the_first(void **state) {
    (void)state;
    child_must_succeed(be_dense, NULL);
}

static void one_that_is_sparse_or_small_gets_them_no_more(void **state) {
    (void)state;
    child_must_succeed(be_sparse, NULL);
    child_must_succeed(be_small, NULL);
}

static void one_whose_groups_are_used_in_part_does_without(void **state) {
    (void)state;
    child_must_succeed(be_scattered, NULL);
    child_must_succeed(be_compact, NULL);
    child_must_succeed(be_huge_already, NULL);
}

static void where_density_is_not_known_the_file_is_right(void **state) {
    (void)state;
    child_must_succeed(be_unknown, NULL);
}

// ---- classes

static void use_little(void *unused) {
    (void)unused;
    use_all_classes(1);
    note(16 * MIB);
    next_run_decide(&learned);
    MUST(w_max->is_given && w_max->value > 100 && w_max->evidence.windows == 1);
    MUST(strcmp(w_max->evidence.why, "slack") == 0);
    MUST(w_max->evidence.gain_permille >= 1000 / 32 && w_max->evidence.gain_permille < 1000);
}

static void use_much(void *unused) {
    (void)unused;
    use_all_classes(1000);
    note(GIB);
    next_run_decide(&learned);
    MUST(!w_max->is_given);
}

static void use_little_after_the_peak(void *unused) {
    (void)unused;
    use_all_classes(1000);
    note(GIB);
    use_all_classes(1);
    note(16 * MIB);
    next_run_decide(&learned);
    MUST(!w_max->is_given);
}

static void use_little_and_then_nothing(void *unused) {
    (void)unused;
    use_all_classes(1);
    note(16 * MIB);
    use_all_classes(0);
    note(4 * MIB);
    next_run_decide(&learned);
    MUST(w_max->is_given);
}

// Most looks at a large heap see classes that are full.
static void use_little_once(void *unused) {
    (void)unused;
    use_all_classes(1000);
    note(GIB);
    note(GIB);
    use_all_classes(1);
    note(GIB);
    next_run_decide(&learned);
    MUST(!w_max->is_given);
}

// Of the mean it is the same as of one of them.
static void use_little_always(void *unused) {
    (void)unused;
    use_all_classes(1);
    note(16 * MIB);
    next_run_decide(&learned);
    int32_t gain = w_max->evidence.gain_permille;
    size_t tolerance = w_max->value;
    MUST(w_max->is_given && gain > 0);
    for (unsigned i = 0; i < 100; i++)
        note(16 * MIB);
    next_run_decide(&learned);
    MUST(w_max->is_given && w_max->value == tolerance && w_max->evidence.gain_permille == gain);
}

static void know_sizes(void *unused) {
    (void)unused;
    use_all_classes(1);
    note(16 * MIB);
    learned.classes[learned.class_count++].bytes = 1040;
    next_run_decide(&learned);
    MUST(!w_max->is_given);
}

static void classes_that_are_used_little_close(void **state) {
    (void)state;
    child_must_succeed(use_little, NULL);
    child_must_succeed(use_much, NULL);
}

static void what_counts_is_the_largest_heap(void **state) {
    (void)state;
    child_must_succeed(use_little_after_the_peak, NULL);
    child_must_succeed(use_little_and_then_nothing, NULL);
    child_must_succeed(use_little_once, NULL);
    child_must_succeed(use_little_always, NULL);
}

static void where_sizes_got_classes_none_closes(void **state) {
    (void)state;
    child_must_succeed(know_sizes, NULL);
}

// As the file says: each is served by the next one that is open. Notes requests of classes' own sizes.
static void close_classes(void) {
    static struct snapshot snapshot;
    static uint32_t sizes[CLASS_END];
    learned.values[DECISION_w_max] = (struct policy_value){.is_given = true, .value = 140};
    snapshot.w_max = 140;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        sizes[i] = (uint32_t)class_bytes(i);
    tolerance_apply(&snapshot, sizes);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        if (snapshot.closed[i] != 0)
            size_class_close(i);
}

static void ask_for(size_t bytes, unsigned requests) {
    while (requests-- > 0)
        sizes_note(bytes);
}

// What each open class has, of all sizes that it serves.
static void use_open_classes(unsigned blocks) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        bool is_open = class_of(class_bytes(i)) == i;
        seen.classes[i].refilled_blocks = is_open ? blocks : 0;
        seen.classes[i].slab_bytes = is_open ? SLICE_BYTES + blocks * class_bytes(i) : 0;
        ask_for(class_bytes(i), 10);
    }
}

static void pay_for_rounding(void *unused) {
    (void)unused;
    close_classes();
    unsigned index = class_of(1100);
    MUST(class_bytes(index) > 1152);
    ask_for(1100, 1000);
    seen.classes[index].refilled_blocks = 100000;
    seen.classes[index].slab_bytes = 100010 * class_bytes(index);
    note(130 * MIB);
    next_run_decide(&learned);
    MUST(!w_max->is_given);
}

static void still_use_little(void *unused) {
    (void)unused;
    close_classes();
    use_open_classes(2);
    note(16 * MIB);
    next_run_decide(&learned);
    MUST(w_max->is_given && w_max->value > 100 && w_max->evidence.windows == 1);
}

static void see_no_sizes(void *unused) {
    (void)unused;
    close_classes();
    use_all_classes(1000);
    note(GIB);
    next_run_decide(&learned);
    MUST(w_max->is_given && w_max->value == 140 && w_max->evidence.windows == 0); // as the file says
    learned.classes[learned.class_count++].bytes = 1040;
    next_run_decide(&learned);
    MUST(!w_max->is_given);
}

static void what_closed_by_the_file_opens_again_where_it_costs_more_than_it_saves(void **state) {
    (void)state;
    child_must_succeed(pay_for_rounding, NULL);
    child_must_succeed(still_use_little, NULL);
    child_must_succeed(see_no_sizes, NULL);
}

// ---- mappings

static void ask_for_big(size_t bytes, unsigned requests) {
    observed_spread.requests[spread_range(bytes)] += requests;
    observed_spread.sites |= spread_site(0x401000);
}

static void ask_for_alike(void *unused) {
    (void)unused;
    next_run_begin_life();
    ask_for_big(2 * MIB, 300);
    ask_for_big(3 * MIB, 300);
    next_run_decide(&learned);
    MUST(threshold->is_given && threshold->value == 2 * MIB && strcmp(threshold->evidence.why, "spread") == 0);
    ask_for_big(9 * MIB, 300); // nor is it so any more
    next_run_decide(&learned);
    MUST(!threshold->is_given);
}

static void what_a_parent_asked_for(void *unused) {
    (void)unused;
    ask_for_big(9 * MIB, 300);
    for (uintptr_t site = 0; site < 64; site++)
        observed_spread.sites |= spread_site(site);
    next_run_begin_life();
    next_run_decide(&learned);
    MUST(!threshold->is_given);
    ask_for_big(2 * MIB, 300);
    next_run_decide(&learned);
    MUST(threshold->is_given && threshold->value == 2 * MIB);
}

static void ask_for_few(void *unused) {
    (void)unused;
    learned.values[DECISION_big_threshold] =
        (struct policy_value){.is_given = true, .value = 4 * MIB, .evidence = {.why = "spread"}};
    next_run_begin_life();
    ask_for_big(2 * MIB, 10);
    next_run_decide(&learned);
    MUST(threshold->is_given && threshold->value == 4 * MIB); // as the file says
    ask_for_big(2 * MIB, 300);
    next_run_decide(&learned);
    MUST(threshold->value == 2 * MIB);
}

static void have_it_by_hand(void *unused) {
    (void)unused;
    learned.values[DECISION_big_threshold] = (struct policy_value){.is_given = true, .value = 4 * MIB};
    next_run_begin_life();
    ask_for_big(2 * MIB, 300);
    next_run_decide(&learned);
    MUST(threshold->value == 4 * MIB);
    ask_for_big(9 * MIB, 300);
    next_run_decide(&learned);
    MUST(threshold->is_given && threshold->value == 4 * MIB);
}

static void big_blocks_of_like_sizes_get_mappings_in_the_next_run(void **state) {
    (void)state;
    child_must_succeed(ask_for_alike, NULL);
    child_must_succeed(what_a_parent_asked_for, NULL);
    child_must_succeed(ask_for_few, NULL);
}

static void a_threshold_of_somebody_elses_stays(void **state) {
    (void)state;
    child_must_succeed(have_it_by_hand, NULL);
}

// ---- parts

static void be_off(void *unused) {
    (void)unused;
    options.learn_parts = "depths";
    parts_read();
    look_at_density(GROUP_BYTES);
    use_all_classes(1);
    note(64 * MIB);
    ask_for_big(2 * MIB, 300);
    next_run_decide(&learned);
    MUST(!huge->is_given && !w_max->is_given && !threshold->is_given);
}

static void parts_that_are_off_decide_nothing(void **state) {
    (void)state;
    child_must_succeed(be_off, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_heap_gets_huge_pages_from_the_first),
        cmocka_unit_test(one_that_is_sparse_or_small_gets_them_no_more),
        cmocka_unit_test(one_whose_groups_are_used_in_part_does_without),
        cmocka_unit_test(where_density_is_not_known_the_file_is_right),
        cmocka_unit_test(classes_that_are_used_little_close),
        cmocka_unit_test(what_counts_is_the_largest_heap),
        cmocka_unit_test(where_sizes_got_classes_none_closes),
        cmocka_unit_test(what_closed_by_the_file_opens_again_where_it_costs_more_than_it_saves),
        cmocka_unit_test(big_blocks_of_like_sizes_get_mappings_in_the_next_run),
        cmocka_unit_test(a_threshold_of_somebody_elses_stays),
        cmocka_unit_test(parts_that_are_off_decide_nothing),
    };
    return cmocka_run_group_tests_name("next_run", tests, start, NULL);
}
