// Allocates before everything and frees after everything: in the resolver of an indirect function, in .preinit_array,
// in constructors, in exit handlers, in destructors, in streams that are flushed at the end.
#include "helper.h"

#ifdef WITH_LIBRARY
int early_library_answer(void);
#endif

static void *from_resolver, *from_preinit, *from_constructor, *from_main, *from_exit_handler;

#ifdef WITH_RESOLVER
// ---- resolver: runs while this program is relocated; only what is relocated already may be called

static int indirect_body(void) {
    return 42;
}

static int (*resolve_indirect(void))(void) {
    unsigned char *block = malloc(300);
    free(malloc(20000));
    for (size_t i = 0; block != NULL && i < 300; i++) {
        ((volatile unsigned char *)block)[i] = 0x55;
    }
    from_resolver = block;
    return indirect_body;
}

static int indirect(void) __attribute__((ifunc("resolve_indirect")));
#endif

// ---- before main

static void before_constructors(int argc, char **argv, char **environment) {
    (void)argc;
    (void)argv;
    (void)environment;
    use_all_sizes(2);
    from_preinit = call_malloc(12345);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **, char **) = before_constructors;

__attribute__((constructor(101))) static void constructor(void) {
    use_all_sizes(2);
    from_constructor = call_malloc(54321);
}

// ---- after main

__attribute__((destructor(101))) static void destructor(void) {
    call_free(from_exit_handler);
    call_free(from_constructor);
    call_free(from_preinit);
    call_free(from_resolver);
    use_all_sizes(2);
    SAY("end\n");
}

static void exit_handler(void) {
    call_free(from_main);
    from_exit_handler = call_malloc(99);
    CHECK(from_exit_handler != NULL);
    use_all_sizes(2);
}

int main(void) {
    prove_hakmem_serves();
#ifdef WITH_RESOLVER
    CHECK(indirect() == 42);
    CHECK(from_resolver != NULL && ((unsigned char *)from_resolver)[299] == 0x55);
#endif
    CHECK(from_preinit != NULL && from_constructor != NULL);
#ifdef WITH_LIBRARY
    CHECK(early_library_answer() == 42);
#endif
    from_main = call_malloc(1000000);
    CHECK(from_main != NULL && atexit(exit_handler) == 0);
    use_all_sizes(20);
    printf("buffered until the end\n");
    return 0;
}
