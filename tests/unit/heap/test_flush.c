// Flushes: which blocks leave a stack, where they go, and what that does to the stack, the outbox and the slabs.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

enum { MANY = 20000 };
static void *blocks[MANY];

// A class that no other test of this program uses has a stack of a known depth.
static struct heap_class *fresh_class(unsigned class_index) {
    release(allocate(class_index));
    heap_flush(heap_mine(), class_index, 0);
    return &heap_mine()->classes[class_index];
}

static void a_full_stack_keeps_its_newest_blocks(void **state) {
    unsigned class_index = class_of(208);
    (void)state;
    struct heap *heap = heap_mine();
    allocate_many(class_index, blocks, 200);
    struct heap_class *own = fresh_class(class_index);
    unsigned depth = own->depth;
    own->flush_streak = 0;
    for (unsigned i = 0; i < depth; i++)
        assert_true(stack_free(blocks[i]));
    assert_false(stack_free(blocks[depth])); // full
    release(blocks[depth]);
    unsigned kept = heap_stack_blocks(heap, class_index);
    assert_true(kept > 1 && kept < depth);
    for (unsigned i = 0; i < kept; i++) // last in, first out
        assert_ptr_equal(stack_pop(class_index), blocks[depth - i]);
    assert_null(stack_pop(class_index));
    release_many(blocks + depth - kept + 1, 200 - depth + kept - 1);
}

static void a_flush_sends_the_oldest_home(void **state) {
    unsigned class_index = class_of(224);
    (void)state;
    struct heap *heap = heap_mine();
    allocate_many(class_index, blocks, 20);
    fresh_class(class_index);
    struct counts before = counts_of(class_index);
    release_many(blocks, 10);
    heap_flush(heap, class_index, 4);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(is_home(blocks[i]), i < 6);
    assert_int_equal(heap_stack_blocks(heap, class_index), 4);
    struct counts after = counts_of(class_index);
    assert_int_equal(after.counters.flushes, before.counters.flushes + 1);
    assert_int_equal(after.counters.flushed_blocks, before.counters.flushed_blocks + 6);
    heap_flush(heap, class_index, 4); // nothing to do
    assert_int_equal(counts_of(class_index).counters.flushes, after.counters.flushes);
    for (unsigned i = 0; i < 4; i++)
        assert_ptr_equal(stack_pop(class_index), blocks[9 - i]);
    release_many(blocks + 6, 14);
}

static void a_stack_that_only_flushes_keeps_less_and_less(void **state) {
    unsigned class_index = class_of(16);
    (void)state;
    struct heap *heap = heap_mine();
    allocate_many(class_index, blocks, MANY);
    unsigned deep = heap->classes[class_index].depth;
    assert_int_equal(deep, STACK_MAX_DEPTH); // it only refilled
    release_many(blocks, MANY);
    unsigned flat = heap->classes[class_index].depth;
    assert_true(flat < deep && flat > 0);
    assert_true(heap_stack_blocks(heap, class_index) <= flat);
    allocate_many(class_index, blocks, MANY); // and grows again
    assert_int_equal(heap->classes[class_index].depth, deep);
    release_many(blocks, MANY);
}

static void a_request_to_trim_is_obeyed_at_the_next_refill_or_flush(void **state) {
    unsigned full = class_of(480), other = class_of(512);
    (void)state;
    struct heap *heap = heap_mine();
    allocate_many(full, blocks, 30);
    release_many(blocks, 30);
    shared_add(&heap_trim_turn, 1);
    assert_true(heap_stack_blocks(heap, full) > 0);
    void *block = heap_refill(other);
    assert_int_equal(heap_stack_blocks(heap, full), 0);
    release(block);
    allocate_many(full, blocks, 30);
    release_many(blocks, 30);
    heap_flush(heap, other, 0);
    block = heap_refill(other);
    assert_true(heap_stack_blocks(heap, full) > 0); // it was one request
    release(block);
}

static void emptying_leaves_nothing(void **state) {
    (void)state;
    struct heap *heap = heap_mine();
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        allocate_many(i, blocks, 20);
        release_many(blocks, 20);
    }
    heap_empty(heap);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        assert_int_equal(heap_stack_blocks(heap, i), 0);
        assert_null(heap->classes[i].slab);
        assert_null(heap->classes[i].fresh);
        assert_true(slabs_alive(i) <= 1);
        assert_int_equal(slabs_with_blocks_out(i), 0);
    }
    assert_int_equal(heap->outbox_blocks, 0);
}

static void memory_goes_back_as_blocks_do_in_any_order(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned order = 0; order < 3; order++) {
        unsigned class_index = class_of(1000);
        allocate_many(class_index, blocks, MANY);
        uint64_t most = slabs_alive(class_index);
        for (unsigned i = MANY - 1; order == 2 && i > 0; i--) {
            size_t swap = random_below(&random, i + 1);
            void *block = blocks[i];
            blocks[i] = blocks[swap];
            blocks[swap] = block;
        }
        for (unsigned i = 0; i < MANY; i++)
            release(blocks[order == 1 ? MANY - 1 - i : i]);
        // The stack has shrunk, each of its blocks pins a slab at most, and so do two leases.
        unsigned kept = heap_stack_blocks(heap_mine(), class_index);
        assert_true(kept <= STACK_START_DEPTH && heap_mine()->classes[class_index].parked_count == 0);
        assert_true(slabs_alive(class_index) <= kept + 2 && kept + 2 < most / 5);
        assert_int_equal(slabs_with_blocks_out(class_index), 0);
    }
}

// ---- blocks that another thread holds

struct loan {
    unsigned class_index;
    void **blocks;
    size_t count;
    pthread_barrier_t *barrier;
};

static void *lend_blocks(void *context) {
    struct loan *loan = context;
    allocate_many(loan->class_index, loan->blocks, loan->count);
    pthread_barrier_wait(loan->barrier); // lent
    pthread_barrier_wait(loan->barrier); // given back by the other
    return NULL;
}

// Runs `borrow` while another thread, with another tag, holds the slabs of `count` blocks.
static void with_a_loan(unsigned class_index, size_t count, void (*borrow)(struct loan *loan)) {
    pthread_t lender;
    pthread_barrier_t barrier;
    struct loan loan = {class_index, blocks, count, &barrier};
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&lender, NULL, lend_blocks, &loan), 0);
    pthread_barrier_wait(&barrier);
    borrow(&loan);
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(lender, NULL), 0);
    assert_int_equal(blocks_out(class_index), 0);
    assert_int_equal(slabs_with_blocks_out(class_index), 0);
}

static void borrow_a_few(struct loan *loan) {
    struct heap *heap = heap_mine();
    uint64_t remote = counts_of(loan->class_index).counters.remote_flushed_blocks;
    assert_int_equal(heap->outbox_blocks, 0);
    for (size_t i = 0; i < loan->count; i++) {
        assert_false(stack_free(loan->blocks[i]));
        release(loan->blocks[i]);
        assert_ptr_equal(heap->outbox[heap->outbox_blocks - 1], loan->blocks[i]);
        assert_false(is_home(loan->blocks[i]));
    }
    assert_int_equal(heap->outbox_blocks, loan->count);
    assert_int_equal(counts_of(loan->class_index).counters.remote_flushed_blocks, remote + loan->count);
    heap_flush_outbox(heap);
    for (size_t i = 0; i < loan->count; i++)
        assert_true(is_home(loan->blocks[i]));
}

static void blocks_below_a_cache_line_go_home_by_the_outbox(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++)
        with_a_loan(i, OUTBOX_BLOCKS, borrow_a_few);
}

static void borrow_many(struct loan *loan) {
    struct heap *heap = heap_mine();
    size_t kept = 0;
    for (size_t i = 0; i < loan->count; i++) {
        uint8_t before = heap->outbox_blocks;
        bool stacked = stack_free(loan->blocks[i]);
        if (!stacked)
            release(loan->blocks[i]);
        kept += stacked || heap->outbox_blocks == before;
        assert_true(heap->outbox_blocks <= OUTBOX_BLOCKS);
    }
    assert_true(kept > loan->count / 2); // after the first ones the slabs are open to this thread
    heap_empty(heap);
}

static void who_frees_many_of_anothers_blocks_may_keep_them(void **state) {
    (void)state;
    with_a_loan(class_of(32), 2000, borrow_many);
}

static void borrow_larger(struct loan *loan) {
    for (size_t i = 0; i < 8; i++) {
        assert_true(stack_free(loan->blocks[i]) || (release(loan->blocks[i]), true));
        assert_ptr_equal(stack_pop(loan->class_index), loan->blocks[i]); // the same one again
        release(loan->blocks[i]);
    }
    release_many(loan->blocks + 8, loan->count - 8);
    assert_int_equal(heap_mine()->outbox_blocks, 0);
    heap_empty(heap_mine());
}

static void larger_blocks_may_be_kept_by_whoever_frees_them(void **state) {
    (void)state;
    with_a_loan(class_of(64), 100, borrow_larger);
    with_a_loan(class_of(5000), 100, borrow_larger);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_stack_keeps_its_newest_blocks),
        cmocka_unit_test(a_flush_sends_the_oldest_home),
        cmocka_unit_test(a_stack_that_only_flushes_keeps_less_and_less),
        cmocka_unit_test(a_request_to_trim_is_obeyed_at_the_next_refill_or_flush),
        cmocka_unit_test(emptying_leaves_nothing),
        cmocka_unit_test(memory_goes_back_as_blocks_do_in_any_order),
        cmocka_unit_test(blocks_below_a_cache_line_go_home_by_the_outbox),
        cmocka_unit_test(who_frees_many_of_anothers_blocks_may_keep_them),
        cmocka_unit_test(larger_blocks_may_be_kept_by_whoever_frees_them),
    };
    return cmocka_run_group_tests_name("flush", tests, start_heap, NULL);
}
