// Under small limits of address space programs start, use what there is, get NULL with ENOMEM behind it, and go on.
//
// This program starts itself again under RLIMIT_AS (what `ulimit -v` sets) of several sizes.
#include "oom.h"

enum { LIST_MOST = 1 << 16 };

static void *use_in_thread(void *unused) {
    (void)unused;
    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        struct held held = {hakmem_malloc(size), size};
        CHECK(held.block != NULL);
        held_stamp(&held);
        held_free(&held);
    }
    return NULL;
}

// With each size almost all of the room can be had, again and again: what was freed serves the next size.
static int work(size_t limit_bytes) {
    static struct held held[LIST_MOST];
    static const size_t sizes[] = {3000, 20000, 100000, 700000, 3000000};
    for (int round = 0; round < 2; round++) {
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            size_t had = take_all(held, LIST_MOST, sizes[s], NULL), most_that_fits_list = LIST_MOST * sizes[s];
            size_t expected = limit_bytes / 2 < most_that_fits_list ? limit_bytes / 2 : most_that_fits_list;
            if (had < expected) {
                SAY("FAIL: under a limit of %zu MiB only %zu KiB could be had in blocks of %zu bytes, round %d\n",
                    limit_bytes / MIB, had / KIB, sizes[s], round);
                return 1;
            }
        }
    }
    struct held small = {hakmem_malloc(100), 100};
    CHECK(small.block != NULL);
    held_stamp(&small);
    held_free(&small);
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 * KIB) == 0);
    CHECK(pthread_create(&thread, &attributes, use_in_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}

static void set_limit(const void *bytes) {
    struct rlimit limit = {*(const size_t *)bytes, *(const size_t *)bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        _exit(125);
    }
    (void)alarm(300);
}

int main(int argc, char **argv) {
    if (argc == 2) {
        return work(strtoul(argv[1], NULL, 10));
    }
    if (SANITIZED) {
        printf("address limit: skipped, sanitizers need more room than any limit leaves\n");
        return 0;
    }
    static const size_t limits_mib[] = {32, 64, 128, 512};
    for (size_t i = 0; i < COUNT_OF(limits_mib); i++) {
        size_t bytes = limits_mib[i] * MIB;
        char argument[32];
        (void)snprintf(argument, sizeof argument, "%zu", bytes);
        int status = run_again(argument, set_limit, &bytes);
        if (status != 0) {
            SAY("FAIL: under ulimit -v %zu the child ended with wait status %#x\n", bytes / KIB, (unsigned)status);
            return 1;
        }
    }
    printf("address limit: fine from 32 to 512 MiB\n");
    return 0;
}
