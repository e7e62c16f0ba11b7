// With overcommit forbidden (vm.overcommit_memory = 2) every writable reservation counts at once: the allocator must
// start, serve, and leave almost all of the room to others.
//
// The setting is the whole machine's, so this runs only as root with HAKMEM_TEST_SYSTEM=1, and restores it.
#include "oom.h"

#include <fcntl.h>
#include <signal.h>

enum { COMMITTED_MOST_KIB = 64 * 1024 };

static const char setting[] = "/proc/sys/vm/overcommit_memory";

static bool write_setting(char value) {
    int file = open(setting, O_WRONLY | O_CLOEXEC);
    bool written = file >= 0 && write(file, &value, 1) == 1;
    if (file >= 0) {
        (void)close(file);
    }
    return written;
}

static void start_plainly(const void *unused) {
    (void)unused;
    (void)alarm(60);
}

// What this process alone commits: the writable private memory of its mappings.
static size_t committed_kib(void) {
    char line[512];
    size_t sum = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long start, end;
        char rights[8];
        CHECK(sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3);
        sum += rights[1] == 'w' && rights[3] == 'p' ? (end - start) / KIB : 0;
    }
    (void)fclose(file);
    return sum;
}

static int work(void) {
    static struct held held[1000];
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        held[i] = (struct held){hakmem_malloc(i * 37), i * 37};
        CHECK(held[i].block != NULL);
        held_stamp(&held[i]);
    }
    size_t committed = committed_kib();
    SAY("overcommit: this process commits %zu KiB\n", committed);
    CHECK(committed < 18 * 1024 + COMMITTED_MOST_KIB); // data of the program and of its libraries, its stack
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        held_free(&held[i]);
    }
    CHECK(hakmem_malloc((size_t)1 << 45) == NULL && errno == ENOMEM);
    struct held big = {hakmem_malloc(64 * MIB), 64 * MIB};
    CHECK(big.block != NULL);
    held_stamp(&big);
    held_free(&big);
    return 0;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc == 2) {
        return work();
    }
    const char *allowed = getenv("HAKMEM_TEST_SYSTEM");
    char before;
    int file = open(setting, O_RDONLY | O_CLOEXEC);
    bool known = file >= 0 && read(file, &before, 1) == 1;
    (void)close(file);
    if (allowed == NULL || strcmp(allowed, "1") != 0 || !known || !write_setting(before)) {
        printf("overcommit: skipped; set HAKMEM_TEST_SYSTEM=1 as root to let it change %s for a moment\n", setting);
        return 0;
    }
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &old); // an interrupt must not leave the setting changed
    CHECK(write_setting('2'));
    int status = run_again("child", start_plainly, NULL);
    CHECK(write_setting(before));
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    CHECK(status == 0);
    printf("overcommit: fine\n");
    return 0;
}
