// Time, and page faults.
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "base/tuning.h"
#include "sys/os.h"

uint64_t os_now_ns(void) {
    struct timespec now;
    int saved = errno;
    clock_gettime(CLOCK_MONOTONIC, &now); // without a system call
    errno = saved;
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t os_count_faults(void) {
    struct rusage usage = {0};
    int saved = errno;
    getrusage(RUSAGE_SELF, &usage);
    errno = saved;
    return (uint64_t)usage.ru_minflt;
}
