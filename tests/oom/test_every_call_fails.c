// Each memory call to the system fails, one after the other: the N-th alone, and all from the N-th on, for every N.
//
// This program starts itself again with HAKMEM_TEST_FAIL_CALL=N or N+ (obeyed by checked builds) and does a mixed
// sequence of work. Nothing may crash; what cannot be had is NULL with ENOMEM; blocks keep their contents; none is
// lost; when one call failed, the next request is served. N grows until the work is done before the N-th call: then the
// last step of the child, a mapping larger than all before, succeeds although all calls from the N-th on were to fail.
// A release build must ignore the variable.
#include "oom.h"

#ifndef CHECKED
#define CHECKED 0
#endif

enum { BEYOND_ALL_CALLS = 10, CALLS_MOST = 100000, BLOCKS = 400, DIRTIED_MOST = 100000 };

static bool one_call_fails; // and not all from there on
static size_t refusals;

static const size_t sizes[] = {0,      1,      16,      24,      48,      64,      100,     272,    1000,
                               1024,   3000,   5000,    9000,    20000,   33000,   70000,   130000, 200000,
                               300000, 600000, 1000000, 1048577, 1500000, 2500000, 5000000, 9000000};

static uint32_t random_state = 1;

static size_t random_below(size_t limit) {
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % limit;
}

enum way { BY_MALLOC, BY_CALLOC, BY_ALIGNED, WAYS };

static void *try_way(enum way way, size_t size, size_t alignment) {
    errno = 4711;
    void *block = way == BY_MALLOC   ? hakmem_malloc(size)
                  : way == BY_CALLOC ? hakmem_calloc(1, size)
                                     : hakmem_aligned_alloc(alignment, size);
    CHECK(errno == (block == NULL ? ENOMEM : 4711));
    return block;
}

// A block, or none where memory can't be had; after a single failure the same request again must be served.
static struct held take(size_t size) {
    enum way way = (enum way)random_below(WAYS);
    size_t alignment = (size_t)16 << random_below(random_below(4) == 0 ? 18 : 8);
    struct held held = {try_way(way, size, alignment), size};
    if (held.block == NULL) {
        refusals++;
        if (one_call_fails) {
            CHECK((held.block = try_way(way, size, alignment)) != NULL);
        }
    }
    if (held.block != NULL) {
        CHECK((uintptr_t)held.block % (way == BY_ALIGNED ? alignment : 16) == 0);
        CHECK(hakmem_usable_size(held.block) >= size);
        CHECK(way != BY_CALLOC || is_zero(held.block, size < DIRTIED_MOST ? size : DIRTIED_MOST));
        memset(held.block, 0xee, size < DIRTIED_MOST ? hakmem_usable_size(held.block) : DIRTIED_MOST);
        held_stamp(&held);
    }
    return held;
}

// A refused change of size keeps the block.
static void resize(struct held *held, size_t size) {
    held_check(held);
    unsigned char first = held->size > 0 ? held->block[0] : 0;
    errno = 4711;
    void *moved = hakmem_realloc(held->block, size);
    CHECK(errno == (moved == NULL ? ENOMEM : 4711));
    if (moved == NULL) {
        refusals++;
        held_check(held);
        if (!one_call_fails) {
            return;
        }
        CHECK((moved = hakmem_realloc(held->block, size)) != NULL);
    }
    *held = (struct held){moved, size};
    CHECK(held->block[0] == first || first == 0);
    held_stamp(held);
}

static void work_with_sizes(size_t rounds) {
    static _Thread_local struct held held[BLOCKS];
    for (size_t i = 0; i < rounds; i++) {
        struct held *slot = &held[random_below(BLOCKS)];
        size_t size = sizes[random_below(i % 500 < 400 ? 16 : COUNT_OF(sizes))];
        if (slot->block == NULL) {
            *slot = take(size);
        } else if (random_below(3) == 0 && slot->size > 0) {
            resize(slot, size + 1);
        } else {
            held_free(slot);
        }
        if (i % 700 == 699) {
            (void)hakmem_trim(0);
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        held_free(&held[i]);
    }
}

static void *work_in_thread(void *argument) {
    work_with_sizes((uintptr_t)argument);
    return NULL;
}

// One burst of one size after the other, so that whole slabs fill up and are given back.
static void work_in_bursts(void) {
    static struct held held[BLOCKS];
    static const size_t burst_sizes[] = {40, 700, 8000, 60000, 400000};
    for (size_t s = 0; s < COUNT_OF(burst_sizes); s++) {
        for (size_t i = 0; i < BLOCKS / (1 + s * s); i++) {
            held[i] = take(burst_sizes[s]);
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            held_free(&held[i]);
        }
    }
}

// Blocks of threads that have ended are freed here; a child process works too.
static void work_in_others(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_in_thread, (void *)(uintptr_t)300) == 0) {
        CHECK(pthread_join(thread, NULL) == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        work_with_sizes(300);
        _exit(0);
    }
    int status = 0;
    CHECK(child < 0 || (waitpid(child, &status, 0) == child && status == 0));
}

static int work(const char *mode) {
    one_call_fails = strchr(mode, '+') == NULL;
    size_t before = allocated_bytes();
    work_with_sizes(1500);
    work_in_bursts();
    work_in_others();
    work_with_sizes(500);
    CHECK(!one_call_fails || refusals <= 1);
    size_t after = allocated_bytes(), slack = 16 * KIB; // what the C library keeps for a thread
    if (after > before + slack) {
        SAY("FAIL: %zu bytes are still allocated at the end, %zu at the beginning: blocks were lost\n", after, before);
        return 1;
    }
    void *beyond = hakmem_malloc(1024 * MIB);
    hakmem_free(beyond);
    return beyond != NULL ? BEYOND_ALL_CALLS : 0;
}

static void set_variable(const void *value) {
    (void)setenv("HAKMEM_TEST_FAIL_CALL", value, 1);
    (void)alarm(120);
}

// Runs the work with the call or calls failing; returns the exit status, which is 0 or BEYOND_ALL_CALLS.
static int run_failing(size_t call, const char *suffix) {
    char mode[32];
    (void)snprintf(mode, sizeof mode, "%zu%s", call, suffix);
    int status = run_again(mode, set_variable, mode);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != BEYOND_ALL_CALLS)) {
        SAY("FAIL: HAKMEM_TEST_FAIL_CALL=%s: the child ended with wait status %#x; replay with this variable and the "
            "argument %s\n",
            mode, (unsigned)status, mode);
        exit(1);
    }
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    if (argc == 2) {
        return work(argv[1]);
    }
    size_t call = 1;
    while (call < CALLS_MOST && run_failing(call, "+") != BEYOND_ALL_CALLS) {
        (void)run_failing(call, "");
        call++;
    }
    printf("every call fails: %zu calls, each failed alone and with all behind it\n", call - 1);
    return CHECKED ? call < 20 || call == CALLS_MOST : call != 1;
}
