// Policy files: the right one is read, a wrong one is told, and many that write leave one whole file.
#include "unit/unit.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "learn/file.h"
#include "sys/options.h"
#include "sys/os.h"

static char folder[64], path[256];
static struct policy own, heard;
static struct capture capture;

static void name_file(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    options.policy = path;
    (void)file_find(); // as at the start
}

static int start(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hakmem-file-XXXXXX");
    assert_non_null(mkdtemp(folder));
    name_file("one.policy");
    memset(&own, 0, sizeof own);
    file_name_program(&own);
    own.runs = 1;
    return 0;
}

static int clear(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void write_text(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static const char *text_of(const char *name) {
    static char text[64 * 1024];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void begin_capture(void) {
    capture_begin(&capture);
    os_note_standard_error(); // as at the start
}

static bool is_empty(const struct policy *policy) {
    return is_zero(policy, sizeof *policy);
}

// Reads with what is said captured; the file gives nothing, and *policy is empty.
static const char *refused(void) {
    memset(&heard, 1, sizeof heard);
    begin_capture();
    bool good = file_read(&heard);
    capture_end(&capture);
    assert_true(!good && is_empty(&heard));
    return capture.text;
}

static bool writes(const char **said) {
    begin_capture();
    bool written = file_write(&own);
    *said = capture_end(&capture);
    return written;
}

static void write_silently(void) {
    const char *said;
    assert_true(writes(&said));
    assert_string_equal(said, "");
}

// ---- reading

static void without_a_file_nothing_is_read_or_said(void **state) {
    (void)state;
    assert_string_equal(refused(), "");
    write_text("");
    assert_string_equal(refused(), "");
    options.policy = "";
    assert_false(file_find());
    memset(&heard, 1, sizeof heard);
    assert_false(file_read(&heard));
    assert_false(file_write(&own));
}

static void the_programs_own_file_is_read(void **state) {
    char text[512];
    (void)state;
    snprintf(text, sizeof text, "hakmem-policy 1\nprogram %s\nbuild %s\nclass 1040\nend\n", own.program, own.build);
    write_text(text);
    assert_true(file_read(&heard));
    assert_true(heard.class_count == 1 && heard.classes[0].bytes == 1040);
    write_text("hakmem-policy 1\nclass 1104\nend\n"); // whoever's
    assert_true(file_read(&heard));
    assert_int_equal(heard.classes[0].bytes, 1104);
}

static void damage_is_told_in_one_line_with_its_place(void **state) {
    char wanted[512];
    (void)state;
    write_text("hakmem-policy 1\nclass 1040\nfrob 7\nend\n");
    snprintf(wanted, sizeof wanted, "hakmem: policy file %s, line 3: ", path);
    const char *said = refused();
    assert_int_equal(lines_in(said), 1);
    assert_memory_equal(said, wanted, strlen(wanted));
    write_text("hakmem-policy 1\nclass 1040\n"); // half of it
    assert_int_equal(lines_in(refused()), 1);
}

static void a_file_of_another_program_is_not_used_and_not_told(void **state) {
    (void)state;
    write_text("hakmem-policy 1\nprogram other\nclass 1040\nend\n");
    assert_string_equal(refused(), "");
}

static void a_file_of_another_build_is_told(void **state) {
    char text[512];
    (void)state;
    snprintf(text, sizeof text, "hakmem-policy 1\nprogram %s\nbuild 0123\nclass 1040\nend\n", own.program);
    write_text(text);
    const char *said = refused();
    assert_true(lines_in(said) == 1 && strstr(said, path) != NULL && strstr(said, "another build") != NULL);
}

static void a_file_larger_than_any_policy_is_told(void **state) {
    static char text[40 * 1024] = "hakmem-policy 1\n#";
    (void)state;
    memset(text + strlen(text), 'x', 36 * 1024);
    strcat(text, "\nend\n");
    write_text(text);
    assert_int_equal(lines_in(refused()), 1);
}

static void remake_as_pipe(void) {
    assert_int_equal(mkfifo(path, 0644), 0);
}

static void remake_as_folder(void) {
    assert_int_equal(mkdir(path, 0755), 0);
}

static void remake_as_file_in_a_file(void) {
    write_text("text");
    strcat(path, "/one.policy");
    assert_true(file_find());
}

static void what_can_not_be_read_is_told_and_left_alone(void **state) {
    void (*remakes[])(void) = {remake_as_pipe, remake_as_folder, remake_as_file_in_a_file};
    const char *said, *names[] = {"pipe", "folder", "file"};
    struct stat before, after;
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(remakes); i++) {
        name_file(names[i]);
        remakes[i]();
        bool is_there = stat(path, &before) == 0;
        alarm(20);
        said = refused(); // and nothing is waited for
        alarm(0);
        assert_true(lines_in(said) == 1 && strstr(said, path) != NULL && strstr(said, "can't be read") != NULL);
        assert_false(writes(&said));
        assert_string_equal(said, ""); // once
        assert_true(!is_there || (stat(path, &after) == 0 && after.st_ino == before.st_ino));
    }
}

static void a_file_that_begins_with_a_zero_is_left_alone(void **state) {
    const char *said;
    struct stat now;
    (void)state;
    FILE *file = fopen(path, "w");
    assert_true(file != NULL && fwrite("\0data", 1, 5, file) == 5 && fclose(file) == 0);
    (void)writes(&said);
    assert_true(stat(path, &now) == 0 && now.st_size == 5);
}

// ---- writing

static void what_was_written_is_read_again(void **state) {
    (void)state;
    own.values[DECISION_retain_min] = (struct policy_value){true, 123456789, {3, -4, 5, "refaults"}};
    own.classes[own.class_count++] = (struct policy_class){.bytes = 1040};
    write_silently();
    assert_true(file_read(&heard));
    assert_memory_equal(&heard, &own, sizeof own);
}

static void what_others_wrote_meanwhile_is_merged(void **state) {
    (void)state;
    own.classes[own.class_count++] = (struct policy_class){.bytes = 1040};
    write_silently();
    own.classes[0].bytes = 1104;
    write_silently();
    assert_true(file_read(&heard));
    assert_true(heard.runs == 2 && heard.class_count == 2);
}

static void a_file_of_another_build_is_written_anew(void **state) {
    char text[512];
    (void)state;
    snprintf(text, sizeof text, "hakmem-policy 1\nprogram %s\nbuild 0123\nruns 7\nclass 2064\nend\n", own.program);
    write_text(text);
    write_silently();
    assert_true(file_read(&heard));
    assert_true(heard.runs == 1 && heard.class_count == 0);
}

static void a_file_of_another_program_is_left_alone(void **state) {
    const char *text = "hakmem-policy 1\nprogram other\nclass 1040\nend\n";
    (void)state;
    write_text(text);
    write_silently();
    assert_string_equal(text_of(path), text);
}

static const char *said_of_not_written(void) {
    write_silently();
    begin_capture();
    file_say_not_written(&own);
    return capture_end(&capture);
}

static void what_was_learned_but_not_written_is_told_with_both_names(void **state) {
    char wanted[512];
    (void)state;
    write_text("hakmem-policy 1\nprogram other\nruns 1\nseconds 3\nend\n");
    assert_string_equal(said_of_not_written(), ""); // nothing was learned
    own.classes[own.class_count++].bytes = 1040;
    snprintf(wanted, sizeof wanted, "hakmem: policy file %s: it belongs to other, so what %s learned is not in it",
             path, own.program);
    const char *said = said_of_not_written();
    assert_int_equal(lines_in(said), 1);
    assert_memory_equal(said, wanted, strlen(wanted));
    assert_non_null(strstr(said, "; wanted: "));
    name_file("own.policy");
    assert_string_equal(said_of_not_written(), "");
}

static void a_file_of_another_programs_first_moments_gives_way(void **state) {
    const char *text = "hakmem-policy 1\nprogram other\nruns 7\nseconds 0\nclass 1040\nend\n";
    (void)state;
    write_text(text);
    write_silently(); // this one learned for moments, too
    assert_string_equal(text_of(path), text);
    own.seconds = 1;
    write_silently(); // and this one learned nothing
    assert_string_equal(text_of(path), text);
    own.classes[own.class_count++].bytes = 1056;
    write_silently();
    assert_true(file_read(&heard) && heard.runs == 1 && heard.class_count == 1 && heard.classes[0].bytes == 1056);
    text = "hakmem-policy 1\nprogram other\nclass 1040\nend\n"; // by hand
    write_text(text);
    write_silently();
    assert_string_equal(text_of(path), text);
}

static void a_file_that_is_no_policy_is_left_alone(void **state) {
    const char *const texts[] = {"my notes\n", "hakmem-policy 2\nnewer\nend\n"};
    const char *said;
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(texts); i++) {
        write_text(texts[i]);
        (void)writes(&said);
        assert_string_equal(text_of(path), texts[i]);
        assert_true(lines_in(said) <= 1);
    }
}

static void what_is_no_plain_file_is_left_alone(void **state) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat now;
    const char *said;
    (void)state;
    strcpy(address.sun_path, path);
    int one = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(one, (struct sockaddr *)&address, sizeof address), 0);
    assert_false(writes(&said));
    assert_int_equal(lines_in(said), 1);
    assert_true(stat(path, &now) == 0 && S_ISSOCK(now.st_mode));
    close(one);
}

static void a_file_that_can_not_be_written_is_told_and_errno_stays(void **state) {
    const char *said;
    (void)state;
    name_file("missing/one.policy");
    errno = UNTOUCHED;
    assert_false(writes(&said));
    assert_true(lines_in(said) == 1 && strstr(said, path) != NULL && strstr(said, "no such folder") != NULL);
    assert_int_equal(errno, UNTOUCHED);
}

static void another_file_under_standard_errors_number_gets_nothing(void **state) {
    (void)state;
    name_file("missing/one.policy");
    os_note_standard_error();
    capture_begin(&capture); // which is another one
    assert_false(file_write(&own));
    assert_string_equal(capture_end(&capture), "");
}

static void a_name_that_is_too_long_is_told(void **state) {
    static char name[2000];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    options.policy = name;
    begin_capture();
    assert_false(file_find());
    assert_int_equal(lines_in(capture_end(&capture)), 1);
    assert_false(file_read(&heard) || file_write(&own));
    memset(name + 1023 - strlen("/"), '\0', 900); // it fits, but not with an ending
    name[0] = '/';
    assert_true(file_find());
    const char *said;
    assert_false(writes(&said));
    assert_int_equal(lines_in(said), 1);
}

static void a_folder_has_a_file_for_each_program_and_build(void **state) {
    char name[512], in_folder[128];
    (void)state;
    snprintf(in_folder, sizeof in_folder, "%s/", folder);
    options.policy = in_folder;
    assert_true(file_find());
    write_silently();
    snprintf(name, sizeof name, "%s/%s%s%.12s.policy", folder, own.program, own.build[0] ? "-" : "", own.build);
    assert_non_null(strstr(text_of(name), "runs 1\n"));
    assert_true(file_read(&heard));
}

// ---- many at once

enum { WRITERS = 8, WRITES = 20 };

static void write_many_times(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < WRITES; i++)
        MUST(file_write(&own));
}

static void writers_at_once_leave_one_whole_file_with_the_runs_of_all(void **state) {
    pid_t writers[WRITERS];
    int status;
    (void)state;
    for (unsigned i = 0; i < WRITERS; i++)
        if ((writers[i] = fork()) == 0) {
            write_many_times(NULL);
            _exit(0);
        }
    for (unsigned i = 0; i < 200; i++) { // whoever reads meanwhile sees a whole one
        (void)file_read(&heard);
        assert_true(heard.runs <= WRITERS * WRITES);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        assert_true(waitpid(writers[i], &status, 0) == writers[i] && status == 0);
    assert_true(file_read(&heard));
    assert_int_equal(heard.runs, WRITERS * WRITES);
    char command[128];
    snprintf(command, sizeof command, "test $(ls '%s' | wc -l) -le 2", folder); // and its lock; no drafts
    assert_int_equal(system(command), 0);
}

static void a_writer_that_was_killed_leaves_no_lock(void **state) {
    (void)state;
    pid_t writer = fork();
    if (writer == 0) {
        os_lock_file(path);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    alarm(20);
    write_silently();
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_file_nothing_is_read_or_said, start, clear),
        cmocka_unit_test_setup_teardown(the_programs_own_file_is_read, start, clear),
        cmocka_unit_test_setup_teardown(damage_is_told_in_one_line_with_its_place, start, clear),
        cmocka_unit_test_setup_teardown(a_file_of_another_program_is_not_used_and_not_told, start, clear),
        cmocka_unit_test_setup_teardown(a_file_of_another_build_is_told, start, clear),
        cmocka_unit_test_setup_teardown(a_file_larger_than_any_policy_is_told, start, clear),
        cmocka_unit_test_setup_teardown(what_can_not_be_read_is_told_and_left_alone, start, clear),
        cmocka_unit_test_setup_teardown(a_file_that_begins_with_a_zero_is_left_alone, start, clear),
        cmocka_unit_test_setup_teardown(what_was_written_is_read_again, start, clear),
        cmocka_unit_test_setup_teardown(what_others_wrote_meanwhile_is_merged, start, clear),
        cmocka_unit_test_setup_teardown(a_file_of_another_build_is_written_anew, start, clear),
        cmocka_unit_test_setup_teardown(a_file_of_another_program_is_left_alone, start, clear),
        cmocka_unit_test_setup_teardown(what_was_learned_but_not_written_is_told_with_both_names, start, clear),
        cmocka_unit_test_setup_teardown(a_file_of_another_programs_first_moments_gives_way, start, clear),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_policy_is_left_alone, start, clear),
        cmocka_unit_test_setup_teardown(what_is_no_plain_file_is_left_alone, start, clear),
        cmocka_unit_test_setup_teardown(a_file_that_can_not_be_written_is_told_and_errno_stays, start, clear),
        cmocka_unit_test_setup_teardown(another_file_under_standard_errors_number_gets_nothing, start, clear),
        cmocka_unit_test_setup_teardown(a_name_that_is_too_long_is_told, start, clear),
        cmocka_unit_test_setup_teardown(a_folder_has_a_file_for_each_program_and_build, start, clear),
        cmocka_unit_test_setup_teardown(writers_at_once_leave_one_whole_file_with_the_runs_of_all, start, clear),
        cmocka_unit_test_setup_teardown(a_writer_that_was_killed_leaves_no_lock, start, clear),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
