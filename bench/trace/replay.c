// Replays a trace: each thread makes the calls that the program's thread made, on whatever allocator this process has.
// Several traces come one after another, as one program that changes: what the one left is freed before the next.
//
// Models: the sizes, lifetimes, threads and order of a real program's calls, without the program.
// Does not model: the time between calls (they follow one another at once, so caches are warmer and purges by the clock
// rarer), what the program writes to its blocks beyond what --touch says, memory that it maps itself.
// Time: from the start of the first thread to the end of the last, of all traces; cpu_seconds: of the replaying threads
// alone, without waiting. Memory: resident memory less what the replay itself had at the start, when its plan was made
// and in memory.
#define _GNU_SOURCE
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../workloads/harness.h"

#define SAMPLES 4096u
#define SAMPLE_FIRST_US 1000
#define REFUSED ((void *)1) // the allocator returned NULL
#define SPINS 200u
#define ACCOUNT_BYTES (16 << 10) // what a thread keeps to itself, at most, before all are told
#define ACCOUNTS_SHARE 128       // and this part (1/N) of the trace's peak, of all threads together

enum touch { TOUCH_NONE, TOUCH_ENDS, TOUCH_PAGES, TOUCH_ALL };

struct place {
    _Atomic(void *) block; // release after the take, acquire before the give; NULL: free
    uint64_t bytes;        // written by whoever takes or moves, before `block`
};

struct sample {
    double seconds;
    long resident_kib;
    int64_t requested_bytes;
};

// What one trace needs; made before the first one begins.
struct piece {
    struct plan plan;
    struct place *places;
    _Atomic uint32_t *left_in;
};

static struct {
    struct piece *pieces;
    unsigned piece_count;
    struct plan plan; // this and the next two: of the trace that is replayed
    struct place *places;
    enum touch touch;
    _Atomic uint32_t *left_in; // threads that are not through with a stretch; release, pairs: enter
    _Atomic uint32_t through;  // all stretches before this one are done; acquire and release, a futex
    _Atomic uint32_t waiters;  // threads asleep on `through`
    _Atomic uint32_t ended;    // threads that are through, a futex
    _Atomic uint64_t refused, waits;
    _Atomic int64_t requested, peak_requested; // relaxed: sums
    int64_t account_bytes;                     // what a thread keeps to itself
    _Atomic int64_t cpu_ns;
    double start;
    int statm;
    long page_kib, base_kib;
    struct sample *samples;
    unsigned sample_count, sample_every, sample_skipped;
} all;

static void futex_wait(_Atomic uint32_t *word, uint32_t value, long us) {
    struct timespec timeout = {us / 1000000, us % 1000000 * 1000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, us > 0 ? &timeout : NULL, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

// ---- memory over time; safe in a signal handler

static long resident_kib(void) {
    char text[128];
    ssize_t length = pread(all.statm, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    const char *second = strchr(text, ' ');
    return second == NULL ? 0 : strtol(second, NULL, 10) * all.page_kib;
}

static void sample_take(void) {
    if (++all.sample_skipped < all.sample_every)
        return;
    all.sample_skipped = 0;
    if (all.sample_count == SAMPLES) { // every other one goes, and they come half as often
        for (unsigned i = 0; i < SAMPLES / 2; i++)
            all.samples[i] = all.samples[2 * i];
        all.sample_count = SAMPLES / 2;
        all.sample_every *= 2;
    }
    all.samples[all.sample_count++] = (struct sample){clock_seconds() - all.start, resident_kib() - all.base_kib,
                                                      atomic_load_explicit(&all.requested, memory_order_relaxed)};
}

static void on_timer(int signal) {
    int saved = errno;
    (void)signal;
    sample_take();
    errno = saved;
}

// ---- a thread

struct account {
    int64_t change;
    uint64_t waits, refused;
};

static void account_tell(struct account *account) {
    int64_t now = atomic_fetch_add_explicit(&all.requested, account->change, memory_order_relaxed) + account->change;
    int64_t peak = atomic_load_explicit(&all.peak_requested, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak_explicit(&all.peak_requested, &peak, now, memory_order_relaxed,
                                                                memory_order_relaxed))
        ;
    account->change = 0;
}

static void account_add(struct account *account, int64_t bytes) {
    account->change += bytes;
    if (account->change > all.account_bytes || account->change < -all.account_bytes)
        account_tell(account);
}

static void touch(void *block, size_t from, size_t bytes) {
    volatile char *at = block;
    if (bytes == 0 || all.touch == TOUCH_NONE)
        return;
    if (all.touch == TOUCH_ALL)
        memset((char *)block + from, 1, bytes - from);
    if (all.touch == TOUCH_PAGES)
        touch_pages_from(block, from, bytes);
    at[0] = 1;
    at[bytes - 1] = 1;
}

// Waits until the place is free, or holds a block. Another thread is about to see to it: P1.
static void *place_wait(struct place *place, bool for_block, struct account *account) {
    void *block;
    for (unsigned tries = 0;
         ((block = atomic_load_explicit(&place->block, memory_order_acquire)) != NULL) != for_block;)
        if (++tries > SPINS) {
            sched_yield();
            account->waits++;
        }
    return block;
}

static void place_fill(struct place *place, void *block, size_t bytes, struct account *account) {
    if (block == NULL && bytes > 0)
        account->refused++;
    place->bytes = bytes;
    atomic_store_explicit(&place->block, block != NULL ? block : REFUSED, memory_order_release); // pairs: place_wait
}

static void take(const struct op *op, struct account *account) {
    struct place *place = &all.places[op->place];
    place_wait(place, false, account);
    void *block = op->kind == OP_TAKE          ? malloc(op->bytes)
                  : op->kind == OP_TAKE_ZEROED ? calloc(1, op->bytes)
                                               : memalign((size_t)1 << op->align_log2, op->bytes);
    if (block != NULL)
        touch(block, 0, op->bytes);
    place_fill(place, block, op->bytes, account);
    account_add(account, (int64_t)op->bytes);
}

static void give(const struct op *op, struct account *account) {
    struct place *place = &all.places[op->place];
    void *block = place_wait(place, true, account);
    uint64_t bytes = place->bytes;
    atomic_store_explicit(&place->block, NULL, memory_order_release); // pairs: place_wait
    if (block != REFUSED)
        free(block);
    account_add(account, -(int64_t)bytes);
}

static void move(const struct op *op, struct account *account) {
    struct place *place = &all.places[op->place];
    void *old = place_wait(place, true, account);
    uint64_t old_bytes = place->bytes;
    void *block = realloc(old == REFUSED ? NULL : old, op->bytes);
    if (block == NULL && op->bytes > 0 && old != REFUSED) { // as it was; its size is as the trace says
        account->refused++;
        block = old;
    } else if (block != NULL && op->bytes > old_bytes) {
        touch(block, old_bytes, op->bytes);
    }
    place_fill(place, block, op->bytes, account);
    account_add(account, (int64_t)op->bytes - (int64_t)old_bytes);
}

// Whoever ends the oldest stretch moves on over all that have ended.
static void leave(uint32_t stretch) {
    // Sequentially consistent, with the loads below: of two threads that end neighbouring stretches one sees both.
    if (atomic_fetch_sub(&all.left_in[stretch], 1) != 1)
        return;
    uint32_t through = atomic_load(&all.through);
    while (through < all.plan.stretches && atomic_load(&all.left_in[through]) == 0)
        if (atomic_compare_exchange_strong(&all.through, &through, through + 1))
            through++;
    if (atomic_load(&all.waiters) > 0)
        futex_wake_all(&all.through);
}

static void enter(uint32_t stretch, struct account *account) {
    for (unsigned tries = 0;;) {
        uint32_t through = atomic_load_explicit(&all.through, memory_order_acquire);
        if (through + 1 >= stretch)
            return;
        if (++tries < SPINS)
            continue;
        account->waits++;
        atomic_fetch_add(&all.waiters, 1); // sequentially consistent; pairs: leave
        if (atomic_load(&all.through) == through)
            futex_wait(&all.through, through, 0);
        atomic_fetch_sub(&all.waiters, 1);
    }
}

static void thread_start(uint32_t thread);

static void run_ops(const struct plan_thread *thread, struct account *account) {
    uint32_t stretch = UINT32_MAX;
    for (size_t i = 0; i < thread->count; i++) {
        const struct op *op = &thread->ops[i];
        switch ((enum op_kind)op->kind) {
        case OP_TAKE:
        case OP_TAKE_ZEROED:
        case OP_TAKE_ALIGNED:
            take(op, account);
            break;
        case OP_MOVE:
            move(op, account);
            break;
        case OP_GIVE:
            give(op, account);
            break;
        case OP_ENTER:
            if (stretch != UINT32_MAX)
                leave(stretch);
            stretch = op->place;
            enter(stretch, account);
            break;
        case OP_START:
            thread_start(op->place);
            break;
        }
    }
    if (stretch != UINT32_MAX)
        leave(stretch);
}

static void *thread_main(void *argument) {
    struct account account = {0};
    struct timespec before, used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before); // the main thread has made the plan
    run_ops(argument, &account);
    account_tell(&account);
    atomic_fetch_add_explicit(&all.waits, account.waits, memory_order_relaxed);
    atomic_fetch_add_explicit(&all.refused, account.refused, memory_order_relaxed);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    atomic_fetch_add_explicit(&all.cpu_ns, (used.tv_sec - before.tv_sec) * 1000000000L + used.tv_nsec - before.tv_nsec,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&all.ended, 1, memory_order_release); // pairs: run_in_threads
    futex_wake_all(&all.ended);
    return NULL;
}

static void thread_start(uint32_t thread) {
    pthread_attr_t attributes;
    pthread_t made;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&made, &attributes, thread_main, &all.plan.threads[thread]);
    if (error != 0)
        trace_fail("thread %u can't be made: %s", thread, strerror(error));
    pthread_attr_destroy(&attributes);
}

// ---- the whole

static uint32_t threads_planned(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < all.plan.thread_count; i++)
        count += all.plan.threads[i].count > 0;
    return count;
}

static void run_in_threads(uint32_t threads) {
    uint32_t ended;
    thread_start(all.plan.first_thread);
    while ((ended = atomic_load_explicit(&all.ended, memory_order_acquire)) < threads) {
        futex_wait(&all.ended, ended, SAMPLE_FIRST_US);
        sample_take();
    }
}

// A program with one thread is replayed with one: allocators and the C library know the difference.
static void run_in_main_thread(void) {
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, SAMPLE_FIRST_US}, {0, SAMPLE_FIRST_US}}, off = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    thread_main(&all.plan.threads[all.plan.first_thread]);
    setitimer(ITIMER_REAL, &off, NULL);
}

static void prepare(struct piece *piece, const char *path, bool partial) {
    struct trace trace;
    trace_open(&trace, path, partial);
    plan_make(&piece->plan, &trace);
    if (piece->plan.steps == 0)
        trace_fail("%s holds no call that could be replayed", path);
    piece->places = harness_array(piece->plan.places + 1, sizeof *piece->places);
    piece->left_in = harness_array(piece->plan.stretches, sizeof *piece->left_in);
}

// A trace that comes again needs nothing of its own.
static void prepare_all(char **paths, bool partial) {
    for (unsigned i = 0; i < all.piece_count; i++) {
        unsigned first = 0;
        while (strcmp(paths[first], paths[i]) != 0)
            first++;
        if (first < i)
            all.pieces[i] = all.pieces[first];
        else
            prepare(&all.pieces[i], paths[i], partial);
    }
}

static void prepare_samples(void) {
    all.samples = harness_array(SAMPLES, sizeof *all.samples);
    all.sample_every = 1;
    all.page_kib = sysconf(_SC_PAGESIZE) / 1024;
    all.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (all.statm < 0)
        trace_fail("/proc/self/statm can't be read: %s", strerror(errno));
}

// A thread keeps so little to itself that the peak of a small trace with many threads is near enough.
static int64_t account_bytes(void) {
    int64_t share = (int64_t)(all.plan.peak_live_bytes / ACCOUNTS_SHARE / (threads_planned() + 1));
    return share < ACCOUNT_BYTES ? share : ACCOUNT_BYTES;
}

// No thread of the trace before is left.
static void piece_begin(const struct piece *piece) {
    all.plan = piece->plan;
    all.places = piece->places;
    all.left_in = piece->left_in;
    all.account_bytes = account_bytes();
    for (uint32_t i = 0; i < all.plan.stretches; i++)
        atomic_store_explicit(&all.left_in[i], all.plan.in_stretch[i], memory_order_relaxed); // no thread is there yet
    atomic_store(&all.through, 0);
    atomic_store(&all.ended, 0);
}

static void free_leftovers(void) {
    struct account account = {0};
    for (uint32_t i = 0; i <= all.plan.places; i++) {
        void *block = atomic_load_explicit(&all.places[i].block, memory_order_relaxed); // nobody else is there
        if (block == NULL)
            continue;
        if (block != REFUSED)
            free(block);
        account_add(&account, -(int64_t)all.places[i].bytes);
        atomic_store_explicit(&all.places[i].block, NULL, memory_order_relaxed);
    }
    account_tell(&account);
}

// The highest resident memory from here on; what the plan took meanwhile and gave back does not count.
static void reset_peak(void) {
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        if (write(file, "5", 1) != 1)
            trace_fail("the peak of resident memory can't be reset: %s", strerror(errno));
        close(file);
    }
}

// All traces as one.
static struct plan sum_of_plans(void) {
    struct plan sum = {0};
    for (unsigned i = 0; i < all.piece_count; i++) {
        const struct plan *plan = &all.pieces[i].plan;
        sum.steps += plan->steps;
        sum.unknown += plan->unknown;
        sum.missed += plan->missed;
        if (plan->peak_live_bytes > sum.peak_live_bytes)
            sum.peak_live_bytes = plan->peak_live_bytes;
    }
    return sum;
}

static void report(double seconds, uint32_t threads) {
    const struct plan sum = sum_of_plans(), *plan = &sum;
    long peak_kib = status_kib("/proc/self/status", "VmHWM:") - all.base_kib;
    double resident_sum = 0, requested_sum = 0;
    for (unsigned i = 0; i < all.sample_count; i++) {
        resident_sum += (double)all.samples[i].resident_kib;
        requested_sum += (double)all.samples[i].requested_bytes / 1024;
        peak_kib = all.samples[i].resident_kib > peak_kib ? all.samples[i].resident_kib : peak_kib;
    }
    double count = all.sample_count, peak_requested_kib = (double)atomic_load(&all.peak_requested) / 1024;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"workload\":\"replay\",\"operation\":\"call\",\"operations\":%llu,\"threads\":%u",
           (unsigned long long)plan->steps, threads);
    printf(",\"seconds\":%.6f,\"cpu_seconds\":%.6f", seconds, (double)atomic_load(&all.cpu_ns) * 1e-9);
    printf(",\"peak_kib\":%ld,\"mean_kib\":%.0f,\"final_kib\":%ld", peak_kib, resident_sum / count,
           all.samples[all.sample_count - 1].resident_kib);
    printf(",\"requested_peak_bytes\":%lld,\"requested_mean_kib\":%.0f,\"requested_peak_bytes_of_trace\":%llu",
           (long long)atomic_load(&all.peak_requested), requested_sum / count,
           (unsigned long long)plan->peak_live_bytes);
    printf(",\"fragmentation\":%.4f", peak_requested_kib > 0 ? (double)peak_kib / peak_requested_kib : 0);
    printf(",\"refused\":%llu,\"waits\":%llu,\"unknown\":%llu,\"missed\":%llu",
           (unsigned long long)atomic_load(&all.refused), (unsigned long long)atomic_load(&all.waits),
           (unsigned long long)plan->unknown, (unsigned long long)plan->missed);
    printf(",\"minor_faults\":%ld,\"major_faults\":%ld,\"voluntary_switches\":%ld,\"involuntary_switches\":%ld",
           usage.ru_minflt, usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw);
    printf(",\"timeline\":[");
    unsigned step = all.sample_count / 200 + 1;
    for (unsigned i = 0; i < all.sample_count; i += step)
        printf("%s[%.4f,%ld,%.0f]", i == 0 ? "" : ",", all.samples[i].seconds, all.samples[i].resident_kib,
               (double)all.samples[i].requested_bytes / 1024);
    printf("]");
    print_proof();
    printf("}\n");
}

static enum touch touch_of(const char *word) {
    static const char *const words[] = {"none", "ends", "pages", "all"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return (enum touch)i;
    trace_fail("touch=%s: none, ends, pages or all is needed", word);
}

// Replays one trace after another. Returns the most threads that one of them had; *seconds: of all.
static uint32_t run_all(double *seconds) {
    uint32_t most = 0;
    for (unsigned i = 0; i < all.piece_count; i++) {
        if (i > 0)
            free_leftovers();
        piece_begin(&all.pieces[i]);
        uint32_t threads = threads_planned();
        double begun = clock_seconds();
        if (threads == 1)
            run_in_main_thread();
        else
            run_in_threads(threads);
        *seconds += clock_seconds() - begun;
        most = threads > most ? threads : most;
    }
    return most;
}

int main(int argc, char **argv) {
    if (argc < 4)
        trace_fail("usage: replay none|ends|pages|all whole|partial FILE...");
    all.touch = touch_of(argv[1]);
    all.piece_count = (unsigned)argc - 3;
    all.pieces = harness_array(all.piece_count, sizeof *all.pieces);
    prepare_all(argv + 3, strcmp(argv[2], "partial") == 0);
    prepare_samples();
    reset_peak();
    all.base_kib = resident_kib();
    all.start = clock_seconds();
    sample_take();
    double seconds = 0;
    uint32_t threads = run_all(&seconds);
    all.sample_skipped = all.sample_every;
    sample_take();
    report(seconds, threads);
    return 0;
}
