// Heaps and threads: who has which, what a thread leaves behind, and threads that have none.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

enum { MANY = 5000 };
static void *blocks[MANY];

static void *say_heap(void *unused) {
    (void)unused;
    release(allocate(class_of(100)));
    return heap_mine();
}

static struct heap *heap_of_a_thread(void *(*body)(void *)) {
    pthread_t thread;
    void *heap;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    assert_int_equal(pthread_join(thread, &heap), 0);
    return heap;
}

static void count_heap(struct heap *heap, void *context) {
    unsigned *counts = context;
    counts[0]++;
    counts[1] += heap->stacks != NULL;
}

// [0]: heaps, [1]: those with a thread.
static void count_heaps(unsigned counts[2]) {
    counts[0] = counts[1] = 0;
    heap_for_each(count_heap, counts);
}

static void a_thread_has_one_heap_and_another_has_another(void **state) {
    (void)state;
    struct heap *mine = heap_mine();
    assert_ptr_equal(heap_mine(), mine);
    assert_ptr_equal(mine->stacks, &thread_stacks);
    assert_int_equal((uintptr_t)mine % HEAP_ALIGN, 0);
    struct heap *other = heap_of_a_thread(say_heap);
    assert_ptr_not_equal(other, mine);
    assert_ptr_not_equal(other, registry.spare);
    assert_null(other->stacks); // H3: its thread has ended
}

static void a_heap_is_used_again_by_a_later_thread(void **state) {
    unsigned before[2], after[2];
    (void)state;
    struct heap *first = heap_of_a_thread(say_heap);
    count_heaps(before);
    size_t metadata = meta_bytes();
    for (unsigned i = 0; i < 300; i++)
        assert_ptr_equal(heap_of_a_thread(say_heap), first);
    count_heaps(after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(meta_bytes(), metadata); // 300 threads later
}

// Also one that had another thread before: what it lists waits for itself.
static void *list_held_slabs(void *unused) {
    struct heap *heap = heap_mine();
    (void)unused;
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++) {
        void *block = allocate(i);
        heap_empty(heap); // the slab with our block in it is listed
        MUST(!list_is_empty(&heap->holder.listed[i]));
        release(block);
    }
    return heap;
}

static void a_heap_that_is_used_again_holds_slabs_as_a_new_one(void **state) {
    (void)state;
    struct heap *first = heap_of_a_thread(list_held_slabs);
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++)
        assert_true(list_is_empty(&first->holder.listed[i])); // they are everybody's now
    assert_ptr_equal(heap_of_a_thread(list_held_slabs), first);
}

static pthread_barrier_t barrier;

static void *wait_with_a_heap(void *number) {
    (void)number;
    release(allocate(class_of(100)));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void living_threads_are_counted(void **state) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    unsigned counts[2], before = load_relaxed(&registry.threads);
    (void)state;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_with_a_heap, NULL), 0);
    pthread_barrier_wait(&barrier);
    assert_int_equal(load_relaxed(&registry.threads), before + THREADS);
    count_heaps(counts);
    assert_int_equal(counts[1], before + THREADS);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(load_relaxed(&registry.threads), before);
}

static void *use_all_classes(void *unused) {
    (void)unused;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        void *some[40];
        allocate_many(i, some, COUNT_OF(some));
        release_many(some, COUNT_OF(some));
    }
    return heap_mine();
}

static void an_ended_thread_leaves_nothing_behind(void **state) {
    (void)state;
    heap_empty(heap_mine());
    struct heap *heap = heap_of_a_thread(use_all_classes);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        assert_null(heap->classes[i].slab);
        assert_null(heap->classes[i].fresh);
        assert_int_equal(heap->classes[i].depth, 0);
        assert_int_equal(blocks_out(i), 0);
        assert_true(slabs_alive(i) <= 1);
        assert_int_equal(slabs_with_blocks_out(i), 0);
    }
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++)
        assert_true(list_is_empty(&heap->holder.listed[i]));
    assert_int_equal(heap->outbox_blocks, 0);
    assert_int_equal(heap->granted_bytes, 0);
}

static void *fill_blocks(void *unused) {
    (void)unused;
    allocate_many(CLASS_FIRST + 1, blocks, MANY);
    return NULL;
}

static void blocks_outlive_their_thread(void **state) {
    (void)state;
    heap_of_a_thread(fill_blocks);
    for (unsigned i = 0; i < MANY; i++) {
        memset(blocks[i], 1, class_bytes(CLASS_FIRST + 1));
        release(blocks[i]);
    }
    heap_flush_outbox(heap_mine());
    assert_int_equal(blocks_out(CLASS_FIRST + 1), 0);
    assert_int_equal(slabs_with_blocks_out(CLASS_FIRST + 1), 0);
}

// ---- threads without a heap

static void in_a_thread_that_has_ended(void *(*body)(void *)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *go_on_after_the_end(void *unused) {
    void *before[100], *after[100];
    (void)unused;
    for (unsigned i = 0; i < COUNT_OF(before); i++)
        before[i] = allocate(CLASS_FIRST + i % 10);
    registry_thread_ended(heap_mine()); // as the system does when the thread ends
    MUST(heap_mine() == NULL);
    for (unsigned i = 0; i < COUNT_OF(after); i++) {
        unsigned class_index = CLASS_FIRST + i % (CLASS_COUNT - CLASS_FIRST);
        MUST(stack_pop(class_index) == NULL); // nothing by the fast path
        after[i] = allocate(class_index);
        MUST(after[i] != NULL);
        memset(after[i], 1, class_bytes(class_index));
        MUST(!stack_free(before[i]));
        release(before[i]);
    }
    release_many(after, COUNT_OF(after));
    registry_thread_ended(registry.spare); // of no heap of ours: nothing happens
    return NULL;
}

static void a_thread_can_allocate_and_free_after_its_end(void **state) {
    (void)state;
    in_a_thread_that_has_ended(go_on_after_the_end);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_int_equal(blocks_out(i), 0);
}

// What threads without a heap share must be able to take new slabs, and the window to grow for that.
static void *allocate_a_lot_after_the_end(void *unused) {
    unsigned class_index = class_of(500000);
    (void)unused;
    registry_thread_ended(heap_mine());
    for (unsigned i = 0; i < 200; i++) {
        blocks[i] = allocate(class_index);
        MUST(blocks[i] != NULL);
    }
    release_many(blocks, 200);
    return NULL;
}

static void end_and_allocate_a_lot(void *context) {
    (void)context;
    in_a_thread_that_has_ended(allocate_a_lot_after_the_end);
}

static void threads_without_a_heap_make_the_window_grow(void **state) {
    (void)state;
    child_must_succeed(end_and_allocate_a_lot, NULL);
}

static void a_heap_that_cannot_be_had_is_null(void *context) {
    struct rlimit limit = {0, 0};
    (void)context;
    MUST(heap_process_start());
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    while (meta_take(64, 64) != NULL) { // what is left of the chunk
    }
    errno = UNTOUCHED;
    MUST(registry_new_heap() == NULL);
    MUST(heap_mine() == NULL); // and the next slow call tries again
    MUST(errno == UNTOUCHED);
}

static void without_memory_a_thread_has_no_heap(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need memory of their own
    child_must_succeed(a_heap_that_cannot_be_had_is_null, NULL);
}

static uint32_t stop;

static void *count_all_the_time(void *unused) {
    (void)unused;
    unsigned counts[2];
    while (load_relaxed(&stop) == 0) {
        count_heaps(counts);
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i += 8)
            MUST(counts_of(i).cached_blocks <= counts[0] * STACK_MAX_DEPTH);
    }
    return NULL;
}

static void *come_and_go(void *number) {
    for (unsigned i = 0; i < (SANITIZED ? 40 : 200); i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, (uintptr_t)number % 2 == 0 ? use_all_classes : say_heap, NULL) == 0);
        MUST(pthread_join(thread, NULL) == 0);
    }
    return NULL;
}

static void heaps_can_be_looked_at_while_threads_come_and_go(void **state) {
    pthread_t watcher;
    (void)state;
    assert_int_equal(pthread_create(&watcher, NULL, count_all_the_time, NULL), 0);
    threads_run(4, come_and_go);
    store_relaxed(&stop, 1);
    assert_int_equal(pthread_join(watcher, NULL), 0);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_int_equal(blocks_out(i), 0);
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(without_memory_a_thread_has_no_heap),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_one_heap_and_another_has_another),
        cmocka_unit_test(a_heap_is_used_again_by_a_later_thread),
        cmocka_unit_test(a_heap_that_is_used_again_holds_slabs_as_a_new_one),
        cmocka_unit_test(living_threads_are_counted),
        cmocka_unit_test(an_ended_thread_leaves_nothing_behind),
        cmocka_unit_test(blocks_outlive_their_thread),
        cmocka_unit_test(a_thread_can_allocate_and_free_after_its_end),
        cmocka_unit_test(threads_without_a_heap_make_the_window_grow),
        cmocka_unit_test(heaps_can_be_looked_at_while_threads_come_and_go),
    };
    int failed = cmocka_run_group_tests_name("registry without memory", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("registry", tests, start_heap, NULL);
}
