// The contract of os.h: every call does what it says, and leaves errno alone also when it fails.
#include "unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "base/atomics.h"
#include "base/tuning.h"
#include "sys/os.h"

static size_t page;

static int start(void **state) {
    (void)state;
    errno = UNTOUCHED;
    os_start();
    page = os_facts.page_bytes;
    return errno == UNTOUCHED ? 0 : -1;
}

static int expect_errno_untouched(void **state) {
    (void)state;
    return errno == UNTOUCHED ? 0 : -1;
}

static int touch_errno(void **state) {
    (void)state;
    errno = UNTOUCHED;
    return 0;
}

static void the_facts_are_those_of_the_machine(void **state) {
    struct rlimit limit;
    (void)state;
    assert_int_equal(page, sysconf(_SC_PAGESIZE));
    assert_int_equal(os_facts.memory_bytes, (size_t)sysconf(_SC_PHYS_PAGES) * page);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    assert_true(os_facts.address_limit_bytes == (limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur));
    assert_false(os_facts.secure);
    assert_int_equal(os_process_id(), getpid());
}

static void limit_address_space(void *context) {
    struct rlimit limit = {GIB, GIB};
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    os_start();
    MUST(os_facts.address_limit_bytes == GIB);
}

static void an_address_limit_is_seen(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more
    child_must_succeed(limit_address_space, NULL);
}

static void mapped_memory_is_zero_and_writable(void **state) {
    (void)state;
    char *memory = os_map(5 * page);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % page, 0);
    assert_true(is_zero(memory, 5 * page));
    memset(memory, 1, 5 * page);
    os_unmap(memory, 5 * page);
    assert_false(can_touch(memory, false));
}

static void a_mapping_too_large_is_null(void **state) {
    (void)state;
    assert_null(os_map(SIZE_MAX / 2));
    assert_null(os_reserve(SIZE_MAX / 2));
    assert_null(os_map_at(GIB, SIZE_MAX / 2));
}

static void mapping_at_an_address_replaces_nothing(void **state) {
    (void)state;
    char *memory = os_map(3 * page);
    assert_non_null(memory);
    memory[0] = 'a';
    memory[2 * page] = 'c';
    assert_null(os_map_at((uintptr_t)memory, page));
    os_unmap(memory + page, page);
    assert_null(os_map_at((uintptr_t)memory + page, 2 * page)); // half of it is taken
    assert_ptr_equal(os_map_at((uintptr_t)memory + page, page), memory + page);
    assert_true(is_zero(memory + page, page));
    assert_int_equal(memory[0], 'a');
    assert_int_equal(memory[2 * page], 'c');
    os_unmap(memory, 3 * page);
}

static void reserved_memory_is_touchable_once_committed(void **state) {
    (void)state;
    char *memory = os_reserve(4 * page);
    assert_non_null(memory);
    assert_false(can_touch(memory, false));
    assert_int_equal(os_commit(memory + page, page), 0);
    assert_true(can_touch(memory + page, true));
    assert_true(is_zero(memory + page, page));
    assert_false(can_touch(memory + 2 * page, false));
    assert_int_equal(os_commit_readable(memory + 2 * page, page), 0);
    assert_true(can_touch(memory + 2 * page, false));
    assert_false(can_touch(memory + 2 * page, true));
    os_unmap(memory, 4 * page);
    assert_int_equal(os_commit(memory, page), ENOMEM);
}

static void purged_memory_is_zero_and_not_resident(void **state) {
    unsigned char resident[16];
    (void)state;
    char *memory = os_map(16 * page);
    memset(memory, 1, 16 * page);
    assert_true(os_purge(memory, 15 * page));
    assert_int_equal(mincore(memory, 16 * page, resident), 0);
    for (unsigned i = 0; i < 15; i++)
        assert_int_equal(resident[i] & 1, 0);
    assert_true(is_zero(memory, 15 * page));
    assert_int_equal(memory[15 * page], 1);
    os_unmap(memory, 16 * page);
}

static void locked_memory_is_not_purged_and_said_so(void **state) {
    (void)state;
    char *memory = os_map(page);
    memory[0] = 1;
    if (SANITIZED || mlock(memory, page) != 0) {
        errno = UNTOUCHED;
        skip(); // not allowed here, or a sanitizer makes it do nothing
    }
    assert_false(os_purge(memory, page));
    assert_int_equal(memory[0], 1);
    os_unmap(memory, page);
}

static void a_mapping_grows_in_place_or_stays_as_it_is(void **state) {
    (void)state;
    char *memory = os_map(8 * page);
    memset(memory, 'x', 8 * page);
    assert_true(os_remap_in_place(memory, 8 * page, 2 * page));
    assert_false(can_touch(memory + 2 * page, false));
    assert_true(os_remap_in_place(memory, 2 * page, 4 * page));
    assert_true(is_zero(memory + 2 * page, 2 * page));
    char *behind = os_map_at((uintptr_t)memory + 4 * page, page);
    assert_ptr_equal(behind, memory + 4 * page);
    assert_false(os_remap_in_place(memory, 4 * page, 8 * page));
    assert_int_equal(memory[2 * page - 1], 'x');
    os_unmap(memory, 5 * page);
    errno = UNTOUCHED; // can_touch's children
}

static void a_mapping_moves_to_a_place_that_was_had_before(void **state) {
    (void)state;
    char *memory = os_map(2 * page);
    char *place = os_map(6 * page);
    memory[0] = 'a';
    memory[2 * page - 1] = 'z';
    memset(place, 1, 6 * page);
    assert_true(os_remap_to(memory, 2 * page, place, 6 * page));
    assert_int_equal(place[0], 'a');
    assert_int_equal(place[2 * page - 1], 'z');
    assert_true(is_zero(place + 2 * page, 4 * page));
    assert_false(can_touch(memory, false));
    assert_false(os_remap_to(memory, 2 * page, place, 6 * page)); // nothing is there any more
    assert_int_equal(place[0], 'a');
    os_unmap(place, 6 * page);
    errno = UNTOUCHED;
}

static uint32_t word;

static void *wake_later(void *number) {
    struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    (void)number;
    nanosleep(&moment, NULL);
    store_relaxed(&word, 1);
    os_wake_all(&word);
    return NULL;
}

static void waiting_ends_when_woken_or_when_the_word_differs(void **state) {
    pthread_t waker;
    (void)state;
    word = 0;
    os_wait(&word, 7); // differs: at once
    assert_true(os_wait_for(&word, 7, 100000));
    assert_false(os_wait_for(&word, word, 20)); // nobody wakes us
    assert_int_equal(errno, UNTOUCHED);
    assert_int_equal(pthread_create(&waker, NULL, wake_later, NULL), 0);
    while (load_relaxed(&word) == 0)
        os_wait(&word, 0); // it hangs here when nobody is woken
    assert_int_equal(pthread_join(waker, NULL), 0);
    os_wake_one(&word); // nobody waits
}

static uint64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void sleeping_takes_at_least_as_long_as_asked(void **state) {
    static const unsigned times_us[] = {1, 30000, 1200000};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(times_us); i++) {
        uint64_t before = now_us();
        os_sleep(times_us[i]);
        uint64_t slept = now_us() - before;
        assert_true(slept >= times_us[i] && slept < times_us[i] + 10 * 1000000);
    }
}

static bool went_on;

static void *sleep_cancelled(void *unused) {
    char text[16];
    (void)unused;
    pthread_cancel(pthread_self());
    os_sleep(1000);
    os_read_file("/proc/self/stat", text, sizeof text);
    os_write(-1, text, 1);
    os_close(os_standard_error() + 1000);
    went_on = true;
    return NULL;
}

// Who sleeps, reads and writes holds locks, which nobody would let go of.
static void a_cancelled_thread_does_not_end_inside(void **state) {
    (void)state;
    threads_run(1, sleep_cancelled);
    assert_true(went_on);
}

static void resident_memory_grows_with_what_is_touched(void **state) {
    enum { MORE = 32 << 20 };
    (void)state;
    size_t before = os_resident_bytes();
    char *memory = os_map(MORE);
    assert_true(before > 0 && os_resident_bytes() < before + MORE / 2);
    memset(memory, 1, MORE);
    size_t after = os_resident_bytes();
    assert_true(after >= before + MORE / 8 * 7);
    assert_true(SANITIZED || after < before + MORE * 2); // sanitizers touch memory of their own
    os_unmap(memory, MORE);
}

static void files_are_appended_to(void **state) {
    char path[] = "/tmp/hakmem-os-XXXXXX";
    char text[16];
    (void)state;
    int made = mkstemp(path);
    for (unsigned i = 0; i < 2; i++) {
        int file = os_open_append(path);
        assert_true(file >= 0);
        assert_int_equal(fcntl(file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        os_write(file, "line\n", 5);
        os_close(file);
        assert_int_equal(fcntl(file, F_GETFD), -1);
    }
    assert_int_equal(pread(made, text, sizeof text, 0), 10);
    assert_memory_equal(text, "line\nline\n", 10);
    close(made);
    unlink(path);
    errno = UNTOUCHED;
    assert_int_equal(os_open_append("/no/such/folder/file"), -1);
    os_write(1000, "nowhere", 7);
    os_close(1000);
}

static void keep_and_close(void *context) {
    MUST(os_standard_error() == 2); // nothing is kept yet
    os_keep_standard_error();
    int kept = os_standard_error();
    MUST(kept > 2 && (fcntl(kept, F_GETFD) & FD_CLOEXEC) != 0);
    close(2); // as programs do at their end
    os_write(os_standard_error(), "still heard", 11);
    if (context != NULL) { // a program that closes everything, and has another file under the number then
        close(kept);
        int file = open("/dev/null", O_WRONLY);
        MUST(dup2(file, kept) == kept);
        MUST(os_standard_error() == 2);
    }
}

static void standard_error_is_kept_for_the_end(void **state) {
    struct capture capture;
    (void)state;
    assert_int_equal(child_run(&capture, keep_and_close, NULL), 0);
    assert_string_equal(capture.text, "still heard");
    assert_int_equal(child_run(&capture, keep_and_close, &page), 0);
    errno = UNTOUCHED;
}

static void deep_binding_alone_is_taken_from_a_mode(void **state) {
    (void)state;
    assert_int_equal(os_without_deep_binding(RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND), RTLD_NOW | RTLD_GLOBAL);
    assert_int_equal(os_without_deep_binding(RTLD_LAZY), RTLD_LAZY);
    assert_int_equal(os_without_deep_binding(~0), ~RTLD_DEEPBIND);
}

static void lower_limit(void *context) {
    struct rlimit limit = {GIB, RLIM_INFINITY};
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    os_read_limits();
    MUST(os_facts.address_limit_bytes == GIB);
    limit.rlim_cur = RLIM_INFINITY;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    os_read_limits();
    MUST(os_facts.address_limit_bytes == SIZE_MAX);
}

static void limits_can_be_read_again(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(lower_limit, NULL);
}

static void a_running_thread_has_its_storage(void **state) {
    (void)state;
    assert_true(os_has_thread_storage());
}

static void the_environment_is_found_also_before_libc_has_it(void **state) {
    (void)state;
    char **saved = environ;
    bool found = false;
    for (unsigned turn = 0; turn < 2; turn++) {
        found = false;
        for (char **variable = os_environment(); variable != NULL && *variable != NULL; variable++)
            found = found || strncmp(*variable, "PATH=", 5) == 0;
        environ = turn == 0 ? NULL : saved;
        assert_true(found);
    }
}

static void the_break_is_known_as_it_grows(void **state) {
    int local;
    (void)state;
    char *memory = sbrk(1 << 16);
    assert_ptr_not_equal(memory, (void *)-1);
    assert_true(os_is_in_break(memory) && os_is_in_break(memory + (1 << 16) - 1));
    assert_false(os_is_in_break((char *)sbrk(0)));
    assert_false(os_is_in_break(&local) || os_is_in_break(NULL));
    void *elsewhere = os_map(page);
    assert_false(os_is_in_break(elsewhere));
    os_unmap(elsewhere, page);
}

static void functions_are_found_by_name(void **state) {
    (void)state;
    void (*next)(void) = os_next_function("free");
    assert_non_null((void *)(uintptr_t)next);
    assert_null((void *)(uintptr_t)os_next_function("no_such_function_anywhere"));
    assert_true(os_default_function("getpid") == (void (*)(void))(uintptr_t)getpid);
    assert_null((void *)(uintptr_t)os_default_function("no_such_function_anywhere"));
}

static void *nothing(void *number) {
    return number;
}

static void see_threads(void *context) {
    pthread_t thread;
    (void)context;
    MUST(os_is_single_threaded());
    MUST(pthread_create(&thread, NULL, nothing, NULL) == 0);
    MUST(!os_is_single_threaded());
    pthread_join(thread, NULL);
}

static void the_first_thread_ends_being_single(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // they have a thread of their own
    child_must_succeed(see_threads, NULL);
}

static uint32_t ends_seen;

static void count_end(void *value) {
    shared_add((uint32_t *)value, 1);
}

static void *arm_and_end(void *number) {
    os_thread_exit_arm(&ends_seen);
    return number;
}

static void an_armed_thread_calls_back_when_it_ends(void **state) {
    (void)state;
    assert_true(os_thread_exit_register(count_end));
    threads_run(3, arm_and_end);
    assert_int_equal(ends_seen, 3);
    threads_run(2, nothing);
    assert_int_equal(ends_seen, 3);
}

static char fork_calls[8];

static void note(char letter) {
    fork_calls[strlen(fork_calls)] = letter;
}

static void note_prepare(void) {
    note('p');
}

static void note_parent(void) {
    note('a');
}

static void note_child(void) {
    note('c');
}

static void expect_calls_of_child(void *context) {
    MUST(strcmp(fork_calls, context) == 0);
}

static void fork_calls_back_on_both_sides(void **state) {
    (void)state;
    os_fork_register(note_prepare, note_parent, note_child);
    child_must_succeed(expect_calls_of_child, (char[]){"pc"});
    assert_string_equal(fork_calls, "pa");
    memset(fork_calls, 0, sizeof fork_calls);
}

static void fail_calls(void *context) {
    setenv("HAKMEM_TEST_FAIL_CALL", context, 1);
    os_start();
    bool all_after = strchr(context, '+') != NULL;
    MUST(os_map(page) != NULL);
    MUST(os_reserve(page) == NULL); // the second
    MUST((os_map(page) == NULL) == all_after);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST((os_commit(memory, page) == ENOMEM) == all_after);
    MUST(os_purge(memory, page) != all_after);
    MUST(os_remap_in_place(memory, page, page) != all_after);
}

static void checked_builds_fail_the_calls_they_are_told_to(void **state) {
    (void)state;
    if (!CHECKED)
        skip();
    child_must_succeed(fail_calls, (char[]){"2"});
    child_must_succeed(fail_calls, (char[]){"2+"});
}

static void threads_have_different_numbers(void **state) {
    (void)state;
    assert_int_equal(os_thread(), (uintptr_t)pthread_self());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, touch_errno, expect_errno_untouched)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_thread_ends_being_single), // before another test has threads
        cmocka_unit_test(the_facts_are_those_of_the_machine),
        cmocka_unit_test(an_address_limit_is_seen),
        TEST(mapped_memory_is_zero_and_writable),
        TEST(a_mapping_too_large_is_null),
        TEST(mapping_at_an_address_replaces_nothing),
        TEST(reserved_memory_is_touchable_once_committed),
        TEST(purged_memory_is_zero_and_not_resident),
        TEST(locked_memory_is_not_purged_and_said_so),
        TEST(a_mapping_grows_in_place_or_stays_as_it_is),
        TEST(a_mapping_moves_to_a_place_that_was_had_before),
        TEST(waiting_ends_when_woken_or_when_the_word_differs),
        TEST(sleeping_takes_at_least_as_long_as_asked),
        cmocka_unit_test(a_cancelled_thread_does_not_end_inside),
        TEST(resident_memory_grows_with_what_is_touched),
        TEST(files_are_appended_to),
        TEST(standard_error_is_kept_for_the_end),
        TEST(deep_binding_alone_is_taken_from_a_mode),
        cmocka_unit_test(limits_can_be_read_again),
        TEST(a_running_thread_has_its_storage),
        TEST(the_environment_is_found_also_before_libc_has_it),
        TEST(the_break_is_known_as_it_grows),
        TEST(functions_are_found_by_name),
        cmocka_unit_test(an_armed_thread_calls_back_when_it_ends),
        cmocka_unit_test(fork_calls_back_on_both_sides),
        cmocka_unit_test(checked_builds_fail_the_calls_they_are_told_to),
        TEST(threads_have_different_numbers),
    };
    return cmocka_run_group_tests_name("os_linux", tests, start, NULL);
}
