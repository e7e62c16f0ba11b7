// Checks policy files, and merges several into one: by the library's own code.
//
// usage: policy check FILE...      says what is wrong with each; ends with 1 where something is
//        policy merge FILE...      prints one file made of all; each counts by what it was learned from
//        policy depth BYTES...     prints the default depth of each class
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/say.h"
#include "policy/policy.h"
#include "sys/os.h"

#define FILE_BYTES (1 << 20)

static char text[FILE_BYTES];

// What sys/report.c asks of the system.
bool os_write(int descriptor, const char *from, size_t length) {
    return fwrite(from, 1, length, descriptor == 2 ? stderr : stdout) == length;
}

static bool read_policy(const char *path, struct policy *policy) {
    struct policy_fault fault;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "hakmem: %s: it can't be read\n", path);
        return false;
    }
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    if (policy_parse(text, length, policy, &fault))
        return true;
    fprintf(stderr, "hakmem: policy file %s, line %u: %s%s%s\n", path, fault.line, fault.what,
            fault.wanted[0] != '\0' ? "; wanted: " : "", fault.wanted);
    return false;
}

static int check(char **paths) {
    static struct policy policy;
    int status = 0;
    for (; *paths != NULL; paths++)
        status |= !read_policy(*paths, &policy);
    return status;
}

static int merge(char **paths) {
    static struct policy merged, next;
    struct report report;
    if (!read_policy(*paths, &merged))
        return 1;
    for (paths++; *paths != NULL; paths++) {
        if (!read_policy(*paths, &next))
            return 1;
        policy_merge(&merged, &next);
    }
    report_to_descriptor(&report, 1);
    say_policy(&report, &merged);
    report_end(&report);
    return 0;
}

static int depth(char **words) {
    static struct snapshot snapshot;
    for (; *words != NULL; words++) {
        snapshot_default_depth(&snapshot, CLASS_FIRST, strtoul(*words, NULL, 10));
        printf("%u\n", snapshot.depth[CLASS_FIRST]);
    }
    return 0;
}

int main(int count, char **words) {
    if (count >= 3 && strcmp(words[1], "check") == 0)
        return check(words + 2);
    if (count >= 3 && strcmp(words[1], "merge") == 0)
        return merge(words + 2);
    if (count >= 3 && strcmp(words[1], "depth") == 0)
        return depth(words + 2);
    fprintf(stderr, "usage: policy check FILE... | policy merge FILE... | policy depth BYTES...\n");
    return 2;
}
