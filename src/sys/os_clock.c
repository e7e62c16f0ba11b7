// Time.
#include <errno.h>
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
