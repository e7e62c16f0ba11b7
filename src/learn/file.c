// Policy files. All memory is static: they are read before the first block, and written after the last.
#include "learn/file.h"

#include <errno.h>
#include <string.h>

#include "learn/say.h"
#include "sys/options.h"
#include "sys/os.h"
#include "sys/report.h"

#define FILE_BYTES (32 * 1024)
#define PATH_BYTES 1024
#define BUILD_LETTERS 12 // of a build id in a file's name

static char file_text[FILE_BYTES];
static char file_path[PATH_BYTES];
static bool is_found;    // file_path is the program's
static int unread_error; // why it could not be read at the start, which was said
static int write_error;
static char other_owner[POLICY_WORD_LENGTH]; // whose the file was that was to be written; empty: ours

static void say_begin(struct report *report) {
    report_to_descriptor(report, os_noted_standard_error()); // it may be a file of the program by now
    report_text(report, "hakmem: policy file ");
    report_text(report, file_path);
}

static void say_end(struct report *report, const char *wanted) {
    if (wanted[0] != '\0') {
        report_text(report, "; wanted: ");
        report_text(report, wanted);
    }
    report_text(report, "\n");
    report_end(report);
}

static void say_wrong(const char *what, const char *wanted, unsigned line) {
    struct report report;
    say_begin(&report);
    if (line > 0) {
        report_text(&report, ", line ");
        report_number(&report, line);
    }
    report_text(&report, ": ");
    report_text(&report, what);
    say_end(&report, wanted);
}

// Why a file can't be read or written, and what would be right.
struct reason {
    int error;
    const char *what;
    const char *wanted;
};

static const struct reason *reason_of(int error) {
    static const struct reason reasons[] = {
        {ENOENT, "there is no such folder", "a folder that exists"},
        {ENOTDIR, "there is no such folder", "a folder that exists"},
        {EACCES, "not permitted", "a file that may be read, in a folder that may be written to"},
        {EPERM, "not permitted", "a file that may be read, in a folder that may be written to"},
        {EROFS, "the file system is read-only", "a folder that may be written to"},
        {ENOSPC, "no space is left", ""},
        {EDQUOT, "no space is left", ""},
        {EFBIG, "it would be larger than files may become", "a larger limit (ulimit -f)"},
        {ENAMETOOLONG, "its name is too long", "at most 1023 letters, endings of ours among them"},
        {ELOOP, "it is a link that leads nowhere, or its lock is a link", "a plain file"},
        {EINVAL, "it is no plain file", "a file, or a folder's name that ends with /"},
        {ETIMEDOUT, "another process keeps its lock", "that process to go on, or to end"},
        {EMFILE, "too many files are open", "a larger limit (ulimit -n)"},
        {ENFILE, "too many files are open", ""},
        {0, "the system can't", "another folder"},
    };
    unsigned i = 0;
    while (reasons[i].error != error && reasons[i].error != 0)
        i++;
    return &reasons[i];
}

static void say_impossible(const char *what, int error) {
    const struct reason *reason = reason_of(error);
    struct report report;
    say_begin(&report);
    report_text(&report, what);
    report_text(&report, reason->what);
    if (reason->error == 0) {
        report_text(&report, " (error ");
        report_number(&report, (uint64_t)error);
        report_text(&report, ")");
    }
    say_end(&report, reason->wanted);
}

// The program may go elsewhere, and its name be lost: so it is found once.
bool file_find(void) {
    char name[POLICY_WORD_LENGTH], build[POLICY_WORD_LENGTH], start_folder[PATH_BYTES];
    size_t length = strlen(options.policy);
    struct report report;
    is_found = false;
    if (length == 0)
        return false;
    os_note_standard_error();
    os_keep_program_name();
    os_note_modules();
    report_to_memory(&report, file_path, sizeof file_path);
    if (options.policy[0] != '/') {
        os_working_folder(start_folder, sizeof start_folder);
        report_text(&report, start_folder);
        report_text(&report, start_folder[0] != '\0' ? "/" : "");
    }
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
    is_found = report.length < sizeof file_path;
    if (!is_found)
        say_wrong("its name is too long", "at most 1023 letters", 0);
    return is_found;
}

enum found {
    FOUND_NOTHING,
    FOUND_POLICY,
    FOUND_DAMAGED,
    FOUND_FOREIGN, // its first line is not that of a policy of this version
    FOUND_UNREADABLE,
};

// Reads the file that was found; what is wrong with it is in *fault, or in *error that it can't be read.
static enum found read_found(struct policy *policy, struct policy_fault *fault, int *error) {
    long length = os_read_plain_file(file_path, file_text, sizeof file_text);
    *error = length < 0 && length != -ENOENT ? (int)-length : 0;
    if (length == 0 || length == -ENOENT)
        return FOUND_NOTHING;
    if (*error != 0)
        return FOUND_UNREADABLE;
    if (policy_parse(file_text, (size_t)length, policy, fault))
        return FOUND_POLICY;
    return fault->is_foreign ? FOUND_FOREIGN : FOUND_DAMAGED;
}

// A file that was named may be another program's: that of the parent, or of a child.
static bool is_of(const struct policy *policy, const struct policy *program) {
    return policy->program[0] == '\0' || strcmp(policy->program, program->program) == 0;
}

static bool is_of_build(const struct policy *policy, const struct policy *program) {
    return policy->build[0] == '\0' || strcmp(policy->build, program->build) == 0;
}

bool file_read(struct policy *policy) {
    static struct policy program; // too large for small stacks
    struct policy_fault fault;
    if (!is_found)
        return false;
    file_name_program(&program);
    enum found found = read_found(policy, &fault, &unread_error);
    if (found == FOUND_UNREADABLE) {
        say_impossible(": it can't be read: ", unread_error);
    } else if (found == FOUND_POLICY && is_of(policy, &program)) {
        if (is_of_build(policy, &program))
            return true;
        say_wrong("it was learned from another build of the program and is not used", "learn it anew", 0);
    } else if (found == FOUND_DAMAGED || found == FOUND_FOREIGN) {
        say_wrong(fault.what, fault.wanted, fault.line);
    }
    memset(policy, 0, sizeof *policy);
    return false;
}

// As one word: a file's line ends a name at a space.
static void make_word(char *name) {
    for (; *name != '\0'; name++)
        if ((unsigned char)*name <= ' ' || *name == '#')
            *name = '_';
}

void file_name_program(struct policy *policy) {
    os_program_name(policy->program, sizeof policy->program);
    make_word(policy->program);
    os_program_build(policy->build, sizeof policy->build);
}

static bool decides_nothing(const struct policy *policy) {
    unsigned given = policy->class_count + policy->closed_count + policy->depth_count + policy->site_count;
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        given += policy->values[i].is_given;
    return given == 0;
}

// A shell around the program may be the first to write the file that was named, after moments: then that was not meant.
// What nobody learned is somebody's hand.
static bool gives_way(const struct policy *other, const struct policy *policy) {
    return other->runs > 0 && other->seconds == 0 && policy->seconds > 0 && !decides_nothing(policy);
}

// What can't be merged with what was learned, and is of use perhaps to somebody, gets another name.
static int make_room(enum found found, bool is_of_build) {
    if (found == FOUND_DAMAGED)
        return os_keep_aside(file_path, ".damaged");
    return found == FOUND_POLICY && !is_of_build ? os_keep_aside(file_path, ".old") : 0;
}

// With the file's lock, or minus the error number why there is none: then what is another's is left alone all the same,
// as is what can't be read. A damaged policy, which was said at the start, and that of another build are kept under
// another name; what is none is left alone. Returns 0, or the error number.
static int write_merged(const struct policy *policy, int lock) {
    static struct policy merged;
    struct report report;
    struct policy_fault fault;
    int error;
    enum found found = read_found(&merged, &fault, &error);
    bool is_other = found == FOUND_POLICY && !is_of(&merged, policy);
    if (found == FOUND_FOREIGN)
        return 0;
    if (found == FOUND_UNREADABLE)
        return error;
    if (is_other && !gives_way(&merged, policy)) {
        memcpy(other_owner, merged.program, sizeof other_owner);
        return 0;
    }
    if (lock < 0)
        return -lock;
    bool may_merge = found == FOUND_POLICY && !is_other && is_of_build(&merged, policy);
    if ((error = make_room(found, is_other || may_merge)) != 0)
        return error;
    if (may_merge)
        policy_merge(&merged, policy, POLICY_FILE_MOST);
    else
        merged = *policy;
    report_to_memory(&report, file_text, sizeof file_text);
    say_policy(&report, &merged);
    report_end(&report);
    return report.length < sizeof file_text ? os_replace_file(file_path, file_text, report.length) : EFBIG;
}

bool file_write(const struct policy *policy) {
    other_owner[0] = '\0';
    if (!is_found)
        return false;
    int error = os_follow_links(file_path, sizeof file_path);
    int lock = error == 0 ? os_lock_file(file_path) : -error;
    error = write_merged(policy, lock);
    if (lock >= 0)
        os_unlock_file(lock);
    if (error != 0 && error != unread_error)
        say_impossible(": it can't be written: ", error);
    write_error = error;
    return error == 0;
}

int file_error(void) {
    return write_error != 0 ? write_error : other_owner[0] != '\0' ? EEXIST : 0;
}

void file_say_signal(unsigned number) {
    struct report report;
    say_begin(&report);
    report_text(&report, ": it can't be written by signal ");
    report_number(&report, number);
    report_text(&report, " (option policy_signal), which the program has, or which can't be caught");
    say_end(&report, "another one, SIGUSR1 (10) or SIGUSR2 (12) for example");
}

void file_say_not_written(const struct policy *policy) {
    struct report report;
    if (other_owner[0] == '\0' || decides_nothing(policy))
        return;
    say_begin(&report);
    report_text(&report, ": it belongs to ");
    report_text(&report, other_owner);
    report_text(&report, ", so what ");
    report_text(&report, policy->program);
    report_text(&report, " learned is not in it");
    say_end(&report, "another file, or a folder (its name ends with /) for a file per program");
}
