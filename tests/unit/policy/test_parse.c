// Policy files: the documented example means what it says, all damage is refused with its place, and no text whatever
// makes the parser read or write outside.
#include "unit/unit.h"

#include "policy/policy.h"

#define FIRST "hakmem-policy 1\n"
#define WORD_63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

static const char example[] = FIRST "program python3.11    # the executable's name\n"
                                    "build 6f3a            # and build id\n"
                                    "runs 3\n"
                                    "seconds 41\n"
                                    "retain_min 33554432 windows=12 gain=31 why=refaults\n"
                                    "class 1040 windows=4 gain=102 why=rounding\n"
                                    "close 1280 gain=-7 since=9\n"
                                    "depth 4096 48\n"
                                    "site libpq.so.5+0x1c20 1048576\n"
                                    "end\n";

static struct policy policy;
static struct policy_fault fault;

// From memory that ends where the text ends.
static bool parse_bytes(const char *text, size_t length) {
    char *copy = malloc(length);
    if (length > 0)
        memcpy(copy, text, length);
    bool good = policy_parse(copy, length, &policy, &fault);
    free(copy);
    assert_true(fault.what != NULL && fault.wanted != NULL);
    return good;
}

static bool parse(const char *text) {
    return parse_bytes(text, strlen(text));
}

static void the_example_means_what_it_says(void **state) {
    const struct policy_value *value = &policy.values[DECISION_retain_min];
    (void)state;
    assert_true(parse(example));
    assert_string_equal(policy.program, "python3.11");
    assert_string_equal(policy.build, "6f3a");
    assert_true(policy.runs == 3 && policy.seconds == 41);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        assert_int_equal(policy.values[i].is_given, i == DECISION_retain_min);
    assert_true(value->value == 32 * MIB && value->evidence.windows == 12 && value->evidence.gain_permille == 31);
    assert_string_equal(value->evidence.why, "refaults");
    assert_true(policy.class_count == 1 && policy.classes[0].bytes == 1040);
    assert_true(policy.classes[0].evidence.windows == 4 && policy.classes[0].evidence.gain_permille == 102);
    assert_string_equal(policy.classes[0].evidence.why, "rounding");
    assert_true(policy.closed_count == 1 && policy.closed[0].bytes == 1280);
    assert_true(policy.closed[0].evidence.gain_permille == -7 && policy.closed[0].evidence.since_seconds == 9);
    assert_true(policy.depth_count == 1 && policy.depths[0].bytes == 4096 && policy.depths[0].depth == 48);
    assert_int_equal(policy.site_count, 1);
    assert_string_equal(policy.sites[0].module, "libpq.so.5");
    assert_true(policy.sites[0].offset == 0x1c20 && policy.sites[0].threshold_bytes == MIB);
}

static void space_and_comments_mean_nothing(void **state) {
    (void)state;
    assert_true(parse("hakmem-policy\t1\r\n\n  # nothing\r\n \truns \t 7#seven\r\n\r\nend # and then\nwhat ever\n"));
    assert_int_equal(policy.runs, 7);
    assert_true(parse(FIRST "end")); // no newline
    assert_true(parse(FIRST "site libstdc++.so.6+0xFFFFffffffffffff 65536\nend\n"));
    assert_string_equal(policy.sites[0].module, "libstdc++.so.6");
    assert_true(policy.sites[0].offset == UINT64_MAX);
}

static void what_was_parsed_before_is_forgotten(void **state) {
    (void)state;
    assert_true(parse(example));
    assert_true(parse(FIRST "end\n"));
    static const struct policy nothing;
    assert_memory_equal(&policy, &nothing, sizeof policy);
}

struct damage {
    const char *text;
    unsigned line;
    const char *what; // a part of what is said
};
static const struct damage damages[] = {
    {"", 0, "empty"},
    {"\n" FIRST "end\n", 1, "no policy file"},
    {"\177ELF", 1, "no policy file"},
    {"end\n", 1, "no policy file"},
    {"hakmem-policy\n", 1, "no policy file"},
    {"hakmem-policy one\n", 1, "no policy file"},
    {"hakmem-policy 0\nend\n", 1, "another version"},
    {"hakmem-policy 2\nend\n", 1, "another version"},
    {FIRST, 1, "too early"},
    {FIRST "runs 3\n", 2, "too early"},
    {FIRST "runs 3\nruns 4\nend\n", 3, "second time"},
    {FIRST "program python\nprogram sh\nend\n", 3, "second time"},
    {FIRST "program python sh\nend\n", 2, "too many"},
    {FIRST "runs 3 4\nend\n", 2, "too many"},
    {FIRST "end of it\n", 2, "too many"},
    {"hakmem-policy 1 2\nend\n", 1, "too many"},
    {FIRST "depth 4096 3\ndepth 4096 5\nend\n", 3, "second time"},
    {FIRST "class 1040\nclass 1040\nend\n", 3, "second time"},
    {FIRST "close 1040\nclose 1040\nend\n", 3, "second time"},
    {FIRST "site a+0x1 65536\nsite a+0x1 65537\nend\n", 3, "second time"},
    {FIRST "site a+0x1 65535\nend\n", 2, "number"},
    {FIRST "runs 3\nendless 4\nend\n", 3, "begins the line"},
    {FIRST "retain_minimum 4\nend\n", 2, "begins the line"},
    {FIRST "retain 4\nend\n", 2, "begins the line"},
    {FIRST "retain_min 4\nretain_share 2\nretain_min 4\nend\n", 4, "second time"},
    {FIRST "retain_min\nend\n", 2, "number"},
    {FIRST "retain_min # 4\nend\n", 2, "number"},
    {FIRST "retain_min -4\nend\n", 2, "number"},
    {FIRST "retain_min 4k\nend\n", 2, "number"},
    {FIRST "retain_min a\nend\n", 2, "number"},
    {FIRST "retain_min 18446744073709551616\nend\n", 2, "number"}, // 2 to the 64th
    {FIRST "runs 4294967296\nend\n", 2, "number"},
    {FIRST "seconds 184467440737095516160\nend\n", 2, "number"},
    {FIRST "class 15\nend\n", 2, "number"},
    {FIRST "close 1048577\nend\n", 2, "number"},
    {FIRST "depth 4096\nend\n", 2, "number"},
    {FIRST "depth 4096 0\nend\n", 2, "number"},
    {FIRST "depth 4096 128\nend\n", 2, "number"},
    {FIRST "depth 8 4\nend\n", 2, "number"},
    {FIRST "retain_min 4 windws=3\nend\n", 2, "not known"},
    {FIRST "retain_min 4 windows=\nend\n", 2, "not known"},
    {FIRST "retain_min 4 windows=4294967296\nend\n", 2, "not known"},
    {FIRST "retain_min 4 since=-1\nend\n", 2, "not known"},
    {FIRST "retain_min 4 gain=-\nend\n", 2, "not known"},
    {FIRST "retain_min 4 gain=--1\nend\n", 2, "not known"},
    {FIRST "retain_min 4 gain=2147483648\nend\n", 2, "not known"},
    {FIRST "depth 4096 48 deep\nend\n", 2, "not known"},
    {FIRST "class 1040 why=\nend\n", 2, "not known"},
    {FIRST "class 1040 why=sixteen_letters_\nend\n", 2, "too long"},
    {FIRST "program\nend\n", 2, "missing"},
    {FIRST "program " WORD_63 "l\nend\n", 2, "too long"},
    {FIRST "build " WORD_63 "l\nend\n", 2, "too long"},
    {FIRST "site " WORD_63 "l+0x10 65536\nend\n", 2, "too long"},
    {FIRST "site " WORD_63 "%20+0x10 65536\nend\n", 2, "too long"},
    {FIRST "site a%00b+0x10 65536\nend\n", 2, "damaged"},
    {FIRST "site b%00+0x10 65536\nend\n", 2, "damaged"},
    {FIRST "site\nend\n", 2, "call site"},
    {FIRST "site +0x10 65536\nend\n", 2, "call site"},
    {FIRST "site libc.so.6 65536\nend\n", 2, "call site"},
    {FIRST "site libc.so.6+10 65536\nend\n", 2, "call site"},
    {FIRST "site libc.so.6+0x 65536\nend\n", 2, "call site"},
    {FIRST "site libc.so.6+0x10000000000000000 65536\nend\n", 2, "call site"},
    {FIRST "site libc.so.6+0x10\nend\n", 2, "number"},
};

static void damage_is_refused_with_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        const struct damage *damage = &damages[i];
        bool good = parse(damage->text);
        if (good || fault.line != damage->line || strstr(fault.what, damage->what) == NULL)
            fail_msg("%s\nis %s, line %u: %s", damage->text, good ? "accepted" : "refused", fault.line, fault.what);
    }
}

static void words_may_be_so_long(void **state) {
    (void)state;
    assert_true(parse(FIRST "program " WORD_63 "\nbuild " WORD_63 "\nsite " WORD_63 "+0x10 65536 why=fifteen_letters\n"
                            "end\n"));
    assert_string_equal(policy.program, WORD_63);
    assert_string_equal(policy.build, WORD_63);
    assert_string_equal(policy.sites[0].module, WORD_63);
    assert_string_equal(policy.sites[0].evidence.why, "fifteen_letters");
}

static bool accepts_decision(const char *name, size_t number) {
    char text[256];
    snprintf(text, sizeof text, FIRST "%s %zu\nend\n", name, number);
    return parse(text);
}

static void each_decision_keeps_its_limits(void **state) {
    (void)state;
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        const struct decision_row *row = &decision_rows[i];
        assert_true(accepts_decision(row->name, row->least) && policy.values[i].value == row->least);
        assert_true(accepts_decision(row->name, row->most) && policy.values[i].value == row->most);
        assert_true(policy.values[i].is_given);
        assert_false(row->least > 0 && accepts_decision(row->name, row->least - 1));
        assert_false(accepts_decision(row->name, row->most + 1));
        assert_int_equal(fault.line, 2);
    }
}

static bool accepts_lines(const char *line, unsigned count) {
    static char text[16 * 1024];
    strcpy(text, FIRST);
    for (unsigned i = 0; i < count; i++)
        sprintf(text + strlen(text), line, 1040 + 16 * i);
    strcat(text, "end\n");
    return parse(text);
}

static void so_many_lines_of_a_kind_and_no_more(void **state) {
    static const struct {
        const char *line;
        unsigned most;
    } kinds[] = {
        {"class %u\n", CLASS_SPARE_COUNT},
        {"close %u\n", CLASS_COUNT},
        {"depth %u 48\n", POLICY_DEPTHS_MOST},
        {"site a+0x%x 65536\n", POLICY_SITES_MOST},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_true(accepts_lines(kinds[i].line, kinds[i].most));
        assert_false(accepts_lines(kinds[i].line, kinds[i].most + 1));
        assert_int_equal(fault.line, kinds[i].most + 2);
        assert_non_null(strstr(fault.what, "too many"));
    }
}

// ---- any text

static void word_must_end(const char *word, size_t size) {
    assert_non_null(memchr(word, '\0', size));
}

static void classes_must_be_valid(const struct policy_class *classes, unsigned count, unsigned most) {
    assert_in_range(count, 0, most);
    for (unsigned i = 0; i < count; i++) {
        assert_in_range(classes[i].bytes, BLOCK_ALIGN, CLASS_LARGE_MAX);
        word_must_end(classes[i].evidence.why, sizeof classes[i].evidence.why);
    }
}

static void policy_must_be_valid(void) {
    word_must_end(policy.program, sizeof policy.program);
    word_must_end(policy.build, sizeof policy.build);
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        const struct policy_value *value = &policy.values[i];
        if (value->is_given)
            assert_in_range(value->value, decision_rows[i].least, decision_rows[i].most);
        word_must_end(value->evidence.why, sizeof value->evidence.why);
    }
    classes_must_be_valid(policy.classes, policy.class_count, CLASS_SPARE_COUNT);
    classes_must_be_valid(policy.closed, policy.closed_count, CLASS_COUNT);
    assert_in_range(policy.depth_count, 0, POLICY_DEPTHS_MOST);
    for (unsigned i = 0; i < policy.depth_count; i++) {
        assert_in_range(policy.depths[i].bytes, BLOCK_ALIGN, CLASS_LARGE_MAX);
        assert_in_range(policy.depths[i].depth, 1, STACK_MAX_DEPTH);
    }
    assert_in_range(policy.site_count, 0, POLICY_SITES_MOST);
    for (unsigned i = 0; i < policy.site_count; i++) {
        word_must_end(policy.sites[i].module, sizeof policy.sites[i].module);
        assert_in_range(policy.sites[i].threshold_bytes, BLOCK_ALIGN, BIG_THRESHOLD_MAX_BYTES);
    }
}

// Parses, and looks at what comes out: a valid policy, or a fault inside the text. Returns whether it is accepted.
static bool parse_anything(const char *text, size_t length) {
    unsigned lines = 0;
    bool good = parse_bytes(text, length);
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n' || i == length - 1;
    assert_in_range(fault.line, 0, lines);
    assert_int_equal(fault.what[0] == '\0', good);
    if (good)
        policy_must_be_valid();
    return good;
}

static void a_file_cut_anywhere_before_its_end_is_refused(void **state) {
    size_t whole = sizeof example - 2; // but for the last newline
    (void)state;
    for (size_t length = 0; length <= whole; length++)
        assert_int_equal(parse_anything(example, length), length == whole);
}

static void replace_part(char *text, size_t *length, size_t at, size_t gone, const char *part) {
    size_t added = strlen(part);
    memmove(text + at + added, text + at + gone, *length - at - gone);
    memcpy(text + at, part, added);
    *length += added - gone;
}

// Bytes, words, pieces and the end of the text are changed.
static void mutate(struct random *random, char *text, size_t *length) {
    static const char *const words[] = {"\n",
                                        "#",
                                        " end\n",
                                        "0",
                                        "18446744073709551615",
                                        "=",
                                        "\nclass ",
                                        "\nsite ",
                                        "\ndepth ",
                                        "+0x",
                                        "\nprogram ",
                                        "-",
                                        "\nclose ",
                                        " gain=",
                                        " windows=",
                                        " since=",
                                        " why=",
                                        "+",
                                        "\nbuild x",
                                        "\nruns 7 ",
                                        "\nprefault ",
                                        "a",
                                        "\nretain_share ",
                                        "9"};
    char letter[2] = {(char)(1 + random_below(random, 255)), '\0'};
    size_t at = random_below(random, *length + 1), rest = *length - at, few = rest < 8 ? rest : 8;
    switch (random_below(random, 5)) {
    case 0:
        replace_part(text, length, at, rest > 0, letter);
        break;
    case 1:
        replace_part(text, length, at, random_below(random, few + 1), "");
        break;
    case 2:
    case 3:
        replace_part(text, length, at, random_below(random, few + 1), words[random_below(random, COUNT_OF(words))]);
        break;
    default:
        if (random_below(random, 8) == 0)
            *length = at;
        else if (at < *length)
            text[at] = '\0';
    }
}

static void no_text_is_read_beyond_or_means_too_much(void **state) {
    struct random random = random_start();
    unsigned accepted = 0, rounds = 20000;
    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        char text[4 * sizeof example];
        size_t length = sizeof example - 1;
        memcpy(text, example, length);
        for (size_t turns = 1 + random_below(&random, 4); turns > 0; turns--)
            mutate(&random, text, &length);
        accepted += parse_anything(text, length);
    }
    assert_in_range(accepted, rounds / 50, rounds - rounds / 10); // else it does not try what it should
}

static void what_is_given_is_applied_and_nothing_else(void **state) {
    struct snapshot before, after;
    (void)state;
    snapshot_default(&before);
    after = before;
    assert_true(parse(FIRST "retain_min 5\nheadroom_share 9\nend\n"));
    policy_apply(&policy, &after);
    assert_true(after.retain_min == 5 && after.headroom_share == 9);
    before.retain_min = 5;
    before.headroom_share = 9;
    assert_memory_equal(&after, &before, sizeof after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_means_what_it_says),
        cmocka_unit_test(space_and_comments_mean_nothing),
        cmocka_unit_test(what_was_parsed_before_is_forgotten),
        cmocka_unit_test(damage_is_refused_with_its_place),
        cmocka_unit_test(words_may_be_so_long),
        cmocka_unit_test(each_decision_keeps_its_limits),
        cmocka_unit_test(so_many_lines_of_a_kind_and_no_more),
        cmocka_unit_test(a_file_cut_anywhere_before_its_end_is_refused),
        cmocka_unit_test(no_text_is_read_beyond_or_means_too_much),
        cmocka_unit_test(what_is_given_is_applied_and_nothing_else),
    };
    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
