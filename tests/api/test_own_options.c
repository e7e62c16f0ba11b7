// hakmem_option_get: an option's value as text; the environment sets it when the program starts.
//
// The program starts itself again with other environments; such a child prints one option's value and ends.
#include "api_test.h"

#include <hakmem/hakmem.h>
#include <sys/wait.h>

static void the_value_comes_as_text_with_its_length(void **state) {
    (void)state;
    char value[64];
    memset(value, 'x', sizeof value);
    int length = hakmem_option_get("fastlane", value, sizeof value);
    assert_int_equal(length, 2);
    assert_string_equal(value, "on");
}

static void a_small_buffer_gets_the_beginning(void **state) {
    (void)state;
    char value[8];
    memset(value, 'x', sizeof value);
    int length = hakmem_option_get("on_fault", value, 3);
    assert_int_equal(length, strlen("abort"));
    assert_string_equal(value, "ab");
    assert_int_equal(value[3], 'x');
    assert_int_equal(hakmem_option_get("on_fault", NULL, 0), strlen("abort"));
}

static void an_unknown_option_is_told(void **state) {
    (void)state;
    char value[16] = "untouched";
    static const char *const unknown[] = {"no_such_option", "", "fastlane ", "FASTLANE=on", "fastlan"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        errno = UNTOUCHED;
        assert_int_equal(hakmem_option_get(unknown[i], value, sizeof value), -1);
        assert_int_equal(errno, ENOENT);
    }
    errno = UNTOUCHED;
    assert_int_equal(hakmem_option_get(NULL, value, sizeof value), -1);
    assert_int_equal(errno, ENOENT);
}

// What this program says of an option when it is started with one variable set, and what it writes to stderr.
static void ask_child(const char *variable, const char *value, const char *option, char *answer, char *errors,
                      size_t size) {
    int out[2], err[2];
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        (void)setenv(variable, value, 1);
        (void)execl("/proc/self/exe", "test_own_options", "--ask", option, (char *)NULL);
        _exit(126);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    ssize_t answered = read(out[0], answer, size - 1), complained = read(err[0], errors, size - 1);
    answer[answered > 0 ? answered : 0] = '\0';
    errors[complained > 0 ? complained : 0] = '\0';
    (void)close(out[0]);
    (void)close(err[0]);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void the_environment_sets_options(void **state) {
    (void)state;
    char answer[256], errors[4096];
    ask_child("HAKMEM_FASTLANE", "off", "fastlane", answer, errors, sizeof answer);
    assert_string_equal(answer, "off");
    assert_string_equal(errors, "");
    ask_child("HAKMEM_OPTIONS", "on_fault=continue,fastlane=off", "on_fault", answer, errors, sizeof answer);
    assert_string_equal(answer, "continue");
    assert_string_equal(errors, "");
}

// One clear line that names the option, the value and what is allowed; the default holds.
static void a_bad_value_is_told_and_the_default_holds(void **state) {
    (void)state;
    char answer[256], errors[4096];
    ask_child("HAKMEM_FASTLANE", "sideways", "fastlane", answer, errors, sizeof answer);
    assert_string_equal(answer, "on");
    assert_non_null(strstr(errors, "fastlane"));
    assert_non_null(strstr(errors, "sideways"));
    assert_non_null(strstr(errors, "off"));
    assert_ptr_equal(strchr(errors, '\n'), errors + strlen(errors) - 1);
    ask_child("HAKMEM_OPTIONS", "no_such_option=3", "fastlane", answer, errors, sizeof answer);
    assert_string_equal(answer, "on");
    assert_non_null(strstr(errors, "no_such_option"));
    assert_ptr_equal(strchr(errors, '\n'), errors + strlen(errors) - 1);
}

// With fastlane=off every call takes the cold path and must serve as well.
static int answer_question(const char *option) {
    char value[256];
    void *blocks[COUNT_OF(interesting_sizes)];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
            size_t size = interesting_sizes[i] < 100000 ? interesting_sizes[i] : 100000;
            blocks[i] = hakmem_malloc(size);
            if (blocks[i] == NULL) {
                return 1;
            }
            fill_pattern(blocks[i], size, i);
        }
        for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
            size_t size = interesting_sizes[i] < 100000 ? interesting_sizes[i] : 100000;
            if (!holds_pattern(blocks[i], size, i)) {
                return 2;
            }
            hakmem_free(blocks[i]);
        }
    }
    int length = hakmem_option_get(option, value, sizeof value);
    return length < 0 || write(STDOUT_FILENO, value, (size_t)length) != length ? 3 : 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--ask") == 0) {
        return answer_question(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_value_comes_as_text_with_its_length),
        cmocka_unit_test(a_small_buffer_gets_the_beginning),
        cmocka_unit_test(an_unknown_option_is_told),
        cmocka_unit_test(the_environment_sets_options),
        cmocka_unit_test(a_bad_value_is_told_and_the_default_holds),
    };
    return cmocka_run_group_tests_name("own_options", tests, NULL, NULL);
}
