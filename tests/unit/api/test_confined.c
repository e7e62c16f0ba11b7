// prctl under the library's own name: it hands everything on, and notices what confines the process. And the other way
// round: nothing is taken for granted where the program finds this one.
#include "unit/unit.h"

#include <sys/prctl.h>

#include "sys/os.h"

static void everything_is_handed_on(void *context) {
    (void)context;
    char name[16] = "";
    MUST(prctl(PR_SET_NAME, "named") == 0 && prctl(PR_GET_NAME, name) == 0);
    MUST(strcmp(name, "named") == 0);
    errno = 0;
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0) == -1 && errno == EINVAL);
    MUST(!os_is_confined());
}

static void what_confines_is_noticed(void *context) {
    (void)context;
    MUST(!os_is_confined());
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(os_is_confined());
}

IN_A_CHILD(everything_is_handed_on)
IN_A_CHILD(what_confines_is_noticed)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_handed_on),
        cmocka_unit_test(test_what_confines_is_noticed),
    };
    return cmocka_run_group_tests_name("confined", tests, NULL, NULL);
}
