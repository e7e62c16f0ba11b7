// Three producers, whose blocks one consumer frees; all do some of their own beside.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { PRODUCERS = 3, BLOCKS = 20000, RING = 256 };

static _Atomic(void *) rings[PRODUCERS][RING];

static void *produce(void *argument) {
    _Atomic(void *) *ring = argument;
    for (unsigned i = 0; i < BLOCKS; i++) {
        void *block = malloc(16 + i % 1000), *own = malloc(50);
        void *expected = NULL;
        while (!atomic_compare_exchange_weak(&ring[i % RING], &expected, block))
            expected = NULL;
        free(own);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[PRODUCERS];
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[i], NULL, produce, rings[i]);
    for (unsigned i = 0; i < BLOCKS; i++)
        for (unsigned j = 0; j < PRODUCERS; j++) {
            void *block;
            while ((block = atomic_exchange(&rings[j][i % RING], NULL)) == NULL)
                ;
            free(block);
        }
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
