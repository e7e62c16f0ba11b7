// The end of memory: purges under way hold back the last runs there are, and are waited for where they end.
#include "unit/unit.h"

#include <sys/syscall.h>

#include "region/runs.h"
#include "sys/os.h"

static char *address_of(size_t slice) {
    return window_address(slice);
}

enum { LAST_RUN = 4 * GROUP_SLICES, ROUNDS = 100 }; // large, so that purging it takes a while
static struct meeting meeting;
static size_t last_run;
static struct runs_totals when_full;

// Until the other's run is neither in use nor free, or has been purged already.
static void wait_until_purging(uint64_t purges) {
    for (;;) {
        struct runs_totals now = runs_count();
        bool given = now.in_use_slices < when_full.in_use_slices;
        if (now.purges > purges || (given && now.free_slices <= when_full.free_slices))
            return;
    }
}

// Two threads give the last run there is to each other: while one's purge holds it back, nobody can have it, and the
// other has to wait.
static void *hand_over(void *number) {
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        uint64_t purges = runs_count().purges;
        meet(&meeting, 2);
        if (round % 2 == (uintptr_t)number) {
            runs_give(last_run, LAST_RUN);
            runs_purge(0);
        } else {
            bool clean;
            wait_until_purging(purges);
            last_run = runs_take(LAST_RUN, GROUP_SLICES, &clean);
            MUST(last_run != NO_SLICE);
            for (size_t slice = last_run; slice < last_run + LAST_RUN; slice++)
                for (size_t offset = 0; offset < SLICE_BYTES; offset += 4096)
                    address_of(slice)[offset] = 1;
        }
        meet(&meeting, 2);
    }
    return NULL;
}

static void fill_then_hand_the_last_run_over(void *context) {
    struct rlimit limit = {256 * MIB, 256 * MIB};
    pthread_t other;
    size_t first, count = 0;
    bool clean;
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    os_start();
    MUST(window_start() && runs_start());
    MUST(pthread_create(&other, NULL, hand_over, (void *)1) == 0); // it has its stack before memory is full
    errno = UNTOUCHED;
    for (; (first = runs_take(LAST_RUN, GROUP_SLICES, &clean)) != NO_SLICE; count++)
        last_run = first;
    MUST(errno == UNTOUCHED && count > 10);
    when_full = runs_count();
    hand_over(NULL);
    MUST(pthread_join(other, NULL) == 0);
}

static void at_the_end_of_memory_a_purge_under_way_is_waited_for(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(fill_then_hand_the_last_run_over, NULL);
}

// ---- a purge that never ends

enum { NOTHING_TO_PURGE, PURGE_AND_STAY, STAYS };
static uint32_t purge_stage;
static size_t last_but_one;

// The kernel's call, which may keep its thread.
int madvise(void *address, size_t bytes, int advice) {
    if (load_relaxed(&purge_stage) == PURGE_AND_STAY) {
        store_relaxed(&purge_stage, STAYS);
        for (;;)
            pause();
    }
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

static void *purge_for_ever(void *unused) {
    (void)unused;
    while (load_relaxed(&purge_stage) == NOTHING_TO_PURGE)
        sched_yield();
    runs_purge(0);
    return NULL;
}

// The child of a process in which a thread was purging the last run there is.
static void want_more_than_there_is(void *context) {
    bool clean;
    (void)context;
    runs_forget_purges();
    MUST(runs_take(LAST_RUN, GROUP_SLICES, &clean) == NO_SLICE); // it hangs here when it waits for that purge
    runs_give(last_but_one, LAST_RUN);
    MUST(runs_purge(0)); // the child's own begin and end
    MUST(runs_take(LAST_RUN, GROUP_SLICES, &clean) == last_but_one && clean);
}

static void fork_while_the_last_run_is_purged(void *context) {
    struct rlimit limit = {256 * MIB, 256 * MIB};
    int status;
    pthread_t other;
    size_t first;
    bool clean;
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    os_start();
    MUST(window_start() && runs_start());
    MUST(pthread_create(&other, NULL, purge_for_ever, NULL) == 0);
    while ((first = runs_take(LAST_RUN, GROUP_SLICES, &clean)) != NO_SLICE) {
        last_but_one = last_run;
        last_run = first;
    }
    runs_give(last_run, LAST_RUN);
    store_relaxed(&purge_stage, PURGE_AND_STAY);
    while (load_relaxed(&purge_stage) != STAYS)
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        want_more_than_there_is(NULL);
        _exit(0);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    _exit(0); // the other thread stays where it is
}

static void a_fork_child_does_not_wait_for_a_purge_of_its_parent(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(fork_while_the_last_run_is_purged, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_end_of_memory_a_purge_under_way_is_waited_for),
        cmocka_unit_test(a_fork_child_does_not_wait_for_a_purge_of_its_parent),
    };
    return cmocka_run_group_tests_name("runs at the end of memory", tests, NULL, NULL);
}
