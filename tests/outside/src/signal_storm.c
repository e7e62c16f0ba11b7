// Signals arrive all the time, also inside malloc and free; their handler does not allocate. Blocks and errno stay
// right.
#include "helper.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 3, SECONDS = 2, INTERVAL_MICROSECONDS = 50 };

static volatile sig_atomic_t signals_seen;
static time_t end;

static void count_signal(int signal) {
    (void)signal;
    int saved = errno;
    signals_seen = signals_seen + 1;
    errno = EDOM;
    volatile unsigned char stack[1500];
    for (size_t i = 0; i < sizeof stack; i++) {
        stack[i] = (unsigned char)i;
    }
    errno = saved;
}

static void *work(void *unused) {
    (void)unused;
    while (time(NULL) < end) {
        use_all_sizes(20);
        errno = ERANGE;
        void *block = call_malloc(100);
        CHECK(block != NULL && errno == ERANGE);
        call_free(block);
        CHECK(errno == ERANGE);
    }
    return NULL;
}

// Signals go to every thread in turn.
int main(void) {
    prove_hakmem_serves();
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    struct itimerval interval = {{0, INTERVAL_MICROSECONDS}, {0, INTERVAL_MICROSECONDS}};
    pthread_t threads[THREADS];
    end = time(NULL) + SECONDS;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    }
    CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
    while (time(NULL) < end) {
        for (size_t i = 0; i < THREADS; i++) {
            (void)pthread_kill(threads[i], SIGUSR1);
        }
        use_all_sizes(1);
    }
    interval = (struct itimerval){{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    SAY("signals: %d\n", (int)signals_seen);
    CHECK(signals_seen > 1000);
    return 0;
}
