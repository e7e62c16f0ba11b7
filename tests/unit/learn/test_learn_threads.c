// The learner while threads learn together, fork, and end.
#include "unit/unit.h"

#include <limits.h>

#include "heap/helper.h"
#include "region/runs.h"
#include "unit/learn/learning.h"

static void *work_in_thread(void *unused) {
    (void)unused;
    work(20000);
    return NULL;
}

static void learn_from_threads(void *unused) {
    (void)unused;
    name_file();
    start_with("learning", "none");
    threads_run(4, work_in_thread);
    learn_end();
    unsigned runs = runs_in_file();
    remove_file();
    MUST(runs == 1);
}

static void threads_learn_together(void **state) {
    (void)state;
    child_must_succeed(learn_from_threads, NULL);
}

static uint32_t stop;

static void *work_for_ever(void *unused) {
    (void)unused;
    while (load_relaxed(&stop) == 0)
        work(1000);
    return NULL;
}

// Others look meanwhile, and open windows.
static void ask_while_others_learn(void *unused) {
    pthread_t threads[3];
    int status;
    (void)unused;
    name_file();
    start_with("learning", "none");
    for (unsigned i = 0; i < COUNT_OF(threads); i++)
        MUST(pthread_create(&threads[i], NULL, work_for_ever, NULL) == 0);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t looks = told.looks;
        ask();
        MUST(told.looks >= looks && told.history.row_count <= told.looks && told.history.row_count <= HISTORY_ROWS);
        pid_t child = i % 10 == 0 ? fork() : -1;
        if (child == 0) {
            alarm(10);
            ask(); // nobody has the lock
            _exit(told.looks == 0 ? 0 : 1);
        }
        MUST(child < 0 || (waitpid(child, &status, 0) == child && status == 0));
    }
    learn_end();
    ask();
    store_relaxed(&stop, 1u);
    for (unsigned i = 0; i < COUNT_OF(threads); i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    remove_file();
}

static void one_may_ask_while_others_learn(void **state) {
    (void)state;
    child_must_succeed(ask_while_others_learn, NULL);
}

static void *stay(void *unused) {
    (void)unused;
    work(1);
    while (load_relaxed(&stop) == 0)
        usleep(1000);
    return NULL;
}

// Of two threads with a heap that is worth it neither calls any more, one computes.
static void compute(void *unused) {
    pthread_t thread;
    (void)unused;
    setenv("HAKMEM_MEMORY_PRICE", "100000000", 1); // some milliseconds are long
    start_with("learning", "none");
    MUST(pthread_create(&thread, NULL, stay, NULL) == 0);
    while (DECIDED(purge_delay) == 0 || runs_in_use_bytes() < 32 * MIB)
        work(1000);
    helper_look();
    ask();
    uint64_t looks = told.looks, end_ns = os_now_ns() + 60 * SECOND_NS;
    while (told.looks < looks + 4 && os_now_ns() < end_ns)
        ask();
    MUST(told.looks >= looks + 4);
    store_relaxed(&stop, 1u);
    MUST(pthread_join(thread, NULL) == 0);
}

static void who_computes_without_calling_is_looked_at(void **state) {
    (void)state;
    child_must_succeed(compute, NULL);
}

static void *obey_for_ever(void *unused) {
    (void)unused;
    for (size_t i = 0; load_relaxed(&stop) == 0; i++) {
        learn_obey_user(DECISION_retain_min, i);
        for (volatile unsigned wait = 0; wait < 1000; wait++) // fork finds it outside now and then
            ;
    }
    return NULL;
}

static void fork_while(void *unused, void *(*decides)(void *)) {
    pthread_t thread;
    int status;
    start_with("balanced", "none");
    work(1);
    MUST(pthread_create(&thread, NULL, decides, unused) == 0);
    for (unsigned i = 0; i < 300; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            learn_obey_user(DECISION_retain_min, 5); // nobody has the lock
            _exit(DECIDED(retain_min) == 5 ? 0 : 1);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    store_relaxed(&stop, 1u);
    MUST(pthread_join(thread, NULL) == 0);
}

static void fork_while_another_decides(void *unused) {
    fork_while(unused, obey_for_ever);
}

static void a_fork_child_may_decide_whoever_decided_meanwhile(void **state) {
    (void)state;
    child_must_succeed(fork_while_another_decides, NULL);
}

// ---- the beginning

enum { BEGINNERS = 4, BEGINNINGS = SANITIZED ? 20 : 200 };
static pthread_barrier_t all_here;

static void *begin_at_once(void *number) {
    bool is_first = (uintptr_t)number == 0;
    pthread_barrier_wait(&all_here);
    if ((uintptr_t)number % 2 == 0)
        learn_start();
    learn_obey_user(is_first ? DECISION_retain_min : DECISION_retain_share, 77);
    MUST((is_first ? DECIDED(retain_min) : DECIDED(retain_share)) == 77);
    MUST(DECIDED(thread_bytes) == STACK_THREAD_BYTES);
    MUST(DECIDED(fifo_least) == CACHE_FIFO_BYTES || DECIDED(fifo_least) == 5 * MIB);
    return NULL;
}

// One of them reads the file; whoever does not wait for it has what there is without.
static void begin_together(void *unused) {
    pthread_t threads[BEGINNERS];
    (void)unused;
    MUST(heap_process_start());
    MUST(pthread_barrier_init(&all_here, NULL, BEGINNERS) == 0);
    for (uintptr_t i = 0; i < BEGINNERS; i++)
        MUST(pthread_create(&threads[i], NULL, begin_at_once, (void *)i) == 0);
    for (unsigned i = 0; i < BEGINNERS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(DECIDED(fifo_least) == 5 * MIB && DECIDED(retain_min) == 77 && DECIDED(retain_share) == 77);
}

static void several_may_be_the_first(void **state) {
    (void)state;
    name_file();
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("hakmem-policy 1\nfifo_least 5242880\nend\n", file);
    fclose(file);
    setenv("HAKMEM_MODE", "learning", 1);
    for (unsigned i = 0; i < BEGINNINGS; i++)
        child_must_succeed(begin_together, NULL);
    remove_file();
    unsetenv("HAKMEM_POLICY");
}

// ---- the end of threads

// In the last one sanitizers have taken their own part of the thread down.
enum { DESTRUCTOR_ROUNDS = SANITIZED ? PTHREAD_DESTRUCTOR_ITERATIONS - 1 : PTHREAD_DESTRUCTOR_ITERATIONS };
static pthread_key_t late_key;

// Called again and again while the thread ends: at last it has no heap any more.
static void decide_late(void *turn) {
    learn_obey_user(DECISION_retain_min, 123 + (size_t)turn);
    ask();
    if ((uintptr_t)turn < DESTRUCTOR_ROUNDS)
        pthread_setspecific(late_key, (void *)((uintptr_t)turn + 1));
    else
        MUST(heap_mine() == NULL || SANITIZED);
}

static void *end_late(void *unused) {
    (void)unused;
    work(100);
    pthread_setspecific(late_key, (void *)1);
    return NULL;
}

static void decide_at_the_end_of_a_thread(void *unused) {
    (void)unused;
    start_with("learning", "none");
    work(100);
    MUST(pthread_key_create(&late_key, decide_late) == 0);
    threads_run(1, end_late);
    MUST(DECIDED(retain_min) == 123 + DESTRUCTOR_ROUNDS && told.learns);
}

static void a_thread_may_decide_and_ask_without_a_heap(void **state) {
    (void)state;
    child_must_succeed(decide_at_the_end_of_a_thread, NULL);
}

static void go_on_without_a_heap(void *turn) {
    if ((uintptr_t)turn == DESTRUCTOR_ROUNDS)
        obey_for_ever(NULL);
    else
        pthread_setspecific(late_key, (void *)((uintptr_t)turn + 1));
}

static void fork_while_one_decides_without_a_heap(void *unused) {
    MUST(pthread_key_create(&late_key, go_on_without_a_heap) == 0);
    fork_while(unused, end_late);
}

static void a_fork_child_may_decide_though_a_thread_without_a_heap_did(void **state) {
    (void)state;
    child_must_succeed(fork_while_one_decides_without_a_heap, NULL);
}

static void *hold_the_lock(void *unused) {
    (void)unused;
    struct heap *heap = heap_enter();
    lock_acquire(&learn_lock);
    store_relaxed(&stop, 1u);
    usleep(20000);
    lock_release(&learn_lock);
    heap_leave(heap);
    return NULL;
}

static void end_during_a_look(void *unused) {
    pthread_t thread;
    (void)unused;
    name_file();
    start_with("learning", "none");
    work(10000);
    MUST(pthread_create(&thread, NULL, hold_the_lock, NULL) == 0);
    while (load_relaxed(&stop) == 0)
        sched_yield();
    learn_end();
    MUST(runs_in_file() == 1);
    remove_file();
    MUST(pthread_join(thread, NULL) == 0);
}

static void the_end_waits_for_another_threads_look(void **state) {
    (void)state;
    child_must_succeed(end_during_a_look, NULL);
}

// A look during which fork gave up waiting (F3): its thread does not come along, and the lock is free.
static void *hold_the_lock_for_long(void *unused) {
    (void)unused;
    struct heap *heap = heap_enter();
    lock_acquire(&learn_lock);
    store_relaxed(&stop, 1u);
    while (load_relaxed(&stop) == 1)
        usleep(1000);
    lock_release(&learn_lock);
    heap_leave(heap);
    return NULL;
}

static void fork_during_a_long_look(void *unused) {
    pthread_t thread;
    int status;
    (void)unused;
    start_with("learning", "none");
    work(10000);
    MUST(pthread_create(&thread, NULL, hold_the_lock_for_long, NULL) == 0);
    while (load_relaxed(&stop) == 0)
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        ask();
        learn_obey_user(DECISION_retain_min, 5);
        work(10000);
        _exit(told.learns && DECIDED(retain_min) == 5 ? 0 : 1);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    store_relaxed(&stop, 2u);
    MUST(pthread_join(thread, NULL) == 0);
}

static void a_fork_child_may_ask_and_decide_whose_parent_did_not_wait_for_a_look(void **state) {
    (void)state;
    child_must_succeed(fork_during_a_long_look, NULL);
}

static void *end_now(void *unused) {
    (void)unused;
    learn_end();
    return NULL;
}

static void fork_while_the_file_is_written(void *unused) {
    pthread_t thread;
    int status;
    (void)unused;
    name_file();
    start_with("learning", "none");
    work(10000);
    int file_lock = os_lock_file(path); // the end waits for it
    MUST(pthread_create(&thread, NULL, end_now, NULL) == 0);
    usleep(100000);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        learn_obey_user(DECISION_retain_min, 5);
        work(10000);
        _exit(DECIDED(retain_min) == 5 ? 0 : 1);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    os_unlock_file(file_lock);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(runs_in_file() == 1);
    remove_file();
}

static void a_fork_child_may_decide_while_the_end_is_written(void **state) {
    (void)state;
    child_must_succeed(fork_while_the_file_is_written, NULL);
}

// ---- the life of a child

// A fork child to all that is asked, with the number of its parent.
static void become_a_child(void) {
    heap_fork_prepare();
    heap_fork_child();
}

static void begin_anew(void *unused) {
    (void)unused;
    name_file();
    start_with("learning", "none");
    work_until_looked_at();
    become_a_child();
    ask();
    MUST(told.learns && told.looks == 0);
    work_until_looked_at();
    learn_end(); // of a thread that did not come along to the next one
    ask();
    uint64_t looks = told.looks;
    work(20000);
    ask();
    MUST(told.looks == looks);
    become_a_child();
    work_until_looked_at();
    remove_file();
}

static void a_child_with_its_parents_number_learns_by_itself(void **state) {
    (void)state;
    child_must_succeed(begin_anew, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_may_be_the_first),
        cmocka_unit_test(threads_learn_together),
        cmocka_unit_test(one_may_ask_while_others_learn),
        cmocka_unit_test(who_computes_without_calling_is_looked_at),
        cmocka_unit_test(a_thread_may_decide_and_ask_without_a_heap),
        cmocka_unit_test(a_fork_child_may_decide_whoever_decided_meanwhile),
        cmocka_unit_test(a_fork_child_may_decide_while_the_end_is_written),
        cmocka_unit_test(a_fork_child_may_ask_and_decide_whose_parent_did_not_wait_for_a_look),
        cmocka_unit_test(a_fork_child_may_decide_though_a_thread_without_a_heap_did),
        cmocka_unit_test(a_child_with_its_parents_number_learns_by_itself),
        cmocka_unit_test(the_end_waits_for_another_threads_look),
    };
    return cmocka_run_group_tests_name("learn threads", tests, NULL, NULL);
}
