// Random operations of the whole of hakmem.h against the model; a failure can be replayed and shrunk.
//
//   test_random_model [--seed N] [--operations N] [--threads N] [--long] [--tell] [--shrink]
//
// Without options: 200,000 operations by one thread and as many by three. --long: 100,000,000 by one thread.
// --shrink runs the operations in child processes, finds the shortest failing beginning, leaves out what is not needed,
// and tells what remains. --tell prints each operation.
#include "model.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

struct settings {
    uint64_t seed, operations;
    unsigned threads;
    bool tell, shrink;
};

static struct model *model_make(const struct settings *settings, unsigned thread) {
    struct model *model = mmap(NULL, sizeof *model, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (model == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    model->seed = settings->seed + thread * 1000003u;
    model->alone = settings->threads == 1;
    model->tells = settings->tell;
    return model;
}

// ---- plain runs

struct runner {
    struct model *model;
    uint64_t operations;
    pthread_t thread;
};

static void *run(void *argument) {
    struct runner *runner = argument;
    for (uint64_t index = 0; index < runner->operations; index++) {
        perform(runner->model, index);
    }
    model_finish(runner->model);
    return NULL;
}

static size_t allocated_bytes(struct model *model) {
    struct hakmem_stats stats = {.size = sizeof stats};
    (void)hakmem_trim(0);
    EXPECT(model, hakmem_stats(&stats) == 0);
    return stats.allocated_bytes;
}

// A mode that learns may start the library's helper thread, and so may a policy file.
static unsigned helpers_most(struct model *model) {
    char mode[16];
    EXPECT(model, hakmem_option_get("mode", mode, sizeof mode) > 0);
    return strcmp(mode, "learning") == 0 || strcmp(mode, "research") == 0 || getenv("HAKMEM_POLICY") != NULL;
}

static int run_all(const struct settings *settings) {
    enum { THREADS_MOST = 64, SLACK_BYTES_A_THREAD = 8 * 1024 }; // slack: what the C library keeps for a thread
    static struct runner runners[THREADS_MOST];
    unsigned threads = settings->threads < THREADS_MOST ? settings->threads : THREADS_MOST;
    struct model *first = model_make(settings, 0);
    printf("model: --seed %llu --operations %llu --threads %u\n", (unsigned long long)settings->seed,
           (unsigned long long)settings->operations, threads);
    fflush(stdout);
    size_t allocated_before = allocated_bytes(first);
    for (unsigned i = 0; i < threads; i++) {
        runners[i] = (struct runner){i == 0 ? first : model_make(settings, i), settings->operations, 0};
        if (threads > 1 && pthread_create(&runners[i].thread, NULL, run, &runners[i]) != 0) {
            perror("pthread_create");
            return 2;
        }
    }
    if (threads == 1) {
        (void)run(&runners[0]);
    }
    for (unsigned i = 0; threads > 1 && i < threads; i++) {
        (void)pthread_join(runners[i].thread, NULL);
    }
    mailbox_empty(first);
    first->doing = "the count of allocated bytes at the end";
    unsigned others = threads - 1 + helpers_most(first);
    EXPECT(first, allocated_bytes(first) <= allocated_before + others * SLACK_BYTES_A_THREAD);
    return 0;
}

// ---- shrinking: which operations, of the beginning that fails, are needed for the failure

struct trial {
    uint64_t *indices;
    size_t count;
};

// Runs these operations in a child; true if it failed, and *progress then tells at which of them.
static bool fails(const struct settings *settings, const struct trial *trial, uint64_t *progress) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct model *model = model_make(settings, 0);
        if (!settings->tell && freopen("/dev/null", "w", stderr) == NULL) {
            _exit(0);
        }
        (void)alarm(120);
        for (size_t i = 0; i < trial->count; i++) {
            *progress = i;
            perform(model, trial->indices[i]);
        }
        model_finish(model);
        mailbox_empty(model);
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(2);
    }
    return status != 0;
}

// Leaves out pieces, halving their length, as long as the rest fails.
static void leave_out(const struct settings *settings, struct trial *trial, uint64_t *progress) {
    enum { SECONDS_MOST = 300 };
    time_t end = time(NULL) + SECONDS_MOST;
    uint64_t *rest = malloc(trial->count * sizeof *rest);
    if (rest == NULL) {
        return;
    }
    for (size_t piece = trial->count / 2; piece > 0; piece /= 2) {
        for (size_t start = 0; start < trial->count && time(NULL) < end;) {
            size_t length = trial->count - start < piece ? trial->count - start : piece;
            struct trial shorter = {rest, trial->count - length};
            memcpy(rest, trial->indices, start * sizeof *rest);
            memcpy(rest + start, trial->indices + start + length, (shorter.count - start) * sizeof *rest);
            if (shorter.count > 0 && fails(settings, &shorter, progress)) {
                memcpy(trial->indices, rest, shorter.count * sizeof *rest);
                trial->count = *progress < shorter.count ? *progress + 1 : shorter.count;
            } else {
                start += length;
            }
        }
    }
    free(rest);
}

static int shrink(struct settings *settings) {
    uint64_t *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct trial trial = {malloc(settings->operations * sizeof *trial.indices), settings->operations};
    if (progress == MAP_FAILED || trial.indices == NULL) {
        perror("shrink");
        return 2;
    }
    settings->threads = 1;
    for (size_t i = 0; i < trial.count; i++) {
        trial.indices[i] = i;
    }
    if (!fails(settings, &trial, progress)) {
        printf("shrink: --seed %llu --operations %llu does not fail\n", (unsigned long long)settings->seed,
               (unsigned long long)settings->operations);
        return 0;
    }
    trial.count = *progress + 1;
    printf("shrink: fails with --seed %llu --operations %zu\n", (unsigned long long)settings->seed, trial.count);
    leave_out(settings, &trial, progress);
    printf("shrink: %zu operations remain\n", trial.count);
    settings->tell = true;
    (void)fails(settings, &trial, progress);
    return 1;
}

int main(int argc, char **argv) {
    struct settings settings = {.seed = 1, .operations = 200000, .threads = 0};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--seed") == 0) {
            settings.seed = strtoull(value, NULL, 10), i++;
        } else if (strcmp(argv[i], "--operations") == 0) {
            settings.operations = strtoull(value, NULL, 10), i++;
        } else if (strcmp(argv[i], "--threads") == 0) {
            settings.threads = (unsigned)strtoul(value, NULL, 10), i++;
        } else if (strcmp(argv[i], "--long") == 0) {
            settings.operations = 100000000, settings.threads = 1;
        } else if (strcmp(argv[i], "--tell") == 0) {
            settings.tell = true;
        } else if (strcmp(argv[i], "--shrink") == 0) {
            settings.shrink = true;
        } else {
            fprintf(stderr, "unknown option %s; see the top of the source\n", argv[i]);
            return 2;
        }
    }
    if (settings.shrink) {
        return shrink(&settings);
    }
    if (settings.threads != 0) {
        return run_all(&settings);
    }
    settings.threads = 1;
    int status = run_all(&settings);
    settings.threads = 3;
    settings.seed++;
    return status != 0 ? status : run_all(&settings);
}
