// prctl, to notice that a process confines itself (decision 44).
//
// Weak: a static program that has its own keeps it.
#include "sys/os.h"

// All arguments, as the C library does: callers give as many as the option has, in the registers that are theirs
// whether or not a function is declared with them.
static int confined_prctl(int option, unsigned long first, unsigned long second, unsigned long third,
                          unsigned long fourth) {
    const unsigned long arguments[4] = {first, second, third, fourth};
    return os_control_process(option, arguments);
}

int confined_exported(int option, unsigned long first, unsigned long second, unsigned long third,
                      unsigned long fourth) __asm__("prctl")
    __attribute__((visibility("default"), weak, alias("confined_prctl")));

// Opened by dlopen the library is found behind the C library: it would notice nothing, and takes for granted that
// there are filters.
__attribute__((constructor)) static void confined_begin(void) {
    void (*found)(void) = os_default_function("prctl");
    if (found != NULL && found != (void (*)(void))confined_prctl)
        os_note_confined();
}
