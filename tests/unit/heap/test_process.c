// The start of the library, once, whoever comes first; trimming.
#include "unit/unit.h"

#include "policy/snapshot.h"
#include "unit/heap/heaps.h"

enum { THREADS = 4 };
static pthread_barrier_t barrier;
static struct meeting first_calls;

static void *start_together(void *number) {
    (void)number;
    meet(&first_calls, THREADS);
    MUST(heap_process_start());
    MUST(window.limit > 0 && registry.spare != NULL && snapshot_now() != NULL); // all of it, for everybody
    void *block = allocate(class_of(100));
    MUST(block != NULL);
    release(block);
    return NULL;
}

static void start_from_many_threads(void *context) {
    pthread_t threads[THREADS];
    (void)context;
    for (unsigned i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, start_together, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    uintptr_t base = window.base;
    MUST(heap_process_start() && window.base == base); // once
}

static void threads_that_come_first_together_start_it_once(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        child_must_succeed(start_from_many_threads, NULL);
}

static void start_without_address_space(void *context) {
    struct rlimit before, limit;
    (void)context;
    MUST(getrlimit(RLIMIT_AS, &before) == 0);
    limit = (struct rlimit){0, before.rlim_max};
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    errno = UNTOUCHED;
    MUST(!heap_process_start());
    MUST(heap_mine() == NULL);
    MUST(heap_refill(class_of(100)) == NULL);
    MUST(!heap_trim(0));
    MUST(errno == UNTOUCHED);
    MUST(setrlimit(RLIMIT_AS, &before) == 0); // who asks again, when there is some, gets some
    MUST(heap_process_start());
    MUST(allocate(class_of(100)) != NULL);
}

static void without_address_space_there_is_no_memory_and_no_crash(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need address space of their own
    child_must_succeed(start_without_address_space, NULL);
}

static void start_in_little_address_space(void *context) {
    size_t bytes = *(size_t *)context, count = 0;
    struct rlimit limit = {bytes, bytes};
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    MUST(heap_process_start());
    while (allocate(class_of(MIB)) != NULL)
        count++;
    MUST(count * MIB > bytes / 3);
}

static void it_starts_in_little_address_space(void **state) {
    (void)state;
    if (SANITIZED)
        skip();
    for (size_t bytes = 64 * MIB; bytes <= GIB; bytes *= 2)
        child_must_succeed(start_in_little_address_space, &bytes);
}

static void start_with_options(void *context) {
    (void)context;
    setenv("HAKMEM_RETAIN_MIN", "3m", 1);
    setenv("HAKMEM_OPTIONS", "retain_share=5", 1);
    MUST(heap_process_start());
    MUST(DECIDED(retain_min) == 3 * MIB && DECIDED(retain_share) == 5);
}

static void it_reads_the_options(void **state) {
    (void)state;
    child_must_succeed(start_with_options, NULL);
}

static void trimming_gives_back_what_this_thread_keeps(void **state) {
    static void *blocks[3000];
    (void)state;
    assert_true(heap_process_start());
    allocate_many(class_of(20000), blocks, COUNT_OF(blocks));
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        memset(blocks[i], 1, 20000);
    release_many(blocks, COUNT_OF(blocks));
    assert_true(heap_trim(0));
    assert_int_equal(runs_count().retained_slices, 0);
    assert_int_equal(heap_stack_blocks(heap_mine(), class_of(20000)), 0);
    assert_false(heap_trim(0)); // nothing is left to give
}

static void trimming_keeps_what_it_is_told_to_keep(void **state) {
    (void)state;
    bool clean;
    heap_trim(0);
    size_t first = runs_take(128, 1, &clean);
    memset(window_address(first), 1, 128 * SLICE_BYTES);
    runs_give(first, 128);
    assert_true(heap_trim(2 * MIB));
    size_t retained = runs_count().retained_slices << SLICE_SHIFT;
    assert_true(retained <= 2 * MIB && retained >= MIB);
    heap_trim(0);
}

static void *keep_until_asked(void *unused) {
    void *blocks[30];
    (void)unused;
    allocate_many(class_of(700), blocks, COUNT_OF(blocks));
    release_many(blocks, COUNT_OF(blocks));
    MUST(heap_stack_blocks(heap_mine(), class_of(700)) > 0);
    pthread_barrier_wait(&barrier); // the other one trims now
    pthread_barrier_wait(&barrier);
    MUST(heap_stack_blocks(heap_mine(), class_of(700)) > 0); // nobody reaches into a thread's stacks
    release(allocate(class_of(900)));
    MUST(heap_stack_blocks(heap_mine(), class_of(700)) == 0);
    return NULL;
}

static void other_threads_obey_a_trim_at_their_next_slow_call(void **state) {
    pthread_t thread;
    (void)state;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, keep_until_asked, NULL), 0);
    pthread_barrier_wait(&barrier);
    heap_trim(0);
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_come_first_together_start_it_once),
        cmocka_unit_test(without_address_space_there_is_no_memory_and_no_crash),
        cmocka_unit_test(it_starts_in_little_address_space),
        cmocka_unit_test(it_reads_the_options),
        cmocka_unit_test(trimming_gives_back_what_this_thread_keeps),
        cmocka_unit_test(trimming_keeps_what_it_is_told_to_keep),
        cmocka_unit_test(other_threads_obey_a_trim_at_their_next_slow_call),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
