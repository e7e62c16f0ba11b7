// The memory limit of the control group that the process runs in, of either version.
#include <string.h>

#include "sys/os.h"

#define CGROUP_PATH_BYTES 512

struct cgroup_kind {
    const char *controllers; // as in the second field of a line of /proc/self/cgroup
    const char *root;
    const char *file;
};
static const struct cgroup_kind cgroup_kinds[] = {
    {"", "/sys/fs/cgroup", "/memory.max"},
    {"memory", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes"},
};

// SIZE_MAX: no limit ("max"), or no such file.
static size_t cgroup_limit_in(const char *path) {
    char text[32];
    os_read_file(path, text, sizeof text);
    size_t limit = text[0] >= '0' && text[0] <= '9' ? os_read_number(text) : 0;
    return limit == 0 ? SIZE_MAX : limit;
}

static size_t append(char *path, size_t length, const char *text, size_t count) {
    if (length + count >= CGROUP_PATH_BYTES)
        return length;
    memcpy(path + length, text, count);
    path[length + count] = '\0';
    return length + count;
}

// The least limit of a group and those around it. `group` begins with a slash. Inside of a container it may be a path
// of the host: then only the root's file is there.
static size_t cgroup_limit_of(const struct cgroup_kind *kind, const char *group, size_t group_length) {
    char path[CGROUP_PATH_BYTES];
    size_t least = SIZE_MAX;
    while (group_length > 0 && group[group_length - 1] == '/')
        group_length--;
    for (bool at_root = false; !at_root;) {
        at_root = group_length == 0;
        size_t length = append(path, 0, kind->root, strlen(kind->root));
        length = append(path, length, group, group_length);
        append(path, length, kind->file, strlen(kind->file));
        size_t limit = cgroup_limit_in(path);
        least = limit < least ? limit : least;
        while (group_length > 0 && group[--group_length] != '/')
            ;
    }
    return least;
}

// A line of /proc/self/cgroup: number:controllers:group. SIZE_MAX: not about memory.
static size_t cgroup_limit_of_line(const char *line, size_t length) {
    const char *controllers = memchr(line, ':', length);
    if (controllers == NULL)
        return SIZE_MAX;
    controllers++;
    const char *group = memchr(controllers, ':', (size_t)(line + length - controllers));
    if (group == NULL)
        return SIZE_MAX;
    size_t controllers_length = (size_t)(group - controllers);
    group++;
    for (size_t i = 0; i < sizeof cgroup_kinds / sizeof cgroup_kinds[0]; i++) {
        const char *wanted = cgroup_kinds[i].controllers;
        if (strlen(wanted) == controllers_length && memcmp(wanted, controllers, controllers_length) == 0)
            return cgroup_limit_of(&cgroup_kinds[i], group, (size_t)(line + length - group));
    }
    return SIZE_MAX;
}

size_t os_cgroup_memory_bytes(void) {
    char text[2048];
    size_t least = SIZE_MAX;
    os_read_file("/proc/self/cgroup", text, sizeof text);
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        size_t limit = cgroup_limit_of_line(line, length);
        least = limit < least ? limit : least;
        line += length + (line[length] == '\n');
    }
    return least;
}
