// Which program this is: the executable's name and build id.
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "sys/os.h"

#define BUILD_ID_MOST_BYTES 20 // a SHA-1

static char kept_name[256]; // empty: not kept

static void read_name(char *name, size_t size) {
    static const char gone[] = " (deleted)"; // says the kernel of one that was replaced meanwhile
    char path[PATH_MAX];
    int saved = errno;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    errno = saved;
    if (length > (ssize_t)sizeof gone && memcmp(path + length - (sizeof gone - 1), gone, sizeof gone - 1) == 0)
        length -= (ssize_t)sizeof gone - 1;
    size_t start = 0;
    for (size_t i = 0; length > 0 && i < (size_t)length; i++)
        if (path[i] == '/')
            start = i + 1;
    size_t rest = length > 0 ? (size_t)length - start : 0;
    rest = rest < size ? rest : size - 1;
    memcpy(name, path + start, rest);
    name[rest] = '\0';
}

void os_keep_program_name(void) {
    read_name(kept_name, sizeof kept_name);
}

void os_program_name(char *name, size_t size) {
    size_t length = strlen(kept_name);
    if (length == 0) {
        read_name(name, size);
        return;
    }
    length = length < size ? length : size - 1;
    memcpy(name, kept_name, length);
    name[length] = '\0';
}

// The build id inside a segment of notes; *bytes: its length, 0 where there is none.
static const unsigned char *find_build(const char *notes, size_t length, size_t *bytes) {
    *bytes = 0;
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= length;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        size_t name = at + sizeof *note, content = name + bits_align_up(note->n_namesz, 4);
        if (content + note->n_descsz > length || content < name)
            return NULL;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            *bytes = note->n_descsz < BUILD_ID_MOST_BYTES ? note->n_descsz : BUILD_ID_MOST_BYTES;
            return (const unsigned char *)notes + content;
        }
        at = content + bits_align_up(note->n_descsz, 4);
    }
    return NULL;
}

// How far the program lies from where its headers say. Static ones have no PT_PHDR: there the headers stand behind the
// file's, at the start of what is loaded.
static uintptr_t program_base(const ElfW(Phdr) * headers, size_t count) {
    uintptr_t base = 0;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR)
            return (uintptr_t)headers - headers[i].p_vaddr;
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
            base = (uintptr_t)headers - sizeof(ElfW(Ehdr)) - headers[i].p_vaddr;
    }
    return base;
}

// By the program headers that the kernel has mapped: no file is read.
void os_program_build(char *build, size_t size) {
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM), bytes = 0;
    uintptr_t base = headers != NULL ? program_base(headers, count) : 0;
    const unsigned char *id = NULL;
    build[0] = '\0';
    for (size_t i = 0; headers != NULL && i < count && id == NULL; i++)
        if (headers[i].p_type == PT_NOTE)
            id = find_build((const char *)(base + headers[i].p_vaddr), headers[i].p_memsz, &bytes);
    for (size_t i = 0; i < bytes && 2 * i + 3 <= size; i++) {
        build[2 * i] = "0123456789abcdef"[id[i] >> 4];
        build[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
        build[2 * i + 2] = '\0';
    }
}
