// What the statistics say of learning: figures, decisions in force, the history; and nothing where nothing is learned.
#include "unit/unit.h"

#include "api/learning.h"
#include "learn/publish.h"

static struct learn_told told;
static char text[64 * 1024];

static int start(void **state) {
    (void)state;
    assert_true(heap_process_start());
    memset(&told, 0, sizeof told);
    history_start(&told.history);
    return 0;
}

static void learn_something(void) {
    struct history_row row = {.at_ns = 25 * MS_NS, .in_use_bytes = 7 * MIB, .state = EVOLUTION_CANARY};
    const struct evolution life[] = {{.state = EVOLUTION_CANARY, .reason = EVOLUTION_STILL},
                                     {.state = EVOLUTION_FROZEN, .reason = EVOLUTION_NO_WORSE},
                                     {.state = EVOLUTION_LEARN, .reason = EVOLUTION_SLOWER},
                                     {.state = EVOLUTION_CANARY, .reason = EVOLUTION_RESTLESS},
                                     {.state = EVOLUTION_FROZEN, .reason = EVOLUTION_WORSE},
                                     {.state = EVOLUTION_LEARN, .reason = EVOLUTION_OTHER},
                                     {.state = EVOLUTION_CANARY, .reason = EVOLUTION_STILL}};
    told.learns = true;
    told.state = EVOLUTION_CANARY;
    told.run_ns = 2 * SECOND_NS;
    told.looks = 40;
    told.look_ns = 21 * MS_NS;
    told.changes = 3;
    told.trial_ns = 5 * MS_NS;
    told.windows = 9;
    told.seen_blocks = 9 * SAMPLE_CALLS;
    told.page = (struct cost_page){1600, 300};
    for (unsigned i = 0; i < COUNT_OF(life); i++)
        history_note_change(&told.history, (i + 1) * SECOND_NS / 10, &life[i]);
    history_note(&told.history, &row);
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++)
        row.ratings[i] = (uint16_t)(1500 + i);
    history_note(&told.history, &row);
}

static const char *said_by(void (*say)(struct report *report, const struct learn_told *told)) {
    struct report report;
    report_to_memory(&report, text, sizeof text);
    say(&report, &told);
    report_end(&report);
    assert_true(report.length < sizeof text);
    return text;
}

static void nothing_is_said_where_nothing_is_learned(void **state) {
    struct hakmem_stats full = {0};
    (void)state;
    learning_fill(&told, &full);
    assert_int_equal(full.learn_state, 0);
    assert_string_equal(said_by(learning_say_text), "");
    assert_string_equal(said_by(learning_say_json),
                        ",\n  \"decisions\": {\"value\": {}, \"class\": [], \"close\": [], \"depth\": []}");
}

static void figures_are_filled(void **state) {
    struct hakmem_stats full = {0};
    (void)state;
    learn_something();
    learning_fill(&told, &full);
    assert_int_equal(full.learn_state, 2);
    assert_int_equal(full.learn_run_ns, 2 * SECOND_NS);
    assert_int_equal(full.learn_looks, 40);
    assert_int_equal(full.learn_look_ns, 21 * MS_NS);
    assert_int_equal(full.learn_changes, 3);
    assert_int_equal(full.learn_promoted, 1);
    assert_int_equal(full.learn_rolled_back, 1);
    assert_int_equal(full.learn_anew, 2);
    assert_int_equal(full.learn_windows, 9);
    assert_int_equal(full.learn_seen_blocks, 9 * SAMPLE_CALLS);
    assert_int_equal(full.learn_fault_ns, 1600);
    assert_int_equal(full.learn_purge_ns, 300);
    assert_int_equal(full.learn_trial_ns, 5 * MS_NS);
}

static void the_history_is_told_with_states_reasons_and_ratings(void **state) {
    (void)state;
    learn_something();
    const char *json = said_by(learning_say_json);
    assert_non_null(strstr(json, "\"learning\": {\"state\": \"CANARY\","));
    assert_non_null(strstr(json,
                           "\"reasons\": {\"begun\": 1, \"still\": 2, \"restless\": 1, \"no_worse\": 1, \"worse\": 1, "
                           "\"slower\": 1, \"dearer\": 0, \"sizes\": 1}"));
    assert_non_null(strstr(json, "\n      {\"ms\": 0, \"state\": \"LEARN\", \"reason\": \"begun\"},"
                                 "\n      {\"ms\": 100, \"state\": \"CANARY\", \"reason\": \"still\"},"));
    assert_non_null(strstr(json, "{\"ms\": 25, \"state\": \"CANARY\", \"in_use_bytes\": 7340032,"));
    assert_non_null(strstr(json, "\"big_threshold\": 0},\n"));
    assert_non_null(
        strstr(json, "\"ratings\": [1500, 1501, 1502, 1503, 1504, 1505, 1506, 1507, 1508, 1509, 1510, 1511]}]}"));
    assert_non_null(strstr(json, "\"thresholds\": [524288, 786432,"));
}

static void of_many_changes_the_newest_are_told_in_order(void **state) {
    const struct evolution frozen = {.state = EVOLUTION_FROZEN, .reason = EVOLUTION_STILL};
    char last[64];
    (void)state;
    learn_something();
    for (unsigned i = 0; i < 100; i++)
        history_note_change(&told.history, (1000 + i) * MS_NS, &frozen);
    const char *json = said_by(learning_say_json);
    snprintf(last, sizeof last, "\"changes\": [\n      {\"ms\": %u,", 1100 - HISTORY_CHANGES);
    assert_non_null(strstr(json, last));
    assert_non_null(strstr(json, "{\"ms\": 1099, \"state\": \"FROZEN\", \"reason\": \"still\"}],"));
}

static void the_text_is_a_short_paragraph(void **state) {
    (void)state;
    learn_something();
    assert_string_equal(
        said_by(learning_say_text),
        "learning: CANARY after 2000 ms; 40 looks took 1.05 % of the time, 3 of them decided something\n"
        "  tried and kept 1, given up 1; learned anew for slower calls 1, higher cost 0, other sizes 1; "
        "9 sampling windows saw 4608 requests\n");
}

static void decide_otherwise(void *unused) {
    struct snapshot other;
    (void)unused;
    heap_default_snapshot(&other);
    other.thread_bytes = 12 * MIB;
    other.purge_delay = 10000;
    other.spare_bytes[0] = 1040;
    snapshot_default_depth(&other, CLASS_COUNT, 1040);
    other.closed[class_of(1500)] = 1;
    other.depth[class_of(64)] = 9;
    struct heap *heap = heap_enter();
    lock_acquire(&learn_lock);
    learn_publish(&other);
    MUST(heap_change_classes());
    lock_release(&learn_lock);
    heap_leave(heap);
    said_by(learning_say_json);
    MUST(strcmp(text, ",\n  \"decisions\": {\"value\": {\"thread_bytes\": 12582912, \"purge_delay\": 10000}, "
                      "\"class\": [1040], \"close\": [1536], \"depth\": [\n"
                      "    {\"block_bytes\": 64, \"depth\": 9}]}") == 0);
    said_by(learning_say_text);
    MUST(strcmp(text, "not the default: thread_bytes 12582912; purge_delay 10000; close 1536; class 1040; "
                      "depths of 1 classes\n") == 0);
}

static void decisions_that_differ_from_the_default_are_told(void **state) {
    (void)state;
    child_must_succeed(decide_otherwise, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_said_where_nothing_is_learned, start),
        cmocka_unit_test_setup(figures_are_filled, start),
        cmocka_unit_test_setup(the_history_is_told_with_states_reasons_and_ratings, start),
        cmocka_unit_test_setup(of_many_changes_the_newest_are_told_in_order, start),
        cmocka_unit_test_setup(the_text_is_a_short_paragraph, start),
        cmocka_unit_test_setup(decisions_that_differ_from_the_default_are_told, start),
    };
    return cmocka_run_group_tests_name("learning", tests, NULL, NULL);
}
