// prctl, to notice that a process confines itself (decision 44).
//
// Weak: a static program that has its own keeps it.
#include <stdarg.h>

#include "sys/os.h"

static int confined_prctl(int option, ...) {
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++) // all of them, as the C library does: callers give as many as the option has
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    return os_control_process(option, arguments);
}

int prctl(int option, ...) __attribute__((visibility("default"), weak, alias("confined_prctl")));

// Opened by dlopen the library is found behind the C library: it would notice nothing, and takes for granted that
// there are filters.
__attribute__((constructor)) static void confined_begin(void) {
    void (*found)(void) = os_default_function("prctl");
    if (found != NULL && found != (void (*)(void))confined_prctl)
        os_note_confined();
}
