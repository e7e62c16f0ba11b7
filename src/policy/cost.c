// What the allocator costs a program.
#include "policy/cost.h"

uint64_t cost_of_batch_ns(uint32_t block_bytes) {
    return COST_BATCH_NS + (uint64_t)block_bytes / PAGE_LEAST_BYTES * COST_PAGE_NS;
}

static uint64_t middle_of(uint64_t one, uint64_t two, uint64_t three) {
    uint64_t less = one < two ? one : two, more = one < two ? two : one;
    return three < less ? less : three < more ? three : more;
}

struct cost_page cost_page_middle(const struct cost_page pages[3]) {
    return (struct cost_page){
        .fault_ns = middle_of(pages[0].fault_ns, pages[1].fault_ns, pages[2].fault_ns),
        .purge_ns = middle_of(pages[0].purge_ns, pages[1].purge_ns, pages[2].purge_ns),
    };
}

double cost_of_window(const struct cost_seen *seen, const uint32_t *class_bytes) {
    double seconds = (double)seen->elapsed_ns / 1e9, spent_ns = 0;
    if (seen->elapsed_ns == 0)
        return 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        spent_ns += (double)seen->batches[i] * (double)cost_of_batch_ns(class_bytes[i]);
    spent_ns += ((double)seen->faults + (double)seen->refaulted_bytes / PAGE_LEAST_BYTES) * (double)seen->page.fault_ns;
    spent_ns += (double)seen->purged_bytes / PAGE_LEAST_BYTES * (double)seen->page.purge_ns;
    return spent_ns / seconds + (double)seen->idle_bytes / (double)MIB * (double)seen->price;
}

double cost_of_work(const struct cost_work *seen, double pace) {
    double seconds = (double)seen->elapsed_ns / 1e9, held = (double)seen->idle_bytes / (double)MIB * seconds;
    return ((double)seen->busy_ns + held * (double)seen->price) / (double)seen->done * pace;
}
