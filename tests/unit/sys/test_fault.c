// The report of a fault: its shape, its count, and what follows from the option on_fault.
#include "unit/unit.h"

#include "sys/fault.h"
#include "sys/options.h"
#include "sys/os.h"

struct fault_text {
    const char *name;
    const char *title;
    const char *hint;
};
static const struct fault_text texts[] = {
#define FAULT(name, title, hint) {#name, title, hint},
#include "sys/faults.def"
#undef FAULT
};

static void expect_line(const char *line, enum fault fault, const char *where, const char *tail) {
    char expected[1024];
    snprintf(expected, sizeof expected, "hakmem: %s at %s in process %d: %s; see docs/faults.md, %s%s\n",
             texts[fault].title, where, (int)getpid(), texts[fault].hint, texts[fault].name, tail);
    assert_string_equal(line, expected);
}

static int go_on(void **state) {
    (void)state;
    options.on_fault = OPTION_ON_FAULT_CONTINUE;
    return 0;
}

static int end_the_program(void **state) {
    (void)state;
    options.on_fault = OPTION_ON_FAULT_ABORT;
    return 0;
}

static void every_fault_has_a_name_a_title_and_a_hint(void **state) {
    (void)state;
    assert_int_equal(COUNT_OF(texts), FAULT_COUNT);
    for (unsigned i = 0; i < FAULT_COUNT; i++) {
        assert_string_equal(fault_name((enum fault)i), texts[i].name);
        assert_true(strlen(texts[i].title) > 5 && strlen(texts[i].hint) > 10);
        assert_true(strchr(texts[i].title, '\n') == NULL && strchr(texts[i].hint, '\n') == NULL);
    }
}

static void a_report_says_what_where_and_where_to_read_on(void **state) {
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    fault_report(FAULT_double_free, (const void *)0x7f0012345670, 48);
    expect_line(capture_end(&capture), FAULT_double_free, "0x7f0012345670 (block of 48 bytes)",
                "; going on, further ones are counted");
}

static void an_unknown_size_is_left_out(void **state) {
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    fault_report(FAULT_foreign_pointer, (const void *)0x10, 0);
    expect_line(capture_end(&capture), FAULT_foreign_pointer, "0x10", "; going on, further ones are counted");
}

static void one_report_per_kind_and_the_rest_is_counted(void **state) {
    struct capture capture;
    uint64_t before = fault_times(FAULT_invalid_pointer);
    uint64_t others = fault_times(FAULT_misaligned_pointer);
    (void)state;
    assert_int_equal(before, 0);
    capture_begin(&capture);
    for (unsigned i = 0; i < 100; i++)
        fault_report(FAULT_invalid_pointer, &capture, 0);
    fault_report(FAULT_misaligned_pointer, &capture, 0);
    const char *text = capture_end(&capture);
    assert_int_equal(lines_in(text), 2);
    assert_non_null(strstr(text, texts[FAULT_misaligned_pointer].title));
    assert_int_equal(fault_times(FAULT_invalid_pointer), 100);
    assert_int_equal(fault_times(FAULT_misaligned_pointer), others + 1);
}

static void counting_alone_says_nothing(void **state) {
    struct capture capture;
    uint64_t before = fault_times(FAULT_out_of_memory);
    (void)state;
    capture_begin(&capture);
    fault_count(FAULT_out_of_memory);
    fault_count(FAULT_out_of_memory);
    assert_string_equal(capture_end(&capture), "");
    assert_int_equal(fault_times(FAULT_out_of_memory), before + 2);
}

static void *report_often(void *number) {
    (void)number;
    for (unsigned i = 0; i < 1000; i++)
        fault_report(FAULT_corrupted_metadata, NULL, 0);
    return NULL;
}

static void threads_together_report_once_and_count_all(void **state) {
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    threads_run(4, report_often);
    assert_int_equal(lines_in(capture_end(&capture)), 1);
    assert_int_equal(fault_times(FAULT_corrupted_metadata), 4000);
}

static void errno_is_kept(void **state) {
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    errno = UNTOUCHED;
    fault_report(FAULT_double_free, &capture, 16);
    int after = errno;
    capture_end(&capture);
    assert_int_equal(after, UNTOUCHED);
}

static void report_once(void *context) {
    fault_report(FAULT_double_free, context, 64);
    MUST(!"the program went on");
}

static void by_default_the_program_ends_behind_the_report(void **state) {
    struct capture capture;
    (void)state;
    assert_int_equal(options.on_fault, OPTION_ON_FAULT_ABORT);
    for (unsigned i = 0; i < 2; i++) { // also when it is not the first of its kind
        int status = child_run(&capture, report_once, (void *)0x5000);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        assert_int_equal(lines_in(capture.text), 1);
        assert_non_null(strstr(capture.text, "hakmem: double free at 0x5000 (block of 64 bytes) in process "));
        assert_non_null(strstr(capture.text, "; see docs/faults.md, double_free\n"));
        fault_count(FAULT_double_free);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_report_says_what_where_and_where_to_read_on, go_on, end_the_program),
        cmocka_unit_test(by_default_the_program_ends_behind_the_report),
        cmocka_unit_test(every_fault_has_a_name_a_title_and_a_hint),
        cmocka_unit_test_setup_teardown(an_unknown_size_is_left_out, go_on, end_the_program),
        cmocka_unit_test_setup_teardown(one_report_per_kind_and_the_rest_is_counted, go_on, end_the_program),
        cmocka_unit_test(counting_alone_says_nothing),
        cmocka_unit_test_setup_teardown(threads_together_report_once_and_count_all, go_on, end_the_program),
        cmocka_unit_test_setup_teardown(errno_is_kept, go_on, end_the_program),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
