// Thousands of short threads: each inherits blocks of the one before, uses ten classes, leaves blocks to the next.
// Memory stays flat.
// --long runs 100,000 threads instead of 5,000.
#include "race.h"

enum { AT_ONCE = 4, INHERITED = 40, WARM_THREADS = 1000 };

struct life {
    uint64_t seed;
    struct held inheritance[INHERITED];
};

static const struct sizes short_life_sizes = {"churn", 8, 16 * 1024};

static void *live_shortly(void *argument) {
    struct life *life = argument;
    struct random random = random_of(life->seed, 0);
    struct held own[20];
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        own[i] = held_make(&random, &short_life_sizes);
    }
    for (size_t i = 0; i < INHERITED; i++) {
        held_drop(&life->inheritance[i]);
        life->inheritance[i] = held_make(&random, &short_life_sizes);
    }
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        held_drop(&own[i]);
    }
    return NULL;
}

static void run_threads(struct life lives[AT_ONCE], size_t count, size_t first_seed) {
    for (size_t done = 0; done < count; done += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (size_t i = 0; i < AT_ONCE; i++) {
            lives[i].seed = first_seed + done + i;
            threads[i] = thread_start(live_shortly, &lives[i]);
        }
        for (size_t i = 0; i < AT_ONCE; i++) {
            thread_join(threads[i]);
        }
    }
}

int main(int argc, char **argv) {
    static struct life lives[AT_ONCE];
    size_t threads = is_long_run(argc, argv) ? 100000 : SANITIZED ? 3000 : 5000;
    run_threads(lives, WARM_THREADS, 1);
    size_t allocated = bytes_allocated(), resident = resident_bytes();
    struct hakmem_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    CHECK(hakmem_stats(&before) == 0);
    run_threads(lives, threads, WARM_THREADS + 1);
    size_t allocated_after = bytes_allocated();
    CHECK(hakmem_stats(&after) == 0);
    // The inheritance that is alive differs from time to time: at most this much.
    size_t slack = AT_ONCE * INHERITED * short_life_sizes.most + 256 * KIB;
    CHECK(allocated_after <= allocated + slack);
    CHECK(after.metadata_bytes <= before.metadata_bytes + MIB); // records of as many threads as ever lived at once
    CHECK(after.mapped_bytes <= before.mapped_bytes + 64 * MIB);
    expect_resident_at_most(resident + slack + 8 * MIB);
    for (size_t i = 0; i < AT_ONCE * INHERITED; i++) {
        held_drop(&lives[i / INHERITED].inheritance[i % INHERITED]);
    }
    CHECK(bytes_allocated() <= 256 * KIB);
    printf("thread churn: %zu threads, resident %zu KiB then %zu KiB, hakmem %s\n", threads, resident / KIB,
           resident_bytes() / KIB, hakmem_version());
    return 0;
}
