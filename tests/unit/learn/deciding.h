// A program of which observations are invented, for tests of what is decided. Each test is a process: a program's
// decisions are made once.
#ifndef HAKMEM_TESTS_DECIDING_H
#define HAKMEM_TESTS_DECIDING_H

#include "unit/unit.h"

#include "learn/decide.h"
#include "learn/publish.h"
#include "sample/sizes.h"

enum { BLOCKS = 50000, FEW_BLOCKS = 7000 };

UNUSED static struct snapshot base;
UNUSED static struct observation seen;

UNUSED static void begin(void) {
    MUST(heap_process_start());
    heap_default_snapshot(&base);
    seen.now_ns = SECOND_NS;
    seen.page = COST_PAGE_DEFAULT;
    seen.threads = 1;
    seen.in_use_bytes = 64 * MIB;
    decide_start(&base, DECIDE_USUAL, seen.now_ns);
}

UNUSED static bool step_later(uint64_t later_ns) {
    bool soon;
    seen.now_ns += later_ns;
    seen.course = (struct rises_seen){seen.in_use_bytes, seen.in_use_bytes, seen.in_use_bytes};
    return decide_step(&seen, &soon);
}

// The running program has a class of that size.
UNUSED static bool has_spare(uint32_t bytes) {
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        if (decided.spare_bytes[i] == bytes)
            return true;
    return false;
}

// So many requests of a size were seen, and the program has so many blocks of its class.
UNUSED static void ask_for(size_t bytes, unsigned requests, unsigned blocks) {
    for (unsigned i = 0; i < requests; i++)
        sizes_note(bytes);
    seen.classes[class_of(bytes)].refills = blocks / 10;
    seen.classes[class_of(bytes)].refilled_blocks = blocks;
}

#endif
