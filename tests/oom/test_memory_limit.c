// Under a limit of memory, not of addresses, programs use what there is, get NULL with ENOMEM behind it, and go on; and
// in a control group they are not killed while what they need fits.
//
// This program starts itself again with limit_hard in its environment, and in a control group of its own where one can
// be made (it takes root and a writable hierarchy).
#include "oom.h"

#include <sys/stat.h>

enum { LIMIT_MIB = 256, LIVE_MIB = 200, KEEPERS = 14, BLOCKS = 4000, LIST_MOST = 1 << 15, PATH_BYTES = 1024 };

static uint64_t random_state = 1;

static size_t random_below(size_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % limit;
}

static void look_at_resident(void) {
    CHECK(SANITIZED || status_kib("VmRSS") <= (LIMIT_MIB + 24) * KIB); // a sanitizer's own memory is much
}

static pthread_barrier_t keepers_wait;

// A thread that made and freed a large block again and again, and sleeps: it keeps the block for the next time.
static void *keep_a_block(void *unused) {
    (void)unused;
    for (int round = 0; round < 10; round++) {
        unsigned char *block = hakmem_malloc(4 * MIB);
        CHECK(block != NULL);
        memset(block, round, 4 * MIB);
        hakmem_free(block);
    }
    pthread_barrier_wait(&keepers_wait);
    pthread_barrier_wait(&keepers_wait);
    return NULL;
}

// What sleeping threads keep is there for small blocks of others.
static void take_what_is_kept(struct held *held) {
    pthread_t threads[KEEPERS];
    CHECK(pthread_barrier_init(&keepers_wait, NULL, KEEPERS + 1) == 0);
    for (size_t i = 0; i < KEEPERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, keep_a_block, NULL) == 0);
    }
    pthread_barrier_wait(&keepers_wait);
    size_t had = take_all(held, LIST_MOST, 100000, NULL);
    CHECK(had >= LIMIT_MIB * MIB / 4 * 3); // blocks of 112 KiB: an eighth is rounding
    pthread_barrier_wait(&keepers_wait);
    for (size_t i = 0; i < KEEPERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void exhaust(void) {
    static struct held held[LIST_MOST];
    static const size_t sizes[] = {20000, 300000, 3000000, 40000000};
    for (int round = 0; round < 2; round++) {
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            size_t had = take_all(held, LIST_MOST, sizes[s], look_at_resident);
            CHECK(had <= LIMIT_MIB * MIB && had >= LIMIT_MIB * MIB / 2);
        }
    }
    take_what_is_kept(held);
    void *block = hakmem_malloc(100 * MIB);
    CHECK(block != NULL && hakmem_realloc(block, 300 * MIB) == NULL); // and the block is as it was
    block = hakmem_realloc(block, 200 * MIB);
    CHECK(block != NULL && hakmem_malloc(100 * MIB) == NULL);
    hakmem_free(block);
}

// Keeps LIVE_MIB of blocks of 16 B to 1 MiB, now and then one of many, and replaces them at random.
static void churn(void) {
    static struct held held[BLOCKS];
    size_t live = 0;
    for (unsigned step = 0; step < 60000; step++) {
        struct held *one = &held[random_below(BLOCKS)];
        live -= one->block != NULL ? one->size : 0;
        held_free(one);
        size_t most = (size_t)16 << random_below(17);
        one->size = random_below(500) == 0 ? 40 * MIB : 16 + random_below(most);
        if (live + one->size > LIVE_MIB * MIB) {
            continue;
        }
        one->block = hakmem_malloc(one->size);
        CHECK(one->block != NULL);
        held_stamp(one);
        live += one->size;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        held_free(&held[i]);
    }
}

static void set_hard_limit(const void *unused) {
    (void)unused;
    char text[32];
    (void)snprintf(text, sizeof text, "%zu", LIMIT_MIB * MIB);
    CHECK(setenv("HAKMEM_LIMIT_HARD", text, 1) == 0);
    (void)alarm(300);
}

static bool write_text(const char *folder, const char *name, const char *text) {
    char path[PATH_BYTES + 100];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

static bool access_in(const char *folder, const char *name) {
    char path[PATH_BYTES + 100];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, W_OK) == 0;
}

static void enter_group(const void *folder) {
    char number[32];
    (void)snprintf(number, sizeof number, "%d", (int)getpid());
    if (!write_text(folder, "cgroup.procs", number)) {
        _exit(125);
    }
    (void)alarm(300);
}

// Makes a group below this process's own; false: it can't be.
static bool make_group(char *folder) {
    static const char *const roots[][3] = {{":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                           {"0::", "/sys/fs/cgroup", "memory.max"}};
    char line[PATH_BYTES / 2], limit[32];
    (void)snprintf(limit, sizeof limit, "%zu", LIMIT_MIB * MIB);
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool made = false;
    while (file != NULL && !made && fgets(line, sizeof line, file) != NULL) {
        for (size_t i = 0; i < COUNT_OF(roots) && !made; i++) {
            const char *group = strstr(line, roots[i][0]);
            if (group == NULL || (i == 1 && group != line)) {
                continue;
            }
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(folder, PATH_BYTES, "%s%s/hakmem-limit-%d", roots[i][1], group + strlen(roots[i][0]),
                           (int)getpid());
            // The kernel puts files into a group's folder, not into another one.
            made =
                mkdir(folder, 0755) == 0 && access_in(folder, "cgroup.procs") && write_text(folder, roots[i][2], limit);
            if (!made) {
                (void)rmdir(folder);
            }
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return made;
}

int main(int argc, char **argv) {
    char folder[PATH_BYTES];
    if (argc == 2) {
        (strcmp(argv[1], "exhaust") == 0 ? exhaust : churn)();
        return 0;
    }
    CHECK(run_again("exhaust", set_hard_limit, NULL) == 0);
    if (SANITIZED || !make_group(folder)) { // a sanitizer's own memory is in the group, too
        printf("memory limit: fine under limit_hard; no control group can be made here\n");
        return 0;
    }
    int status = run_again("churn", enter_group, folder);
    (void)rmdir(folder);
    if (status != 0) {
        SAY("FAIL: in a control group of %d MiB with %d MiB in use the child ended with wait status %#x\n", LIMIT_MIB,
            LIVE_MIB, (unsigned)status);
        return 1;
    }
    printf("memory limit: fine under limit_hard and in a control group of %d MiB\n", LIMIT_MIB);
    return 0;
}
