// What the allocator costs a program.
#include "policy/cost.h"

uint64_t cost_of_batch_ns(uint32_t block_bytes) {
    return COST_BATCH_NS + (uint64_t)block_bytes / PAGE_LEAST_BYTES * COST_PAGE_NS;
}

static unsigned cheaper_than(const struct cost_page *pages, unsigned count, uint64_t mib_ns, bool or_equal) {
    unsigned cheaper = 0;
    for (unsigned i = 0; i < count; i++)
        cheaper += cost_of_mib_ns(&pages[i]) < mib_ns + or_equal;
    return cheaper;
}

struct cost_page cost_page_middle(const struct cost_page *pages, unsigned count) {
    unsigned middle = (count - 1) / 2, i = 0;
    for (; i + 1 < count; i++) {
        uint64_t mib_ns = cost_of_mib_ns(&pages[i]);
        if (cheaper_than(pages, count, mib_ns, false) <= middle && cheaper_than(pages, count, mib_ns, true) > middle)
            break;
    }
    return pages[i];
}

double cost_of_window(const struct cost_seen *seen, const uint32_t *class_bytes) {
    double seconds = (double)seen->elapsed_ns / 1e9, spent_ns = 0;
    if (seen->elapsed_ns == 0)
        return 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        spent_ns += (double)seen->batches[i] * (double)cost_of_batch_ns(class_bytes[i]);
    spent_ns += (double)seen->big_ns;
    spent_ns += ((double)seen->faults + (double)seen->refaulted_bytes / PAGE_LEAST_BYTES) * (double)seen->page.fault_ns;
    spent_ns += (double)seen->purged_bytes / PAGE_LEAST_BYTES * (double)seen->page.purge_ns;
    return spent_ns / seconds + (double)seen->idle_bytes / (double)MIB * (double)seen->price;
}
