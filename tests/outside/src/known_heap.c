// Leaves a heap of which much is known: with blocks of every kind out, some freed here, some by another thread.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 3000, MIDDLE = 500 };
static void *small[SMALL], *held[SMALL], *middle[MIDDLE];

static void *free_half_of_held(void *unused) {
    for (int i = 0; i < SMALL; i += 2)
        free(held[i]);
    return unused;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < SMALL; i++) {
        small[i] = malloc(200);
        held[i] = malloc(40);
    }
    for (int i = 0; i < MIDDLE; i++)
        middle[i] = malloc(5000);
    char *run = malloc(5 << 20), *mapping = malloc(100 << 20);
    memset(run, 1, 5 << 20);
    mapping[0] = 1;
    for (int i = 0; i < SMALL; i += 3)
        free(small[i]);
    for (int i = 0; i < MIDDLE; i++)
        free(middle[i]);
    if (pthread_create(&thread, NULL, free_half_of_held, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    free(malloc(20 << 20));
    return 0;
}
