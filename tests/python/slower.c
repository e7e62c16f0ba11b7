// In place of malloc: the same, and now and then a wait. Every 4096th call waits TICKS ticks of the time-stamp counter,
// so that the mean cost of a call is known, and nothing can run beside it.
#include <stddef.h>
#include <x86intrin.h>

void *malloc(size_t bytes);
void *fast_malloc(size_t bytes);

static __thread unsigned calls;

void *malloc(size_t bytes) {
    if (++calls % 4096 == 0)
        for (unsigned long long begun = __rdtsc(); __rdtsc() - begun < TICKS;)
            ;
    return fast_malloc(bytes);
}
