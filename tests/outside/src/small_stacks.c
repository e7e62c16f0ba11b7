// Threads with the smallest stacks there may be use every function and every size.
#include "helper.h"

#include <limits.h>

enum { THREADS = 200 };

static void *work(void *argument) {
    uintptr_t number = (uintptr_t)argument;
    use_all_sizes(10);
    void *block = NULL;
    for (size_t alignment = 16; alignment <= 1 << 21; alignment *= 2) {
        CHECK(posix_memalign(&block, alignment, 100 + number) == 0 && (uintptr_t)block % alignment == 0);
        CHECK(malloc_usable_size(block) >= 100 + number);
        call_free(block);
    }
    CHECK(call_malloc(SIZE_MAX / 2) == NULL);
    if (number % 10 == 0) {
        (void)malloc_trim(0);
        (void)mallinfo2();
    }
    return NULL;
}

int main(void) {
    prove_hakmem_serves();
    pthread_attr_t attributes;
    pthread_t threads[4];
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    for (uintptr_t i = 0; i < THREADS; i += COUNT_OF(threads)) {
        for (size_t j = 0; j < COUNT_OF(threads); j++) {
            CHECK(pthread_create(&threads[j], &attributes, work, (void *)(i + j)) == 0);
        }
        for (size_t j = 0; j < COUNT_OF(threads); j++) {
            CHECK(pthread_join(threads[j], NULL) == 0);
        }
    }
    return 0;
}
