// The executable's name and build id, as the file itself says them; also of copies of this program whose notes are
// others, or damaged.
#include "unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

// The headers of another program, where a test wants them.
static const ElfW(Phdr) * other_headers;
static size_t other_count;

static unsigned long other_getauxval(unsigned long type) {
    return other_headers == NULL || (type != AT_PHDR && type != AT_PHNUM) ? getauxval(type)
           : type == AT_PHDR                                              ? (uintptr_t)other_headers
                                                                          : other_count;
}

#define getauxval other_getauxval
#include "sys/os_program.c"
#undef getauxval

enum { PATH_BYTES = 300, SAY = 's', SAY_OF_GONE = 'g' };

static char folder[PATH_BYTES];
static char *image; // this program's file
static size_t image_bytes;
static size_t note_at; // of the build id, in the file; 0: there is none

// ---- the file

static void read_image(void) {
    struct stat facts;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && fstat(file, &facts) == 0);
    image_bytes = (size_t)facts.st_size;
    image = malloc(image_bytes);
    assert_non_null(image);
    for (size_t done = 0; done < image_bytes;) {
        ssize_t got = pread(file, image + done, image_bytes - done, (off_t)done);
        assert_true(got > 0);
        done += (size_t)got;
    }
    close(file);
}

// By the sections, of which a running program knows nothing.
static void find_note(void) {
    const ElfW(Ehdr) *head = (const void *)image;
    const ElfW(Shdr) *sections = (const void *)(image + head->e_shoff);
    const char *names = image + sections[head->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, ".note.gnu.build-id") == 0)
            note_at = sections[i].sh_offset;
}

static ElfW(Nhdr) * note(void) {
    return (void *)(image + note_at);
}

static unsigned char *note_id(void) {
    return (unsigned char *)(note() + 1) + 4; // behind "GNU"
}

static int start(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hakmem-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    read_image();
    find_note();
    return 0;
}

static int finish(void **state) {
    (void)state;
    free(image);
    return rmdir(folder);
}

// The id as hexadecimal digits; empty where there is none.
static void expected_build(char *text, size_t bytes) {
    text[0] = '\0';
    for (size_t i = 0; note_at > 0 && i < bytes; i++)
        sprintf(text + 2 * i, "%02x", note_id()[i]);
}

static size_t id_bytes(void) {
    return note_at > 0 ? note()->n_descsz : 0;
}

// ---- this program

static void its_name_is_without_folders(void **state) {
    char path[PATH_BYTES] = "", name[PATH_BYTES];
    (void)state;
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    errno = UNTOUCHED;
    os_program_name(name, sizeof name);
    assert_int_equal(errno, UNTOUCHED);
    assert_string_equal(name, strrchr(path, '/') + 1);
}

static void a_name_that_is_too_long_is_cut(void **state) {
    char whole[PATH_BYTES], name[PATH_BYTES];
    (void)state;
    os_program_name(whole, sizeof whole);
    for (size_t size = 1; size <= strlen(whole) + 2; size++) {
        memset(name, 'x', sizeof name);
        os_program_name(name, size);
        size_t length = strlen(whole) < size ? strlen(whole) : size - 1;
        assert_int_equal(strlen(name), length);
        assert_memory_equal(name, whole, length);
        assert_int_equal(name[size], 'x');
    }
}

static void its_build_is_what_the_file_says(void **state) {
    char build[128], expected[128];
    (void)state;
    assert_in_range(id_bytes(), 0, 20);
    expected_build(expected, id_bytes());
    errno = UNTOUCHED;
    os_program_build(build, sizeof build);
    assert_int_equal(errno, UNTOUCHED);
    assert_string_equal(build, expected);
}

static void a_build_that_is_too_long_is_cut_to_whole_bytes(void **state) {
    char build[128], expected[128];
    (void)state;
    for (size_t size = 1; size < 50; size++) {
        size_t bytes = (size - 1) / 2 < id_bytes() ? (size - 1) / 2 : id_bytes();
        expected_build(expected, bytes);
        memset(build, 'x', sizeof build);
        os_program_build(build, size);
        assert_string_equal(build, expected);
        assert_int_equal(build[size], 'x');
    }
}

// ---- another program

static struct {
    ElfW(Ehdr) file;
    ElfW(Phdr) headers[2];
    ElfW(Nhdr) note;
    char vendor[4];
    uint8_t id[4];
} other_program = {.note = {4, 4, NT_GNU_BUILD_ID}, .vendor = "GNU", .id = {0x12, 0x34, 0xab, 0xcd}};

static void static_programs_have_one_wherever_they_lie(void **state) {
    uintptr_t places[] = {0, (uintptr_t)&other_program,
                          (uintptr_t)&other_program - 4096}; // where the headers say that it lies
    char build[64];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        uintptr_t place = places[i];
        other_program.headers[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = place};
        other_program.headers[1] = (ElfW(Phdr)){.p_type = PT_NOTE};
        other_program.headers[1].p_vaddr = place + ((uintptr_t)&other_program.note - (uintptr_t)&other_program);
        other_program.headers[1].p_memsz = sizeof other_program.note + 8;
        other_headers = other_program.headers;
        other_count = COUNT_OF(other_program.headers);
        os_program_build(build, sizeof build);
        other_headers = NULL;
        assert_string_equal(build, "1234abcd");
    }
}

// ---- copies of it

static int say(void) {
    char name[PATH_BYTES], build[PATH_BYTES];
    os_program_name(name, sizeof name);
    os_program_build(build, sizeof build);
    dprintf(2, "%s %s", name, build);
    return 0;
}

static void run_copy(void *context) {
    const char *name = strrchr(context, '/') + 1;
    char *const arguments[] = {context, (char[]){strcmp(name, "gone") == 0 ? SAY_OF_GONE : SAY, '\0'}, NULL};
    execv(context, arguments);
    MUST(!"it runs");
}

// What the program says that the image is.
static const char *said_by_copy(const char *name) {
    static struct capture capture;
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(file >= 0);
    for (size_t done = 0; done < image_bytes;) {
        ssize_t written = write(file, image + done, image_bytes - done);
        assert_true(written > 0);
        done += (size_t)written;
    }
    close(file);
    int status = child_run(&capture, run_copy, path);
    unlink(path);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the copy ended with status %#x: %s", (unsigned)status, capture.text);
    return capture.text;
}

static void a_copy_says_its_own_name_and_build(void **state) {
    char build[128], expected[256];
    (void)state;
    expected_build(build, id_bytes());
    snprintf(expected, sizeof expected, "another.name-1 %s", build);
    assert_string_equal(said_by_copy("another.name-1"), expected);
    if (note_at == 0)
        skip();
    note_id()[0] ^= 0xff;
    note_id()[1] = 0x0a;
    expected_build(build, id_bytes());
    snprintf(expected, sizeof expected, "changed %s", build);
    assert_string_equal(said_by_copy("changed"), expected);
}

static void a_program_that_was_removed_keeps_its_name(void **state) {
    char build[128], expected[256];
    (void)state;
    expected_build(build, id_bytes());
    snprintf(expected, sizeof expected, "gone %s", build);
    assert_string_equal(said_by_copy("gone"), expected);
}

// Folders in one another, and back.
static void change_folders(const char *name, unsigned depth, bool enter) {
    for (unsigned i = 0; i < depth; i++)
        assert_int_equal(enter ? mkdir(name, 0755) | chdir(name) : chdir("..") | rmdir(name), 0);
}

static void its_path_may_be_long(void **state) {
    char name[201], before[PATH_BYTES], build[128], expected[256];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    change_folders(name, 5, true);
    strcpy(folder, ".");
    const char *said = said_by_copy("deep");
    change_folders(name, 5, false);
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(chdir(before), 0);
    expected_build(build, id_bytes());
    snprintf(expected, sizeof expected, "deep %s", build);
    assert_string_equal(said, expected);
}

static void other_notes_are_no_build_id(void **state) {
    (void)state;
    if (note_at == 0)
        skip();
    ElfW(Nhdr) before = *note();
    note()->n_type = NT_GNU_BUILD_ID + 100;
    assert_string_equal(said_by_copy("type"), "type ");
    *note() = before;
    char *name = (char *)(note() + 1);
    name[0] = 'H';
    assert_string_equal(said_by_copy("vendor"), "vendor ");
    name[0] = 'G';
}

static void damaged_notes_end_the_search(void **state) {
    static const uint32_t lengths[] = {UINT32_MAX, UINT32_MAX - 3, INT32_MAX, 4096, 200};
    (void)state;
    if (note_at == 0)
        skip();
    ElfW(Nhdr) before = *note();
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        note()->n_descsz = lengths[i];
        assert_string_equal(said_by_copy("content"), "content ");
        *note() = before;
        note()->n_namesz = lengths[i];
        assert_string_equal(said_by_copy("name"), "name ");
        *note() = before;
    }
}

// Where another note stands behind it, they change places.
static void its_note_need_not_be_the_first(void **state) {
    enum { NOTE = sizeof(ElfW(Nhdr)) + 4 + 20, OTHER = sizeof(ElfW(Nhdr)) + 4 + 16 };
    char both[NOTE + OTHER], build[128], expected[256];
    (void)state;
    const ElfW(Nhdr) *other_note = (const void *)((const char *)note() + NOTE);
    if (id_bytes() != 20 || other_note->n_namesz != 4 || other_note->n_descsz != 16 || other_note->n_type != 1)
        skip();
    expected_build(build, id_bytes());
    memcpy(both, note(), sizeof both);
    memcpy(note(), both + NOTE, OTHER);
    memcpy((char *)note() + OTHER, both, NOTE);
    snprintf(expected, sizeof expected, "second %s", build);
    assert_string_equal(said_by_copy("second"), expected);
    memcpy(note(), both, sizeof both);
}

static void a_short_id_is_taken_whole(void **state) {
    char build[128], expected[256];
    (void)state;
    if (id_bytes() != 20)
        skip();
    note()->n_descsz = 8; // what is behind it is another note then, that means nothing
    memset(note_id() + 8, 0, 12);
    expected_build(build, 8);
    snprintf(expected, sizeof expected, "short %s", build);
    assert_string_equal(said_by_copy("short"), expected);
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_name_is_without_folders),
        cmocka_unit_test(a_name_that_is_too_long_is_cut),
        cmocka_unit_test(its_build_is_what_the_file_says),
        cmocka_unit_test(a_build_that_is_too_long_is_cut_to_whole_bytes),
        cmocka_unit_test(static_programs_have_one_wherever_they_lie),
        cmocka_unit_test(a_copy_says_its_own_name_and_build),
        cmocka_unit_test(a_program_that_was_removed_keeps_its_name),
        cmocka_unit_test(its_path_may_be_long),
        cmocka_unit_test(other_notes_are_no_build_id),
        cmocka_unit_test(damaged_notes_end_the_search),
        cmocka_unit_test(its_note_need_not_be_the_first),
        cmocka_unit_test(a_short_id_is_taken_whole),
    };
    if (count > 1 && arguments[1][0] == SAY_OF_GONE)
        unlink(arguments[0]);
    if (count > 1)
        return say();
    return cmocka_run_group_tests_name("os_program", tests, start, finish);
}
