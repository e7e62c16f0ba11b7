// Tables of records whose size is just above that of a size class: built, used at random, dropped.
//
// Models: a data base, a compiler or a server whose many records are of a few sizes, which a header of 16 bytes has
// lifted above a power of two: 272, 528, 1,040 bytes and so on. What the allocator rounds up is paid for each of them.
// Does not model: sizes that are spread; records that grow.
// Formulae: in each of `tables` rounds each thread builds a table for each of the sizes, `table` MiB in all over sizes
// and threads, and writes each record whole; then `operations` times a record, drawn by xorshift64* over all of them,
// is freed and another of its size allocated and written; then all are freed in random order. One operation: one free
// and one malloc of the random use.
#include "harness.h"

#include <stdio.h>
#include <string.h>

#define SIZES_MOST 16u

static struct {
    uint32_t sizes, tables;
    size_t bytes[SIZES_MOST], records[SIZES_MOST]; // records: of one thread's table
    size_t all_records;                            // of one thread
    uint64_t operations;                           // of one thread in one round
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.all_records, sizeof(void *));
}

static size_t bytes_of(size_t record) {
    unsigned table = 0;
    for (; record >= set.records[table]; table++)
        record -= set.records[table];
    return set.bytes[table];
}

static void *record_new(size_t bytes) {
    void *record = allocate_or_fail(bytes);
    memset(record, 1, bytes);
    return record;
}

static void shuffle(void **records, uint64_t *random) {
    for (size_t i = set.all_records; i > 1; i--) {
        size_t other = random_below((uint32_t)random_next(random), (uint32_t)i);
        void *record = records[i - 1];
        records[i - 1] = records[other];
        records[other] = record;
    }
}

static void use(struct worker *worker) {
    void **records = worker->own;
    uint64_t random = worker->random;
    for (uint32_t round = 0; round < set.tables; round++) {
        for (size_t i = 0; i < set.all_records; i++)
            records[i] = record_new(bytes_of(i));
        for (uint64_t left = set.operations; left > 0; left--) {
            size_t i = random_below((uint32_t)random_next(&random), (uint32_t)set.all_records);
            free(records[i]);
            records[i] = record_new(bytes_of(i));
        }
        shuffle(records, &random);
        for (size_t i = 0; i < set.all_records; i++)
            free(records[i]);
    }
    worker->random = random;
}

int main(int argc, char **argv) {
    uint64_t mebibytes = harness_number(argc, argv, 1, "MiB of all tables", 1, 1 << 14);
    unsigned threads = (unsigned)harness_number(argc, argv, 2, "threads", 1, 4096);
    set.tables = (uint32_t)harness_number(argc, argv, 3, "rounds", 1, 1 << 20);
    set.operations = harness_number(argc, argv, 4, "operations of a thread in a round", 1, UINT64_C(1) << 40);
    for (int i = 5; i < argc || i == 5; i++) {
        if (set.sizes == SIZES_MOST)
            harness_fail("too many sizes");
        set.bytes[set.sizes++] = harness_number(argc, argv, i, "size", 1, 1 << 20);
    }
    for (uint32_t i = 0; i < set.sizes; i++) {
        set.records[i] = (mebibytes << 20) / threads / set.sizes / set.bytes[i] + 1;
        set.all_records += set.records[i];
    }
    const struct phase phases[] = {{"use", use}};
    struct phase_result results[2];
    harness_run(threads, phases, 1, own, results);
    char parameters[160];
    snprintf(parameters, sizeof parameters, "{\"mebibytes\":%llu,\"threads\":%u,\"tables\":%u,\"sizes\":%u}",
             (unsigned long long)mebibytes, threads, set.tables, set.sizes);
    const struct report report = {.workload = "odd_sizes",
                                  .operation = "free and malloc",
                                  .operations = set.operations * set.tables * threads,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 1, results);
    return 0;
}
