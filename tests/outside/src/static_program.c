// A statically linked program: every allocation name is called, so that a missing one would bring in the C library's
// malloc, and the statistics tell that hakmem served.
#include "helper.h"

#include <hakmem/hakmem.h>

static size_t bytes_allocated(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    CHECK(hakmem_stats(&stats) == 0);
    return stats.allocated_bytes;
}

static void call_every_name(void) {
    void *block = NULL;
    call_free(call_malloc(10));
    free(calloc(3, 5));
    free(realloc(call_malloc(10), 1000));
    free(reallocarray(NULL, 3, 5));
    CHECK(posix_memalign(&block, 256, 100) == 0 && malloc_usable_size(block) >= 100);
    free(block);
    free(aligned_alloc(64, 128));
    free(memalign(128, 100));
    free(valloc(100));
    free(pvalloc(100));
    (void)mallinfo2();
    (void)malloc_trim(0);
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    FILE *file = fopen("/dev/null", "w");
    CHECK(file != NULL && malloc_info(0, file) == 0 && fclose(file) == 0);
}

int main(void) {
    size_t before = bytes_allocated();
    void *block = call_malloc(3000000);
    CHECK(block != NULL && bytes_allocated() >= before + 3000000);
    call_free(block);
    CHECK(bytes_allocated() < before + 3000000);
    call_every_name();
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        CHECK(pthread_create(&threads[i], NULL, use_all_sizes_in_thread, (void *)(uintptr_t)200) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        use_all_sizes(50);
        _exit(5);
    }
    expect_exit(child, 5);
    printf("hakmem %s\n", hakmem_version());
    return 0;
}
