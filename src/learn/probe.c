// Touches pages and purges them.
#include "learn/probe.h"

#include "sys/os.h"

#define PROBE_PAGES 32u   // a typical purge: 128 KiB in one call
#define PROBE_LEAST_NS 20 // of either; a clock that does not move would say 0
#define PROBE_MOST_NS 20000

static struct {
    unsigned char *pages; // NULL: none yet
    struct cost_page last[3];
    unsigned count; // of measurements so far
} probe = {.last = {COST_PAGE_INITIAL, COST_PAGE_INITIAL, COST_PAGE_INITIAL}};

static uint64_t probe_bounded(uint64_t ns) {
    return ns < PROBE_LEAST_NS ? PROBE_LEAST_NS : ns < PROBE_MOST_NS ? ns : PROBE_MOST_NS;
}

static void touch(unsigned from, unsigned end) {
    for (unsigned i = from; i < end; i++)
        *(volatile unsigned char *)&probe.pages[i * os_facts.page_bytes] = 1;
}

void probe_measure(void) {
    size_t bytes = PROBE_PAGES * os_facts.page_bytes, parts = os_facts.page_bytes / PAGE_LEAST_BYTES;
    // Without what other threads and programs do meanwhile, where that may be asked for.
    uint64_t (*clock_ns)(void) = os_is_confined() ? os_now_ns : os_thread_ns;
    if (probe.pages == NULL && (probe.pages = os_map(bytes)) == NULL)
        return;
    touch(0, 1); // and with it the table that leads to them
    uint64_t begin = clock_ns();
    touch(1, PROBE_PAGES);
    uint64_t middle = clock_ns();
    bool purged = os_purge(probe.pages, bytes);
    uint64_t end = clock_ns();
    if (!purged)
        return; // memory is locked
    struct cost_page page = {
        .fault_ns = probe_bounded((middle - begin) / (PROBE_PAGES - 1) / parts),
        .purge_ns = probe_bounded((end - middle) / PROBE_PAGES / parts),
    };
    for (unsigned i = 0; i < (probe.count == 0 ? 3u : 1u); i++) // there is no other than the first one yet
        probe.last[(probe.count + i) % 3] = page;
    probe.count++;
}

struct cost_page probe_cost(void) {
    return cost_page_middle(probe.last);
}
