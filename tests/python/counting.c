// Preloaded into a workload: counts its calls of malloc and free and hashes the sizes asked for, in order.
//
// Only calls from the program itself count, found by the return address: the C library's own (a thread's tables, stdio)
// say nothing about the workload. The order is that of one thread; with more, the hash means nothing.
#define _GNU_SOURCE
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void __libc_free(void *block);

static _Atomic uint64_t mallocs, frees, hash = 14695981039346656037u;
static uintptr_t program_start, program_end;

static int first_object(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > program_end)
            program_end = end;
    }
    program_start = info->dlpi_addr;
    return 1; // the first one is the program
}

__attribute__((constructor)) static void find_program(void) {
    dl_iterate_phdr(first_object, NULL);
}

static int is_from_program(void *return_address) {
    return (uintptr_t)return_address - program_start < program_end - program_start;
}

void *malloc(size_t bytes) {
    if (is_from_program(__builtin_return_address(0))) {
        atomic_fetch_add(&mallocs, 1);
        atomic_store(&hash, (atomic_load(&hash) ^ bytes) * 1099511628211u);
    }
    return __libc_malloc(bytes);
}

void free(void *block) {
    if (block != NULL && is_from_program(__builtin_return_address(0)))
        atomic_fetch_add(&frees, 1);
    __libc_free(block);
}

__attribute__((destructor)) static void print(void) {
    dprintf(STDERR_FILENO, "{\"mallocs\":%llu,\"frees\":%llu,\"hash\":%llu}\n", (unsigned long long)mallocs,
            (unsigned long long)frees, (unsigned long long)hash);
}
