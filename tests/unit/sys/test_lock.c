// The small lock: exclusion, sleeping waiters, ranks, and a lock that nobody is left to release.
#include "unit/unit.h"

#include "sys/lock.h"

static struct lock lock = LOCK_INIT(depot);
static struct lock lower = LOCK_INIT(registry);
static struct lock higher = LOCK_INIT(meta);
static uint64_t plain_counter; // correct only if the lock excludes

enum { TURNS = 100000 };

static void *count_under_lock(void *number) {
    (void)number;
    for (unsigned i = 0; i < TURNS; i++) {
        lock_acquire(&lock);
        plain_counter = plain_counter + 1;
        lock_release(&lock);
    }
    return NULL;
}

static void a_lock_is_held_between_acquire_and_release(void **state) {
    (void)state;
    assert_int_equal(lock.state, 0);
    lock_acquire(&lock);
    assert_int_not_equal(lock.state, 0);
    lock_release(&lock);
    assert_int_equal(lock.state, 0);
}

static void one_thread_at_a_time_is_inside(void **state) {
    (void)state;
    plain_counter = 0;
    threads_run(4, count_under_lock);
    assert_int_equal(plain_counter, 4 * TURNS);
    assert_int_equal(lock.state, 0);
}

static uint64_t waiter_cpu_ns;

static void *wait_for_lock(void *number) {
    struct timespec used;
    (void)number;
    lock_acquire(&lock);
    lock_release(&lock);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    waiter_cpu_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
    return NULL;
}

static void sleep_ms(unsigned ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static void a_waiter_sleeps_until_it_is_woken(void **state) {
    pthread_t waiter;
    (void)state;
    lock_acquire(&lock);
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_lock, NULL), 0);
    sleep_ms(300);
    lock_release(&lock);
    assert_int_equal(pthread_join(waiter, NULL), 0); // it hangs here when nobody wakes it
    assert_true(waiter_cpu_ns < 150 * 1000000ull);
}

static void errno_is_kept(void **state) {
    (void)state;
    errno = UNTOUCHED;
    lock_acquire(&lock);
    lock_release(&lock);
    assert_int_equal(errno, UNTOUCHED);
}

static void a_lock_that_was_reset_is_free(void **state) {
    (void)state;
    lock_acquire(&lock);
    if (CHECKED)
        lock_rank_forget(&lock); // in a fork child another thread held it
    lock_reset(&lock);
    assert_int_equal(lock.state, 0);
    lock_acquire(&lock);
    lock_release(&lock);
}

static void take_in_wrong_order(void *context) {
    (void)context;
    lock_acquire(&higher);
    lock_acquire(&lower);
}

static void take_two_of_one_rank(void *context) {
    struct lock twin = LOCK_INIT(depot);
    (void)context;
    lock_acquire(&lock);
    lock_acquire(&twin);
}

static void checked_builds_stop_at_a_wrong_order(void **state) {
    (void)state;
    child_must_trap_when_checked(take_in_wrong_order, NULL);
    child_must_trap_when_checked(take_two_of_one_rank, NULL);
}

static void locks_can_be_nested_in_the_order_of_their_ranks(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        lock_acquire(&lower);
        lock_acquire(&lock);
        lock_acquire(&higher);
        lock_release(&lock); // the order of release is free
        lock_release(&higher);
        lock_release(&lower);
    }
}

static void who_only_tries_may_do_so_in_any_order(void **state) {
    (void)state;
    lock_acquire(&lock);
    assert_true(lock_try(&lower));
    assert_false(lock_try(&lock));
    lock_acquire(&higher); // what comes behind both
    lock_release(&higher);
    lock_release(&lower);
    lock_release(&lock);
}

static void the_ranks_are_those_of_the_table_in_its_order(void **state) {
    (void)state;
    unsigned next = 0;
#define LOCK(name, keeps)                       \
    assert_int_equal(LOCK_RANK_##name, next++); \
    assert_true(sizeof keeps > 1);
#include "sys/locks.def"
#undef LOCK
    assert_int_equal(LOCK_RANK_COUNT, next);
    assert_true(next <= 32); // a bit each in the record of what a thread holds
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_is_held_between_acquire_and_release),
        cmocka_unit_test(one_thread_at_a_time_is_inside),
        cmocka_unit_test(a_waiter_sleeps_until_it_is_woken),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(a_lock_that_was_reset_is_free),
        cmocka_unit_test(checked_builds_stop_at_a_wrong_order),
        cmocka_unit_test(locks_can_be_nested_in_the_order_of_their_ranks),
        cmocka_unit_test(who_only_tries_may_do_so_in_any_order),
        cmocka_unit_test(the_ranks_are_those_of_the_table_in_its_order),
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
