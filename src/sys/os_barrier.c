// A memory barrier on all processors at once.
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/os.h"

static long membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

bool os_barrier(void) {
    int saved = errno;
    // The first call of a process fails until it has registered, which is done once.
    bool done = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 ||
                (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                 membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0);
    errno = saved;
    return done;
}
