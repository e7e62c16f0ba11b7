// What a thread does not use goes home: stacks that lie idle, and nearly all that a thread holds that only frees.
#include "unit/decide.h"
#include "unit/unit.h"

#include "unit/heap/heaps.h"

enum { MANY = 20000 };
static void *blocks[MANY];

static void a_stack_that_lies_idle_is_flushed_while_another_works(void **state) {
    unsigned idle = class_of(416), busy = class_of(448);
    (void)state;
    struct heap *heap = heap_mine();
    allocate_many(idle, blocks, 30);
    release_many(blocks, 30);
    assert_true(heap_stack_blocks(heap, idle) >= 16);
    for (unsigned i = 0; i < LOOK_AROUND_TURNS; i++) {
        allocate_many(busy, blocks, MANY);
        release_many(blocks, MANY);
    }
    assert_int_equal(heap_stack_blocks(heap, idle), 0);
    assert_int_equal(blocks_out(idle), 0);
}

// Blocks of many classes, all out; returns how many.
static size_t allocate_of_each_class(size_t bytes_of_each) {
    size_t count = 0;
    for (unsigned i = CLASS_LAST_HELD + 1; i < CLASS_COUNT; i++) {
        size_t some = bytes_of_each / class_bytes(i) + 4;
        MUST(count + some <= MANY);
        allocate_many(i, blocks + count, some);
        count += some;
    }
    return count;
}

static void mix(size_t count) {
    struct random random = random_start();
    for (size_t i = count; i > 1; i--) {
        size_t other = random_below(&random, i);
        void *block = blocks[i - 1];
        blocks[i - 1] = blocks[other];
        blocks[other] = block;
    }
}

static size_t cached_bytes(void) {
    size_t bytes = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        bytes += heap_cached_blocks(heap_mine(), i) * class_bytes(i);
    return bytes;
}

static void a_thread_that_only_frees_keeps_next_to_nothing(void **state) {
    (void)state;
    struct heap *heap = heap_mine();
    heap->phase_turns = FREE_PHASE_TURNS; // as of a thread that never went on to allocate
    size_t count = allocate_of_each_class(64 * KIB);
    mix(count);
    release_many(blocks, count / 2);
    unsigned deep = 0;
    release_many(blocks + count / 2, count - count / 2);
    for (unsigned i = CLASS_FIRST_LARGE; i < CLASS_COUNT; i++)
        deep += heap->classes[i].depth;
    assert_int_equal(deep, 0); // large blocks go straight home
    assert_true(cached_bytes() < 2 * MIB);
    unsigned large = class_of(100000);
    release(allocate(large)); // and with the first refill all is as it was
    assert_true(heap->classes[large].depth > 0 && heap_stack_blocks(heap, large) > 0);
}

static void give_leases_up(void *context) {
    (void)context;
    size_t count = allocate_of_each_class(64 * KIB);
    mix(count);
    DECIDE(retain_min, 0); // nothing idle may stay
    DECIDE(retain_share, 1000000);
    release_many(blocks, count);
    unsigned leases = 0;
    for (unsigned i = CLASS_LAST_HELD + 1; i < CLASS_COUNT; i++) {
        heap_let_idle_go(heap_mine(), i, SPARSE_LOOK_BYTES / 64);
        leases += heap_mine()->classes[i].slab != NULL || heap_mine()->classes[i].fresh != NULL;
    }
    MUST(leases == 0);
}

static void leases_are_given_up_by_a_thread_that_only_frees(void **state) {
    (void)state;
    child_must_succeed(give_leases_up, NULL); // with an allowance of its own
}

static void a_thread_that_frees_and_allocates_in_turn_keeps_its_stacks(void **state) {
    (void)state;
    struct heap *heap = heap_mine();
    unsigned large = class_of(100000);
    size_t count = 0;
    for (unsigned i = 0; i < 12; i++) {
        count = allocate_of_each_class(64 * KIB);
        mix(count);
        release_many(blocks, count);
    }
    assert_true(heap->phase_turns > FREE_PHASE_TURNS);
    assert_false(heap_only_frees(heap, large));
    assert_true(cached_bytes() >= 2 * MIB);
}

static struct meeting meeting;

// Two threads: the first allocates, keeps most and hands some on, the second frees those.
static void *allocate_or_free(void *number) {
    unsigned class_index = class_of(3000);
    struct heap *heap = heap_mine();
    if (number == NULL)
        allocate_many(class_index, blocks + 500, 5000);
    for (unsigned turn = 0; turn < 200; turn++) {
        if (number == NULL)
            allocate_many(class_index, blocks, 500);
        meet(&meeting, 2);
        if (number != NULL)
            release_many(blocks, 500);
        meet(&meeting, 2);
    }
    if (number != NULL)
        MUST(!heap_only_frees(heap, class_index)); // the other one takes what this one passes on
    meet(&meeting, 2);
    if (number == NULL)
        release_many(blocks + 500, 5000);
    return NULL;
}

static void a_thread_that_frees_for_another_keeps_its_stacks(void **state) {
    (void)state;
    threads_run(2, allocate_or_free);
}

// So many blocks of a large class in a stack that is four times as deep as by default; what is left of them after
// growth.
static unsigned left_after_growth(unsigned class_index, unsigned held) {
    MUST(heap_process_start());
    DECIDE(thread_bytes, 4 * STACK_THREAD_BYTES);
    heap_empty(heap_mine()); // what the tests before left, by their seed
    unsigned most = 4 * STACK_THREAD_BYTES / (unsigned)class_bytes(class_index);
    allocate_many(class_index, blocks, most);
    heap_flush(heap_mine(), class_index, 0);
    heap_set_depth(heap_mine(), class_index, most);
    release_many(blocks, held);
    MUST(heap_mine()->granted_bytes > STACK_THREAD_BYTES && heap_stack_blocks(heap_mine(), class_index) == held);
    heap_pay_for_growth(heap_mine());
    unsigned left = heap_stack_blocks(heap_mine(), class_index);
    release_many(blocks + held, most - held);
    MUST(blocks_out(class_index) == 0);
    return left;
}

static void pay_with_all(void *context) {
    unsigned class_index = class_of(512 * KIB);
    (void)context;
    MUST(left_after_growth(class_index, STACK_THREAD_BYTES / (unsigned)class_bytes(class_index) + 1) == 0);
}

static void pay_with_nothing(void *context) {
    unsigned class_index = class_of(512 * KIB), few = STACK_THREAD_BYTES / (unsigned)class_bytes(class_index);
    (void)context;
    MUST(left_after_growth(class_index, few) == few);
}

static void growth_pays_with_what_deep_stacks_hold(void **state) {
    (void)state;
    child_must_succeed(pay_with_all, NULL); // each with decisions of its own
    child_must_succeed(pay_with_nothing, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases_are_given_up_by_a_thread_that_only_frees),
        cmocka_unit_test(a_stack_that_lies_idle_is_flushed_while_another_works),
        cmocka_unit_test(a_thread_that_only_frees_keeps_next_to_nothing),
        cmocka_unit_test(a_thread_that_frees_and_allocates_in_turn_keeps_its_stacks),
        cmocka_unit_test(a_thread_that_frees_for_another_keeps_its_stacks),
        cmocka_unit_test(growth_pays_with_what_deep_stacks_hold),
    };
    return cmocka_run_group_tests_name("idle", tests, start_heap, NULL);
}
