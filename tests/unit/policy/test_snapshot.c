// The default decisions stay within what a thread's stack can do and may keep, and publication is all or nothing.
#include "unit/unit.h"

#include "policy/snapshot.h"

// Classes as slab/size_class.c computes them, roughly: 16-byte steps, then eight, then four per doubling.
static size_t bytes_like_the_real_classes(unsigned class_index) {
    unsigned index = class_index - CLASS_FIRST;
    if (index < CLASS_LINEAR_COUNT)
        return (index + 1) * BLOCK_ALIGN;
    bool fine = class_index < CLASS_FIRST_LARGE;
    index = fine ? index - CLASS_LINEAR_COUNT : class_index - CLASS_FIRST_LARGE;
    unsigned steps = fine ? CLASS_FINE_STEPS : CLASS_LARGE_STEPS;
    size_t base = (fine ? CLASS_LINEAR_MAX : CLASS_FINE_MAX) << index / steps;
    return base + base / steps * (index % steps + 1);
}

static size_t tiny_blocks(unsigned class_index) {
    (void)class_index;
    return 1;
}

static size_t gigantic_blocks(unsigned class_index) {
    (void)class_index;
    return GIB;
}

static void default_with(struct snapshot *snapshot, size_t (*bytes_of_class)(unsigned)) {
    snapshot_default(snapshot);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        snapshot_default_depth(snapshot, i, bytes_of_class(i));
}

// A spare class has no size, and a depth nonetheless.
static void no_size_has_a_depth(void **state) {
    struct snapshot snapshot;
    (void)state;
    snapshot_default(&snapshot);
    snapshot_default_depth(&snapshot, CLASS_END - 1, 0);
    assert_in_range(snapshot.depth[CLASS_END - 1], 1, STACK_MAX_DEPTH);
    assert_in_range(snapshot.batch[CLASS_END - 1], 1, STACK_MAX_BATCH);
}

static void every_decision_has_a_valid_default_in_force_from_the_beginning(void **state) {
    (void)state;
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        const struct decision_row *row = &decision_rows[i];
        size_t in_force = *(const size_t *)((const char *)snapshot_now() + row->offset);
        assert_in_range(row->initial, row->least, row->most);
        assert_int_equal(in_force, row->initial);
        assert_true(row->name[0] != 0 && row->unit[0] != 0 && row->what[0] != 0);
    }
}

static void defaults_fit_a_stack(void **state) {
    size_t (*const sizes[])(unsigned) = {bytes_like_the_real_classes, tiny_blocks, gigantic_blocks};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        struct snapshot snapshot;
        default_with(&snapshot, sizes[k]);
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
            assert_in_range(snapshot.depth[i], 1, STACK_MAX_DEPTH);
            assert_in_range(snapshot.batch[i], 1, STACK_MAX_BATCH);
            assert_in_range(snapshot.batch[i], 1, (snapshot.depth[i] + 1) / 2);
        }
    }
}

static void a_class_keeps_no_more_bytes_than_its_share(void **state) {
    struct snapshot snapshot;
    (void)state;
    default_with(&snapshot, bytes_like_the_real_classes);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        bool large = i >= CLASS_FIRST_LARGE;
        size_t kept = snapshot.depth[i] * bytes_like_the_real_classes(i);
        size_t share = large ? STACK_LARGE_CLASS_BYTES : STACK_CLASS_BYTES;
        size_t least = large ? 1 : STACK_FINE_LEAST_DEPTH;
        assert_true(kept <= share || snapshot.depth[i] == least);
        assert_true(kept + bytes_like_the_real_classes(i) > share || snapshot.depth[i] == STACK_MAX_DEPTH);
    }
    assert_int_equal(snapshot.thread_bytes, STACK_THREAD_BYTES);
    assert_int_equal(snapshot.all_threads_bytes, STACK_ALL_THREADS_BYTES);
}

static void smaller_blocks_never_get_shallower_stacks(void **state) {
    struct snapshot snapshot;
    (void)state;
    default_with(&snapshot, bytes_like_the_real_classes);
    for (unsigned i = CLASS_FIRST + 1; i < CLASS_COUNT; i++)
        assert_true(snapshot.depth[i - 1] >= snapshot.depth[i] || i == CLASS_FIRST_LARGE);
}

static void what_was_published_last_is_in_force(void **state) {
    static struct snapshot first, second;
    (void)state;
    snapshot_publish(&first);
    assert_ptr_equal(snapshot_now(), &first);
    snapshot_publish(&second);
    assert_ptr_equal(snapshot_now(), &second);
}

enum { SNAPSHOTS = 20000 };
static struct snapshot *all_snapshots; // each written once, before it is published (P2)

static void *read_snapshots(void *number) {
    (void)number;
    unsigned torn = 0;
    for (size_t last = 0; last < SNAPSHOTS - 1;) {
        const struct snapshot *snapshot = snapshot_now();
        size_t index = snapshot->thread_bytes;
        torn += index < last || snapshot->depth[CLASS_FIRST] != (uint8_t)index ||
                snapshot->batch[CLASS_COUNT - 1] != (uint8_t)(index * 3);
        last = index;
    }
    return (void *)(uintptr_t)torn;
}

static void readers_see_whole_snapshots_in_order(void **state) {
    pthread_t reader;
    void *torn;
    (void)state;
    all_snapshots = calloc(SNAPSHOTS, sizeof *all_snapshots);
    assert_non_null(all_snapshots);
    snapshot_publish(&all_snapshots[0]);
    assert_int_equal(pthread_create(&reader, NULL, read_snapshots, NULL), 0);
    for (size_t i = 1; i < SNAPSHOTS; i++) {
        all_snapshots[i].depth[CLASS_FIRST] = (uint8_t)i;
        all_snapshots[i].batch[CLASS_COUNT - 1] = (uint8_t)(i * 3);
        all_snapshots[i].thread_bytes = i;
        snapshot_publish(&all_snapshots[i]);
    }
    assert_int_equal(pthread_join(reader, &torn), 0);
    assert_null(torn);
    free(all_snapshots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_decision_has_a_valid_default_in_force_from_the_beginning), // before any is published
        cmocka_unit_test(no_size_has_a_depth),
        cmocka_unit_test(defaults_fit_a_stack),
        cmocka_unit_test(a_class_keeps_no_more_bytes_than_its_share),
        cmocka_unit_test(smaller_blocks_never_get_shallower_stacks),
        cmocka_unit_test(what_was_published_last_is_in_force),
        cmocka_unit_test(readers_see_whole_snapshots_in_order),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
