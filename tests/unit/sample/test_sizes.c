// Counts of requests by size: where each size is counted, that no count is lost, and what fading leaves.
#include "unit/unit.h"

#include "sample/sizes.h"

enum { THREADS = 4, NOTES = SANITIZED ? 20000 : 200000 };

static int start(void **state) {
    (void)state;
    size_class_start();
    return 0;
}

static int forget(void **state) {
    (void)state;
    memset(sizes_seen, 0, sizeof sizes_seen);
    return 0;
}

static void every_size_is_counted_where_its_class_is_looked_up(void **state) {
    (void)state;
    for (size_t bytes = 0; bytes <= CLASS_LARGE_MAX; bytes++) {
        unsigned entry = sizes_entry(bytes);
        bool right = entry < CLASS_MAP_COUNT && class_map[entry] == class_of(bytes) &&
                     size_class_bytes_of_entry(entry) >= bytes &&
                     (entry == 0 || size_class_bytes_of_entry(entry - 1) < bytes);
        if (!right)
            fail_msg("%zu bytes are counted at %u", bytes, entry);
    }
}

static void counts_tell_apart_what_classes_could(void **state) {
    (void)state;
    for (unsigned i = 1; i < CLASS_MAP_COUNT; i++) {
        size_t bytes = size_class_bytes_of_entry(i);
        assert_int_equal(sizes_entry(bytes), i);
        assert_int_equal(size_class_step(bytes), bytes);
        assert_int_equal(size_class_step(bytes - 1), bytes);
    }
    assert_int_equal(size_class_bytes_of_entry(CLASS_MAP_COUNT - 1), CLASS_LARGE_MAX);
}

static void kinds_begin_where_the_one_before_ends(void **state) {
    (void)state;
    for (size_t bytes = 0; bytes <= CLASS_LARGE_MAX; bytes++) {
        unsigned kind = sizes_kind(bytes);
        if (sizes_kind_least_bytes(kind) > bytes || sizes_kind(sizes_kind_least_bytes(kind)) != kind)
            fail_msg("%zu bytes are of kind %u", bytes, kind);
    }
    for (unsigned kind = 2; kind < SIZES_KINDS; kind++)
        assert_int_equal(sizes_kind(sizes_kind_least_bytes(kind) - 1), kind == 2 ? 0 : kind - 1);
}

static void counts_are_what_was_noted(void **state) {
    static uint32_t expected[CLASS_MAP_COUNT];
    struct random random = random_start();
    (void)state;
    memset(expected, 0, sizeof expected);
    for (unsigned i = 0; i < NOTES; i++) {
        size_t bytes = random_below(&random, i % 2 == 0 ? CLASS_FINE_MAX : CLASS_LARGE_MAX + 1);
        unsigned entry = 0;
        while (size_class_bytes_of_entry(entry) < bytes)
            entry += entry + 64 < CLASS_MAP_COUNT && size_class_bytes_of_entry(entry + 64) < bytes ? 64 : 1;
        expected[entry]++;
        sizes_note(bytes);
    }
    assert_memory_equal(sizes_seen, expected, sizeof expected);
}

static void fading_takes_half_and_ends_at_nothing(void **state) {
    static const uint32_t before[] = {0, 1, 2, 3, 1000, 1001, UINT32_MAX - 1};
    static const uint32_t after[] = {0, 0, 1, 1, 500, 500, UINT32_MAX / 2};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(before); i++)
        sizes_seen[CLASS_MAP_COUNT - 1 - i] = before[i];
    sizes_fade();
    for (unsigned i = 0; i < COUNT_OF(before); i++)
        assert_int_equal(sizes_seen[CLASS_MAP_COUNT - 1 - i], after[i]);
    for (unsigned i = 0; i < 32; i++)
        sizes_fade();
    assert_true(is_zero(sizes_seen, sizeof sizes_seen));
}

static struct meeting meeting;
static uint32_t at_work;

static void *note_many(void *number) {
    struct random random = {(uintptr_t)number};
    meet(&meeting, THREADS);
    for (unsigned i = 0; i < NOTES; i++)
        sizes_note(random_below(&random, 100)); // few counts: threads meet at them
    shared_add(&at_work, -1u);
    return NULL;
}

static uint64_t sum_of_counts(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++)
        sum += load_relaxed(&sizes_seen[i]);
    return sum;
}

static void threads_lose_no_count(void **state) {
    (void)state;
    threads_run(THREADS, note_many);
    assert_int_equal(sum_of_counts(), (uint64_t)THREADS * NOTES);
}

static void *note_or_fade(void *number) {
    if ((uintptr_t)number < THREADS)
        return note_many(number);
    while (load_relaxed(&at_work) > 0) {
        sizes_fade();
        MUST(sum_of_counts() <= (uint64_t)THREADS * NOTES); // more was taken away than there was
    }
    return NULL;
}

static void fading_meanwhile_takes_no_more_than_there_is(void **state) {
    (void)state;
    store_relaxed(&at_work, (uint32_t)THREADS);
    threads_run(THREADS + 1, note_or_fade);
    assert_true(sum_of_counts() <= (uint64_t)THREADS * NOTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_counted_where_its_class_is_looked_up),
        cmocka_unit_test(counts_tell_apart_what_classes_could),
        cmocka_unit_test(kinds_begin_where_the_one_before_ends),
        cmocka_unit_test_setup(counts_are_what_was_noted, forget),
        cmocka_unit_test_setup(fading_takes_half_and_ends_at_nothing, forget),
        cmocka_unit_test_setup(threads_lose_no_count, forget),
        cmocka_unit_test_setup(fading_meanwhile_takes_no_more_than_there_is, forget),
    };
    return cmocka_run_group_tests_name("sizes", tests, start, NULL);
}
