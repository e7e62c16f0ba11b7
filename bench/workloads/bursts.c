// A server: bursts of requests, and idle time between them.
//
// Models: a service under uneven load. What it needs at the peak it should not keep for ever; what it will need again
// in a moment it should not pay for twice.
// Does not model: more than one thread; load that never ends.
// Formulae: in each of `bursts` bursts `requests` requests are open at a time, `rounds` times as many in all; a request
// allocates 32 blocks of 16 × 4096^u B, u uniform in [0, 1) (16 B to 64 KiB, log-uniform), writes first and last byte,
// and frees them when the request is closed, in order of opening. Then the thread sleeps `idle` ms, allocates and frees
// ten blocks as a heartbeat, and sleeps as long again.
// The time is that of the bursts without the sleeping. "idle_kib": mean of resident memory at the ends of the idle
// times, beyond the start; "burst_kib": mean at the heights of the bursts. One operation: one malloc and one free.
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define BLOCKS 32u
#define LEAST 16u
#define MOST 65536u
#define HEARTBEAT 10u

struct request {
    void *block[BLOCKS];
};

static struct {
    uint32_t requests, idle_ms;
    uint64_t bursts, rounds;
    double busy_seconds, idle_kib, burst_kib;
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.requests, sizeof(struct request));
}

static void request_open(struct request *request, uint64_t *random) {
    for (uint32_t i = 0; i < BLOCKS; i++) {
        double uniform = (double)(random_next(random) >> 11) * 0x1p-53;
        size_t bytes = (size_t)(LEAST * exp2(uniform * log2((double)MOST / LEAST)));
        request->block[i] = allocate_or_fail(bytes);
        touch_ends(request->block[i], bytes);
    }
}

static void request_close(struct request *request) {
    for (uint32_t i = 0; i < BLOCKS; i++)
        free(request->block[i]);
}

static void rest(void) {
    struct timespec time = {set.idle_ms / 1000, set.idle_ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static void serve(struct worker *worker) {
    struct request *requests = worker->own;
    long start_kib = status_kib("/proc/self/status", "VmRSS:");
    for (uint64_t burst = 0; burst < set.bursts; burst++) {
        double begun = clock_seconds();
        for (uint32_t i = 0; i < set.requests; i++)
            request_open(&requests[i], &worker->random);
        for (uint64_t i = 0; i < (set.rounds - 1) * set.requests; i++) {
            request_close(&requests[i % set.requests]);
            request_open(&requests[i % set.requests], &worker->random);
        }
        set.busy_seconds += clock_seconds() - begun;
        set.burst_kib += (double)(status_kib("/proc/self/status", "VmRSS:") - start_kib) / (double)set.bursts;
        begun = clock_seconds();
        for (uint32_t i = 0; i < set.requests; i++)
            request_close(&requests[i]);
        set.busy_seconds += clock_seconds() - begun;
        rest();
        for (uint32_t i = 0; i < HEARTBEAT; i++)
            free(allocate_or_fail(LEAST << i));
        rest();
        set.idle_kib += (double)(status_kib("/proc/self/status", "VmRSS:") - start_kib) / (double)set.bursts;
    }
}

int main(int argc, char **argv) {
    set.requests = (uint32_t)harness_number(argc, argv, 1, "requests at a time", 1, 1 << 24);
    set.idle_ms = (uint32_t)harness_number(argc, argv, 2, "idle time in ms", 0, 1 << 20);
    set.bursts = harness_number(argc, argv, 3, "bursts", 1, 1 << 24);
    set.rounds = harness_number(argc, argv, 4, "rounds", 1, 1 << 24);
    const struct phase phases[] = {{"serve", serve}};
    struct phase_result results[2];
    harness_run(1, phases, 1, own, results);
    results[1].seconds = set.busy_seconds;
    char parameters[100], extra[100];
    snprintf(parameters, sizeof parameters, "{\"requests\":%u,\"idle_ms\":%u,\"rounds\":%llu,\"threads\":1}",
             set.requests, set.idle_ms, (unsigned long long)set.rounds);
    snprintf(extra, sizeof extra, ",\"idle_kib\":%.0f,\"burst_kib\":%.0f", set.idle_kib, set.burst_kib);
    const struct report report = {.workload = "bursts",
                                  .operation = "malloc and free",
                                  .operations = set.bursts * set.rounds * set.requests * BLOCKS,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 1, results);
    return 0;
}
