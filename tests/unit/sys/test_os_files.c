// Files written as a whole, by many processes at once: readers see the old or the new text, failure leaves everything
// as it was, rights and links stay.
#include "unit/sys/in_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sys/os.h"

enum { TEXT_BYTES = 20000 };

// The system's own, but for what a test wants of it: writes of few bytes, interrupted.
static size_t most_written;
static unsigned writes;

ssize_t write(int descriptor, const void *bytes, size_t length) {
    bool small = most_written > 0;
    if (small && writes++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_write, descriptor, bytes, small && length > most_written ? most_written : length);
}

// What is in a file, read in small pieces; -1: there is none.
static ssize_t read_whole(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0, got = 1;
    if (file < 0)
        return -1;
    while (got > 0 && (size_t)length < size) {
        size_t part = size - (size_t)length < 1000 ? size - (size_t)length : 1000;
        got = read(file, text + length, part);
        length += got > 0 ? got : 0;
    }
    close(file);
    return length;
}

static void must_hold(const char *expected) {
    char text[256];
    ssize_t length = read_whole(file_path, text, sizeof text);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, strlen(expected));
}

static bool replace(const char *text) {
    return os_replace_file(file_path, text, strlen(text)) == 0;
}

// ---- replacing

static void a_file_is_made_and_made_anew(void **state) {
    (void)state;
    errno = UNTOUCHED;
    assert_true(replace("the first text, which is longer"));
    must_hold("the first text, which is longer");
    assert_true(replace("the second"));
    must_hold("the second");
    assert_true(replace(""));
    must_hold("");
    assert_int_equal(errno, UNTOUCHED);
    assert_int_equal(each_name(NULL), 1); // no draft
}

static void who_has_the_old_one_open_keeps_it(void **state) {
    char text[16];
    (void)state;
    assert_true(replace("old"));
    int file = open(file_path, O_RDONLY | O_CLOEXEC);
    assert_true(replace("new one"));
    assert_int_equal(read(file, text, sizeof text), 3);
    assert_memory_equal(text, "old", 3);
    close(file);
}

static void writes_of_few_bytes_are_gone_on_with(void **state) {
    (void)state;
    most_written = 3;
    bool replaced = replace("a text of more than a few bytes");
    most_written = 0;
    assert_true(replaced);
    must_hold("a text of more than a few bytes");
}

static void a_draft_that_was_left_behind_means_nothing(void **state) {
    char draft[2 * PATH_BYTES];
    (void)state;
    snprintf(draft, sizeof draft, "%s.draft", file_path); // by a process that was killed
    assert_int_equal(os_replace_file(draft, "a long text of long ago", 23), 0);
    assert_true(chmod(draft, 0444) == 0 && replace("short"));
    must_hold("short");
    assert_int_equal(each_name(NULL), 1);
}

// A text of one letter; how long it is follows from the letter.
static size_t length_of(char letter) {
    return TEXT_BYTES / 2 + (size_t)(letter - 'a') * 100;
}

static void write_again_and_again(void *context) {
    static char text[TEXT_BYTES];
    char first = *(const char *)context;
    for (unsigned i = 0; i < 300; i++) {
        char letter = (char)(first + i % 6);
        memset(text, letter, sizeof text);
        int lock = os_lock_file(file_path);
        MUST(lock >= 0);
        MUST(os_replace_file(file_path, text, length_of(letter)) == 0);
        os_unlock_file(lock);
    }
}

static void readers_see_one_text_or_the_other(void **state) {
    static char text[2 * TEXT_BYTES], first[WRITERS] = {'a', 'g', 'm', 's'};
    pid_t writers[WRITERS];
    (void)state;
    assert_int_equal(os_replace_file(file_path, memset(text, 'a', TEXT_BYTES), length_of('a')), 0);
    for (unsigned i = 0; i < WRITERS; i++)
        writers[i] = start_child(write_again_and_again, &first[i]);
    for (unsigned i = 0; i < 1000; i++) {
        ssize_t length = read_whole(file_path, text, sizeof text);
        assert_true(length > 0);
        assert_int_equal(length, length_of(text[0]));
        for (ssize_t k = 0; k < length; k++)
            assert_true(text[k] == text[0]);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        wait_for_child(writers[i]);
    assert_int_equal(each_name(NULL), 2); // and the lock
}

// ---- failing

static void without_its_folder_there_is_no_file(void **state) {
    char path[2 * PATH_BYTES];
    (void)state;
    snprintf(path, sizeof path, "%s/nowhere/file", folder);
    errno = UNTOUCHED;
    assert_int_equal(os_replace_file(path, "text", 4), ENOENT);
    assert_int_equal(errno, UNTOUCHED);
    assert_int_equal(each_name(NULL), 0);
}

static void what_cannot_be_replaced_leaves_no_draft(void **state) {
    struct stat facts;
    (void)state;
    assert_int_equal(mkdir(file_path, 0755), 0);
    assert_int_equal(os_replace_file(file_path, "text", 4), EINVAL); // a folder
    assert_true(stat(file_path, &facts) == 0 && S_ISDIR(facts.st_mode));
    assert_int_equal(each_name(NULL), 1);
}

static void replace_on_a_full_disk(void *context) {
    static char text[TEXT_BYTES];
    struct rlimit limit = {5000, 5000};
    (void)context;
    memset(text, 'x', sizeof text);
    signal(SIGXFSZ, SIG_IGN);
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    MUST(os_replace_file(file_path, text, sizeof text) == EFBIG);
    MUST(os_replace_file(file_path, "short", 5) == 0); // that fits
    MUST(os_replace_file(file_path, text, sizeof text) == EFBIG);
}

static volatile sig_atomic_t told;

static void note_signal(int number) {
    (void)number;
    told++;
}

static bool is_pending(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) != 0;
}

static void replace_beyond_the_limit(void *context) {
    static char text[TEXT_BYTES];
    struct rlimit limit = {5000, 5000};
    sigset_t own;
    (void)context;
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    MUST(os_replace_file(file_path, text, sizeof text) == EFBIG); // and this does not end the process
    signal(SIGXFSZ, note_signal);
    MUST(os_replace_file(file_path, text, sizeof text) == EFBIG && told == 0);
    raise(SIGXFSZ);
    MUST(told == 1); // it is not blocked
    sigemptyset(&own);
    sigaddset(&own, SIGXFSZ);
    MUST(sigprocmask(SIG_BLOCK, &own, NULL) == 0);
    MUST(os_replace_file(file_path, text, sizeof text) == EFBIG && !is_pending());
    raise(SIGXFSZ);
    MUST(os_replace_file(file_path, text, sizeof text) == EFBIG && is_pending()); // the program's own
}

static void beyond_the_limit_of_files_there_is_no_signal(void **state) {
    (void)state;
    child_must_succeed(replace_beyond_the_limit, NULL);
    assert_int_equal(each_name(NULL), 0);
}

static void on_a_full_disk_the_old_one_stays(void **state) {
    (void)state;
    assert_true(replace("old"));
    child_must_succeed(replace_on_a_full_disk, NULL);
    must_hold("short");
    assert_int_equal(each_name(NULL), 1);
}

// The file's path with so many letters.
static const char *path_of_length(size_t length) {
    static char path[2000];
    memset(path, '/', sizeof path); // the root again and again
    strcpy(path + length - strlen(file_path), file_path);
    return path;
}

static void a_path_that_is_too_long_is_no_other(void **state) {
    (void)state;
    for (size_t length = 990; length < 1100; length++) {
        const char *path = path_of_length(length);
        bool replaced = os_replace_file(path, "text", 4) == 0;
        if (replaced) {
            must_hold("text");
            unlink(file_path);
        }
        int lock = os_lock_file(path);
        if (lock >= 0) {
            close(lock);
            remove_name("file.lock");
        }
        assert_int_equal(each_name(NULL), 0);
        assert_true((replaced && lock >= 0) || length > 1000);
        assert_false((replaced || lock >= 0) && length > 1024);
    }
}

// ---- rights and links

static void rights_stay(void **state) {
    struct stat now;
    mode_t modes[] = {0600, 0664, 0400};
    (void)state;
    mode_t mask = umask(022);
    assert_true(replace("new") && stat(file_path, &now) == 0 && (now.st_mode & 0777) == 0644);
    for (unsigned i = 0; i < COUNT_OF(modes); i++) {
        assert_int_equal(chmod(file_path, modes[i]), 0);
        assert_true(replace("text") && stat(file_path, &now) == 0);
        assert_int_equal(now.st_mode & 07777, modes[i]);
    }
    umask(mask);
}

static const char *led_to(const char *name, int expected) {
    static char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    errno = UNTOUCHED;
    assert_int_equal(os_follow_links(path, sizeof path), expected);
    assert_int_equal(errno, UNTOUCHED);
    return path;
}

static void link_to(const char *target, const char *name) {
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static void links_lead_to_their_file(void **state) {
    char path[2 * PATH_BYTES];
    (void)state;
    assert_true(replace("text"));
    assert_string_equal(led_to("file", 0), file_path);
    snprintf(path, sizeof path, "%s/missing", folder);
    assert_string_equal(led_to("missing", 0), path);
    link_to("file", "near");
    link_to(file_path, "whole");
    link_to("near", "far");
    link_to("nowhere", "dangling");
    link_to("itself", "itself");
    assert_string_equal(led_to("near", 0), file_path);
    assert_string_equal(led_to("whole", 0), file_path);
    assert_string_equal(led_to("far", 0), file_path);
    led_to("dangling", ELOOP);
    led_to("itself", ELOOP);
    snprintf(path, sizeof path, "%s/near", folder);
    assert_int_equal(os_replace_file(path, "text", 4), EINVAL);
}

static void a_path_behind_a_link_that_is_too_long_is_none(void **state) {
    char path[2 * PATH_BYTES];
    (void)state;
    assert_true(replace("text"));
    link_to(file_path, "l");
    snprintf(path, sizeof path, "%s/l", folder);
    assert_int_equal(os_follow_links(path, strlen(file_path)), ENAMETOOLONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_made_and_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(who_has_the_old_one_open_keeps_it, begin, end),
        cmocka_unit_test_setup_teardown(writes_of_few_bytes_are_gone_on_with, begin, end),
        cmocka_unit_test_setup_teardown(a_draft_that_was_left_behind_means_nothing, begin, end),
        cmocka_unit_test_setup_teardown(readers_see_one_text_or_the_other, begin, end),
        cmocka_unit_test_setup_teardown(without_its_folder_there_is_no_file, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_replaced_leaves_no_draft, begin, end),
        cmocka_unit_test_setup_teardown(on_a_full_disk_the_old_one_stays, begin, end),
        cmocka_unit_test_setup_teardown(beyond_the_limit_of_files_there_is_no_signal, begin, end),
        cmocka_unit_test_setup_teardown(a_path_that_is_too_long_is_no_other, begin, end),
        cmocka_unit_test_setup_teardown(rights_stay, begin, end),
        cmocka_unit_test_setup_teardown(links_lead_to_their_file, begin, end),
        cmocka_unit_test_setup_teardown(a_path_behind_a_link_that_is_too_long_is_none, begin, end),
    };
    return cmocka_run_group_tests_name("os_files", tests, NULL, NULL);
}
