// Text without stdio, into memory and into descriptors.
#include "unit/unit.h"

#include "sys/report.h"

static char memory[64];

static void starts_with_rubbish(void) {
    memset(memory, '#', sizeof memory);
}

static void text_goes_to_memory_and_ends_with_nul(void **state) {
    struct report report;
    (void)state;
    starts_with_rubbish();
    report_to_memory(&report, memory, sizeof memory);
    report_text(&report, "one ");
    report_text(&report, "");
    report_text(&report, "two");
    report_end(&report);
    assert_string_equal(memory, "one two");
    assert_int_equal(report.length, 7);
    assert_int_equal(memory[8], '#');
}

static void text_that_does_not_fit_is_cut_and_counted(void **state) {
    (void)state;
    for (size_t capacity = 0; capacity < 12; capacity++) {
        struct report report;
        starts_with_rubbish();
        report_to_memory(&report, memory, capacity);
        report_text(&report, "0123456789");
        report_end(&report);
        assert_int_equal(report.length, 10);
        size_t kept = capacity == 0 ? 0 : capacity - 1 < 10 ? capacity - 1 : 10;
        assert_memory_equal(memory, "0123456789", kept);
        assert_int_equal(memory[kept], capacity == 0 ? '#' : '\0');
        assert_int_equal(memory[capacity > 10 ? 11 : capacity], '#'); // nothing behind the memory given
    }
}

static void text_without_memory_is_counted(void **state) {
    struct report report;
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    report_to_memory(&report, NULL, 0);
    report_text(&report, "nobody reads this");
    report_number(&report, 12345);
    report_end(&report);
    assert_string_equal(capture_end(&capture), "");
    assert_int_equal(report.length, 22);
}

// What a sequence of calls says, as one text.
#define assert_says(expected, ...)                        \
    do {                                                  \
        struct report report;                             \
        report_to_memory(&report, memory, sizeof memory); \
        __VA_ARGS__;                                      \
        report_end(&report);                              \
        assert_string_equal(memory, expected);            \
    } while (0)

static void numbers_are_decimal(void **state) {
    (void)state;
    assert_says("0", report_number(&report, 0));
    assert_says("9 10", report_number(&report, 9); report_text(&report, " "); report_number(&report, 10));
    assert_says("18446744073709551615", report_number(&report, UINT64_MAX));
}

static void a_member_is_that_of_a_json_object(void **state) {
    (void)state;
    assert_says("\"looks\": 42}", report_member(&report, "looks", 42, "}"));
}

static void addresses_are_hexadecimal(void **state) {
    (void)state;
    assert_says("0x0", report_address(&report, 0));
    assert_says("0x7fff01abcdef", report_address(&report, 0x7fff01abcdef));
    assert_says("0xffffffffffffffff", report_address(&report, UINTPTR_MAX));
}

static void columns_are_right_aligned_and_never_cut(void **state) {
    (void)state;
    assert_says("   42", report_number_column(&report, 42, 5));
    assert_says("   ab", report_text_column(&report, "ab", 5));
    assert_says("123456", report_number_column(&report, 123456, 5));
    assert_says("abcdef", report_text_column(&report, "abcdef", 5));
}

static void bytes_have_the_largest_unit_that_is_exact(void **state) {
    (void)state;
    assert_says("0 B", report_bytes(&report, 0));
    assert_says("1023 B", report_bytes(&report, 1023));
    assert_says("1 KiB", report_bytes(&report, 1024));
    assert_says("1025 B", report_bytes(&report, 1025));
    assert_says("64 KiB", report_bytes(&report, 65536));
    assert_says("16 MiB", report_bytes(&report, 16 << 20));
    assert_says("1 TiB", report_bytes(&report, UINT64_C(1) << 40));
    assert_says("4096 TiB", report_bytes(&report, UINT64_C(1) << 52));
}

static void a_long_text_reaches_its_descriptor_whole_and_in_order(void **state) {
    struct report report;
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    report_to_descriptor(&report, 2);
    for (unsigned i = 0; i < 1000; i++)
        report_number_column(&report, i, 7);
    report_end(&report);
    const char *text = capture_end(&capture);
    assert_int_equal(strlen(text), 7000);
    assert_int_equal(report.length, 7000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(strtoul(text + 7 * i, NULL, 10), i);
}

static void nothing_is_written_before_it_must_be(void **state) {
    struct report report;
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    report_to_descriptor(&report, 2);
    report_text(&report, "a line in one piece, so that lines of several threads do not mix");
    const char *text = capture_end(&capture);
    assert_string_equal(text, "");
}

static void a_closed_descriptor_does_no_harm(void **state) {
    struct report report;
    (void)state;
    errno = UNTOUCHED;
    report_to_descriptor(&report, 1000);
    for (unsigned i = 0; i < 1000; i++)
        report_text(&report, "nobody");
    report_end(&report);
    assert_int_equal(errno, UNTOUCHED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_goes_to_memory_and_ends_with_nul),
        cmocka_unit_test(text_that_does_not_fit_is_cut_and_counted),
        cmocka_unit_test(text_without_memory_is_counted),
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(a_member_is_that_of_a_json_object),
        cmocka_unit_test(addresses_are_hexadecimal),
        cmocka_unit_test(columns_are_right_aligned_and_never_cut),
        cmocka_unit_test(bytes_have_the_largest_unit_that_is_exact),
        cmocka_unit_test(a_long_text_reaches_its_descriptor_whole_and_in_order),
        cmocka_unit_test(nothing_is_written_before_it_must_be),
        cmocka_unit_test(a_closed_descriptor_does_no_harm),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
