// Fork handlers of the program allocate and free, while other threads do; some are registered before the first block is
// made, some after. Then a chain of processes, each the child of the one before, works and ends.
#include "helper.h"

enum { THREADS = 3, FORKS = 60, CHAIN = 40 };

static volatile bool work_is_over;
static void *from_handlers[2]; // one fork at a time: handlers run under a lock of the C library
static size_t handlers_run;

static void before_fork(void) {
    use_all_sizes(1);
    from_handlers[handlers_run] = call_malloc(3000);
    CHECK(from_handlers[handlers_run++] != NULL);
}

static void after_fork(void) {
    call_free(from_handlers[--handlers_run]);
    use_all_sizes(1);
}

// Priority 101: as early as may be, so that these come before the allocator's own handlers.
__attribute__((constructor(101))) static void register_early(void) {
    CHECK(pthread_atfork(before_fork, after_fork, after_fork) == 0);
}

static void *work(void *unused) {
    (void)unused;
    while (!work_is_over) {
        use_all_sizes(1);
    }
    return NULL;
}

static void be_link_of_chain(int links_left) {
    (void)alarm(60);
    use_all_sizes(3);
    if (links_left > 0) {
        pid_t child = fork();
        if (child == 0) {
            be_link_of_chain(links_left - 1);
        }
        expect_exit(child, 0);
    }
    exit(0);
}

int main(void) {
    prove_hakmem_serves();
    pthread_t threads[THREADS];
    use_all_sizes(5);
    CHECK(pthread_atfork(before_fork, after_fork, after_fork) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    }
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            (void)alarm(30);
            use_all_sizes(5);
            exit(9);
        }
        expect_exit(child, 9);
    }
    work_is_over = true;
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        be_link_of_chain(CHAIN);
    }
    expect_exit(child, 0);
    return 0;
}
