// dlopen: what it opens is found, and RTLD_DEEPBIND is taken away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>

static void a_library_opens_with_deep_binding_asked_for(void **state) {
    (void)state;
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND);
    assert_non_null(library);
    assert_non_null(dlsym(library, "cos"));
    assert_int_equal(dlclose(library), 0);
}

static void the_program_itself_opens(void **state) {
    (void)state;
    void *program = dlopen(NULL, RTLD_LAZY);
    assert_non_null(program);
    assert_int_equal(dlclose(program), 0);
}

static void what_does_not_exist_is_null_with_an_error(void **state) {
    (void)state;
    assert_null(dlopen("/nonexistent/library.so", RTLD_NOW | RTLD_DEEPBIND));
    assert_non_null(dlerror());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_opens_with_deep_binding_asked_for),
        cmocka_unit_test(the_program_itself_opens),
        cmocka_unit_test(what_does_not_exist_is_null_with_an_error),
    };
    return cmocka_run_group_tests_name("dlopen", tests, NULL, NULL);
}
