// Adds the counters up and says them.
#ifndef API_STATISTICS_H
#define API_STATISTICS_H

#include "big/sites.h"
#include "hakmem/hakmem.h"
#include "heap/heap.h"
#include "sys/report.h"

struct statistics_class {
    struct heap_counters counters; // of all threads that ever were
    uint64_t cached_blocks;        // in threads' stacks and on their way between them now
    uint64_t passed_blocks;        // from thread to thread, by the transfer cache
    struct slab_totals slabs;
};

struct statistics {
    struct statistics_class classes[CLASS_END];
    uint64_t threads;
    uint64_t kept_hits;
    size_t kept_bytes;
    struct site big_sites[STATISTICS_SITES]; // those that asked most often
    unsigned big_site_count;
};

// Everything in one pass over the heaps. Some 8 KiB: callers keep it off small stacks (it is static, under a lock).
INTERNAL void statistics_fill(struct hakmem_stats *out);
INTERNAL void statistics_say_json(struct report *report);
INTERNAL void statistics_say_text(struct report *report);
// The classes as malloc_info's <size> elements: free blocks that threads keep.
INTERNAL void statistics_say_xml_sizes(struct report *report);
// At the process's end, where the option asks for it.
INTERNAL void statistics_at_exit(void);

#endif
