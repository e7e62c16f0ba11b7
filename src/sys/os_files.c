// Files that are written as a whole, by many processes at once.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/os.h"
#include "sys/report.h"

#define PATH_BYTES 1024

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

// Devices, sockets and the like stay what they are.
static bool may_be_replaced(const char *path) {
    struct stat now;
    return stat(path, &now) != 0 ? errno == ENOENT : S_ISREG(now.st_mode);
}

// By number, as the calls below: the C library's functions would end a thread here that somebody has cancelled.
static int open_file(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0644);
}

bool os_replace_file(const char *path, const char *text, size_t length) {
    char draft[PATH_BYTES];
    int saved = errno;
    bool may_be = may_be_replaced(path) && path_with(draft, path, NULL);
    int file = may_be ? open_file(draft, O_WRONLY | O_TRUNC) : -1;
    bool written = file >= 0 && os_write(file, text, length);
    if (file >= 0)
        written = syscall(SYS_close, file) == 0 && written;
    bool replaced = written && rename(draft, path) == 0;
    if (file >= 0 && !replaced)
        unlink(draft);
    errno = saved;
    return replaced;
}

int os_lock_file(const char *path) {
    char lock[PATH_BYTES];
    int saved = errno;
    int file = path_with(lock, path, ".lock") ? open_file(lock, O_RDWR) : -1;
    while (file >= 0 && flock(file, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        syscall(SYS_close, file);
        file = -1;
    }
    errno = saved;
    return file;
}

void os_unlock_file(int lock) {
    int saved = errno;
    flock(lock, LOCK_UN); // a fork child has the same open file
    syscall(SYS_close, lock);
    errno = saved;
}
