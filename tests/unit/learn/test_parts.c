// The option learn_parts: without it those by default, with it those it names, and a line for a name that is none.
#include "unit/unit.h"

#include "learn/parts.h"
#include "sys/options.h"

static struct capture capture;

static const char *read_list(const char *list) {
    options.learn_parts = list;
    capture_begin(&capture);
    parts_read();
    return capture_end(&capture);
}

// Bit by bit which parts are at work.
static unsigned at_work(void) {
    unsigned parts = 0;
    for (unsigned i = 0; i < PART_COUNT; i++)
        parts |= part_learns((enum part)i) ? 1u << i : 0;
    return parts;
}

#define BIT(name) (1u << PART_##name)
#define ALL ((1u << PART_COUNT) - 1)
#define BY_DEFAULT (ALL & ~BIT(huge))

static void all_but_huge_are_at_work_without_the_option(void **state) {
    (void)state;
    assert_int_equal(at_work(), ALL); // until it is read
    assert_string_equal(read_list(""), "");
    assert_int_equal(at_work(), BY_DEFAULT);
}

static void research_has_all(void **state) {
    (void)state;
    options.mode = OPTION_MODE_RESEARCH;
    assert_string_equal(read_list(""), "");
    assert_int_equal(at_work(), ALL);
    assert_string_equal(read_list("depths"), "");
    assert_int_equal(at_work(), BIT(depths)); // but what is named
    options.mode = OPTION_MODE_LEARNING;
    read_list("");
    assert_int_equal(at_work(), BY_DEFAULT);
}

static void one_is_added_to_those_by_default(void **state) {
    (void)state;
    assert_string_equal(read_list("default"), "");
    assert_int_equal(at_work(), BY_DEFAULT);
    assert_string_equal(read_list("default+huge"), "");
    assert_int_equal(at_work(), ALL);
    assert_string_equal(read_list("huge+default"), "");
    assert_int_equal(at_work(), ALL);
}

static void each_can_be_named_alone(void **state) {
    (void)state;
    options.mode = OPTION_MODE_RESEARCH;
#define NAME_ALONE(name)                       \
    assert_string_equal(read_list(#name), ""); \
    assert_int_equal(at_work(), BIT(name));
    PARTS(NAME_ALONE)
#undef NAME_ALONE
    options.mode = OPTION_MODE_LEARNING;
}

static void what_research_alone_plays_gets_a_line_in_another_mode(void **state) {
    (void)state;
    assert_string_equal(read_list("default+sites"),
                        "hakmem: option learn_parts: sites does nothing here: it plays in mode=research alone\n");
    assert_int_equal(at_work(), BY_DEFAULT);
    assert_int_equal(lines_in(read_list("tournaments+depths+sites")), 2);
    options.mode = OPTION_MODE_RESEARCH;
    assert_string_equal(read_list("tournaments+depths+sites"), "");
    options.mode = OPTION_MODE_LEARNING;
}

static void several_are_joined(void **state) {
    (void)state;
    assert_string_equal(read_list("depths+memory+headroom"), "");
    assert_int_equal(at_work(), BIT(depths) | BIT(memory) | BIT(headroom));
    assert_string_equal(read_list("huge+huge+"), "");
    assert_int_equal(at_work(), BIT(huge));
    read_list("");
    assert_int_equal(at_work(), BY_DEFAULT); // nothing is left of it
}

static void a_name_that_is_none_gets_a_line_and_counts_for_nothing(void **state) {
    (void)state;
    const char *said = read_list("depths+frob+huge");
    assert_string_equal(said,
                        "hakmem: option learn_parts: there is no part 'frob'; there are default, depths, classes, "
                        "memory, headroom, huge, collapse, mappings, tolerance, tournaments, sites; several are "
                        "joined by +\n");
    assert_int_equal(at_work(), BIT(depths) | BIT(huge));
}

static void names_are_whole(void **state) {
    const char *wrong[] = {"depth", "depthss", "Depths", "depths,huge", " huge", "+huge", "defaults"};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(lines_in(read_list(wrong[i])), 1);
        assert_int_equal(at_work(), wrong[i][0] == '+' ? BIT(huge) : 0);
    }
}

static void what_is_said_is_one_line_whatever_the_name(void **state) {
    (void)state;
    const char *said = read_list("one\ntwo\x1b[31m");
    assert_int_equal(lines_in(said), 1);
    assert_non_null(strstr(said, "'one?two?[31m'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_huge_are_at_work_without_the_option),
        cmocka_unit_test(research_has_all),
        cmocka_unit_test(one_is_added_to_those_by_default),
        cmocka_unit_test(each_can_be_named_alone),
        cmocka_unit_test(what_research_alone_plays_gets_a_line_in_another_mode),
        cmocka_unit_test(several_are_joined),
        cmocka_unit_test(a_name_that_is_none_gets_a_line_and_counts_for_nothing),
        cmocka_unit_test(names_are_whole),
        cmocka_unit_test(what_is_said_is_one_line_whatever_the_name),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
