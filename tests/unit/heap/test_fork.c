// Fork: it waits for who is inside, shuts everybody else out, and the child has every block that the other threads had
// kept.
#include "unit/unit.h"

#include <dlfcn.h>
#include <sys/syscall.h>

#include "unit/big/mappings.h"
#include "unit/heap/heaps.h"

enum { THREADS = 4, MANY = 2000 };
static void *blocks[THREADS][MANY];
static pthread_barrier_t barrier;

static void fork_and_wait(void (*body)(void *context), void *context) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        body(context);
        _exit(0);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void adopt_all(void) {
    for (unsigned i = 0; load_relaxed(&registry.orphan_count) > 0; i++) {
        MUST(i < 1000);
        heap_adopt_orphan();
    }
}

// After this thread has let go of everything, no slab of any class has a block out.
static void expect_nothing_out(void) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        MUST(slabs_with_blocks_out(i) == 0);
}

static void use_everything(void *context) {
    static void *some[300];
    (void)context;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        size_t count = i < CLASS_FIRST_LARGE ? COUNT_OF(some) : 20;
        allocate_many(i, some, count);
        for (size_t k = 0; k < count; k++)
            memset(some[k], (int)k, 16);
        release_many(some, count);
    }
    heap_trim(0);
}

static void be_child(void *context) {
    expect_nobody_inside();
    use_everything(context);
}

static void parent_and_child_go_on(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        fork_and_wait(be_child, NULL);
        use_everything(NULL);
    }
}

static void fork_again(void *context) {
    uintptr_t depth = (uintptr_t)context;
    be_child(NULL);
    if (depth > 0)
        fork_and_wait(fork_again, (void *)(depth - 1));
}

static void children_fork_children(void **state) {
    (void)state;
    fork_and_wait(fork_again, (void *)4);
}

// ---- what other threads had

static void *fill_stacks_and_wait(void *number) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        void *some[60];
        allocate_many(i, some, COUNT_OF(some));
        release_many(some, COUNT_OF(some));
    }
    allocate_many(CLASS_FIRST + 1, blocks[(uintptr_t)number], MANY); // held ones, lent to everybody
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < 20; i++) // some of another thread's lie in the outbox
        release(blocks[((uintptr_t)number + 1) % THREADS][i]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); // the fork is over
    return NULL;
}

static void start_waiting_threads(pthread_t *threads) {
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_stacks_and_wait, (void *)i), 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

static void end_waiting_threads(pthread_t *threads) {
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        release_many(blocks[i] + 20, MANY - 20);
    heap_empty(heap_mine());
}

static void expect_all_blocks_of_the_dead(void *context) {
    (void)context;
    MUST(load_relaxed(&registry.orphan_count) == THREADS);
    MUST(load_relaxed(&registry.threads) == 1);
    adopt_all();
    for (unsigned i = 0; i < THREADS; i++)
        release_many(blocks[i] + 20, MANY - 20); // the program still has these
    heap_flush_outbox(heap_mine());
    expect_nothing_out();
}

static void the_child_takes_over_what_dead_threads_kept(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    start_waiting_threads(threads);
    fork_and_wait(expect_all_blocks_of_the_dead, NULL);
    end_waiting_threads(threads);
    expect_nothing_out(); // and in the parent nothing has changed
}

static void refill_until_all_are_adopted(void *context) {
    (void)context;
    for (unsigned orphans = THREADS; orphans > 0; orphans--) {
        MUST(load_relaxed(&registry.orphan_count) == orphans);
        MUST(heap_refill(class_of(2000 + orphans * 256)) != NULL); // each refill adopts one
    }
    MUST(load_relaxed(&registry.orphan_count) == 0);
}

static void the_child_adopts_as_it_needs_blocks(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    start_waiting_threads(threads);
    fork_and_wait(refill_until_all_are_adopted, NULL);
    end_waiting_threads(threads);
}

static void expect_right_books(void *context) {
    (void)context;
    adopt_all();
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        uint64_t out = i == CLASS_FIRST + 1 ? THREADS * (MANY - 20) : 0;
        if (blocks_out(i) != out) {
            dprintf(2, "class of %zu bytes: %llu blocks are out, by the books %llu\n", class_bytes(i),
                    (unsigned long long)out, (unsigned long long)blocks_out(i));
            _exit(CHILD_FAILED);
        }
    }
}

static void the_childs_books_are_right(void **state) {
    pthread_t threads[THREADS];
    struct capture capture;
    (void)state;
    start_waiting_threads(threads);
    int status = child_run(&capture, expect_right_books, NULL);
    end_waiting_threads(threads);
    if (status != 0)
        fail_msg("%s", capture.text);
}

static void fork_with_orphans(void *context) {
    (void)context;
    MUST(load_relaxed(&registry.orphan_count) == THREADS);
    fork_and_wait(expect_all_blocks_of_the_dead, NULL); // the grandchild finds them as the child did
    expect_all_blocks_of_the_dead(NULL);
}

static void a_child_may_fork_before_it_has_adopted_all(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    start_waiting_threads(threads);
    fork_and_wait(fork_with_orphans, NULL);
    end_waiting_threads(threads);
}

// ---- parked stacks

enum { BURST = 8 * STACK_SLOTS };
static struct heap *parking;

static void *park_and_wait(void *unused) {
    static void *burst[BURST];
    unsigned class_index = class_of(128);
    (void)unused;
    parking = heap_mine();
    for (unsigned i = 0; i < 40; i++) {
        allocate_many(class_index, burst, BURST);
        release_many(burst, BURST);
    }
    MUST(parking->classes[class_index].parked_count > 0);
    come_to(1);
    wait_for_stage(2);
    return NULL;
}

static void expect_what_was_parked(void *context) {
    (void)context;
    adopt_all();
    MUST(parking->stacks == NULL && parking->classes[class_of(128)].parked == NULL);
    MUST(parking->granted_bytes == 0); // the heap's next thread has its whole budget
    expect_nothing_out();
}

static void the_child_takes_over_parked_stacks(void **state) {
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, park_and_wait, NULL), 0);
    wait_for_stage(1);
    fork_and_wait(expect_what_was_parked, NULL);
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *fork_from_a_thread(void *unused) {
    (void)unused;
    release(allocate(class_of(100)));
    fork_and_wait(be_child, NULL);
    return NULL;
}

static void any_thread_may_fork(void **state) {
    (void)state;
    threads_run(1, fork_from_a_thread);
    threads_run(THREADS, fork_from_a_thread); // several at once
}

// ---- F3

static uint32_t time_flies;
static uint32_t slept_us;

// The library's sleep among its calls: where time flies it is over at once.
long syscall(long number, ...) {
    static long (*next)(long number, ...);
    long arguments[5]; // in registers, whether they are given or not; no call of ours needs the sixth
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < COUNT_OF(arguments); i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_nanosleep && load_relaxed(&time_flies) != 0) {
        const struct timespec *time = (const struct timespec *)arguments[0];
        shared_add(&slept_us, (uint32_t)time->tv_sec * 1000000u + (uint32_t)(time->tv_nsec / 1000));
        return 0;
    }
    if (load_relaxed(&next) == NULL)
        store_relaxed(&next, (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"));
    return load_relaxed(&next)(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
}

static struct heap *stuck; // whose thread does not come out

static void *stay_inside(void *unused) {
    (void)unused;
    stuck = heap_enter();
    lock_acquire(&registry.lock);
    lock_acquire(&depots[CLASS_FIRST].lock);
    lock_acquire(&runs_lock);
    come_to(1);
    wait_for_stage(2);
    lock_release(&runs_lock);
    lock_release(&depots[CLASS_FIRST].lock);
    lock_release(&registry.lock);
    heap_leave(stuck);
    return NULL;
}

static void go_on_without_the_stuck_thread(void *context) {
    (void)context;
    MUST(slept_us == FORK_PATIENCE_MS * 1000);
    expect_nobody_inside();
    MUST(stuck->stacks == NULL && load_relaxed(&registry.threads) == 1);
    MUST(load_relaxed(&registry.orphan_count) == THREADS); // the others were not inside
    adopt_all();
    use_everything(NULL);
    slept_us = 0;
    fork_and_wait(be_child, NULL); // at once: it has been given up
    MUST(slept_us == 0);
}

static void a_thread_that_stays_inside_is_given_up(void **state) {
    pthread_t threads[THREADS], thread;
    (void)state;
    start_waiting_threads(threads);
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, stay_inside, NULL), 0);
    wait_for_stage(1);
    slept_us = 0;
    store_relaxed(&time_flies, 1);
    fork_and_wait(go_on_without_the_stuck_thread, NULL);
    store_relaxed(&time_flies, 0);
    assert_int_equal(load_relaxed(&stuck->gate), GATE_INSIDE); // in the parent it is as it was
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_waiting_threads(threads);
    expect_nobody_inside();
    expect_nothing_out();
}

// ---- under load

static uint32_t stop;

static void *churn(void *number) {
    struct random random = {(uintptr_t)number};
    void *some[100] = {NULL};
    while (load_relaxed(&stop) == 0) {
        size_t which = random_below(&random, COUNT_OF(some));
        if (some[which] != NULL)
            release(some[which]);
        some[which] = allocate(CLASS_FIRST + (unsigned)random_below(&random, 60));
        MUST(some[which] != NULL);
    }
    for (size_t i = 0; i < COUNT_OF(some); i++)
        if (some[i] != NULL)
            release(some[i]);
    return NULL;
}

static int compare_addresses(const void *left, const void *right) {
    uintptr_t a = (uintptr_t) * (void *const *)left, b = (uintptr_t) * (void *const *)right;
    return a < b ? -1 : a > b;
}

// What the other threads' programs had is out of reach; of the rest no block is there twice.
static void expect_no_block_twice(void *context) {
    static void *some[3000];
    (void)context;
    options.on_fault = OPTION_ON_FAULT_ABORT;
    adopt_all();
    for (unsigned i = CLASS_FIRST; i < CLASS_FIRST + 60; i += 7) {
        allocate_many(i, some, COUNT_OF(some));
        qsort(some, COUNT_OF(some), sizeof *some, compare_addresses);
        for (size_t k = 1; k < COUNT_OF(some); k++)
            MUST((char *)some[k] >= (char *)some[k - 1] + class_bytes(i));
        release_many(some, COUNT_OF(some));
    }
    heap_empty(heap_mine());
}

static void a_fork_under_load_doubles_no_block(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    stop = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (unsigned i = 0; i < (SANITIZED ? 10 : 40); i++) {
        fork_and_wait(expect_no_block_twice, NULL);
        sched_yield();
    }
    store_relaxed(&stop, 1);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    heap_empty(heap_mine());
    expect_nothing_out();
}

// ---- handlers of others

static void *handlers_block;

static void allocate_in_a_handler(void) {
    if (handlers_block != NULL)
        release(handlers_block);
    handlers_block = allocate(class_of(200));
    void *other = allocate(class_of(300000)), *mapping = mapping_of(2 * MIB, 1);
    MUST(handlers_block != NULL && other != NULL && mapping != NULL);
    release(other);
    mapping_end(mapping);
}

static void fork_with_allocating_handlers(void *context) {
    (void)context;
    // Registered before ours: called after ours have shut the gates, and before they open them.
    pthread_atfork(allocate_in_a_handler, allocate_in_a_handler, allocate_in_a_handler);
    MUST(heap_process_start());
    for (unsigned i = 0; i < 20; i++)
        fork_and_wait(be_child, NULL);
    use_everything(NULL);
}

static void handlers_of_others_may_allocate_while_others_are_shut_out(void **state) {
    (void)state;
    child_must_succeed(fork_with_allocating_handlers, NULL);
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(handlers_of_others_may_allocate_while_others_are_shut_out),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parent_and_child_go_on),
        cmocka_unit_test(children_fork_children),
        cmocka_unit_test(the_child_takes_over_what_dead_threads_kept),
        cmocka_unit_test(the_child_adopts_as_it_needs_blocks),
        cmocka_unit_test(the_childs_books_are_right),
        cmocka_unit_test(a_child_may_fork_before_it_has_adopted_all),
        cmocka_unit_test(the_child_takes_over_parked_stacks),
        cmocka_unit_test(any_thread_may_fork),
        cmocka_unit_test(a_thread_that_stays_inside_is_given_up),
        cmocka_unit_test(a_fork_under_load_doubles_no_block),
    };
    int failed = cmocka_run_group_tests_name("fork before the start", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("fork", tests, start_heap, NULL);
}
