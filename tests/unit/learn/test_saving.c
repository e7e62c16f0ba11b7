// What was learned is saved at the end, on demand, or by a signal; and nothing of it is counted twice. Each test is a
// process of its own: the library starts once.
#include "unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "learn/decide.h"
#include "learn/saving.h"
#include "unit/learn/learning.h"

static void start_learning(void) {
    name_file();
    start_with("learning", "none");
    work_until_looked_at();
}

static void save_again_and_again(void *unused) {
    static struct policy learned_before;
    (void)unused;
    start_learning();
    learned_before = learned;
    MUST(learn_save() == 0 && runs_in_file() == 1);
    MUST(learned.class_count == learned_before.class_count && learned.depth_count == learned_before.depth_count);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        MUST(learned.values[i].is_given == learned_before.values[i].is_given);
    for (unsigned i = 0; i < 3; i++) {
        work(20000);
        MUST(learn_save() == 0 && runs_in_file() == 1); // it is one process
    }
    ask();
    unsigned looks = (unsigned)told.looks;
    work(20000);
    learn_end();
    ask();
    MUST(looks > 0 && runs_in_file() == 1);
    MUST(learn_save() == EAGAIN); // it has ended
    remove_file();
}

static void what_was_saved_is_not_counted_again(void **state) {
    (void)state;
    child_must_succeed(save_again_and_again, NULL);
}

static void save_in_a_child(void *unused) {
    int status;
    (void)unused;
    start_learning();
    MUST(learn_save() == 0);
    pid_t child = fork();
    if (child == 0) {
        MUST(learn_save() == EAGAIN); // it was not looked at
        work_until_looked_at();
        MUST(learn_save() == 0 && learn_save() == 0);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0 && runs_in_file() == 2);
    learn_end();
    MUST(runs_in_file() == 2);
    remove_file();
}

static void a_fork_child_is_a_run_of_its_own(void **state) {
    (void)state;
    child_must_succeed(save_in_a_child, NULL);
}

static void save_in_mode(void *mode) {
    name_file();
    start_with(mode, "none");
    work(20000);
    MUST(learn_save() == ENOTSUP && runs_in_file() == 0);
}

static void save_without_a_file(void *unused) {
    (void)unused;
    start_with("learning", "none");
    work_until_looked_at();
    MUST(learn_save() == ENOTSUP);
}

static void save_into_anothers(void *unused) {
    (void)unused;
    start_learning();
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs("hakmem-policy 1\nprogram other\nseconds 5\nend\n", file);
    fclose(file);
    MUST(learn_save() == EEXIST && learn_save() == EEXIST);
    remove_file();
    MUST(learn_save() == 0 && runs_in_file() == 1); // what was not written is not in it yet
    remove_file();
}

static void why_it_can_not_be_is_told(void **state) {
    (void)state;
    child_must_succeed(save_in_mode, "balanced");
    child_must_succeed(save_without_a_file, NULL);
    child_must_succeed(save_into_anothers, NULL);
}

static void save_by_a_signal(void *unused) {
    (void)unused;
    setenv("HAKMEM_POLICY_SIGNAL", "12", 1);
    start_learning();
    MUST(saving_is_wanted == 0 && runs_in_file() == 0);
    raise(SIGUSR2);
    MUST(saving_is_wanted == 1);
    work(20000);
    MUST(saving_is_wanted == 0 && runs_in_file() == 1);
    remove_file();
}

static void leave_a_signal_alone(void *unused) {
    struct sigaction now;
    (void)unused;
    setenv("HAKMEM_POLICY_SIGNAL", "12", 1);
    signal(SIGUSR2, SIG_IGN);
    start_learning();
    MUST(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
    remove_file();
}

static void a_signal_saves_where_the_program_has_no_use_for_it(void **state) {
    (void)state;
    child_must_succeed(save_by_a_signal, NULL);
    child_must_succeed(leave_a_signal_alone, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_is_not_counted_again),
        cmocka_unit_test(a_fork_child_is_a_run_of_its_own),
        cmocka_unit_test(why_it_can_not_be_is_told),
        cmocka_unit_test(a_signal_saves_where_the_program_has_no_use_for_it),
    };
    return cmocka_run_group_tests_name("saving", tests, NULL, NULL);
}
