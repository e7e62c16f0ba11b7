// The clock: never back, on any thread; as fast as time. Page faults are counted. errno stays as it was.
#include "unit/unit.h"

#include "sys/os.h"

enum { THREADS = 4, READINGS = 100000 };

static uint64_t reference_ns(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void it_never_goes_back(void **state) {
    uint64_t last = os_now_ns();
    (void)state;
    assert_true(last > 0);
    for (unsigned i = 0; i < 10 * READINGS; i++) {
        uint64_t now = os_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

static uint64_t latest; // that any thread has seen

static void *read_the_clock(void *number) {
    uintptr_t backwards = 0;
    (void)number;
    for (unsigned i = 0; i < READINGS; i++) {
        uint64_t before = __atomic_load_n(&latest, __ATOMIC_ACQUIRE);
        uint64_t now = os_now_ns();
        backwards += now < before;
        while (now > before &&
               !__atomic_compare_exchange_n(&latest, &before, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
    }
    return (void *)backwards;
}

static void no_thread_sees_a_time_before_anothers(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_the_clock, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *backwards;
        assert_int_equal(pthread_join(threads[i], &backwards), 0);
        assert_null(backwards);
    }
}

static void it_counts_nanoseconds(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = reference_ns(), now = os_now_ns(), after = reference_ns();
        assert_true(before <= now && now <= after);
    }
    uint64_t start = os_now_ns();
    os_sleep(20 * 1000);
    assert_in_range(os_now_ns() - start, 20u * 1000 * 1000, 20u * 1000 * 1000 * 1000);
}

static void a_threads_time_is_what_it_used(void **state) {
    uint64_t clock_before = os_now_ns(), before = os_thread_ns();
    (void)state;
    os_sleep(50 * 1000);
    assert_true(os_thread_ns() - before < 25 * 1000 * 1000); // asleep it uses none
    while (os_thread_ns() - before < 5 * 1000 * 1000)
        ;
    assert_true(os_now_ns() - clock_before >= 55 * 1000 * 1000);
}

static void *use_some_time(void *context) {
    uint64_t before = os_thread_ns();
    while (os_thread_ns() - before < 20 * 1000 * 1000)
        ;
    return context;
}

static void a_process_time_is_that_of_all_its_threads(void **state) {
    uint64_t before = os_process_ns();
    pthread_t thread;
    (void)state;
    os_sleep(50 * 1000);
    assert_true(os_process_ns() - before < 25 * 1000 * 1000); // asleep it uses none
    assert_int_equal(pthread_create(&thread, NULL, use_some_time, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(os_process_ns() - before >= 20 * 1000 * 1000);
}

static void it_goes_on_in_a_child(void *context) {
    MUST(os_now_ns() >= *(const uint64_t *)context);
}

static void a_child_has_the_same_clock(void **state) {
    uint64_t before = os_now_ns();
    (void)state;
    child_must_succeed(it_goes_on_in_a_child, &before);
}

static void page_faults_are_counted(void **state) {
    enum { PAGES = 500 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    uint64_t before = os_count_faults();
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = 1;
    assert_in_range(os_count_faults() - before, PAGES, 10 * PAGES); // sanitizers have some of their own
    munmap(memory, PAGES * page);
}

static void it_leaves_errno_alone(void **state) {
    (void)state;
    errno = UNTOUCHED;
    assert_true(os_now_ns() > 0 && os_process_ns() > 0 && os_count_faults() > 0);
    assert_int_equal(errno, UNTOUCHED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_never_goes_back),
        cmocka_unit_test(no_thread_sees_a_time_before_anothers),
        cmocka_unit_test(a_threads_time_is_what_it_used),
        cmocka_unit_test(a_process_time_is_that_of_all_its_threads),
        cmocka_unit_test(it_counts_nanoseconds),
        cmocka_unit_test(a_child_has_the_same_clock),
        cmocka_unit_test(page_faults_are_counted),
        cmocka_unit_test(it_leaves_errno_alone),
    };
    return cmocka_run_group_tests_name("os_clock", tests, NULL, NULL);
}
