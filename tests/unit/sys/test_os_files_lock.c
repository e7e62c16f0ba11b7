// The lock of files that many processes write: it has one holder, who has it for a moment, and is no file of the
// program.
#include "unit/sys/in_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "base/tuning.h"
#include "sys/os.h"

static bool cannot_lock; // as on some file systems of other machines

int flock(int descriptor, int operation) {
    errno = ENOLCK;
    return cannot_lock ? -1 : (int)syscall(SYS_flock, descriptor, operation);
}

static bool replace(const char *text) {
    return os_replace_file(file_path, text, strlen(text)) == 0;
}

static struct shared {
    volatile unsigned count;
    volatile bool inside;
    volatile bool done;
} * shared;

static int begin_shared(void **state) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    return begin(state);
}

static int end_shared(void **state) {
    munmap(shared, sizeof *shared);
    return end(state);
}

static void count_with_the_lock(void *context) {
    (void)context;
    for (unsigned i = 0; i < 200; i++) {
        int lock = os_lock_file(file_path);
        MUST(lock >= 0 && !shared->inside);
        shared->inside = true;
        unsigned count = shared->count;
        sched_yield();
        shared->count = count + 1;
        shared->inside = false;
        os_close(lock);
    }
}

static void one_process_at_a_time_has_the_lock(void **state) {
    pid_t children[WRITERS];
    (void)state;
    for (unsigned i = 0; i < WRITERS; i++)
        children[i] = start_child(count_with_the_lock, NULL);
    for (unsigned i = 0; i < WRITERS; i++)
        wait_for_child(children[i]);
    assert_int_equal(shared->count, WRITERS * 200);
}

static void ignore_signal(int number) {
    (void)number;
}

static void wait_for_the_lock(void *context) {
    struct itimerval often = {{0, 5000}, {0, 5000}};
    struct sigaction action = {.sa_handler = ignore_signal}; // which interrupts
    (void)context;
    MUST(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    errno = UNTOUCHED;
    int lock = os_lock_file(file_path);
    MUST(lock >= 0 && errno == UNTOUCHED);
    shared->done = true;
}

static void others_wait_until_it_is_given_back(void **state) {
    (void)state;
    int lock = os_lock_file(file_path);
    assert_true(lock >= 0);
    pid_t child = fork();
    if (child == 0) {
        close(lock); // which is the parent's
        wait_for_the_lock(NULL);
        _exit(0);
    }
    assert_true(child > 0);
    os_sleep(100 * 1000);
    assert_false(shared->done);
    os_close(lock);
    wait_for_child(child);
    assert_true(shared->done);
}

static void die_with_the_lock(void *context) {
    (void)context;
    MUST(os_lock_file(file_path) >= 0);
    raise(SIGKILL);
}

static void a_holder_that_dies_gives_it_back(void **state) {
    struct capture capture;
    (void)state;
    assert_true(WIFSIGNALED(child_run(&capture, die_with_the_lock, NULL)));
    child_must_succeed(wait_for_the_lock, NULL);
}

static void the_lock_is_not_the_files(void **state) {
    (void)state;
    assert_true(replace("text"));
    int lock = os_lock_file(file_path);
    assert_true(lock >= 0);
    assert_true((fcntl(lock, F_GETFD) & FD_CLOEXEC) != 0); // no other program keeps it
    assert_true(replace("another"));
    os_close(lock);
    assert_int_equal(each_name(NULL), 2);
}

static unsigned count_open(int least, int most) {
    unsigned count = 0;
    for (int i = least; i <= most; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void lock_with_descriptors_closed(void *limit) {
    struct rlimit few = {*(const rlim_t *)limit, *(const rlim_t *)limit};
    MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
    unsigned before = count_open(0, 300);
    int lock = os_lock_file(file_path);
    if (lock < 0 || lock < (few.rlim_cur > 200 ? 200 : 3) || count_open(0, 2) != 3)
        _exit(1);
    close(0);
    close(1);
    close(2);
    os_unlock_file(lock);
    lock = os_lock_file(file_path);
    bool is_high = lock >= (few.rlim_cur > 200 ? 200 : 3);
    bool is_closed = count_open(0, 2) == 0 && count_open(3, 300) == before - 3 + 1;
    bool replaced = replace("text");
    _exit(is_high && is_closed && replaced && count_open(0, 2) == 0 ? 0 : 1);
}

static void no_file_has_a_standard_descriptors_number(void **state) {
    rlim_t limits[] = {1000, 100};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(limits); i++)
        child_must_succeed(lock_with_descriptors_closed, &limits[i]);
}

static void where_no_file_can_be_there_is_no_lock(void **state) {
    char path[2 * PATH_BYTES];
    (void)state;
    snprintf(path, sizeof path, "%s/nowhere/file", folder);
    errno = UNTOUCHED;
    assert_int_equal(os_lock_file(path), -ENOENT);
    assert_int_equal(errno, UNTOUCHED);
}

static void a_lock_that_cannot_be_taken_is_none(void **state) {
    (void)state;
    int before = dup(0);
    close(before);
    cannot_lock = true;
    int lock = os_lock_file(file_path);
    cannot_lock = false;
    assert_int_equal(lock, -ENOLCK);
    int after = dup(0);
    close(after);
    assert_int_equal(after, before); // nothing stays open
}

static void who_finds_it_held_for_ever_gives_up(void **state) {
    (void)state;
    int lock = os_lock_file(file_path);
    assert_true(lock >= 0);
    uint64_t begin_ns = os_now_ns();
    errno = UNTOUCHED;
    assert_int_equal(os_lock_file(file_path), -ETIMEDOUT);
    assert_int_equal(errno, UNTOUCHED);
    assert_true(os_now_ns() - begin_ns >= FILE_PATIENCE_MS * MS_NS);
    os_unlock_file(lock);
}

static void take_as_another_user(void *context) {
    (void)context;
    MUST(geteuid() != 0 || setuid(65534) == 0);
    MUST(os_lock_file(file_path) >= 0);
}

static void who_may_read_it_may_take_it(void **state) {
    char lock[2 * PATH_BYTES];
    (void)state;
    snprintf(lock, sizeof lock, "%s.lock", file_path);
    assert_true(close(open(lock, O_CREAT | O_CLOEXEC, 0644)) == 0 && chmod(lock, 0444) == 0 &&
                chmod(folder, 0755) == 0);
    child_must_succeed(take_as_another_user, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_process_at_a_time_has_the_lock, begin_shared, end_shared),
        cmocka_unit_test_setup_teardown(others_wait_until_it_is_given_back, begin_shared, end_shared),
        cmocka_unit_test_setup_teardown(a_holder_that_dies_gives_it_back, begin_shared, end_shared),
        cmocka_unit_test_setup_teardown(the_lock_is_not_the_files, begin, end),
        cmocka_unit_test_setup_teardown(who_finds_it_held_for_ever_gives_up, begin, end),
        cmocka_unit_test_setup_teardown(who_may_read_it_may_take_it, begin, end),
        cmocka_unit_test_setup_teardown(no_file_has_a_standard_descriptors_number, begin, end),
        cmocka_unit_test_setup_teardown(where_no_file_can_be_there_is_no_lock, begin, end),
        cmocka_unit_test_setup_teardown(a_lock_that_cannot_be_taken_is_none, begin, end),
    };
    return cmocka_run_group_tests_name("os_files_lock", tests, NULL, NULL);
}
