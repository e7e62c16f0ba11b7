// Random replacement: sizes of known shares, each drawn independently of all before. Every round frees all it has, so
// that stacks run full and empty. usage: sizes CALLS THREADS
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define SLOTS 3000u
#define ROUND 8000u // calls

static const size_t sizes[] = {16, 24, 40, 64, 100, 200, 333, 700, 1040, 2000, 5000, 20000, 100000};
static const unsigned weights[] = {200, 150, 300, 100, 120, 90, 80, 60, 100, 40, 20, 8, 2};
static unsigned long calls;

static uint64_t next(uint64_t *random) { // xorshift64*
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return *random * UINT64_C(0x2545F4914F6CDD1D);
}

static size_t draw(uint64_t *random) {
    unsigned sum = 0, at = 0;
    for (unsigned i = 0; i < sizeof weights / sizeof *weights; i++)
        sum += weights[i];
    for (unsigned left = (unsigned)((next(random) >> 33) % sum); left >= weights[at]; at++)
        left -= weights[at];
    return sizes[at];
}

static void *replace(void *seed) {
    uint64_t random = UINT64_C(0x9E3779B97F4A7C15) * (uintptr_t)seed;
    void *slots[SLOTS] = {0};
    for (unsigned long i = 1; i <= calls; i++) {
        unsigned slot = (unsigned)((next(&random) >> 33) % SLOTS);
        free(slots[slot]);
        slots[slot] = malloc(draw(&random));
        for (unsigned each = 0; i % ROUND == 0 && each < SLOTS; each++) {
            free(slots[each]);
            slots[each] = NULL;
        }
    }
    for (unsigned each = 0; each < SLOTS; each++)
        free(slots[each]);
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[16];
    unsigned others = count > 2 ? (unsigned)atoi(words[2]) - 1 : 0;
    calls = count > 1 ? strtoul(words[1], NULL, 10) : 0;
    for (unsigned i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, replace, (void *)(uintptr_t)(i + 2));
    replace((void *)(uintptr_t)1);
    for (unsigned i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
