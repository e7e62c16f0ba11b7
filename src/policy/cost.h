// The one formula by which everything is compared: what the allocator costs a program in a second, in nanoseconds of
// processor time.
//
//     batches moved by the cold path * (COST_BATCH_NS + COST_PAGE_NS per page of the block)
//   + time spent in calls for big blocks
//   + page faults, or where the system does not say pages that were purged and used again, * COST_FAULT_NS
//   + pages purged * COST_PURGE_NS
//   + MiB resident that no block in use accounts for * the price of a MiB held for a second (option memory_price)
//
// What of it is time and what is memory is weighed by the last price: it says for how much processor time a MiB is
// worth holding for a second.
#ifndef POLICY_COST_H
#define POLICY_COST_H

#include "base/tuning.h"

// What happened in a window.
struct cost_seen {
    uint64_t elapsed_ns;
    uint64_t batches[CLASS_END]; // moved in it
    uint64_t big_ns;
    uint64_t faults;
    uint64_t refaulted_bytes; // 0 where faults are known
    uint64_t purged_bytes;
    size_t idle_bytes; // at its end: resident, and in no block in use
    size_t price;      // of a MiB held for a second, ns
};

// The price of one batch.
INTERNAL uint64_t cost_of_batch_ns(uint32_t block_bytes);
// Of the window, per second.
INTERNAL double cost_of_window(const struct cost_seen *seen, const uint32_t *class_bytes);

#endif
