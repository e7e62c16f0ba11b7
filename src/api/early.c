// Calls that come before the dynamic linker is through: from the resolvers of indirect functions.
//
// While it relocates, the first thread's thread-local storage exists but is zero; its initial image, in which every top
// points to the constant stack, is copied in only later. An indirect function of the library's own has a resolver too,
// and that one runs as the last of the library's relocations: it sets the tops. The copy that comes later makes the
// first thread forget the heap it has by then; heap/registry.c finds it again.
#include "heap/stacks.h"
#include "sys/os.h"

static void early_nothing(void) {
}

__attribute__((used)) static void (*early_resolve(void))(void) {
    if (os_has_thread_storage())
        stacks_set_early();
    return early_nothing;
}

static void early_function(void) __attribute__((ifunc("early_resolve")));

// Makes the linker keep the function and resolve it.
__attribute__((used)) static void (*volatile const early_reference)(void) = early_function;
