// Reads, validates and lists options.
#include "sys/options.h"

#include <string.h>

#include "sys/os.h"

enum option_kind { OPTION_KIND_CHOICE, OPTION_KIND_SIZE, OPTION_KIND_NUMBER, OPTION_KIND_TEXT };

struct option_row {
    const char *name;
    const char *allowed; // of a choice: values separated by |
    const char *help;
    size_t minimum;
    size_t maximum;
    size_t initial;
    size_t offset; // in struct options
    enum option_kind kind;
    bool safe;
};

#define ROW(row_kind, row_name, row_initial, row_allowed, row_minimum, row_maximum, row_safe, row_help)              \
    {                                                                                                                \
        .name = #row_name, .allowed = row_allowed, .help = row_help, .minimum = row_minimum, .maximum = row_maximum, \
        .initial = row_initial, .offset = offsetof(struct options, row_name), .kind = row_kind, .safe = row_safe     \
    }
static const struct option_row option_rows[] = {
#define OPTION_CHOICE(name, initial, allowed, safe, help) \
    ROW(OPTION_KIND_CHOICE, name, initial, allowed, 0, 0, safe, help),
#define OPTION_SIZE(name, initial, minimum, maximum, safe, help) \
    ROW(OPTION_KIND_SIZE, name, initial, NULL, minimum, maximum, safe, help),
#define OPTION_NUMBER(name, initial, minimum, maximum, safe, help) \
    ROW(OPTION_KIND_NUMBER, name, initial, NULL, minimum, maximum, safe, help),
#define OPTION_TEXT(name, safe, help) ROW(OPTION_KIND_TEXT, name, 0, NULL, 0, 0, safe, help),
#include "sys/options.def"
#undef OPTION_CHOICE
#undef OPTION_SIZE
#undef OPTION_NUMBER
#undef OPTION_TEXT
};

#define OPTION_INITIAL(name, initial) .name = (initial),
INTERNAL struct options options = {
#define OPTION_CHOICE(name, initial, allowed, safe, help) OPTION_INITIAL(name, initial)
#define OPTION_SIZE(name, initial, minimum, maximum, safe, help) OPTION_INITIAL(name, initial)
#define OPTION_NUMBER(name, initial, minimum, maximum, safe, help) OPTION_INITIAL(name, initial)
#define OPTION_TEXT(name, safe, help) OPTION_INITIAL(name, "")
#include "sys/options.def"
#undef OPTION_CHOICE
#undef OPTION_SIZE
#undef OPTION_NUMBER
#undef OPTION_TEXT
};

// Variables of the tools around the library, not its options.
static const char *const option_foreign_prefixes[] = {"TEST_", "BENCH_", "LIB="};

// A piece of text that does not end with NUL.
struct span {
    const char *start;
    size_t length;
};

static bool span_is(struct span span, const char *text) {
    return strlen(text) == span.length && memcmp(span.start, text, span.length) == 0;
}

// Environment names are upper case, option names lower case; either is understood.
static bool span_is_name(struct span span, const char *name) {
    if (strlen(name) != span.length)
        return false;
    for (size_t i = 0; i < span.length; i++) {
        char letter = span.start[i];
        if (letter >= 'A' && letter <= 'Z')
            letter = (char)(letter - 'A' + 'a');
        if (letter != name[i])
            return false;
    }
    return true;
}

static void report_span(struct report *report, struct span span) {
    char letter[2] = {0, 0};
    for (size_t i = 0; i < span.length && i < 200; i++) { // a longer value is no value
        letter[0] = (unsigned char)span.start[i] < ' ' ? '?' : span.start[i];
        report_text(report, letter);
    }
}

static bool option_is_given[COUNT_OF(option_rows)];

static void *option_field(const struct option_row *row) {
    return (char *)&options + row->offset;
}

static void option_say_allowed(struct report *report, const struct option_row *row) {
    switch (row->kind) {
    case OPTION_KIND_CHOICE:
        report_text(report, row->allowed);
        break;
    case OPTION_KIND_SIZE:
        report_text(report, "a size from ");
        report_bytes(report, row->minimum);
        report_text(report, " to ");
        report_bytes(report, row->maximum);
        report_text(report, ", written like 4096, 64k, 16m or 2g");
        break;
    case OPTION_KIND_NUMBER:
        report_text(report, "a whole number from ");
        report_number(report, row->minimum);
        report_text(report, " to ");
        report_number(report, row->maximum);
        break;
    case OPTION_KIND_TEXT:
        report_text(report, "a path or name");
        break;
    }
}

static void option_say_choice(struct report *report, const struct option_row *row, size_t index) {
    const char *place = row->allowed;
    for (; index > 0; index--)
        place = strchr(place, '|') + 1;
    const char *end = strchr(place, '|');
    report_span(report, (struct span){place, end == NULL ? strlen(place) : (size_t)(end - place)});
}

static void option_say_number(struct report *report, const struct option_row *row, size_t number) {
    if (row->kind == OPTION_KIND_CHOICE)
        option_say_choice(report, row, number);
    else
        report_number(report, number);
}

static void option_say_wrong(const struct option_row *row, struct span value) {
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem: option ");
    report_text(&report, row->name);
    report_text(&report, ": the value '");
    report_span(&report, value);
    report_text(&report, "' is not valid; allowed: ");
    option_say_allowed(&report, row);
    report_text(&report, "; the default ");
    option_say_number(&report, row, row->initial);
    report_text(&report, " is used\n");
    report_end(&report);
}

static void option_say_unknown(struct span name) {
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem: there is no option '");
    report_span(&report, name);
    report_text(&report, "'; HAKMEM_OPTIONS=help lists the options there are\n");
    report_end(&report);
}

static void option_say_ignored(struct span name) {
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem: option ");
    report_span(&report, name);
    report_text(&report, " is ignored in a program that runs with raised privileges\n");
    report_end(&report);
}

static void options_help(void) {
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem options, as HAKMEM_<NAME>=value or HAKMEM_OPTIONS=name=value,name=value:\n");
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        report_text(&report, "  ");
        report_text(&report, row->name);
        report_text(&report, "  ");
        report_text(&report, row->help);
        report_text(&report, "\n      allowed: ");
        option_say_allowed(&report, row);
        if (row->kind != OPTION_KIND_TEXT) {
            report_text(&report, "; default: ");
            option_say_number(&report, row, row->initial);
        }
        report_text(&report, "\n");
    }
    report_end(&report);
}

static bool choice_parse(const struct option_row *row, struct span value, size_t *index) {
    const char *place = row->allowed;
    for (*index = 0;; (*index)++) { // as many turns as there are choices
        const char *end = strchr(place, '|');
        size_t length = end == NULL ? strlen(place) : (size_t)(end - place);
        if (length == value.length && memcmp(place, value.start, length) == 0)
            return true;
        if (end == NULL)
            return false;
        place = end + 1;
    }
}

static unsigned size_unit_shift(char letter) {
    switch (letter) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    case 't':
    case 'T':
        return 40;
    default:
        return 0;
    }
}

static bool number_parse(const struct option_row *row, struct span value, size_t *number) {
    unsigned shift = 0;
    if (row->kind == OPTION_KIND_SIZE && value.length > 1)
        shift = size_unit_shift(value.start[value.length - 1]);
    value.length -= shift > 0;
    *number = 0;
    for (size_t i = 0; i < value.length; i++) {
        unsigned digit = (unsigned)(value.start[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, digit, number))
            return false;
    }
    if (value.length == 0 || *number > SIZE_MAX >> shift)
        return false;
    *number <<= shift;
    return *number >= row->minimum && *number <= row->maximum;
}

// Texts, each with a NUL of its own. They are copies: some programs write over their environment.
static char option_texts[16384];
static size_t option_texts_used;

static const char *option_keep_text(struct span value) {
    char *kept = option_texts + option_texts_used;
    if (value.length >= sizeof option_texts - option_texts_used)
        return NULL;
    memcpy(kept, value.start, value.length);
    kept[value.length] = '\0';
    option_texts_used += value.length + 1;
    return kept;
}

static void option_say_too_long(const char *name) {
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem: option ");
    report_text(&report, name);
    report_text(&report, ": there is room for ");
    report_number(&report, sizeof option_texts);
    report_text(&report, " characters in all options; the value is ignored, give a shorter one\n");
    report_end(&report);
}

// False: there is no room for it, which is said.
static bool option_set_text(const struct option_row *row, struct span value) {
    const char *kept = option_keep_text(value);
    if (kept == NULL)
        option_say_too_long(row->name);
    else
        *(const char **)option_field(row) = kept;
    return kept != NULL;
}

static void option_set(const struct option_row *row, struct span value) {
    size_t number = 0;
    bool is_valid = true;
    switch (row->kind) {
    case OPTION_KIND_CHOICE:
        is_valid = choice_parse(row, value, &number);
        if (is_valid)
            *(unsigned *)option_field(row) = (unsigned)number;
        break;
    case OPTION_KIND_SIZE:
    case OPTION_KIND_NUMBER:
        is_valid = number_parse(row, value, &number);
        if (is_valid)
            *(size_t *)option_field(row) = number;
        break;
    case OPTION_KIND_TEXT:
        if (!option_set_text(row, value))
            return;
        break;
    }
    if (is_valid)
        option_is_given[row - option_rows] = true;
    else
        option_say_wrong(row, value);
}

static void option_take(struct span name, struct span value) {
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        if (!span_is_name(name, option_rows[i].name))
            continue;
        if (os_facts.secure && !option_rows[i].safe)
            option_say_ignored(name);
        else
            option_set(&option_rows[i], value);
        return;
    }
    option_say_unknown(name);
}

static void options_take_list(const char *list) {
    while (*list != '\0') {
        struct span item = {list, strcspn(list, ",")};
        list += item.length + (list[item.length] == ',');
        const char *equals = memchr(item.start, '=', item.length);
        if (item.length == 0)
            continue;
        if (span_is(item, "help") && equals == NULL) {
            options_help();
            continue;
        }
        size_t name_length = equals == NULL ? item.length : (size_t)(equals - item.start);
        size_t value_length = item.length - name_length - (equals != NULL);
        struct span name = {item.start, name_length};
        option_take(name, (struct span){item.start + item.length - value_length, value_length});
    }
}

static bool option_is_foreign(const char *name) {
    for (size_t i = 0; i < COUNT_OF(option_foreign_prefixes); i++)
        if (strncmp(name, option_foreign_prefixes[i], strlen(option_foreign_prefixes[i])) == 0)
            return true;
    return false;
}

void options_read(char **environment) {
    static const char prefix[] = "HAKMEM_";
    static const char list[] = "OPTIONS=";
    option_texts_used = 0;
    memset(option_is_given, 0, sizeof option_is_given);
    if (environment == NULL)
        return;
    for (char **variable = environment; *variable != NULL; variable++)
        if (strncmp(*variable, prefix, sizeof prefix - 1) == 0 &&
            strncmp(*variable + sizeof prefix - 1, list, sizeof list - 1) == 0)
            options_take_list(*variable + sizeof prefix - 1 + sizeof list - 1);
    for (char **variable = environment; *variable != NULL; variable++) {
        const char *name = *variable + sizeof prefix - 1;
        if (strncmp(*variable, prefix, sizeof prefix - 1) != 0 || strncmp(name, list, sizeof list - 1) == 0 ||
            option_is_foreign(name))
            continue;
        const char *equals = strchr(name, '=');
        if (equals != NULL)
            option_take((struct span){name, (size_t)(equals - name)}, (struct span){equals + 1, strlen(equals + 1)});
    }
}

bool options_given(const char *name, size_t *value) {
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        if (!option_is_given[i] || row->kind == OPTION_KIND_TEXT || strcmp(row->name, name) != 0)
            continue;
        *value = row->kind == OPTION_KIND_CHOICE ? *(unsigned *)option_field(row) : *(size_t *)option_field(row);
        return true;
    }
    return false;
}

bool options_say_value(struct report *report, const char *name) {
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        if (strcmp(row->name, name) != 0)
            continue;
        if (row->kind == OPTION_KIND_TEXT)
            report_text(report, *(const char **)option_field(row));
        else if (row->kind == OPTION_KIND_CHOICE)
            option_say_choice(report, row, *(unsigned *)option_field(row));
        else
            report_number(report, *(size_t *)option_field(row));
        return true;
    }
    return false;
}
