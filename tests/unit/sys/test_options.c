// Options: what is taken, what is refused and said, what a privileged program ignores. Every row of options.def is
// tried.
#include "unit/unit.h"

#include "sys/options.h"
#include "sys/os.h"

enum kind { CHOICE, SIZE, NUMBER, TEXT };

struct row {
    const char *name;
    enum kind kind;
    const char *allowed;
    size_t minimum;
    size_t maximum;
    size_t initial;
    bool safe;
};
static const struct row rows[] = {
#define OPTION_CHOICE(name, initial, allowed, safe, help) {#name, CHOICE, allowed, 0, 0, initial, safe},
#define OPTION_SIZE(name, initial, minimum, maximum, safe, help) {#name, SIZE, NULL, minimum, maximum, initial, safe},
#define OPTION_NUMBER(name, initial, minimum, maximum, safe, help) \
    {#name, NUMBER, NULL, minimum, maximum, initial, safe},
#define OPTION_TEXT(name, safe, help) {#name, TEXT, NULL, 0, 0, 0, safe},
#include "sys/options.def"
#undef OPTION_CHOICE
#undef OPTION_SIZE
#undef OPTION_NUMBER
#undef OPTION_TEXT
};

static struct options defaults;
static struct capture capture;

// Reads an environment of up to three variables from the defaults on; returns what was said.
static char variables[3][32768];

static const char *read_environment(bool secure, const char *first, const char *second, const char *third) {
    char *environment[] = {variables[0], variables[1], variables[2], NULL};
    const char *given[] = {first, second, third};
    options = defaults;
    for (unsigned i = 0; i < 3; i++)
        snprintf(variables[i], sizeof variables[i], "%s", given[i] != NULL ? given[i] : "OTHER=1");
    capture_begin(&capture);
    os_facts.secure = secure;
    options_read(environment);
    return capture_end(&capture);
}

static const char *value_of(const char *name) {
    static char text[256];
    struct report report;
    report_to_memory(&report, text, sizeof text);
    assert_true(options_say_value(&report, name));
    report_end(&report);
    return text;
}

static void assert_all_default(void) {
    assert_memory_equal(&options, &defaults, sizeof options);
}

// Gives a row a value as a variable of its own.
static const char *set(const struct row *row, const char *value) {
    char variable[512] = "HAKMEM_";
    size_t length = strlen(variable);
    for (const char *letter = row->name; *letter != '\0'; letter++)
        variable[length++] = (char)(*letter >= 'a' && *letter <= 'z' ? *letter - 'a' + 'A' : *letter);
    snprintf(variable + length, sizeof variable - length, "=%s", value);
    return read_environment(false, variable, NULL, NULL);
}

static int remember_defaults(void **state) {
    (void)state;
    defaults = options;
    return 0;
}

static void without_variables_the_defaults_of_the_table_hold(void **state) {
    (void)state;
    assert_string_equal(read_environment(false, NULL, NULL, NULL), "");
    options_read(NULL);
    assert_all_default();
#define OPTION_CHOICE(name, initial, allowed, safe, help) assert_int_equal(options.name, initial);
#define OPTION_SIZE(name, initial, minimum, maximum, safe, help) assert_int_equal(options.name, initial);
#define OPTION_NUMBER(name, initial, minimum, maximum, safe, help) assert_int_equal(options.name, initial);
#define OPTION_TEXT(name, safe, help) assert_string_equal(options.name, "");
#include "sys/options.def"
#undef OPTION_CHOICE
#undef OPTION_SIZE
#undef OPTION_NUMBER
#undef OPTION_TEXT
}

static void every_allowed_value_is_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char allowed[256], text[64];
        snprintf(allowed, sizeof allowed, "%s", rows[i].allowed != NULL ? rows[i].allowed : "");
        for (char *value = strtok(allowed, "|"); value != NULL; value = strtok(NULL, "|")) {
            assert_string_equal(set(&rows[i], value), "");
            assert_string_equal(value_of(rows[i].name), value);
        }
        if (rows[i].kind == TEXT) {
            assert_string_equal(set(&rows[i], "/some/where, with=all|kinds of letters"), "");
            assert_string_equal(value_of(rows[i].name), "/some/where, with=all|kinds of letters");
        }
        const size_t bounds[] = {rows[i].minimum, rows[i].maximum, rows[i].minimum / 2 + rows[i].maximum / 2};
        for (unsigned k = 0; k < 3 && (rows[i].kind == SIZE || rows[i].kind == NUMBER); k++) {
            snprintf(text, sizeof text, "%zu", bounds[k]);
            assert_string_equal(set(&rows[i], text), "");
            assert_string_equal(value_of(rows[i].name), text);
        }
    }
}

// One line: it names the option, the value, what is allowed; the default stays.
static void expect_refused(const struct row *row, const char *value) {
    char start[512], end[128];
    const char *said = set(row, value);
    snprintf(start, sizeof start, "hakmem: option %s: the value '%s' is not valid; allowed: ", row->name, value);
    assert_int_equal(lines_in(said), 1);
    assert_memory_equal(said, start, strlen(start));
    if (row->kind == CHOICE)
        assert_memory_equal(said + strlen(start), row->allowed, strlen(row->allowed));
    else
        assert_non_null(strstr(said, " from "));
    assert_all_default();
    snprintf(end, sizeof end, "; the default %s is used\n", value_of(row->name));
    assert_string_equal(said + strlen(said) - strlen(end), end);
}

static void what_is_not_allowed_is_refused_in_one_line(void **state) {
    const char *const never[] = {"",
                                 "x",
                                 "-1",
                                 "+1",
                                 "1.5",
                                 "0x10",
                                 " 1",
                                 "1 ",
                                 "1q",
                                 "k",
                                 "1kk",
                                 "99999999999999999999",
                                 "18446744073709555712"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[64];
        if (rows[i].kind == TEXT)
            continue;
        for (size_t k = 0; k < COUNT_OF(never); k++)
            expect_refused(&rows[i], never[k]);
        if (rows[i].kind == CHOICE) {
            snprintf(text, sizeof text, "%s", rows[i].allowed); // all of them at once
            expect_refused(&rows[i], text);
            *strchr(text, '|') = '\0';
            text[strlen(text) - 1] = '\0'; // the beginning of one
            expect_refused(&rows[i], text);
            continue;
        }
        snprintf(text, sizeof text, "%zu", rows[i].maximum + 1);
        expect_refused(&rows[i], text);
        snprintf(text, sizeof text, "%zu", rows[i].minimum - 1);
        expect_refused(&rows[i], text);
        if (rows[i].kind == NUMBER)
            expect_refused(&rows[i], "4k");
    }
}

static void sizes_may_have_units(void **state) {
    const struct {
        const char *text;
        size_t bytes;
    } sizes[] = {{"4096", 4096},  {"64k", 64 * KIB}, {"64K", 64 * KIB}, {"3m", 3 * MIB},
                 {"3M", 3 * MIB}, {"2g", 2 * GIB},   {"2G", 2 * GIB},   {"1t", 1024 * GIB}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t k = 0; k < COUNT_OF(sizes) && rows[i].kind == SIZE; k++) {
            char text[64];
            if (sizes[k].bytes < rows[i].minimum || sizes[k].bytes > rows[i].maximum)
                continue;
            snprintf(text, sizeof text, "%zu", sizes[k].bytes);
            assert_string_equal(set(&rows[i], sizes[k].text), "");
            assert_string_equal(value_of(rows[i].name), text);
        }
}

static void a_list_sets_several_options(void **state) {
    (void)state;
    const char *said = read_environment(
        false, "HAKMEM_OPTIONS=stats=json,,retain_min=1m,stats_file=/tmp/a=b,retain_share=3,on_fault=continue,", NULL,
        NULL);
    assert_string_equal(said, "");
    assert_int_equal(options.stats, OPTION_STATS_JSON);
    assert_int_equal(options.retain_min, MIB);
    assert_string_equal(options.stats_file, "/tmp/a=b");
    assert_int_equal(options.retain_share, 3);
    assert_int_equal(options.on_fault, OPTION_ON_FAULT_CONTINUE);
    assert_int_equal(options.fastlane, OPTION_FASTLANE_ON);
}

static void a_text_from_a_second_list_ends_where_it_ends(void **state) {
    (void)state;
    assert_string_equal(
        read_environment(false, "HAKMEM_OPTIONS=stats_file=/a/long/name", "HAKMEM_OPTIONS=stats_file=/b", NULL), "");
    assert_string_equal(options.stats_file, "/b");
    assert_string_equal(read_environment(false, "HAKMEM_OPTIONS=stats_file=/kept", "HAKMEM_OPTIONS=stats=json", NULL),
                        "");
    assert_string_equal(options.stats_file, "/kept");
}

static void texts_outlive_the_environment(void **state) {
    (void)state;
    assert_string_equal(read_environment(false, "HAKMEM_STATS_FILE=/a/name", NULL, NULL), "");
    memset(variables[0], 'x', 1000); // as programs do that set their title
    assert_string_equal(options.stats_file, "/a/name");
}

static void a_text_for_which_there_is_no_room_is_refused(void **state) {
    static char variable[20000] = "HAKMEM_STATS_FILE=";
    (void)state;
    memset(variable + strlen(variable), 'x', sizeof variable - strlen(variable) - 1);
    const char *said = read_environment(false, variable, "HAKMEM_OPTIONS=stats_file=/b", NULL);
    assert_int_equal(lines_in(said), 1);
    assert_non_null(strstr(said, "stats_file"));
    assert_string_equal(options.stats_file, "/b");
}

static void a_variable_of_its_own_wins_over_the_list(void **state) {
    (void)state;
    assert_string_equal(read_environment(false, "HAKMEM_STATS=text", "HAKMEM_OPTIONS=stats=json", NULL), "");
    assert_int_equal(options.stats, OPTION_STATS_TEXT);
    assert_string_equal(read_environment(false, "HAKMEM_OPTIONS=stats=json", "HAKMEM_STATS=text", NULL), "");
    assert_int_equal(options.stats, OPTION_STATS_TEXT);
}

static void names_are_understood_in_either_case(void **state) {
    (void)state;
    assert_string_equal(read_environment(false, "HAKMEM_OPTIONS=STATS=json,Retain_Share=5", NULL, NULL), "");
    assert_int_equal(options.stats, OPTION_STATS_JSON);
    assert_int_equal(options.retain_share, 5);
    assert_string_equal(read_environment(false, "HAKMEM_stats=text", NULL, NULL), "");
    assert_int_equal(options.stats, OPTION_STATS_TEXT);
}

static void an_unknown_option_gets_one_line_and_the_rest_is_read(void **state) {
    static const char line[] = "hakmem: there is no option '%s'; HAKMEM_OPTIONS=help lists the options there are\n";
    char expected[256];
    (void)state;
    const char *said = read_environment(false, "HAKMEM_FROBNICATE=1", "HAKMEM_STATS=json", NULL);
    snprintf(expected, sizeof expected, line, "FROBNICATE");
    assert_string_equal(said, expected);
    assert_int_equal(options.stats, OPTION_STATS_JSON);
    said = read_environment(false, "HAKMEM_OPTIONS=stat=json,retain_share=9,stats", NULL, NULL);
    snprintf(expected, sizeof expected, line, "stat");
    assert_memory_equal(said, expected, strlen(expected));
    assert_int_equal(options.retain_share, 9);
    assert_int_equal(options.stats, OPTION_STATS_OFF); // a name without a value is no value
    assert_int_equal(lines_in(said), 2);
}

static void variables_of_the_tools_and_of_others_are_left_alone(void **state) {
    (void)state;
    assert_string_equal(read_environment(false, "HAKMEM_TEST_SEED=1", "HAKMEM_BENCH_RUNS=x", "HAKMEM_LIB=/x.so"), "");
    assert_string_equal(read_environment(false, "HAKMEMSTATS=json", "STATS=json", "XHAKMEM_STATS=json"), "");
    assert_all_default();
}

static void unprintable_letters_are_not_passed_on(void **state) {
    (void)state;
    const char *said = read_environment(false, "HAKMEM_STATS=\033[31m\nhakmem: lies", NULL, NULL);
    assert_int_equal(lines_in(said), 1);
    assert_null(strchr(said, '\033'));
    assert_non_null(strstr(said, "'?[31m?hakmem: lies'"));
}

static void help_lists_every_option_with_what_is_allowed(void **state) {
    (void)state;
    const char *said = read_environment(false, "HAKMEM_OPTIONS=help", NULL, NULL);
    assert_all_default();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char start[128];
        snprintf(start, sizeof start, "\n  %s  ", rows[i].name);
        const char *place = strstr(said, start);
        assert_non_null(place);
        const char *allowed = strstr(place, "\n      allowed: ");
        assert_non_null(allowed);
        if (rows[i].kind == CHOICE)
            assert_memory_equal(allowed + strlen("\n      allowed: "), rows[i].allowed, strlen(rows[i].allowed));
        if (rows[i].kind != TEXT)
            assert_non_null(strstr(allowed, "; default: "));
    }
    assert_int_equal(lines_in(said), 1 + 2 * COUNT_OF(rows));
}

static void help_goes_with_other_options(void **state) {
    (void)state;
    const char *said = read_environment(false, "HAKMEM_OPTIONS=stats=json,help,retain_share=2", NULL, NULL);
    assert_int_equal(lines_in(said), 1 + 2 * COUNT_OF(rows));
    assert_int_equal(options.stats, OPTION_STATS_JSON);
    assert_int_equal(options.retain_share, 2);
}

static void a_privileged_program_obeys_safe_options_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char list[256], expected[256], value[64] = "/dev/null";
        if (rows[i].kind == CHOICE)
            snprintf(value, sizeof value, "%s",
                     rows[i].initial == 0 ? strchr(rows[i].allowed, '|') + 1 : rows[i].allowed);
        else if (rows[i].kind != TEXT)
            snprintf(value, sizeof value, "%zu", rows[i].maximum);
        value[strcspn(value, "|")] = '\0';
        snprintf(list, sizeof list, "HAKMEM_OPTIONS=%s=%s", rows[i].name, value);
        const char *said = read_environment(true, list, NULL, NULL);
        snprintf(expected, sizeof expected,
                 "hakmem: option %s is ignored in a program that runs with raised privileges\n", rows[i].name);
        assert_string_equal(said, rows[i].safe ? "" : expected);
        if (rows[i].safe)
            assert_string_equal(value_of(rows[i].name), value);
        else
            assert_all_default();
    }
}

static void no_text_option_is_safe(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) // a path that a stranger chose
        assert_false(rows[i].kind == TEXT && rows[i].safe);
}

static void a_list_that_is_too_long_is_said_to_be(void **state) {
    static char list[32768] = "HAKMEM_OPTIONS=stats_file=";
    (void)state;
    memset(list + strlen(list), 'x', 20000);
    const char *said = read_environment(false, list, NULL, NULL);
    assert_int_equal(lines_in(said), 1);
    assert_non_null(strstr(said, "stats_file"));
    assert_null(strstr(said, "there is no option"));
    assert_all_default();
}

static void a_value_can_be_asked_for_by_name(void **state) {
    struct report report;
    (void)state;
    read_environment(false, "HAKMEM_RETAIN_MIN=64k", NULL, NULL);
    assert_string_equal(value_of("retain_min"), "65536");
    assert_string_equal(value_of("fastlane"), "on");
    report_to_memory(&report, NULL, 0);
    assert_false(options_say_value(&report, "frobnicate"));
    assert_false(options_say_value(&report, ""));
    assert_int_equal(report.length, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_variables_the_defaults_of_the_table_hold),
        cmocka_unit_test(every_allowed_value_is_taken),
        cmocka_unit_test(what_is_not_allowed_is_refused_in_one_line),
        cmocka_unit_test(sizes_may_have_units),
        cmocka_unit_test(a_list_sets_several_options),
        cmocka_unit_test(a_text_from_a_second_list_ends_where_it_ends),
        cmocka_unit_test(texts_outlive_the_environment),
        cmocka_unit_test(a_text_for_which_there_is_no_room_is_refused),
        cmocka_unit_test(a_variable_of_its_own_wins_over_the_list),
        cmocka_unit_test(names_are_understood_in_either_case),
        cmocka_unit_test(an_unknown_option_gets_one_line_and_the_rest_is_read),
        cmocka_unit_test(variables_of_the_tools_and_of_others_are_left_alone),
        cmocka_unit_test(unprintable_letters_are_not_passed_on),
        cmocka_unit_test(help_lists_every_option_with_what_is_allowed),
        cmocka_unit_test(help_goes_with_other_options),
        cmocka_unit_test(a_privileged_program_obeys_safe_options_alone),
        cmocka_unit_test(no_text_option_is_safe),
        cmocka_unit_test(a_list_that_is_too_long_is_said_to_be),
        cmocka_unit_test(a_value_can_be_asked_for_by_name),
    };
    return cmocka_run_group_tests_name("options", tests, remember_defaults, NULL);
}
