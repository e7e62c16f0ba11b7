// A library that allocates while it is being loaded: in its constructor and, where EARLY_IFUNC is set, in the resolver
// of an indirect function, which runs while the dynamic linker still works.
#include "helper.h"

static void *from_constructor;

__attribute__((constructor(101))) static void begin(void) {
    use_all_sizes(3);
    from_constructor = call_malloc(777);
    CHECK(from_constructor != NULL);
    memset(from_constructor, 0x33, 777);
}

__attribute__((destructor(101))) static void end(void) {
    CHECK(((unsigned char *)from_constructor)[776] == 0x33);
    call_free(from_constructor);
    use_all_sizes(3);
}

#ifdef EARLY_IFUNC
static void *from_resolver;

static int indirect_body(void) {
    return from_resolver != NULL && ((unsigned char *)from_resolver)[99] == 0x44 ? 42 : 1;
}

static int (*resolve_indirect(void))(void) {
    unsigned char *block = malloc(100);
    if (block != NULL) {
        for (size_t i = 0; i < 100; i++) {
            ((volatile unsigned char *)block)[i] = 0x44;
        }
    }
    free(malloc(5000));
    from_resolver = block;
    return indirect_body;
}

static int indirect(void) __attribute__((ifunc("resolve_indirect")));
#else
static int indirect(void) {
    return 42;
}
#endif

int early_library_answer(void);
int early_library_answer(void) {
    return indirect();
}
