// What is said of a policy reads as the same policy.
#include "unit/unit.h"

#include "learn/say.h"

static char text[64 * 1024];
static struct policy said, heard;

static const char *say(const struct policy *policy) {
    struct report report;
    report_to_memory(&report, text, sizeof text);
    say_policy(&report, policy);
    report_end(&report);
    assert_true(report.length < sizeof text);
    return text;
}

// Reads what was said; fails with the place where it is not understood.
static void hear(void) {
    struct policy_fault fault;
    if (!policy_parse(text, strlen(text), &heard, &fault))
        fail_msg("line %u: %s\n%s", fault.line, fault.what, text);
}

static void expect_heard_as_said(void) {
    say(&said);
    hear();
    assert_memory_equal(&heard, &said, sizeof said);
}

static int forget(void **state) {
    (void)state;
    memset(&said, 0, sizeof said);
    return 0;
}

static void nothing_learned_is_three_lines_and_the_end(void **state) {
    (void)state;
    assert_string_equal(say(&said), "hakmem-policy 1\nruns 0\nseconds 0\nend\n");
    expect_heard_as_said();
}

static void it_reads_as_its_description_does(void **state) {
    static const struct evidence none;
    (void)state;
    strcpy(said.program, "python3.11");
    strcpy(said.build, "6f3a");
    said.runs = 3;
    said.seconds = 41;
    said.values[DECISION_retain_min] = (struct policy_value){true, 33554432, {12, 31, 0, "refaults"}};
    said.classes[said.class_count++] = (struct policy_class){1040, {4, -102, 9, "rounding"}};
    said.closed[said.closed_count++] = (struct policy_class){1280, none};
    said.depths[said.depth_count++] = (struct policy_depth){4096, 48};
    said.sites[said.site_count++] = (struct policy_site){"libpq.so.5", 0x1c20, 1048576, none};
    assert_string_equal(say(&said), "hakmem-policy 1\nprogram python3.11\nbuild 6f3a\nruns 3\nseconds 41\n"
                                    "retain_min 33554432 windows=12 gain=31 why=refaults\n"
                                    "class 1040 windows=4 gain=-102 since=9 why=rounding\n"
                                    "close 1280\ndepth 4096 48\nsite libpq.so.5+0x1c20 1048576\nend\n");
    expect_heard_as_said();
}

static void what_is_not_given_is_not_said(void **state) {
    (void)state;
    said.values[DECISION_retain_min] = (struct policy_value){false, 33554432, {12, 31, 0, "refaults"}};
    say(&said);
    assert_null(strstr(text, "retain_min"));
}

static void odd_names_of_modules_are_heard_as_they_are(void **state) {
    const char *const names[] = {"my lib.so",         "c#.so", "100%.so", "%20", "a+b+0x1", "tab\tbed",
                                 "\xc3\xbcn\xc3\xaf", "_",     "%"};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        struct policy_site *site = &said.sites[said.site_count++];
        strcpy(site->module, names[i]);
        site->offset = 1 + i;
        site->threshold_bytes = MIB;
    }
    expect_heard_as_said();
    assert_non_null(strstr(text, "\nsite my%20lib.so+0x1 1048576\n"));
}

// ---- anything

static void any_word(struct random *random, char *word, size_t size) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=:/@~";
    size_t length = 1 + random_below(random, size - 1);
    for (size_t i = 0; i < length; i++)
        word[i] = letters[random_below(random, sizeof letters - 1)];
    word[length] = '\0';
}

static uint64_t any_number(struct random *random, uint64_t least, uint64_t most) {
    switch (random_below(random, 4)) {
    case 0:
        return least;
    case 1:
        return most;
    default:
        return least + random_next(random) % (most - least + 1);
    }
}

static struct evidence any_evidence(struct random *random) {
    struct evidence evidence = {0};
    evidence.windows = (uint32_t)any_number(random, 0, UINT32_MAX - 1);
    evidence.gain_permille = (int32_t)(any_number(random, 0, INT32_MAX));
    if (random_below(random, 2) == 0)
        evidence.gain_permille = -evidence.gain_permille;
    evidence.since_seconds = (uint32_t)any_number(random, 0, UINT32_MAX - 1);
    if (random_below(random, 3) > 0)
        any_word(random, evidence.why, sizeof evidence.why);
    return evidence;
}

// None twice.
static uint32_t any_size(struct random *random, unsigned i) {
    uint32_t step = CLASS_LARGE_MAX / CLASS_END;
    return (uint32_t)any_number(random, i == 0 ? BLOCK_ALIGN : i * step, (i + 1) * step - 1);
}

static void any_classes(struct random *random, struct policy_class *classes, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        classes[i] = (struct policy_class){any_size(random, i), any_evidence(random)};
}

static void any_policy(struct random *random) {
    forget(NULL);
    any_word(random, said.program, sizeof said.program);
    any_word(random, said.build, sizeof said.build);
    said.runs = any_number(random, 0, UINT32_MAX);
    said.seconds = any_number(random, 0, UINT64_MAX - 1);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        if (random_below(random, 3) > 0)
            said.values[i] = (struct policy_value){
                true, any_number(random, decision_rows[i].least, decision_rows[i].most), any_evidence(random)};
    said.class_count = (unsigned)any_number(random, 0, CLASS_SPARE_COUNT);
    any_classes(random, said.classes, said.class_count);
    said.closed_count = (unsigned)any_number(random, 0, CLASS_COUNT);
    any_classes(random, said.closed, said.closed_count);
    said.depth_count = (unsigned)any_number(random, 0, POLICY_DEPTHS_MOST);
    for (unsigned i = 0; i < said.depth_count; i++)
        said.depths[i] = (struct policy_depth){any_size(random, i), (uint32_t)any_number(random, 1, STACK_MAX_DEPTH)};
    said.site_count = (unsigned)any_number(random, 0, POLICY_SITES_MOST);
    for (unsigned i = 0; i < said.site_count; i++) {
        struct policy_site *site = &said.sites[i];
        any_word(random, site->module, sizeof site->module);
        site->offset = any_number(random, 0, UINT64_MAX / 1024) * 1024 + i; // none twice
        site->threshold_bytes = any_number(random, SITE_LEAST_BYTES, BIG_THRESHOLD_MAX_BYTES);
        site->evidence = any_evidence(random);
    }
}

static void any_policy_is_heard_as_it_was_said(void **state) {
    (void)state;
    struct random random = random_start();
    for (unsigned turn = 0; turn < 300; turn++) {
        any_policy(&random);
        expect_heard_as_said();
    }
}

static void what_was_merged_is_heard_too(void **state) {
    static struct policy first;
    (void)state;
    struct random random = random_start();
    for (unsigned turn = 0; turn < 300; turn++) {
        any_policy(&random);
        first = said;
        any_policy(&random);
        policy_merge(&first, &said, POLICY_FILE_MOST);
        say(&first);
        hear();
    }
}

static void the_longest_policy_fits_a_file(void **state) {
    const struct evidence long_evidence = {UINT32_MAX, -INT32_MAX, UINT32_MAX, "abcdefghijklmno"};
    (void)state;
    memset(said.program, 'p', sizeof said.program - 1);
    memset(said.build, 'b', sizeof said.build - 1);
    said.runs = UINT32_MAX;
    said.seconds = UINT64_MAX;
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        said.values[i] = (struct policy_value){true, decision_rows[i].most, long_evidence};
    for (said.class_count = 0; said.class_count < CLASS_SPARE_COUNT; said.class_count++)
        said.classes[said.class_count] = (struct policy_class){CLASS_LARGE_MAX - said.class_count, long_evidence};
    for (said.closed_count = 0; said.closed_count < CLASS_COUNT; said.closed_count++)
        said.closed[said.closed_count] = (struct policy_class){CLASS_LARGE_MAX - said.closed_count, long_evidence};
    for (said.depth_count = 0; said.depth_count < POLICY_DEPTHS_MOST; said.depth_count++)
        said.depths[said.depth_count] = (struct policy_depth){CLASS_LARGE_MAX - said.depth_count, STACK_MAX_DEPTH};
    for (; said.site_count < POLICY_SITES_MOST; said.site_count++) {
        struct policy_site *site = &said.sites[said.site_count];
        *site =
            (struct policy_site){.offset = UINT64_MAX - said.site_count, .threshold_bytes = BIG_THRESHOLD_MAX_BYTES};
        memset(site->module, '%', sizeof site->module - 1);
        site->evidence = long_evidence;
    }
    expect_heard_as_said();
    assert_true(strlen(text) < 32 * KIB); // what learn/file.c reads
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_learned_is_three_lines_and_the_end, forget),
        cmocka_unit_test_setup(it_reads_as_its_description_does, forget),
        cmocka_unit_test_setup(what_is_not_given_is_not_said, forget),
        cmocka_unit_test_setup(odd_names_of_modules_are_heard_as_they_are, forget),
        cmocka_unit_test_setup(any_policy_is_heard_as_it_was_said, forget),
        cmocka_unit_test_setup(what_was_merged_is_heard_too, forget),
        cmocka_unit_test_setup(the_longest_policy_fits_a_file, forget),
    };
    return cmocka_run_group_tests_name("say", tests, NULL, NULL);
}
