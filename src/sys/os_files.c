// Files that are written as a whole, by many processes at once.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/os.h"
#include "sys/report.h"

#define PATH_BYTES 1024

static bool write_all(int file, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

// path and ending, the process's number between where `ending` is NULL.
static bool path_with(char *path, const char *stem, const char *ending) {
    struct report report;
    report_to_memory(&report, path, PATH_BYTES);
    report_text(&report, stem);
    report_text(&report, ending != NULL ? ending : ".");
    if (ending == NULL)
        report_number(&report, os_process_id());
    report_end(&report);
    return report.length < PATH_BYTES;
}

bool os_replace_file(const char *path, const char *text, size_t length) {
    char draft[PATH_BYTES];
    int saved = errno;
    int file =
        path_with(draft, path, NULL) ? open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644) : -1;
    bool written = file >= 0 && write_all(file, text, length);
    if (file >= 0)
        written = close(file) == 0 && written;
    bool replaced = written && rename(draft, path) == 0;
    if (file >= 0 && !replaced)
        unlink(draft);
    errno = saved;
    return replaced;
}

int os_lock_file(const char *path) {
    char lock[PATH_BYTES];
    int saved = errno;
    int file = path_with(lock, path, ".lock") ? open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644) : -1;
    while (file >= 0 && flock(file, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        close(file);
        file = -1;
    }
    errno = saved;
    return file;
}
