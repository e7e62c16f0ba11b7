// The control group's memory limit: none, its own, and that of a group around it. Where groups can't be made (they take
// root and a writable hierarchy) that part is left out.
#include "unit/unit.h"

#include <sys/stat.h>

#include "base/tuning.h"
#include "sys/os.h"

enum { PATH_BYTES = 600 };

struct hierarchy {
    const char *root;
    const char *limit;
    const char *prefix; // of the line in /proc/self/cgroup; the group follows
};
static const struct hierarchy hierarchies[] = {
    {"/sys/fs/cgroup", "memory.max", "0::"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", ":memory:"},
};

static bool is_group(const char *folder) { // else it is a mere folder, where no hierarchy is mounted
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    return access(path, W_OK) == 0;
}

static bool write_text(const char *folder, const char *name, const char *text) {
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

// The process's own group's folder; false: not in this hierarchy.
static bool own_group(const struct hierarchy *hierarchy, char *folder) {
    char line[PATH_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *group = strstr(line, hierarchy->prefix);
        found = group != NULL && (hierarchy->prefix[0] == ':' || group == line);
        if (found) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(folder, PATH_BYTES, "%s%s", hierarchy->root, group + strlen(hierarchy->prefix));
        }
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static void in_groups_of_its_own(void *context) {
    const struct hierarchy *hierarchy = context;
    char outer[2 * PATH_BYTES], inner[3 * PATH_BYTES], own[PATH_BYTES], number[32];
    if (!own_group(hierarchy, own))
        return;
    snprintf(outer, sizeof outer, "%s/hakmem-test-%d", own, (int)getpid());
    snprintf(inner, sizeof inner, "%s/inner", outer);
    if (!is_group(own) || mkdir(outer, 0755) != 0)
        return;
    size_t before = os_cgroup_memory_bytes();
    snprintf(number, sizeof number, "%d", (int)getpid());
    if (write_text(outer, hierarchy->limit, "268435456") && mkdir(inner, 0755) == 0 &&
        write_text(inner, "cgroup.procs", number)) {
        MUST(before > 256 * MIB);
        MUST(os_cgroup_memory_bytes() == 256 * MIB); // of the group around it
        MUST(write_text(inner, hierarchy->limit, "134217728"));
        MUST(os_cgroup_memory_bytes() == 128 * MIB);
        MUST(write_text(own, "cgroup.procs", number));
        MUST(os_cgroup_memory_bytes() == before);
        fprintf(stderr, "%s: groups were made\n", hierarchy->root);
    }
    rmdir(inner);
    rmdir(outer);
}

static void the_least_limit_around_counts(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hierarchies); i++)
        child_must_succeed(in_groups_of_its_own, (void *)(uintptr_t)&hierarchies[i]);
}

static void it_leaves_errno_alone(void **state) {
    (void)state;
    errno = UNTOUCHED;
    assert_true(os_cgroup_memory_bytes() > 0);
    assert_int_equal(errno, UNTOUCHED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_around_counts),
        cmocka_unit_test(it_leaves_errno_alone),
    };
    return cmocka_run_group_tests_name("os_cgroup", tests, NULL, NULL);
}
