// Writes the file of a trace. Nothing here allocates: memory is static or mapped.
#define _GNU_SOURCE
#define ZSTD_STATIC_LINKING_ONLY // static contexts
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 1

static struct {
    pthread_mutex_t lock;
    int descriptor; // -1: none
    bool failed;    // said so once
    ZSTD_CCtx *context;
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .descriptor = -1};

static char stored[ZSTD_COMPRESSBOUND(TRACE_CHUNK_RAW_BYTES)];

static void say(const char *what, const char *path) {
    dprintf(STDERR_FILENO, "hakmem trace: %s %s: %s\n", what, path, strerror(errno));
}

static bool context_make(void) {
    size_t bytes = ZSTD_estimateCCtxSize(LEVEL);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    file.context = ZSTD_initStaticCCtx(memory, bytes);
    return file.context != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(file.context, ZSTD_c_checksumFlag, 1)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(file.context, ZSTD_c_compressionLevel, LEVEL));
}

static void write_all(const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0 && !file.failed) {
        ssize_t written = write(file.descriptor, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            say("the trace ends here, it can't be written to", "its file");
            file.failed = true;
            return;
        }
        at += written;
        count -= (size_t)written;
    }
}

bool file_open(const char *path) {
    if (file.context == NULL && !context_make()) {
        say("no memory to record", path);
        return false;
    }
    file.descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file.descriptor < 0) {
        say("can't write", path);
        return false;
    }
    file.failed = false;
    // Out of the way of programs that expect the lowest numbers to be theirs.
    int high = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 900);
    if (high >= 0) {
        close(file.descriptor);
        file.descriptor = high;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct trace_header header = {.version = TRACE_VERSION,
                                  .header_bytes = sizeof header,
                                  .pid = (uint32_t)getpid(),
                                  .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
                                  .start_ticks = ticks_before(),
                                  .start_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec};
    memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
    write_all(&header, sizeof header);
    return !file.failed;
}

void file_put(const struct trace_chunk *head, const void *raw) {
    pthread_mutex_lock(&file.lock);
    struct trace_chunk whole = *head;
    whole.magic = TRACE_CHUNK_MAGIC;
    size_t bytes = ZSTD_compress2(file.context, stored, sizeof stored, raw, head->raw_bytes);
    if (file.descriptor >= 0 && !file.failed && !ZSTD_isError(bytes)) {
        whole.stored_bytes = (uint32_t)bytes;
        write_all(&whole, sizeof whole);
        write_all(stored, bytes);
    }
    pthread_mutex_unlock(&file.lock);
}

// Keeps of a maps file the lines of mapped code.
static size_t keep_executable(char *text, size_t length) {
    size_t kept = 0;
    for (size_t start = 0, end; start < length; start = end) {
        char *newline = memchr(text + start, '\n', length - start);
        end = newline == NULL ? length : (size_t)(newline - text) + 1;
        char *field = memchr(text + start, ' ', end - start);
        if (newline != NULL && field != NULL && (size_t)(field - text) + 4 < end && field[3] == 'x') {
            memmove(text + kept, text + start, end - start);
            kept += end - start;
        }
    }
    return kept;
}

void file_put_text(enum trace_chunk_kind kind, const char *path, bool executable_lines) {
    static char text[TRACE_CHUNK_RAW_BYTES];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = 0;
    while (descriptor >= 0 && (got = read(descriptor, text + length, sizeof text - length)) > 0) {
        length += (size_t)got;
        if (executable_lines) { // as it is read: the whole may be larger than the buffer
            size_t whole = length;
            while (whole > 0 && text[whole - 1] != '\n')
                whole--;
            size_t kept = keep_executable(text, whole);
            memmove(text + kept, text + whole, length - whole);
            length = kept + length - whole;
        }
        if (length == sizeof text)
            break;
    }
    if (descriptor >= 0)
        close(descriptor);
    file_put(&(struct trace_chunk){.kind = kind, .raw_bytes = (uint32_t)length}, text);
}

void file_close(void) {
    if (file.descriptor >= 0)
        close(file.descriptor);
    file.descriptor = -1;
}

void file_lock(void) {
    pthread_mutex_lock(&file.lock);
}

void file_unlock(void) {
    pthread_mutex_unlock(&file.lock);
}
