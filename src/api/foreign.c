// Pointers of another allocator.
//
// The C library's own malloc may have served somebody before this library was there, or in a namespace of its own. Its
// main heap lies between the program's break at our start and now; such a pointer proves that it is in use, and from
// then on other unknown pointers are believed to be its as well.
#include "api/foreign.h"

#include <errno.h>

#include "base/atomics.h"
#include "heap/heap.h"
#include "sys/fault.h"
#include "sys/os.h"

static uint32_t foreign_seen;

static bool foreign_is_plausible(const void *block) {
    if (os_is_in_break(block))
        store_relaxed(&foreign_seen, 1);
    return load_relaxed(&foreign_seen) != 0;
}

void foreign_free(void *block) {
    heap_process_start();
    void (*next)(void *) = (void (*)(void *))os_next_function("free");
    if (next != NULL && foreign_is_plausible(block))
        next(block);
    else
        fault_report(FAULT_foreign_pointer, block, 0);
}

void *foreign_realloc(void *block, size_t bytes) {
    heap_process_start();
    void *(*next)(void *, size_t) = (void *(*)(void *, size_t))os_next_function("realloc");
    if (next != NULL && foreign_is_plausible(block))
        return next(block, bytes);
    fault_report(FAULT_foreign_pointer, block, 0);
    errno = ENOMEM;
    return NULL;
}
