// A process that confines itself is noticed by what it tells prctl; one that tells it something else, or only tries to,
// is not.
#include "unit/unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sys/os.h"

static int control(int option, unsigned long first, unsigned long second) {
    const unsigned long arguments[4] = {first, second};
    return os_control_process(option, arguments);
}

// Allows everything. False: filters can't be made here.
static bool add_filter(int (*add)(int option, unsigned long mode, unsigned long filter)) {
    static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    return add(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (uintptr_t)&program) == 0;
}

static int add_unnoticed(int option, unsigned long mode, unsigned long filter) {
    return (int)syscall(SYS_prctl, option, mode, filter, 0, 0);
}

static void it_gives_up_new_privileges(void *context) {
    (void)context;
    os_start();
    MUST(!os_is_confined());
    MUST(control(PR_SET_NO_NEW_PRIVS, 1, 0) == 0);
    MUST(os_is_confined());
}

static void it_adds_a_filter(void *context) {
    (void)context;
    os_start();
    MUST(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(!os_is_confined());
    if (add_filter(control))
        MUST(os_is_confined());
}

static void there_was_one_before(void *context) {
    (void)context;
    MUST(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (!add_filter(add_unnoticed))
        return;
    os_start();
    MUST(!os_is_confined());
}

static void it_asks_and_tries(void *context) {
    (void)context;
    char name[16] = "";
    os_start();
    MUST(control(PR_SET_NAME, (uintptr_t) "named", 0) == 0 && control(PR_GET_NAME, (uintptr_t)name, 0) == 0);
    MUST(strcmp(name, "named") == 0);
    MUST(control(PR_GET_SECCOMP, 0, 0) >= 0 && control(PR_GET_NO_NEW_PRIVS, 0, 0) >= 0);
    errno = 0;
    MUST(control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0) == -1 &&
         errno != 0); // as programs ask whether there can be any
    errno = 0;
    MUST(control(PR_SET_NO_NEW_PRIVS, 2, 0) == -1 && errno == EINVAL);
    MUST(!os_is_confined());
}

// Descriptors run out for a moment: that says nothing.
static void it_has_no_descriptors_left(void *context) {
    (void)context;
    struct rlimit none = {0, 0};
    os_start();
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    MUST(!os_is_confined());
}

IN_A_CHILD(it_gives_up_new_privileges)
IN_A_CHILD(it_adds_a_filter)
IN_A_CHILD(there_was_one_before)
IN_A_CHILD(it_asks_and_tries)
IN_A_CHILD(it_has_no_descriptors_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_gives_up_new_privileges), cmocka_unit_test(test_it_adds_a_filter),
        cmocka_unit_test(test_there_was_one_before),       cmocka_unit_test(test_it_asks_and_tries),
        cmocka_unit_test(test_it_has_no_descriptors_left),
    };
    return cmocka_run_group_tests_name("os confined", tests, NULL, NULL);
}
