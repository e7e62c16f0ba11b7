// Depths of stacks: granted, deepened and made shallower within the thread's budget, whatever the snapshot says.
#include "unit/unit.h"

#include "policy/snapshot.h"
#include "unit/heap/heaps.h"

enum { MANY = 20000 };
static void *blocks[MANY];

static size_t granted_by_classes(const struct heap *heap) {
    size_t bytes = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        bytes += (heap->classes[i].depth + heap->classes[i].parked_count * PARK_BLOCKS) * class_bytes(i);
    return bytes;
}

static void expect_sound_stacks(struct heap *heap) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        const struct heap_class *own = &heap->classes[i];
        assert_true(own->depth <= STACK_MAX_DEPTH);
        if (own->depth == 0) { // H1
            assert_ptr_equal(thread_stacks.top[i], CONSTANT_TOP);
            continue;
        }
        assert_non_null(own->cell);
        assert_non_null(memchr(heap->stack_classes, (int)i, heap->stacks_granted));
        assert_null(heap_bottom(heap, i)[-1]); // T1
        assert_true(heap_stack_blocks(heap, i) <= own->depth);
        assert_true(own->batch <= own->depth); // H4
    }
    assert_int_equal(heap->granted_bytes, granted_by_classes(heap));
}

static void a_stack_lies_at_the_end_of_its_cell(void **state) {
    unsigned class_index = class_of(80);
    (void)state;
    struct heap *heap = heap_mine();
    release(allocate(class_index));
    heap_flush(heap, class_index, 0);
    for (unsigned depth = 1; depth <= STACK_MAX_DEPTH; depth++) {
        heap_set_depth(heap, class_index, depth);
        expect_sound_stacks(heap);
        assert_int_equal((uintptr_t)(heap_bottom(heap, class_index) + depth) & STACK_MASK, 0);
        assert_ptr_equal(thread_stacks.top[class_index], heap_bottom(heap, class_index));
        assert_null(stack_pop(class_index));
        for (unsigned i = 0; i < depth; i++)
            assert_true(stack_push(class_index, &blocks[i]));
        assert_false(stack_push(class_index, &blocks[depth])); // full where the cell ends
        for (unsigned i = depth; i > 0; i--)
            assert_ptr_equal(stack_pop(class_index), &blocks[i - 1]);
        assert_null(stack_pop(class_index));
    }
}

static void depth_zero_takes_the_stack_away(void **state) {
    unsigned class_index = class_of(96);
    (void)state;
    struct heap *heap = heap_mine();
    release(allocate(class_index));
    heap_flush(heap, class_index, 0);
    heap_set_depth(heap, class_index, 0);
    expect_sound_stacks(heap);
    void *block = allocate(class_index); // and it gets one again
    assert_non_null(block);
    expect_sound_stacks(heap);
    release(block);
}

static void stacks_deepen_with_refills_up_to_what_the_snapshot_says(void **state) {
    unsigned class_index = class_of(1024);
    (void)state;
    struct heap *heap = heap_mine();
    unsigned most = snapshot_now()->depth[class_index], before = 0;
    for (unsigned i = 0; i < 2000; i++) {
        blocks[i] = allocate(class_index);
        unsigned depth = heap->classes[class_index].depth;
        assert_true(depth >= before && depth <= most);
        before = depth;
    }
    assert_int_equal(before, most);
    expect_sound_stacks(heap);
    release_many(blocks, 2000);
}

static void stacks_of_a_class_with_much_in_use_deepen_further(void **state) {
    unsigned class_index = class_of(4096), large = class_of(128 * KIB);
    (void)state;
    struct heap *heap = heap_mine();
    assert_int_equal(heap_usual_depth(class_of(5000)), 0); // nothing of it is in use
    for (unsigned i = 0; i < MANY; i++) {
        blocks[i] = allocate(class_index);
        unsigned depth = heap->classes[class_index].depth, said = snapshot_now()->depth[class_index];
        unsigned usual = heap_usual_depth(class_index);
        assert_true(usual * usual <= 4 * slab_in_use_bytes(class_index) / 4096);
        assert_true(depth <= (said > usual ? said : usual));
    }
    assert_in_range(heap->classes[class_index].depth, 100, STACK_MAX_DEPTH); // some ten thousand: a hundred or more
    expect_sound_stacks(heap);
    release_many(blocks, MANY);
    assert_int_equal(heap_usual_depth(large), 0);
}

static void flattening_halves_down_to_where_it_began(void **state) {
    unsigned class_index = class_of(144);
    (void)state;
    struct heap *heap = heap_mine();
    struct heap_class *own = &heap->classes[class_index];
    release(allocate(class_index));
    unsigned start = own->depth;
    heap_flush(heap, class_index, 0);
    heap_set_depth(heap, class_index, STACK_MAX_DEPTH);
    for (unsigned i = 0; i < 10; i++) {
        unsigned before = own->depth;
        heap_flatten_stack(heap, class_index);
        assert_int_equal(own->depth, before / 2 > start ? before / 2 : start);
        expect_sound_stacks(heap);
    }
    assert_int_equal(own->depth, start);
}

static void a_threads_stacks_stay_within_its_budget(void **state) {
    (void)state;
    struct heap *heap = heap_mine();
    size_t budget = snapshot_now()->thread_bytes, fine = 0;
    for (unsigned turn = 0; turn < 4; turn++)
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
            size_t count = i < CLASS_FIRST_LARGE ? 500 : 40;
            allocate_many(i, blocks, count);
            release_many(blocks, count);
            expect_sound_stacks(heap);
        }
    for (unsigned i = CLASS_FIRST; i < CLASS_FIRST_LARGE; i++)
        fine += STACK_START_LEAST * class_bytes(i); // every small class may have that much
    assert_true(heap->granted_bytes <= budget + fine);
    size_t cached = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        cached += heap_stack_blocks(heap, i) * class_bytes(i);
    assert_true(cached <= heap->granted_bytes);
    heap_empty(heap);
}

static void *wait_with_a_heap(void *gone) {
    release(allocate(class_of(64)));
    while (__atomic_load_n((int *)gone, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    return NULL;
}

// The greatest depth that refills bring a large class to.
static unsigned large_depth(void) {
    unsigned class_index = class_of(64 * KIB), most = 0;
    for (unsigned turn = 0; turn < 8; turn++) {
        for (unsigned i = 0; i < 200; i++) {
            blocks[i] = allocate(class_index);
            unsigned depth = heap_mine()->classes[class_index].depth;
            most = depth > most ? depth : most;
        }
        release_many(blocks, 200);
    }
    heap_empty(heap_mine());
    return most;
}

static void large_blocks_of_several_threads_go_deeper(void *context) {
    static struct snapshot tight;
    unsigned alone = STACK_LARGE_CLASS_BYTES / (64 * KIB);
    pthread_t other;
    int gone = 0;
    (void)context;
    MUST(heap_process_start() && large_depth() <= alone);
    MUST(pthread_create(&other, NULL, wait_with_a_heap, &gone) == 0);
    while (load_relaxed(&registry.threads) < 2)
        sched_yield();
    MUST(large_depth() > alone);
    tight = *snapshot_now();
    tight.all_threads_bytes = 2 * STACK_LARGE_TIMES_BYTES; // a small budget is for all classes
    snapshot_publish(&tight);
    MUST(large_depth() <= alone);
    __atomic_store_n(&gone, 1, __ATOMIC_RELEASE);
    MUST(pthread_join(other, NULL) == 0);
}

static void several_threads_keep_more_large_blocks(void **state) {
    (void)state;
    child_must_succeed(large_blocks_of_several_threads_go_deeper, NULL);
}

static void an_idle_large_class_lends_its_stack_to_another(void *context) {
    static struct snapshot tight;
    (void)context;
    MUST(heap_process_start());
    tight = *snapshot_now();
    tight.thread_bytes = STACK_THREAD_LEAST_BYTES; // room for one class of the largest, about
    tight.all_threads_bytes = 0;
    snapshot_publish(&tight);
    struct heap *heap = heap_mine();
    unsigned first = CLASS_COUNT - 1, second = CLASS_COUNT - 2;
    release(allocate(first));
    MUST(heap->classes[first].depth > 0);
    void *block = allocate(second); // no room yet: one at a time
    MUST(block != NULL && heap->classes[second].depth == 0);
    for (unsigned i = 0; i < STACK_LARGE_IDLE_TURNS + 2; i++) {
        release(block);
        block = allocate(second);
    }
    MUST(heap->classes[first].depth == 0 && heap->classes[second].depth > 0);
    MUST(heap_stack_blocks(heap, first) == 0 && heap->granted_bytes == granted_by_classes(heap));
    release(block);
    MUST(blocks_out(first) == 0 && blocks_out(second) == 0);
}

static void large_classes_share_the_budget_by_use(void **state) {
    (void)state;
    child_must_succeed(an_idle_large_class_lends_its_stack_to_another, NULL);
}

// Stacks of small classes as deep as one snapshot lets them be; then another says less.
static void stacks_above_their_depth_make_room(void *context) {
    static struct snapshot deep, shallow;
    (void)context;
    MUST(heap_process_start());
    unsigned class_index = class_of(16 * KIB), large = CLASS_COUNT - 1;
    shallow = deep = *snapshot_now();
    deep.depth[class_index] = STACK_MAX_DEPTH;
    deep.thread_bytes = shallow.thread_bytes = STACK_MAX_DEPTH * 16 * KIB + class_bytes(large) / 2;
    snapshot_publish(&deep);
    struct heap *heap = heap_mine();
    struct heap_class *own = &heap->classes[class_index];
    for (unsigned turn = 0; turn < 4; turn++) {
        allocate_many(class_index, blocks, 2000);
        release_many(blocks, 2000);
    }
    allocate_many(class_index, blocks, 2000);
    MUST(own->depth == STACK_MAX_DEPTH);
    uint64_t denied = counts_of(large).counters.denied_stacks;
    void *block = allocate(large);
    MUST(block != NULL && heap->classes[large].depth == 0);
    MUST(counts_of(large).counters.denied_stacks == denied + 1 && own->depth == STACK_MAX_DEPTH);
    release(block);
    MUST(counts_of(large).counters.denied_stacks == denied + 2);
    snapshot_publish(&shallow);
    block = allocate(large);
    MUST(heap->classes[large].depth > 0 && own->depth < STACK_MAX_DEPTH);
    MUST(counts_of(large).counters.denied_stacks == denied + 2);
    MUST(heap->granted_bytes == granted_by_classes(heap));
    release(block);
    release_many(blocks, 2000);
    MUST(blocks_out(class_index) == 0 && blocks_out(large) == 0);
}

static void what_is_deeper_than_decided_makes_room(void **state) {
    (void)state;
    child_must_succeed(stacks_above_their_depth_make_room, NULL);
}

// Leaves the class with as deep a stack as it may have.
static void use_once(unsigned class_index) {
    size_t count = class_is_large(class_index) ? 40 : 300; // not so many frees in a row that it gets shallower
    for (unsigned turn = 0; turn < 4; turn++) {
        allocate_many(class_index, blocks, count);
        release_many(blocks, count);
    }
}

// For long enough to see what lies idle: with `classes` stacks, each has been looked at many times since.
static void use_for_long(unsigned class_index, unsigned classes) {
    struct heap *heap = heap_mine();
    uint32_t from = heap->turn;
    while (heap->turn - from < STACK_IDLE_TURNS + 16 * LOOK_AROUND_TURNS * classes) {
        allocate_many(class_index, blocks, 200);
        release_many(blocks, 200);
    }
}

// What an earlier phase was granted starves no later one; `classes` from that of `bytes` on had all of the budget.
static void a_phase_lends_its_stacks_to_the_next(size_t bytes, unsigned classes) {
    static struct snapshot tight, roomy;
    MUST(heap_process_start());
    unsigned first = class_of(bytes), busy = class_of(16 * KIB);
    tight = roomy = *snapshot_now();
    tight.thread_bytes = STACK_THREAD_LEAST_BYTES;
    snapshot_publish(&tight);
    struct heap *heap = heap_mine();
    for (unsigned i = 0; i < classes; i++)
        use_once(first + i);
    size_t granted = heap->granted_bytes;
    MUST(granted > tight.thread_bytes / 8 * 7 && granted == granted_by_classes(heap));
    snapshot_publish(&roomy); // not where there is room
    use_for_long(busy, classes);
    MUST(heap->granted_bytes >= granted);
    snapshot_publish(&tight);
    heap_flush(heap, busy, 0);
    heap_set_depth(heap, busy, 1);
    use_for_long(busy, classes);
    allocate_many(busy, blocks, 200); // a row of frees makes it shallower
    MUST(heap->classes[busy].depth == tight.depth[busy] && heap->granted_bytes == granted_by_classes(heap));
    MUST(heap->granted_bytes < tight.thread_bytes);
    release_many(blocks, 200);
    for (unsigned i = 0; i < classes; i++)
        MUST(blocks_out(first + i) == 0);
    MUST(blocks_out(busy) == 0);
}

static void large_stacks_of_a_phase_that_is_over(void *context) {
    (void)context;
    a_phase_lends_its_stacks_to_the_next(112 * KIB, 2);
}

static void small_stacks_of_a_phase_that_is_over(void *context) {
    (void)context;
    a_phase_lends_its_stacks_to_the_next(640, 12);
}

static void idle_stacks_starve_no_busy_one(void **state) {
    (void)state;
    child_must_succeed(large_stacks_of_a_phase_that_is_over, NULL);
    child_must_succeed(small_stacks_of_a_phase_that_is_over, NULL);
}

// P1: whatever a snapshot says, stacks work.
static void obey_a_strange_snapshot(void *context) {
    static struct snapshot strange;
    struct random random = {(uintptr_t)context};
    MUST(heap_process_start());
    for (unsigned turn = 0; turn < 50; turn++) {
        static struct snapshot published[50]; // never changed once published
        for (unsigned i = 0; i < CLASS_COUNT; i++) {
            strange.depth[i] = (uint8_t)random_next(&random);
            strange.batch[i] = (uint8_t)random_next(&random);
        }
        strange.thread_bytes = random_below(&random, 2) == 0 ? 0 : (size_t)random_next(&random) >> 20;
        strange.all_threads_bytes = random_below(&random, 2) == 0 ? 0 : (size_t)random_next(&random) >> 20;
        published[turn] = strange;
        snapshot_publish(&published[turn]);
        for (unsigned k = 0; k < 30; k++) {
            unsigned class_index = CLASS_FIRST + (unsigned)random_below(&random, CLASS_COUNT - CLASS_FIRST);
            size_t count = class_index < CLASS_FIRST_LARGE ? 300 : 10;
            allocate_many(class_index, blocks, count);
            for (size_t i = 0; i < count; i++)
                memset(blocks[i], 1, 16);
            release_many(blocks, count);
            MUST(heap_mine()->classes[class_index].depth <= STACK_MAX_DEPTH);
        }
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        MUST(blocks_out(i) == 0 && slabs_with_blocks_out(i) == 0);
}

static void a_strange_snapshot_costs_speed_alone(void **state) {
    (void)state;
    for (uintptr_t seed = 1; seed <= 3; seed++)
        child_must_succeed(obey_a_strange_snapshot, (void *)seed);
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(large_classes_share_the_budget_by_use),
        cmocka_unit_test(what_is_deeper_than_decided_makes_room),
        cmocka_unit_test(idle_stacks_starve_no_busy_one),
        cmocka_unit_test(a_strange_snapshot_costs_speed_alone),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_lies_at_the_end_of_its_cell),
        cmocka_unit_test(depth_zero_takes_the_stack_away),
        cmocka_unit_test(stacks_deepen_with_refills_up_to_what_the_snapshot_says),
        cmocka_unit_test(stacks_of_a_class_with_much_in_use_deepen_further),
        cmocka_unit_test(flattening_halves_down_to_where_it_began),
        cmocka_unit_test(a_threads_stacks_stay_within_its_budget),
        cmocka_unit_test(several_threads_keep_more_large_blocks),
    };
    int failed = cmocka_run_group_tests_name("depth in processes of its own", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("depth", tests, start_heap, NULL);
}
