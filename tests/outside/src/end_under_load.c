// The process ends while threads still allocate and free. Argument: exit, last-thread (main ends its thread first), or
// cancel (threads are cancelled between calls and free what they hold in their cleanup handlers).
#include "helper.h"

enum { THREADS = 4, CANCELLED = 200 };

static volatile bool threads_may_end;

static void *work_for_ever(void *unused) {
    (void)unused;
    while (!threads_may_end) {
        use_all_sizes(1);
    }
    return NULL;
}

static void *work_until_cancelled(void *unused) {
    (void)unused;
    for (;;) {
        void *block = call_malloc(2000);
        pthread_cleanup_push(free, block);
        use_all_sizes(1);
        pthread_testcancel();
        pthread_cleanup_pop(1);
    }
}

static void cancel_threads(void) {
    for (int i = 0; i < CANCELLED; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work_until_cancelled, NULL) == 0);
        use_all_sizes(1);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

int main(int argc, char **argv) {
    prove_hakmem_serves();
    CHECK(argc == 2);
    if (strcmp(argv[1], "cancel") == 0) {
        cancel_threads();
        return 0;
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work_for_ever, NULL) == 0 && pthread_detach(thread) == 0);
    }
    use_all_sizes(20);
    if (strcmp(argv[1], "last-thread") == 0) {
        threads_may_end = true;
        pthread_exit(NULL);
    }
    return 0;
}
