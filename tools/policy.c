// Checks policy files, and merges several into one: by the library's own code.
//
// usage: policy check FILE...      says what is wrong with each; ends with 1 where something is
//        policy merge FILE...      prints one file made of all; each counts by what it was learned from
//        policy depth BYTES...     prints the default depth of each class
#include <errno.h>
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
int os_write(int descriptor, const char *from, size_t length) {
    return fwrite(from, 1, length, descriptor == 2 ? stderr : stdout) == length ? 0 : errno;
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

static int by_time(const void *one, const void *other) {
    const struct policy *first = one, *second = other;
    return first->seconds != second->seconds ? (first->seconds < second->seconds) - (first->seconds > second->seconds)
                                             : (first->runs < second->runs) - (first->runs > second->runs);
}

// What was learned longest comes first, in whatever order they are named; whose it is says the first one named.
static int merge(char **paths, size_t count) {
    struct policy *policies = calloc(count, sizeof *policies);
    struct report report;
    bool good = policies != NULL;
    for (size_t i = 0; i < count && good; i++)
        good = read_policy(paths[i], &policies[i]);
    if (good) {
        struct policy first = policies[0];
        qsort(policies, count, sizeof *policies, by_time);
        memcpy(policies[0].program, first.program, sizeof first.program);
        memcpy(policies[0].build, first.build, sizeof first.build);
        for (size_t i = 1; i < count; i++)
            policy_merge(&policies[0], &policies[i], UINT32_MAX);
        report_to_descriptor(&report, 1);
        say_policy(&report, &policies[0]);
        report_end(&report);
    }
    free(policies);
    return !good;
}

static int depth(char **words) {
    for (; *words != NULL; words++)
        printf("%u\n", snapshot_usual_depth(strtoul(*words, NULL, 10)));
    return 0;
}

int main(int count, char **words) {
    if (count >= 3 && strcmp(words[1], "check") == 0)
        return check(words + 2);
    if (count >= 3 && strcmp(words[1], "merge") == 0)
        return merge(words + 2, (size_t)count - 2);
    if (count >= 3 && strcmp(words[1], "depth") == 0)
        return depth(words + 2);
    fprintf(stderr, "usage: policy check FILE... | policy merge FILE... | policy depth BYTES...\n");
    return 2;
}
