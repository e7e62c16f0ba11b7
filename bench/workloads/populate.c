// Writes to so many MiB of fresh memory and ends: no workload, but what makes a machine that is a guest the same for
// whoever comes next. Its host takes memory away that lies free for some seconds, and each first touch after that is a
// fault of the host's: a row's first run would pay for all others.
#include "harness.h"

#include <sys/mman.h>

int main(int argc, char **argv) {
    size_t bytes = (size_t)harness_number(argc, argv, 1, "MiB", 1, 1 << 20) << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        harness_fail("there is no such mapping");
    madvise(memory, bytes, MADV_HUGEPAGE); // so that what is free in large pieces is reached first
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        memory[at] = 1;
    return 0;
}
