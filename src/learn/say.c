// Says a policy as the text of a file (policy/policy.h).
#include "learn/say.h"

static void say_line(struct report *report, const char *word, uint64_t number) {
    report_text(report, word);
    report_text(report, " ");
    report_number(report, number);
}

static void say_evidence(struct report *report, const struct evidence *evidence) {
    if (evidence->windows > 0) {
        report_text(report, " windows=");
        report_number(report, evidence->windows);
    }
    if (evidence->gain_permille != 0) {
        report_text(report, evidence->gain_permille < 0 ? " gain=-" : " gain=");
        report_number(report, (uint64_t)(evidence->gain_permille < 0 ? -(int64_t)evidence->gain_permille
                                                                     : evidence->gain_permille));
    }
    if (evidence->since_seconds > 0) {
        report_text(report, " since=");
        report_number(report, evidence->since_seconds);
    }
    if (evidence->why[0] != '\0') {
        report_text(report, " why=");
        report_text(report, evidence->why);
    }
    report_text(report, "\n");
}

static void say_classes(struct report *report, const char *word, const struct policy_class *classes, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        say_line(report, word, classes[i].bytes);
        say_evidence(report, &classes[i].evidence);
    }
}

// A name as one word: what would end it, or begin a comment, becomes an underscore.
static void say_word(struct report *report, const char *name) {
    char letter[2] = {0, 0};
    for (; *name != '\0'; name++) {
        letter[0] = (unsigned char)*name <= ' ' || *name == '#' ? '_' : *name;
        report_text(report, letter);
    }
}

// A module's name so that it reads as what it is: what would end a word, or begin a comment, by its number.
static void say_module(struct report *report, const char *name) {
    char number[4] = {'%', 0, 0, 0}, letter[2] = {0, 0};
    for (; *name != '\0'; name++) {
        unsigned code = (unsigned char)*name;
        letter[0] = *name;
        number[1] = "0123456789abcdef"[code >> 4];
        number[2] = "0123456789abcdef"[code & 15];
        report_text(report, code <= ' ' || code == '#' || code == '%' ? number : letter);
    }
}

static void say_sites(struct report *report, const struct policy *policy) {
    for (unsigned i = 0; i < policy->site_count; i++) {
        const struct policy_site *site = &policy->sites[i];
        report_text(report, "site ");
        say_module(report, site->module);
        report_text(report, "+");
        report_address(report, site->offset);
        say_line(report, "", site->threshold_bytes);
        say_evidence(report, &site->evidence);
    }
}

static void say_names(struct report *report, const struct policy *policy) {
    if (policy->program[0] != '\0') {
        report_text(report, "program ");
        say_word(report, policy->program);
        report_text(report, "\n");
    }
    if (policy->build[0] != '\0') {
        report_text(report, "build ");
        say_word(report, policy->build);
        report_text(report, "\n");
    }
}

void say_policy(struct report *report, const struct policy *policy) {
    static const struct evidence none = {0};
    say_line(report, "hakmem-policy", POLICY_VERSION);
    report_text(report, "\n");
    say_names(report, policy);
    say_line(report, "runs", policy->runs);
    say_line(report, "\nseconds", policy->seconds);
    report_text(report, "\n");
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        if (!policy->values[i].is_given)
            continue;
        say_line(report, decision_rows[i].name, policy->values[i].value);
        say_evidence(report, &policy->values[i].evidence);
    }
    say_classes(report, "class", policy->classes, policy->class_count);
    say_classes(report, "close", policy->closed, policy->closed_count);
    for (unsigned i = 0; i < policy->depth_count; i++) {
        say_line(report, "depth", policy->depths[i].bytes);
        say_line(report, "", policy->depths[i].depth);
        say_evidence(report, &none);
    }
    say_sites(report, policy);
    report_text(report, "end\n");
}
