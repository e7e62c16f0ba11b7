// The one formula by which everything is compared: what the allocator costs a program in a second, in nanoseconds of
// processor time.
//
//     batches moved by the cold path * (COST_BATCH_NS + COST_PAGE_NS per page of the block)
//   + page faults, or where the system does not say pages that were purged and used again, * what one costs
//   + pages purged * what one costs
//   + MiB resident that no block in use accounts for * the price of a MiB held for a second (option memory_price)
//
// What of it is time and what is memory is weighed by the last price: it says for how much processor time a MiB is
// worth holding for a second.
#ifndef POLICY_COST_H
#define POLICY_COST_H

#include "base/tuning.h"

// What a page costs that goes back to the system, and comes again: on this machine, as far as it was measured. It is
// more where a hypervisor takes part, or other processors must hear of it.
struct cost_page {
    uint64_t fault_ns; // with its zeroed page
    uint64_t purge_ns; // its share of a system call
};
#define COST_PAGE_INITIAL \
    { COST_FAULT_NS, COST_PURGE_NS }
#define COST_PAGE_DEFAULT ((struct cost_page)COST_PAGE_INITIAL)

// What happened in a window.
struct cost_seen {
    uint64_t elapsed_ns;
    uint64_t batches[CLASS_END]; // moved in it
    uint64_t faults;             // in pages of PAGE_LEAST_BYTES
    uint64_t refaulted_bytes;    // 0 where faults are known
    uint64_t purged_bytes;
    size_t idle_bytes; // at its end: resident, and in no block in use
    size_t price;      // of a MiB held for a second, ns
    struct cost_page page;
};

// What is in the middle of three measurements: a single odd one says nothing.
INTERNAL struct cost_page cost_page_middle(const struct cost_page pages[3]);
// Of a MiB that goes back and comes again.
ALWAYS_INLINE uint64_t cost_of_mib_ns(const struct cost_page *page) {
    return (page->fault_ns + page->purge_ns) * (MIB / PAGE_LEAST_BYTES);
}

// A window in which so much work was done, in whatever unit: what it says holds for the program as a whole, and needs
// no price of what the allocator does.
struct cost_work {
    uint64_t elapsed_ns;
    uint64_t busy_ns;  // processor time of the process
    uint64_t done;     // more than 0
    size_t idle_bytes; // as above
    size_t price;
};

// The price of one batch.
INTERNAL uint64_t cost_of_batch_ns(uint32_t block_bytes);
// Of the window, per second.
INTERNAL double cost_of_window(const struct cost_seen *seen, const uint32_t *class_bytes);
// Of the time in which `pace` of that work is done, in nanoseconds.
INTERNAL double cost_of_work(const struct cost_work *seen, double pace);

#endif
