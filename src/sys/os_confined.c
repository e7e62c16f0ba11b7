// Whether the process has confined itself by filters of system calls (seccomp) since it started. Filters that it was
// started under are those of containers, which know what allocators call.
//
// The kernel is not asked: each way to ask it is a call for which some filter kills. Who confines itself says so, to
// the C library's prctl, which is ours (api/confined.c): unprivileged processes must give up new privileges before
// they may add a filter by whatever call.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // syscall
#endif
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"
#include "sys/os.h"

static uint32_t is_confined;

bool os_is_confined(void) {
    return load_relaxed(&is_confined) != 0;
}

void os_note_confined(void) {
    store_relaxed(&is_confined, 1u); // the same whoever writes it; filters never go
}

int os_control_process(int option, const unsigned long *arguments) {
    long result = syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]);
    if (result == 0 && (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)) // a mere try fails: EFAULT
        os_note_confined();
    return (int)result;
}
