// Time, and page faults.
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "base/tuning.h"
#include "sys/os.h"

static uint64_t read_clock(clockid_t clock) {
    struct timespec now = {0};
    int saved = errno;
    clock_gettime(clock, &now);
    errno = saved;
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t os_now_ns(void) {
    return read_clock(CLOCK_MONOTONIC); // without a system call
}

uint64_t os_thread_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_process_ns(void) {
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t os_count_faults(void) {
    struct rusage usage = {0};
    int saved = errno;
    getrusage(RUSAGE_SELF, &usage);
    errno = saved;
    return (uint64_t)usage.ru_minflt;
}
