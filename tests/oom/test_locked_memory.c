// With all memory locked (mlockall) nothing can be given back: blocks are still right, zeroed ones zero, and what the
// allocator reserves does not become resident.
#include "oom.h"

enum { BLOCKS = 3000, RESIDENT_KIB_MOST = 96 * 1024 };

static struct held held[BLOCKS];

static void dirty_and_free(size_t size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        held[i] = (struct held){hakmem_malloc(size), size};
        CHECK(held[i].block != NULL);
        memset(held[i].block, 0xff, size);
        held_stamp(&held[i]);
    }
    for (size_t i = 0; i < count; i++) {
        held_free(&held[i]);
    }
}

// madvise refuses locked pages; memory that could not be given back may not pass for zeroed.
static void take_zeroed(size_t size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        held[i] = (struct held){hakmem_calloc(1, size), size};
        CHECK(held[i].block != NULL);
        CHECK(is_zero(held[i].block, size));
    }
    for (size_t i = 0; i < count; i++) {
        hakmem_free(held[i].block);
    }
}

static void work(void) {
    static const size_t sizes[] = {40, 1000, 5000, 40000, 70000, 300000, 1000000, 1500000, 4000000};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        size_t count = 8 * MIB / sizes[s] < BLOCKS ? 8 * MIB / sizes[s] + 1 : BLOCKS;
        dirty_and_free(sizes[s], count);
        (void)hakmem_trim(0);
        take_zeroed(sizes[s], count);
        take_zeroed(sizes[(s + 1) % COUNT_OF(sizes)], 1);
    }
}

static void *work_in_thread(void *unused) {
    (void)unused;
    work();
    return NULL;
}

int main(void) {
    work();
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        printf("locked memory: skipped, mlockall is not allowed here: %s\n", strerror(errno));
        return 0;
    }
    size_t resident_before = status_kib("VmRSS");
    work();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work_in_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    work();
    size_t resident = status_kib("VmRSS");
    printf("locked memory: resident %zu KiB after mlockall, %zu KiB at the end\n", resident_before, resident);
    return resident_before > RESIDENT_KIB_MOST || resident > resident_before + RESIDENT_KIB_MOST;
}
