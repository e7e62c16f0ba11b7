// A process that learns, for tests of the learner. Each test is a process of its own: the library starts once.
#ifndef HAKMEM_TESTS_LEARNING_H
#define HAKMEM_TESTS_LEARNING_H

#include "learn/learn.h"
#include "learn/publish.h"
#include "sys/options.h"
#include "unit/heap/heaps.h"

static char path[64];

UNUSED static void start_with(const char *mode, const char *profile) {
    setenv("HAKMEM_MODE", mode, 1);
    setenv("HAKMEM_PROFILE", profile, 1);
    learn_start();
}

// Allocates as the interface does.
UNUSED static void work(unsigned calls) {
    for (unsigned i = 0; i < calls; i++) {
        if (stack_pop(class_of(1000)) != NULL)
            continue;
        uint64_t begin_ns = learn_begin();
        struct heap *heap = heap_enter();
        MUST(heap_refill(class_of(1000)) != NULL);
        heap_leave(heap);
        learn_look(begin_ns);
    }
}

UNUSED static void name_file(void) {
    snprintf(path, sizeof path, "/tmp/hakmem-learn-%d.policy", (int)getpid());
    setenv("HAKMEM_POLICY", path, 1);
}

UNUSED static void remove_file(void) {
    char lock[80];
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(path);
    unlink(lock);
}

// The number behind "runs" in the file; 0: there is no file.
UNUSED static unsigned runs_in_file(void) {
    char text[4096] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    MUST(strstr(text, "\nend\n") != NULL && strstr(text, "\nruns ") != NULL);
    return (unsigned)strtoul(strstr(text, "\nruns ") + 6, NULL, 10);
}

UNUSED static struct learn_told told;

UNUSED static void ask(void) {
    struct heap *heap = learn_enter_locked();
    learn_tell(&told);
    lock_release(&learn_lock);
    heap_leave(heap);
}

// A look is due after some time, whatever the machine does in it.
UNUSED static void work_until_looked_at(void) {
    for (ask(); told.looks == 0; ask())
        work(20000);
}

#endif
