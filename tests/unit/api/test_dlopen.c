// dlopen under the library's own name: it drops one flag and hands everything else on. The C library's is played by
// this program, which says what it was given.
#include "unit/unit.h"

#include <dlfcn.h>

#include "sys/os.h"

static char opened; // what the C library's dlopen returns
static const char *given_file;
static int given_mode;
static unsigned calls;
static unsigned searches;

static void *next_dlopen(const char *file, int mode) {
    given_file = file;
    given_mode = mode;
    calls++;
    return &opened;
}

// In place of the one in sys/os_linux.c.
void (*os_next_function(const char *name))(void) {
    searches++;
    MUST(strcmp(name, "dlopen") == 0);
    return (void (*)(void))(uintptr_t)next_dlopen;
}

// This one too: the rest of that source would come with it.
int os_without_deep_binding(int mode) {
    return mode & ~RTLD_DEEPBIND;
}

static void everything_is_handed_on_but_one_flag(void **state) {
    const int modes[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE, 0, ~0};
    static const char *const files[] = {"libm.so.6", "./x.so", NULL, ""};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        for (size_t k = 0; k < COUNT_OF(files); k++)
            for (int deep = 0; deep <= RTLD_DEEPBIND; deep += RTLD_DEEPBIND) {
                unsigned before = calls;
                assert_ptr_equal(dlopen(files[k], modes[i] | deep), &opened);
                assert_int_equal(calls, before + 1);
                assert_ptr_equal(given_file, files[k]);
                assert_int_equal(given_mode, modes[i] & ~RTLD_DEEPBIND);
            }
}

static void the_next_one_is_looked_up_once(void **state) {
    (void)state;
    dlopen("x", RTLD_NOW);
    dlopen("y", RTLD_NOW);
    assert_int_equal(searches, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_handed_on_but_one_flag),
        cmocka_unit_test(the_next_one_is_looked_up_once),
    };
    return cmocka_run_group_tests_name("dlopen", tests, NULL, NULL);
}
