// For tests of files: a folder for each test, and children beside it.
#ifndef TESTS_UNIT_SYS_IN_FOLDER_H
#define TESTS_UNIT_SYS_IN_FOLDER_H

#include "unit/unit.h"

#include <dirent.h>

enum { PATH_BYTES = 256, WRITERS = 4 };

static char folder[PATH_BYTES], file_path[PATH_BYTES + 8];

UNUSED static int begin(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hakmem-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file_path, sizeof file_path, "%s/file", folder);
    return 0;
}

// Calls back for each name in the folder; returns how many there are.
UNUSED static unsigned each_name(void (*found)(const char *name)) {
    unsigned count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (found != NULL)
            found(entry->d_name);
    }
    closedir(directory);
    return count;
}

UNUSED static void remove_name(const char *name) {
    char path[2 * PATH_BYTES + 8];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(remove(path), 0);
}

UNUSED static int end(void **state) {
    (void)state;
    each_name(remove_name);
    return rmdir(folder);
}

UNUSED static pid_t start_child(void (*body)(void *context), void *context) {
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        body(context);
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

UNUSED static void wait_for_child(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
