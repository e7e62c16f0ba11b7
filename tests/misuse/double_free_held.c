// A thread frees a small block of another one twice; seen when it ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *free_twice(void *block) {
    free(block);
    free(block);
    return NULL;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *block = malloc(24);
        dprintf(1, "%p\n", block);
        pthread_create(&thread, NULL, free_twice, block);
        pthread_join(thread, NULL);
    }
    return puts("went on") < 0;
}
