// malloc_info writes well-formed XML, malloc_stats writes text to stderr.
#include "api_test.h"
#include <ctype.h>
#include <fcntl.h>

enum { DEEPEST = 32, LONGEST_NAME = 64 };

// Whether the text is balanced elements under one root of that name; reads no entities and no comments, which
// malloc_info does not write.
static bool is_balanced_xml(const char *text, const char *root) {
    char open[DEEPEST][LONGEST_NAME];
    size_t depth = 0;
    bool root_seen = false;
    while ((text = strchr(text, '<')) != NULL) {
        text++;
        if (*text == '?') {
            continue;
        }
        bool closes = *text == '/';
        text += closes ? 1 : 0;
        size_t length = strcspn(text, " \t\n/>");
        const char *end = strchr(text, '>');
        if (end == NULL || length == 0 || length >= LONGEST_NAME || !isalpha((unsigned char)*text) ||
            memchr(text, '<', (size_t)(end - text)) != NULL) {
            return false;
        }
        size_t quotes = 0;
        for (const char *c = text; c < end; c++) {
            quotes += *c == '"';
        }
        if (quotes % 2 != 0) {
            return false;
        }
        if (closes) {
            if (depth == 0 || strlen(open[depth - 1]) != length || strncmp(open[depth - 1], text, length) != 0) {
                return false;
            }
            depth--;
        } else {
            if (depth == 0 && (root_seen || strlen(root) != length || strncmp(root, text, length) != 0)) {
                return false;
            }
            root_seen = true;
            if (end[-1] != '/') {
                if (depth == DEEPEST) {
                    return false;
                }
                memcpy(open[depth], text, length);
                open[depth++][length] = '\0';
            }
        }
        text = end;
    }
    return root_seen && depth == 0;
}

static void the_checker_itself_tells_good_from_bad(void **state) {
    (void)state;
    assert_true(is_balanced_xml("<malloc version=\"1\">\n<heap nr=\"0\"><sizes/></heap></malloc>\n", "malloc"));
    assert_false(is_balanced_xml("<malloc><heap></malloc></heap>", "malloc"));
    assert_false(is_balanced_xml("<malloc><heap></heap>", "malloc"));
    assert_false(is_balanced_xml("<malloc version=\"1></malloc>", "malloc"));
    assert_false(is_balanced_xml("<malloc></malloc><malloc></malloc>", "malloc"));
    assert_false(is_balanced_xml("<other></other>", "malloc"));
    assert_false(is_balanced_xml("", "malloc"));
}

static void malloc_info_writes_xml(void **state) {
    (void)state;
    static char text[1 << 20];
    void *small = call.malloc(100), *big = call.malloc(5 * MIB);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(malloc_info(0, file), 0);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    assert_true(length > 0);
    assert_int_equal(strncmp(text, "<malloc version=\"1\">", strlen("<malloc version=\"1\">")), 0);
    assert_true(is_balanced_xml(text, "malloc"));
    assert_non_null(strstr(text, "<system "));
    assert_non_null(strstr(text, "size=\""));
    call.free(small);
    call.free(big);
}

static void malloc_info_refuses_options(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(malloc_info(1, file), EINVAL);
    assert_int_equal(malloc_info(-1, file), EINVAL);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(ftell(file), 0);
    (void)fclose(file);
}

static void malloc_stats_writes_to_stderr(void **state) {
    (void)state;
    char text[65536];
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stderr);
    int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    malloc_stats();
    (void)fflush(stderr);
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    (void)close(saved);
    (void)fseek(file, 0, SEEK_SET);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    assert_true(length > 20);
    assert_non_null(strpbrk(text, "123456789"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(the_checker_itself_tells_good_from_bad),
        cmocka_unit_test(malloc_info_writes_xml),
        cmocka_unit_test(malloc_info_refuses_options),
        cmocka_unit_test(malloc_stats_writes_to_stderr),
    };
    return cmocka_run_group_tests_name("malloc_info", tests, NULL, NULL);
}
