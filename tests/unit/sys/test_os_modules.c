// Where modules lie: the executable by its own name, libraries by theirs, nothing else.
#include "unit/unit.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "sys/os.h"

static void the_executable_is_found_by_its_name(void **state) {
    char name[256];
    uintptr_t base;
    Dl_info info;
    (void)state;
    os_program_name(name, sizeof name);
    assert_true(os_find_module(name, &base));
    assert_true(dladdr((void *)(uintptr_t)the_executable_is_found_by_its_name, &info) != 0);
    assert_true(base == (uintptr_t)info.dli_fbase || base == 0); // 0: linked to a fixed place
}

static void a_library_is_found_by_its_file_name(void **state) {
    uintptr_t base;
    Dl_info info;
    (void)state;
    assert_true(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info) != 0);
    assert_true(os_find_module("libc.so.6", &base));
    assert_int_equal(base, (uintptr_t)info.dli_fbase);
}

static void what_is_not_loaded_is_not_found(void **state) {
    uintptr_t base;
    (void)state;
    assert_false(os_find_module("libc.so", &base));
    assert_false(os_find_module("", &base));
    assert_false(os_find_module("/usr/lib/x86_64-linux-gnu/libc.so.6", &base));
}

static void an_address_says_where_it_lies(void **state) {
    char name[256], expected[256];
    uintptr_t base, found;
    (void)state;
    os_program_name(expected, sizeof expected);
    assert_true(os_find_module_of((uintptr_t)an_address_says_where_it_lies, name, sizeof name, &base));
    assert_string_equal(name, expected);
    assert_true(os_find_module(name, &found) && found == base);
    assert_true(os_find_module_of((uintptr_t)gnu_get_libc_version, name, sizeof name, &base));
    assert_string_equal(name, "libc.so.6");
    assert_true(os_find_module(name, &found) && found == base);
}

static void what_lies_in_no_module_or_has_too_long_a_name_is_not_found(void **state) {
    char name[10];
    uintptr_t base;
    (void)state;
    assert_false(os_find_module_of((uintptr_t)&base, name, sizeof name, &base)); // on the stack
    assert_false(os_find_module_of(0, name, sizeof name, &base));
    assert_true(os_find_module_of((uintptr_t)gnu_get_libc_version, name, sizeof "libc.so.6", &base));
    assert_false(os_find_module_of((uintptr_t)gnu_get_libc_version, name, sizeof "libc.so.6" - 1, &base));
}

static void what_was_loaded_later_is_not_sure_once_something_was_unloaded(void **state) {
    char name[256];
    uintptr_t base;
    (void)state;
    os_note_modules();
    void *first = dlopen("libBrokenLocale.so.1", RTLD_NOW), *second = dlopen("libresolv.so.2", RTLD_NOW);
    assert_true(first != NULL && second != NULL);
    uintptr_t later = (uintptr_t)dlsym(first, "__ctype_get_mb_cur_max");
    assert_true(os_find_module_of(later, name, sizeof name, &base));
    assert_string_equal(name, "libBrokenLocale.so.1");
    dlclose(second);
    assert_false(os_find_module_of(later, name, sizeof name, &base));
    assert_true(os_find_module_of((uintptr_t)gnu_get_libc_version, name, sizeof name, &base)); // it was there before
    dlclose(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_executable_is_found_by_its_name),
        cmocka_unit_test(a_library_is_found_by_its_file_name),
        cmocka_unit_test(what_is_not_loaded_is_not_found),
        cmocka_unit_test(an_address_says_where_it_lies),
        cmocka_unit_test(what_lies_in_no_module_or_has_too_long_a_name_is_not_found),
        cmocka_unit_test(what_was_loaded_later_is_not_sure_once_something_was_unloaded),
    };
    return cmocka_run_group_tests_name("os_modules", tests, NULL, NULL);
}
