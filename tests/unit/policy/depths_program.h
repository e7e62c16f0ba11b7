// What the tests of depths share: a program whose time and batches are invented, and what was decided for it.
#ifndef HAKMEM_TESTS_DEPTHS_PROGRAM_H
#define HAKMEM_TESTS_DEPTHS_PROGRAM_H

#include "unit/unit.h"

#include "policy/depths.h"

enum { STEP_MS = 100, CLASS = CLASS_FIRST + 20, OTHER = CLASS_FIRST_LARGE + 2 };

// A program, and what was decided for it.
static struct {
    struct depths state;
    struct depths_seen seen;
    struct snapshot snapshot;
    uint64_t batches[CLASS_END];
    uint64_t denied[CLASS_END];
    uint32_t bytes[CLASS_END];
    uint8_t defaults[CLASS_END];
} program;

UNUSED static void begin_class(unsigned index, uint32_t bytes, unsigned depth) {
    program.bytes[index] = bytes;
    program.defaults[index] = program.snapshot.depth[index] = (uint8_t)depth;
    program.snapshot.batch[index] = (uint8_t)((depth + 1) / 2);
}

UNUSED static int begin(void **state) {
    (void)state;
    memset(&program, 0, sizeof program);
    snapshot_default(&program.snapshot);
    program.seen = (struct depths_seen){
        .now_ns = 1000 * MS_NS,
        .threads = 1,
        .in_use_bytes = GIB,
        .batches = program.batches,
        .denied = program.denied,
        .class_bytes = program.bytes,
        .defaults = program.defaults,
        .thread_bytes = STACK_THREAD_BYTES,
        .all_threads_bytes = STACK_ALL_THREADS_BYTES,
        .price = COST_MIB_SECOND_NS,
    };
    begin_class(CLASS, 64, 16);
    depths_step(&program.state, &program.seen, &program.snapshot);
    return 0;
}

UNUSED static unsigned depth_of(unsigned index) {
    return program.snapshot.depth[index];
}

// A step after which the class has moved so many batches a second.
UNUSED static unsigned step(unsigned index, uint64_t rate) {
    program.seen.now_ns += STEP_MS * MS_NS;
    program.batches[index] += rate * STEP_MS / 1000;
    return depths_step(&program.state, &program.seen, &program.snapshot);
}

// A class whose depth has become another.
UNUSED static void deepen(unsigned index, uint32_t bytes, unsigned initial, unsigned depth) {
    begin_class(index, bytes, initial);
    program.snapshot.depth[index] = (uint8_t)depth;
}

// One class is deep, and another gets no stack, so many times a second.
UNUSED static unsigned step_denied(uint64_t rate, uint64_t denied_rate) {
    program.denied[OTHER] += denied_rate * STEP_MS / 1000;
    return step(CLASS, rate);
}

#endif
