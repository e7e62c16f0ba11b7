// Runs a workload's phases in its threads, and measures between them.
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 4096
#define RANDOM_SEED UINT64_C(0x9E3779B97F4A7C15)

static struct {
    pthread_barrier_t barrier; // all workers and the main thread
    const struct phase *phases;
    unsigned phase_count;
    double *ended; // when each worker ended its phase
    struct worker *workers;
    pthread_t *threads;
} run;

void harness_fail(const char *what) {
    dprintf(STDERR_FILENO, "workload: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    _exit(2);
}

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void *harness_array(size_t count, size_t element_bytes) {
    void *array =
        mmap(NULL, count * element_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (array == MAP_FAILED)
        harness_fail("mmap of a table");
    return array;
}

uint64_t harness_number(int argc, char **argv, int index, const char *name, uint64_t low, uint64_t high) {
    char *end = NULL;
    errno = 0;
    uint64_t value = index < argc ? strtoull(argv[index], &end, 10) : 0;
    if (index >= argc || errno != 0 || end == argv[index] || *end != '\0' || value < low || value > high) {
        dprintf(STDERR_FILENO, "%s: argument %d, %s: a whole number from %llu to %llu is needed\n", argv[0], index,
                name, (unsigned long long)low, (unsigned long long)high);
        _exit(2);
    }
    return value;
}

static void measure(struct phase_result *result) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    result->minor_faults = usage.ru_minflt;
    result->major_faults = usage.ru_majflt;
    result->voluntary_switches = usage.ru_nvcsw;
    result->involuntary_switches = usage.ru_nivcsw;
    result->resident_kib = status_kib("/proc/self/status", "VmRSS:");
    result->peak_kib = status_kib("/proc/self/status", "VmHWM:");
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    for (unsigned i = 0; i < run.phase_count; i++) {
        pthread_barrier_wait(&run.barrier); // released together
        if (run.phases[i].work != NULL)
            run.phases[i].work(worker);
        run.ended[worker->index] = clock_seconds();
        pthread_barrier_wait(&run.barrier); // all ended; the main thread measures
    }
    pthread_barrier_wait(&run.barrier); // alive until the last measurement is done
    return NULL;
}

static void run_in_main_thread(struct phase_result *results) {
    measure(&results[0]);
    for (unsigned i = 0; i < run.phase_count; i++) {
        double start = clock_seconds();
        if (run.phases[i].work != NULL)
            run.phases[i].work(&run.workers[0]);
        results[i + 1].seconds = clock_seconds() - start;
        measure(&results[i + 1]);
    }
}

// Each thread is kept on a core of its own when there are enough; else two threads may share one while another is idle.
// With more threads than cores the kernel places them.
static void threads_start(unsigned threads) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        harness_fail("sched_getaffinity");
    unsigned cpu = 0, cpus = (unsigned)CPU_COUNT(&allowed);
    for (unsigned i = 0; i < threads; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        if (threads <= cpus) {
            while (!CPU_ISSET(cpu, &allowed))
                cpu++;
            CPU_ZERO(&one);
            CPU_SET(cpu++, &one);
            pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
        }
        errno = pthread_create(&run.threads[i], &attributes, worker_main, &run.workers[i]);
        if (errno != 0)
            harness_fail("pthread_create");
        pthread_attr_destroy(&attributes);
    }
}

static void run_in_threads(unsigned threads, struct phase_result *results) {
    pthread_barrier_init(&run.barrier, NULL, threads + 1);
    threads_start(threads);
    measure(&results[0]);
    for (unsigned i = 0; i < run.phase_count; i++) {
        double start = clock_seconds(), end = start;
        pthread_barrier_wait(&run.barrier);
        pthread_barrier_wait(&run.barrier);
        for (unsigned j = 0; j < threads; j++)
            end = run.ended[j] > end ? run.ended[j] : end;
        results[i + 1].seconds = end - start;
        measure(&results[i + 1]);
    }
    pthread_barrier_wait(&run.barrier);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(run.threads[i], NULL);
}

void harness_run(unsigned threads, const struct phase *phases, unsigned count, void *(*own)(unsigned index),
                 struct phase_result *results) {
    if (threads == 0 || threads > THREADS_MAX || count > PHASES_MAX)
        harness_fail("too many threads or phases");
    run.phases = phases;
    run.phase_count = count;
    run.workers = harness_array(threads, sizeof *run.workers);
    run.ended = harness_array(threads, sizeof *run.ended);
    run.threads = harness_array(threads, sizeof *run.threads);
    for (unsigned i = 0; i < threads; i++) {
        uint64_t seed = RANDOM_SEED * (i + 1);
        run.workers[i] = (struct worker){.index = i, .random = seed, .own = own(i)};
    }
    if (threads == 1)
        run_in_main_thread(results);
    else
        run_in_threads(threads, results);
}

extern char **environ;

char **environment_with(const char *preload) {
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **result = harness_array(count + 2, sizeof *result);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            result[kept++] = environ[i];
    if (preload[0] != '\0' && asprintf(&result[kept], "LD_PRELOAD=%s", preload) < 0)
        harness_fail("asprintf");
    return result;
}
