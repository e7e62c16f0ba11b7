// Sizes that get classes of their own: the choice of a slow model which counts page by page, and each of its
// conditions.
#include "unit/unit.h"

#include "policy/classes.h"

enum { SIZES = 64, CLASSES = 8 };

// A report and what it points to.
struct sizes {
    struct size_report report;
    uint32_t bytes[SIZES], seen[SIZES], kept[SIZES];
    uint8_t class_of[SIZES];
    uint32_t class_bytes[CLASSES];
    uint64_t class_blocks[CLASSES];
    uint8_t class_grows[CLASSES];
};
static struct sizes sizes;
static struct size_choice choice;

static int begin(void **state) {
    (void)state;
    memset(&sizes, 0, sizeof sizes);
    memset(sizes.class_grows, 1, sizeof sizes.class_grows);
    sizes.report = (struct size_report){
        .bytes = sizes.bytes,
        .seen = sizes.seen,
        .kept = sizes.kept,
        .class_of = sizes.class_of,
        .class_bytes = sizes.class_bytes,
        .class_blocks = sizes.class_blocks,
        .class_grows = sizes.class_grows,
        .threads = 1,
        .least_seen = DYN_LEAST_SEEN,
    };
    return 0;
}

static void add_class(unsigned index, uint32_t bytes, uint64_t blocks) {
    sizes.class_bytes[index] = bytes;
    sizes.class_blocks[index] = blocks;
}

static void add_size(unsigned class_index, uint32_t bytes, uint32_t seen) {
    unsigned i = sizes.report.entries++;
    sizes.bytes[i] = bytes;
    sizes.seen[i] = seen;
    sizes.class_of[i] = (uint8_t)class_index;
}

static bool choose(void) {
    return classes_choose(&sizes.report, &choice);
}

// ---- a slow model

// Page by page what a request makes resident of a block; where blocks share pages, all of it.
static uint64_t model_resident(uint32_t block_bytes, uint32_t bytes) {
    uint64_t resident = 0;
    if (block_bytes % PAGE_LEAST_BYTES != 0)
        return block_bytes;
    for (uint32_t page = 0; page < bytes; page += PAGE_LEAST_BYTES)
        resident += PAGE_LEAST_BYTES;
    return resident;
}

// The counts that tell of the blocks in use of a class.
static const uint32_t *model_counts(const struct size_report *report, unsigned class_index) {
    uint64_t kept = 0;
    for (unsigned i = 0; i < report->entries && report->kept != NULL; i++)
        kept += report->class_of[i] == class_index ? report->kept[i] : 0;
    return kept >= report->least_seen ? report->kept : report->seen;
}

// What a class at the size `cut` would save of the blocks in use, which have sizes as what was counted.
static uint64_t model_saved(const struct size_report *report, unsigned cut) {
    unsigned class_index = report->class_of[cut];
    const uint32_t *counts = model_counts(report, class_index);
    uint64_t saved = 0, seen = 0;
    for (unsigned i = 0; i < report->entries; i++) {
        if (report->class_of[i] != class_index)
            continue;
        seen += counts[i];
        for (unsigned k = 0; i <= cut && k < counts[i]; k++) {
            uint64_t now = model_resident(report->class_bytes[class_index], report->bytes[i]);
            uint64_t then = model_resident(report->bytes[cut], report->bytes[i]);
            saved += now > then ? now - then : 0;
        }
    }
    return seen >= report->least_seen ? saved * report->class_blocks[class_index] / seen : 0;
}

static uint64_t model_least(const struct size_report *report) {
    uint64_t least = DYN_LEAST_BYTES + (uint64_t)report->threads * DYN_THREAD_BYTES;
    uint64_t share = report->in_use_bytes / DYN_LEAST_SHARE;
    return least > share ? least : share;
}

// The most that any size would save that may be chosen.
static uint64_t model_most(const struct size_report *report) {
    uint64_t most = 0;
    for (unsigned i = 0; i < report->entries; i++) {
        bool grows = report->class_grows == NULL || report->class_grows[report->class_of[i]] != 0;
        uint64_t saved = grows && report->bytes[i] > CLASS_LINEAR_MAX ? model_saved(report, i) : 0;
        most = saved > most ? saved : most;
    }
    return most >= model_least(report) ? most : 0;
}

static void report_at_random(struct random *random) {
    static const uint32_t classes[CLASSES] = {256, 512, 640, 4096, 5120, 40960, 65536, MIB};
    static const uint32_t steps[CLASSES] = {16, 16, 16, 128, 128, 2048, 4096, 65536};
    for (unsigned i = 0; i < CLASSES; i++) {
        uint32_t step = steps[i], below = i > 0 ? classes[i - 1] : 0;
        add_class(i, classes[i], random_below(random, (size_t)1 << random_below(random, 16)));
        sizes.class_grows[i] = random_below(random, 4) > 0;
        unsigned count = (unsigned)random_below(random, 7);
        uint32_t bytes = classes[i] - count * step;
        for (; count > 0 && bytes > below; count--, bytes += step)
            add_size(i, bytes, (uint32_t)random_below(random, 200) * (random_below(random, 3) > 0));
        add_size(i, classes[i], (uint32_t)random_below(random, 200));
    }
    sizes.report.threads = (unsigned)random_below(random, 20);
    sizes.report.in_use_bytes = random_below(random, (size_t)1 << random_below(random, 34));
    if (random_below(random, 4) == 0)
        sizes.report.class_grows = NULL;
    for (unsigned i = 0; i < sizes.report.entries; i++)
        sizes.kept[i] = (uint32_t)random_below(random, sizes.seen[i] + 1);
    if (random_below(random, 4) == 0)
        sizes.report.kept = NULL;
}

static void the_size_is_chosen_that_saves_most(void **state) {
    struct random random = random_start();
    unsigned chosen = 0, rounds = 2000;
    for (unsigned round = 0; round < rounds; round++) {
        begin(state);
        report_at_random(&random);
        uint64_t most = model_most(&sizes.report);
        assert_int_equal(choose(), most > 0);
        assert_true(choice.saved_bytes == most);
        unsigned place = 0;
        while (most > 0 && sizes.bytes[place] != choice.bytes)
            assert_true(++place < sizes.report.entries);
        if (most > 0)
            assert_true(sizes.class_of[place] == choice.class_index && model_saved(&sizes.report, place) == most);
        chosen += most > 0;
    }
    assert_in_range(chosen, rounds / 10, rounds - rounds / 10); // else it does not try what it should
}

// ---- conditions

// Where all requests of a class are for 1040 of its 1152 bytes: saves 112 in each of its blocks.
static void one_size(uint64_t blocks) {
    add_class(1, 1152, blocks);
    add_size(1, 1040, DYN_LEAST_SEEN);
    add_size(1, 1152, 0);
}

static void nothing_is_chosen_below_the_least_saving(void **state) {
    uint64_t least = DYN_LEAST_BYTES + DYN_THREAD_BYTES;
    (void)state;
    one_size((least + 111) / 112);
    assert_true(choose());
    assert_true(choice.bytes == 1040 && choice.class_index == 1 && choice.saved_bytes >= least);
    sizes.class_blocks[1] = (least - 1) / 112;
    assert_false(choose());
    assert_true(choice.saved_bytes == 0);
}

static void threads_and_use_raise_the_least_saving(void **state) {
    (void)state;
    one_size((DYN_LEAST_BYTES + 100 * DYN_THREAD_BYTES) / 112 + 1);
    sizes.report.threads = 100;
    assert_true(choose());
    sizes.report.threads = 101;
    assert_false(choose());
    sizes.report.threads = 1;
    sizes.report.in_use_bytes = sizes.class_blocks[1] * 112 * DYN_LEAST_SHARE;
    assert_true(choose());
    sizes.report.in_use_bytes += DYN_LEAST_SHARE;
    assert_false(choose());
}

static void nothing_of_a_class_that_does_not_grow(void **state) {
    (void)state;
    one_size(MIB);
    sizes.class_grows[1] = 0;
    assert_false(choose());
    sizes.report.class_grows = NULL; // it does not matter
    assert_true(choose());
}

static void classes_are_chosen_from_one_after_the_other(void **state) {
    static uint8_t chosen[CLASSES];
    (void)state;
    one_size(MIB);
    add_class(2, 2304, 2 * MIB);
    add_size(2, 2064, DYN_LEAST_SEEN);
    assert_true(choose() && choice.bytes == 2064); // saves more
    sizes.report.class_chosen = chosen;
    assert_true(choose() && choice.bytes == 2064); // none yet
    chosen[2] = 1;
    assert_true(choose() && choice.bytes == 1040);
    chosen[1] = 1;
    assert_false(choose());
    assert_true(choice.saved_bytes == 0);
}

static void little_seen_says_nothing(void **state) {
    (void)state;
    one_size(MIB);
    sizes.seen[0] = DYN_LEAST_SEEN - 1;
    assert_false(choose());
}

static void sizes_that_fit_their_class_have_one(void **state) {
    (void)state;
    one_size(MIB);
    sizes.seen[0] = 0;
    sizes.seen[1] = 1000;
    assert_false(choose());
}

static void small_sizes_have_classes_of_their_own_already(void **state) {
    (void)state;
    add_class(1, 256, GIB);
    add_size(1, 16, 1000);
    add_size(1, 256, 0);
    assert_false(choose());
}

static void whole_pages_save_whole_pages_only(void **state) {
    (void)state;
    add_class(1, 10 * PAGE_LEAST_BYTES, 10000);
    add_size(1, 9 * PAGE_LEAST_BYTES, 1000); // nobody touches the tenth page
    add_size(1, 10 * PAGE_LEAST_BYTES, 0);
    assert_false(choose());
    add_class(2, 10 * PAGE_LEAST_BYTES + 16, 10000); // the same where blocks share pages
    add_size(2, 9 * PAGE_LEAST_BYTES, 1000);
    add_size(2, 10 * PAGE_LEAST_BYTES + 16, 0);
    assert_true(choose());
    assert_true(choice.class_index == 2 && choice.bytes == 9 * PAGE_LEAST_BYTES);
    assert_int_equal(choice.saved_bytes, 10000 * (PAGE_LEAST_BYTES + 16));
}

static void the_part_of_the_requests_counts(void **state) {
    (void)state;
    one_size(10000);
    assert_true(choose());
    uint64_t all = choice.saved_bytes;
    assert_int_equal(all, 10000 * 112);
    sizes.seen[1] = DYN_LEAST_SEEN; // half of the requests are for the whole block
    assert_true(choose());
    assert_true(choice.saved_bytes == all / 2);
}

static void what_is_freed_at_once_does_not_count(void **state) {
    (void)state;
    one_size(10000); // as by the requests
    sizes.kept[1] = DYN_LEAST_SEEN - 1;
    assert_true(choose());
    sizes.kept[1] = DYN_LEAST_SEEN; // as they are
    assert_false(choose());
    sizes.report.kept = NULL; // not known
    assert_true(choose());
    sizes.report.kept = sizes.kept;
    sizes.kept[0] = DYN_LEAST_SEEN;
    assert_true(choose());
    assert_int_equal(choice.saved_bytes, 10000 * 112 / 2);
    sizes.seen[1] = 100 * DYN_LEAST_SEEN; // whatever else was asked for
    assert_true(choose());
    assert_int_equal(choice.saved_bytes, 10000 * 112 / 2);
}

static void each_class_is_judged_by_what_is_known_of_it(void **state) {
    (void)state;
    one_size(10000);
    sizes.kept[1] = 1000;
    add_class(2, 2304, 5000);
    add_size(2, 2064, DYN_LEAST_SEEN);
    add_size(2, 2304, 0);
    assert_true(choose());
    assert_true(choice.class_index == 2 && choice.saved_bytes == 5000 * 240);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_size_is_chosen_that_saves_most, begin),
        cmocka_unit_test_setup(nothing_is_chosen_below_the_least_saving, begin),
        cmocka_unit_test_setup(threads_and_use_raise_the_least_saving, begin),
        cmocka_unit_test_setup(nothing_of_a_class_that_does_not_grow, begin),
        cmocka_unit_test_setup(classes_are_chosen_from_one_after_the_other, begin),
        cmocka_unit_test_setup(little_seen_says_nothing, begin),
        cmocka_unit_test_setup(sizes_that_fit_their_class_have_one, begin),
        cmocka_unit_test_setup(small_sizes_have_classes_of_their_own_already, begin),
        cmocka_unit_test_setup(whole_pages_save_whole_pages_only, begin),
        cmocka_unit_test_setup(the_part_of_the_requests_counts, begin),
        cmocka_unit_test_setup(what_is_freed_at_once_does_not_count, begin),
        cmocka_unit_test_setup(each_class_is_judged_by_what_is_known_of_it, begin),
    };
    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
