// dlopen without RTLD_DEEPBIND.
//
// A module opened with that flag (PHP opens its own so) binds free to the C library's, which then gets blocks of ours
// and ends the program; nothing else can be done about it from outside. The flag means "prefer your own symbols";
// without it the module finds the program's first, as every other library does.
//
// For libhakmem.so alone (HAKMEM_PRELOAD): in an archive it would hide a static program's own.
#ifdef HAKMEM_PRELOAD
#include "base/atomics.h"
#include "sys/os.h"

typedef void *(*dlopen_function)(const char *file, int mode);

static dlopen_function dlopen_next;

static COLD dlopen_function dlopen_find_next(void) {
    dlopen_function found = (dlopen_function)os_next_function("dlopen");
    store_relaxed(&dlopen_next, found);
    return found;
}

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode);

// The C library looks at its caller's address to know whose search path counts: the call must be a jump (tests/asm).
__attribute__((visibility("default"))) void *dlopen(const char *file, int mode) {
    dlopen_function next = load_relaxed(&dlopen_next);
    if (UNLIKELY(next == NULL))
        next = dlopen_find_next();
    return next(file, os_without_deep_binding(mode));
}

#endif
