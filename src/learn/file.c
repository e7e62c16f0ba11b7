// Policy files. All memory is static: they are read before the first block, and written after the last.
#include "learn/file.h"

#include <string.h>

#include "sys/options.h"
#include "sys/os.h"
#include "sys/report.h"

#define FILE_BYTES (32 * 1024)
#define PATH_BYTES 1024
#define BUILD_LETTERS 12 // of a build id in a file's name

static char file_text[FILE_BYTES];
static char file_path[PATH_BYTES];

static void say_wrong(const char *what, const char *wanted, unsigned line) {
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem: policy file ");
    report_text(&report, file_path);
    if (line > 0) {
        report_text(&report, ", line ");
        report_number(&report, line);
    }
    report_text(&report, ": ");
    report_text(&report, what);
    if (wanted[0] != '\0') {
        report_text(&report, "; wanted: ");
        report_text(&report, wanted);
    }
    report_text(&report, "\n");
    report_end(&report);
}

// The option's file, or the program's in the option's folder. False: no file is named, or its name is too long.
static bool file_find(void) {
    char name[POLICY_WORD_LENGTH], build[POLICY_WORD_LENGTH];
    size_t length = strlen(options.policy);
    struct report report;
    if (length == 0)
        return false;
    report_to_memory(&report, file_path, sizeof file_path);
    report_text(&report, options.policy);
    if (options.policy[length - 1] == '/') {
        os_program_name(name, sizeof name);
        os_program_build(build, sizeof build);
        build[BUILD_LETTERS] = '\0';
        report_text(&report, name);
        report_text(&report, build[0] != '\0' ? "-" : "");
        report_text(&report, build);
        report_text(&report, ".policy");
    }
    report_end(&report);
    if (report.length < sizeof file_path)
        return true;
    say_wrong("its name is too long", "at most 1023 letters", 0);
    return false;
}

bool file_read(struct policy *policy) {
    struct policy_fault fault;
    if (!file_find())
        return false;
    os_read_file(file_path, file_text, sizeof file_text);
    size_t length = strlen(file_text);
    if (length == 0) // none yet
        return false;
    if (policy_parse(file_text, length, policy, &fault))
        return true;
    say_wrong(fault.what, fault.wanted, fault.line);
    return false;
}

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

static void say_sites(struct report *report, const struct policy *policy) {
    for (unsigned i = 0; i < policy->site_count; i++) {
        const struct policy_site *site = &policy->sites[i];
        report_text(report, "site ");
        report_text(report, site->module);
        report_text(report, "+");
        report_address(report, site->offset);
        say_line(report, "", site->threshold_bytes);
        say_evidence(report, &site->evidence);
    }
}

static void say_names(struct report *report, const struct policy *policy) {
    if (policy->program[0] != '\0') {
        report_text(report, "program ");
        report_text(report, policy->program);
        report_text(report, "\n");
    }
    if (policy->build[0] != '\0') {
        report_text(report, "build ");
        report_text(report, policy->build);
        report_text(report, "\n");
    }
}

static void say_policy(struct report *report, const struct policy *policy) {
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

bool file_write(const struct policy *policy) {
    struct report report;
    if (!file_find())
        return false;
    report_to_memory(&report, file_text, sizeof file_text);
    say_policy(&report, policy);
    report_end(&report);
    int lock = os_lock_file(file_path);
    bool written = report.length < sizeof file_text && os_replace_file(file_path, file_text, report.length);
    if (lock >= 0)
        os_close(lock);
    if (!written)
        say_wrong("it can't be written", "a folder that exists and may be written to", 0);
    return written;
}
