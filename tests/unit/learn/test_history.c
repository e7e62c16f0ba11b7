// The history of learning: bounded, over the whole life, and every change of state counted.
#include "unit/unit.h"

#include "learn/history.h"

enum { DAYS = 30 };
static struct history history, copied;

static int start(void **state) {
    (void)state;
    memset(&history, 0xab, sizeof history);
    history_start(&history);
    return 0;
}

static struct history_row row_at(uint64_t at_ns) {
    return (struct history_row){.at_ns = at_ns, .in_use_bytes = at_ns / MS_NS};
}

// Looks as they come: leaves a row where one is due.
static void look_at(uint64_t at_ns) {
    struct history_row row = row_at(at_ns);
    if (history_is_due(&history, at_ns))
        history_note(&history, &row);
}

static void expect_in_order(void) {
    assert_true(history.row_count <= HISTORY_ROWS);
    for (unsigned i = 0; i < history.row_count; i++) {
        assert_int_equal(history.rows[i].in_use_bytes, history.rows[i].at_ns / MS_NS);
        assert_true(i == 0 || history.rows[i].at_ns > history.rows[i - 1].at_ns);
    }
}

static void a_new_one_has_begun_to_learn(void **state) {
    (void)state;
    assert_int_equal(history.row_count, 0);
    assert_int_equal(history.change_count, 1);
    assert_int_equal(history.reasons[EVOLUTION_BEGUN], 1);
    assert_int_equal(history.last[0].state, EVOLUTION_LEARN);
    assert_true(history_is_due(&history, 0));
}

static void every_look_leaves_a_row_while_there_is_room(void **state) {
    (void)state;
    for (unsigned i = 0; i < HISTORY_ROWS; i++)
        look_at(i * MS_NS);
    assert_int_equal(history.row_count, HISTORY_ROWS);
    expect_in_order();
}

static void a_full_one_keeps_every_second_row_and_the_first(void **state) {
    (void)state;
    for (unsigned i = 0; i <= HISTORY_ROWS; i++)
        look_at(i * MS_NS);
    assert_int_equal(history.row_count, HISTORY_ROWS / 2 + 1);
    for (unsigned i = 0; i < history.row_count; i++)
        assert_int_equal(history.rows[i].at_ns, 2 * i * MS_NS);
    assert_false(history_is_due(&history, HISTORY_ROWS * MS_NS + 1));
    expect_in_order();
}

// The looks of a service: further apart with time, half a second at most.
static void a_month_is_covered_evenly(void **state) {
    uint64_t now_ns = 0, end_ns = DAYS * 24 * 3600 * SECOND_NS, gap_ns = 0;
    (void)state;
    while (now_ns < end_ns) {
        look_at(now_ns);
        now_ns += now_ns / 16 < 10 * MS_NS ? 10 * MS_NS : now_ns / 16 < 500 * MS_NS ? now_ns / 16 : 500 * MS_NS;
    }
    expect_in_order();
    assert_int_equal(history.rows[0].at_ns, 0);
    assert_in_range(history.row_count, HISTORY_ROWS / 2, HISTORY_ROWS);
    for (unsigned i = 1; i < history.row_count; i++)
        gap_ns = history.rows[i].at_ns - history.rows[i - 1].at_ns > gap_ns
                     ? history.rows[i].at_ns - history.rows[i - 1].at_ns
                     : gap_ns;
    assert_true(gap_ns < end_ns / (HISTORY_ROWS / 4)); // no hole
    assert_true(end_ns - history.rows[history.row_count - 1].at_ns < end_ns / (HISTORY_ROWS / 4));
}

static void changes_are_counted_and_the_newest_kept(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3 * HISTORY_CHANGES; i++) {
        struct evolution now = {.state = i % 2 == 0 ? EVOLUTION_FROZEN : EVOLUTION_LEARN,
                                .reason = i % 2 == 0 ? EVOLUTION_STILL : EVOLUTION_SLOWER};
        history_note_change(&history, i, &now);
    }
    assert_int_equal(history.change_count, 1 + 3 * HISTORY_CHANGES);
    assert_int_equal(history.reasons[EVOLUTION_STILL], 3 * HISTORY_CHANGES / 2);
    assert_int_equal(history.reasons[EVOLUTION_SLOWER], 3 * HISTORY_CHANGES / 2);
    for (unsigned i = history.change_count - HISTORY_CHANGES; i < history.change_count; i++)
        assert_int_equal(history.last[i % HISTORY_CHANGES].at_ns, i - 1);
}

static void a_copy_has_all_rows_and_changes(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        look_at(i * MS_NS);
    history_copy(&copied, &history);
    assert_int_equal(copied.row_count, 100);
    assert_int_equal(copied.change_count, 1);
    assert_memory_equal(copied.rows, history.rows, 100 * sizeof copied.rows[0]);
}

static void every_state_and_reason_has_a_word_of_its_own(void **state) {
    (void)state;
    for (unsigned i = 0; i < EVOLUTION_REASONS; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(history_reason_word(i), history_reason_word(k));
    assert_string_equal(history_state_word(EVOLUTION_LEARN), "LEARN");
    assert_string_equal(history_state_word(EVOLUTION_CANARY), "CANARY");
    assert_string_equal(history_state_word(EVOLUTION_FROZEN), "FROZEN");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_new_one_has_begun_to_learn, start),
        cmocka_unit_test_setup(every_look_leaves_a_row_while_there_is_room, start),
        cmocka_unit_test_setup(a_full_one_keeps_every_second_row_and_the_first, start),
        cmocka_unit_test_setup(a_month_is_covered_evenly, start),
        cmocka_unit_test_setup(changes_are_counted_and_the_newest_kept, start),
        cmocka_unit_test_setup(a_copy_has_all_rows_and_changes, start),
        cmocka_unit_test_setup(every_state_and_reason_has_a_word_of_its_own, start),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
