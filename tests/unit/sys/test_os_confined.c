// Filters of system calls that a process adds after the start are noticed, those that it was started under are not.
#include "unit/unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sys/os.h"

// Allows everything. False: filters can't be made here.
static bool add_filter(void) {
    static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static void added_later(void *context) {
    (void)context;
    os_start();
    MUST(!os_is_confined());
    if (!add_filter())
        return;
    MUST(os_is_confined());
}

static void there_before(void *context) {
    (void)context;
    if (!add_filter())
        return;
    os_start();
    MUST(!os_is_confined());
    MUST(add_filter() && os_is_confined());
}

static void test_added_later(void **state) {
    (void)state;
    child_must_succeed(added_later, NULL);
}

static void test_there_before(void **state) {
    (void)state;
    child_must_succeed(there_before, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added_later),
        cmocka_unit_test(test_there_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
