// Files that are written as a whole, by many processes at once.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/tuning.h"
#include "sys/os.h"
#include "sys/report.h"

#define PATH_BYTES 1024
#define LINKS_MOST 8
#define RIGHTS 0777      // of a file's mode
#define STANDARD_COUNT 3 // descriptors 0 to 2

static bool path_with(char *path, const char *stem, const char *ending) {
    struct report report;
    report_to_memory(&report, path, PATH_BYTES);
    report_text(&report, stem);
    report_text(&report, ending);
    report_end(&report);
    return report.length < PATH_BYTES;
}

// Devices, sockets and the like stay what they are. What is there is in *now; all zero: nothing is.
static int may_be_replaced(const char *path, struct stat *now) {
    if (lstat(path, now) == 0)
        return S_ISREG(now->st_mode) ? 0 : EINVAL;
    memset(now, 0, sizeof *now);
    return errno == ENOENT ? 0 : errno;
}

// Puts what a link leads to in its path's place: relative to the link's folder, unless it begins at the root.
static int follow_link(char *path, size_t size) {
    char target[PATH_BYTES];
    ssize_t length = readlink(path, target, sizeof target);
    if (length < 0)
        return errno;
    const char *slash = strrchr(path, '/');
    size_t folder = target[0] != '/' && slash != NULL ? (size_t)(slash + 1 - path) : 0;
    if (folder + (size_t)length >= size)
        return ENAMETOOLONG;
    memcpy(path + folder, target, (size_t)length);
    path[folder + (size_t)length] = '\0';
    return 0;
}

int os_follow_links(char *path, size_t size) {
    struct stat now;
    int saved = errno, error = 0;
    bool is_link = lstat(path, &now) == 0 && S_ISLNK(now.st_mode);
    if (is_link && stat(path, &now) != 0) // also where the system lets nobody follow it
        error = errno == ENOENT ? ELOOP : errno;
    for (unsigned i = 0; is_link && error == 0 && i < LINKS_MOST; i++) {
        error = follow_link(path, size);
        is_link = error == 0 && lstat(path, &now) == 0 && S_ISLNK(now.st_mode);
    }
    errno = saved;
    return error != 0 ? error : is_link ? ELOOP : 0;
}

// By number, as the calls below: the C library's functions would end a thread here that somebody has cancelled.
// Returns the descriptor, or minus the error number.
static int open_file_anywhere(const char *path, int flags, unsigned mode) {
    long file = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
    return file >= 0 ? (int)file : -errno;
}

// Fills those of the numbers of standard input, output and error that are closed with what can be neither read nor
// written: a thread of the program may still use them, and had our file there otherwise. Returns how many it took.
static unsigned take_standard(int *taken) {
    unsigned count = 0;
    while (count < STANDARD_COUNT && (taken[count] = open_file_anywhere("/", O_PATH, 0)) >= 0)
        if (taken[count++] >= STANDARD_COUNT)
            break;
    return count;
}

// To where programs keep none of their own, and their limit allows that.
static int move_high(int file) {
    int high = fcntl(file, F_DUPFD_CLOEXEC, OS_KEPT_LOWEST);
    if (high < 0)
        return file;
    syscall(SYS_close, file);
    return high;
}

static int open_file(const char *path, int flags, unsigned mode) {
    int taken[STANDARD_COUNT];
    unsigned count = take_standard(taken);
    int file = open_file_anywhere(path, flags, mode);
    if (file >= 0)
        file = move_high(file);
    while (count > 0)
        syscall(SYS_close, taken[--count]);
    return file;
}

// Returns how much was read, or minus the error number.
static long read_plain(int file, char *text, size_t size) {
    struct stat facts;
    size_t length = 0;
    if (fstat(file, &facts) != 0)
        return -errno;
    if (!S_ISREG(facts.st_mode))
        return -EINVAL;
    while (length < size) {
        long got = syscall(SYS_read, file, text + length, size - length);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    return (long)length;
}

long os_read_plain_file(const char *path, char *text, size_t size) {
    int saved = errno, file = open_file(path, O_RDONLY, 0);
    long length = file < 0 ? file : read_plain(file, text, size - 1);
    if (file >= 0)
        syscall(SYS_close, file);
    text[length > 0 ? length : 0] = '\0';
    errno = saved;
    return length == -ENXIO ? -EINVAL : length; // a socket
}

// A file that would become larger than the process may write (ulimit -f) is an error, and not the program's end: the
// signal that says so is blocked and taken. Not one that came before, which the program blocks itself.
static int write_without_signal(int file, const char *text, size_t length) {
    static const struct timespec at_once = {0, 0};
    sigset_t limit, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    bool was_pending = sigismember(&before, SIGXFSZ) && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ);
    int error = os_write(file, text, length);
    if (error == EFBIG && !was_pending)
        syscall(SYS_rt_sigtimedwait, &limit, NULL, &at_once, NSIG / 8);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

// Whose file it was and who might read it stays, as far as the process may say so.
static void keep_rights(int file, const struct stat *before) {
    struct stat now;
    if (before->st_nlink == 0 || fstat(file, &now) != 0)
        return;
    if (now.st_uid != before->st_uid || now.st_gid != before->st_gid)
        syscall(SYS_fchown, file, before->st_uid, before->st_gid);
    if ((now.st_mode & RIGHTS) != (before->st_mode & RIGHTS))
        fchmod(file, before->st_mode & RIGHTS);
}

static int write_and_close(int file, const char *text, size_t length) {
    int error = write_without_signal(file, text, length);
    bool is_closed = syscall(SYS_close, file) == 0; // where some file systems say that the disk is full
    return error != 0 || is_closed ? error : errno;
}

// The draft has the same name each time, since who has the lock is alone: one that is there was left by a process that
// was killed.
static int replace_by_draft(const char *path, const char *draft, const struct stat *before, const char *text,
                            size_t length) {
    unlink(draft);
    int file = open_file(draft, O_WRONLY | O_CREAT | O_EXCL, before->st_nlink == 0 ? 0644 : before->st_mode & RIGHTS);
    if (file < 0)
        return -file;
    keep_rights(file, before);
    int error = write_and_close(file, text, length);
    if (error == 0 && rename(draft, path) != 0)
        error = errno;
    if (error != 0)
        unlink(draft);
    return error;
}

int os_replace_file(const char *path, const char *text, size_t length) {
    char draft[PATH_BYTES];
    struct stat before;
    int saved = errno, error = may_be_replaced(path, &before);
    if (error == 0 && !path_with(draft, path, ".draft"))
        error = ENAMETOOLONG;
    if (error == 0)
        error = replace_by_draft(path, draft, &before, text, length);
    errno = saved;
    return error;
}

bool os_handle_signal(int number, void (*handler)(int number)) {
    struct sigaction now, wanted = {.sa_handler = handler, .sa_flags = SA_RESTART};
    int saved = errno;
    sigemptyset(&wanted.sa_mask);
    bool handled = sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
                   now.sa_handler == SIG_DFL && sigaction(number, &wanted, NULL) == 0;
    errno = saved;
    return handled;
}

int os_keep_aside(const char *path, const char *ending) {
    char aside[PATH_BYTES];
    int saved = errno, error = ENAMETOOLONG;
    if (path_with(aside, path, ending))
        error = rename(path, aside) == 0 ? 0 : errno;
    errno = saved;
    return error;
}

// Who may read a lock may take it. It is another user's where that one came first; such a file can't be opened with
// O_CREAT in folders as /tmp, though it is there.
static int open_lock(const char *path) {
    int file = open_file(path, O_RDONLY | O_NOFOLLOW, 0);
    return file == -ENOENT ? open_file(path, O_RDONLY | O_NOFOLLOW | O_CREAT, 0644) : file;
}

// Whoever may read the lock can hold it, and be stopped meanwhile: so it is asked for again and again, to a limit.
static int take_lock(int file) {
    uint64_t end_ns = os_now_ns() + FILE_PATIENCE_MS * MS_NS;
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return errno;
        if (os_now_ns() >= end_ns)
            return ETIMEDOUT;
        os_sleep(FILE_SLEEP_US);
    }
    return 0;
}

int os_lock_file(const char *path) {
    char lock[PATH_BYTES];
    int saved = errno;
    int file = path_with(lock, path, ".lock") ? open_lock(lock) : -ENAMETOOLONG;
    int error = file >= 0 ? take_lock(file) : 0;
    if (error != 0) {
        syscall(SYS_close, file);
        file = -error;
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
