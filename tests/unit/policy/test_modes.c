// Modes and profiles: each sets what its rows say within the limits, the options name exactly the rows, and the names
// hold what they promise.
#include "unit/unit.h"

#include "policy/modes.h"

struct set_row {
    const char *set;
    enum decision decision;
    size_t value;
};
static const struct set_row set_rows[] = {
#define MODE(name, learns, what)
#define PROFILE(name, what)
#define SETS(set, decision, value) {#set, DECISION_##decision, value},
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
};

static const char *const mode_names[] = {
#define MODE(name, learns, what) #name,
#define PROFILE(name, what)
#define SETS(set, decision, value)
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
};

static const char *const profile_names[] = {
#define MODE(name, learns, what)
#define PROFILE(name, what) #name,
#define SETS(set, decision, value)
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
};

struct choice {
    const char *name;
    unsigned initial;
    const char *allowed;
};
static const struct choice choices[] = {
#define OPTION_CHOICE(name, initial, allowed, safe, help) {#name, initial, allowed},
#define OPTION_SIZE(name, initial, minimum, maximum, safe, help)
#define OPTION_NUMBER(name, initial, minimum, maximum, safe, help)
#define OPTION_TEXT(name, safe, help)
#include "sys/options.def" // the table alone: a decision can't ask for options
#undef OPTION_CHOICE
#undef OPTION_SIZE
#undef OPTION_NUMBER
#undef OPTION_TEXT
};

static struct snapshot initial, snapshot;

static int begin(void **state) {
    (void)state;
    snapshot_default(&initial);
    snapshot = initial;
    return 0;
}

// What differs from the default is what the set's rows say.
static void must_be_set_by(const char *set) {
    struct snapshot expected = initial;
    for (size_t i = 0; i < COUNT_OF(set_rows); i++)
        if (strcmp(set_rows[i].set, set) == 0)
            *snapshot_field(&expected, set_rows[i].decision) = set_rows[i].value;
    assert_memory_equal(&snapshot, &expected, sizeof snapshot);
}

static void each_mode_and_profile_sets_what_its_rows_say(void **state) {
    (void)state;
    for (unsigned i = 0; i < MODE_COUNT; i++) {
        snapshot = initial;
        mode_apply((enum mode)i, &snapshot);
        must_be_set_by(mode_names[i]);
    }
    for (unsigned i = 0; i < PROFILE_COUNT; i++) {
        snapshot = initial;
        profile_apply((enum profile)i, &snapshot);
        must_be_set_by(profile_names[i]);
    }
}

static void rows_are_within_limits_and_stand_once(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(set_rows); i++) {
        const struct decision_row *row = &decision_rows[set_rows[i].decision];
        assert_in_range(set_rows[i].value, row->least, row->most);
        assert_true(set_rows[i].value != row->initial);
        for (size_t k = 0; k < i; k++)
            assert_false(set_rows[k].decision == set_rows[i].decision && strcmp(set_rows[k].set, set_rows[i].set) == 0);
    }
}

// The names as the option's allowed values: separated by |, with - in place of _.
static void must_be_allowed(const char *option, const char *const *names, size_t count, const char *standard) {
    char allowed[256] = "";
    for (size_t i = 0; i < count; i++) {
        strcat(allowed, i > 0 ? "|" : "");
        strcat(allowed, names[i]);
    }
    for (char *letter = allowed; *letter != '\0'; letter++)
        *letter = *letter == '_' ? '-' : *letter;
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        if (strcmp(choices[i].name, option) != 0)
            continue;
        assert_string_equal(choices[i].allowed, allowed);
        assert_string_equal(names[choices[i].initial], standard);
        return;
    }
    fail_msg("there is no option %s", option);
}

static void options_name_the_rows_in_order(void **state) {
    (void)state;
    must_be_allowed("mode", mode_names, MODE_COUNT, "balanced");
    must_be_allowed("profile", profile_names, PROFILE_COUNT, "none");
}

static void the_standard_ones_change_nothing(void **state) {
    (void)state;
    mode_apply(MODE_balanced, &snapshot);
    mode_apply(MODE_learning, &snapshot);
    mode_apply(MODE_research, &snapshot);
    profile_apply(PROFILE_none, &snapshot);
    assert_memory_equal(&snapshot, &initial, sizeof snapshot);
}

static void names_hold_what_they_promise(void **state) {
    struct snapshot fast = initial, mixed = initial, batch = initial, service = initial;
    (void)state;
    mode_apply(MODE_minimal, &snapshot);
    mode_apply(MODE_fast, &fast);
    assert_true(snapshot.thread_bytes < initial.thread_bytes && initial.thread_bytes < fast.thread_bytes);
    assert_true(snapshot.all_threads_bytes < initial.all_threads_bytes);
    assert_true(initial.all_threads_bytes < fast.all_threads_bytes);
    assert_true(snapshot.retain_min < initial.retain_min && initial.retain_min < fast.retain_min);
    assert_true(snapshot.retain_share > initial.retain_share && initial.retain_share > fast.retain_share);
    assert_int_equal(snapshot.huge_pages, 0);
    profile_apply(PROFILE_mixed, &mixed);
    assert_true(mixed.thread_bytes > initial.thread_bytes);
    profile_apply(PROFILE_service, &service);
    assert_true(service.purge_delay > 0);
    profile_apply(PROFILE_batch, &batch);
    assert_true(batch.retain_min > 1000 * GIB && batch.huge_pages == 2);
}

static void a_profile_stands_on_top_of_the_mode(void **state) {
    (void)state;
    mode_apply(MODE_minimal, &snapshot);
    profile_apply(PROFILE_mixed, &snapshot);
    struct snapshot mixed = initial;
    profile_apply(PROFILE_mixed, &mixed);
    assert_int_equal(snapshot.thread_bytes, mixed.thread_bytes);
    assert_int_equal(snapshot.retain_share, 64); // still the mode's
}

static void only_two_modes_learn(void **state) {
    (void)state;
    for (unsigned i = 0; i < MODE_COUNT; i++)
        if (i != MODE_learning && i != MODE_research)
            assert_int_equal(mode_learning((enum mode)i), LEARN_NOTHING);
    assert_int_equal(mode_learning(MODE_learning), LEARN_LIFE_CYCLE);
    assert_int_equal(mode_learning(MODE_research), LEARN_ALWAYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_mode_and_profile_sets_what_its_rows_say, begin),
        cmocka_unit_test_setup(rows_are_within_limits_and_stand_once, begin),
        cmocka_unit_test_setup(options_name_the_rows_in_order, begin),
        cmocka_unit_test_setup(the_standard_ones_change_nothing, begin),
        cmocka_unit_test_setup(names_hold_what_they_promise, begin),
        cmocka_unit_test_setup(a_profile_stands_on_top_of_the_mode, begin),
        cmocka_unit_test_setup(only_two_modes_learn, begin),
    };
    return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
