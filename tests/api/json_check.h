// Whether a text is one JSON value: a reader that checks the form and keeps nothing.
#ifndef HAKMEM_TESTS_JSON_CHECK_H
#define HAKMEM_TESTS_JSON_CHECK_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { JSON_DEEPEST = 64 };

static inline const char *json_blanks(const char *text) {
    return text + strspn(text, " \t\r\n");
}

static inline const char *json_string(const char *text) {
    for (text++; *text != '"'; text++) {
        if ((unsigned char)*text < ' ' || (*text == '\\' && *++text == '\0')) {
            return NULL;
        }
    }
    return text + 1;
}

static inline const char *json_number(const char *text) {
    text += *text == '-';
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || (digits > 1 && *text == '0')) {
        return NULL;
    }
    text += digits;
    if (*text == '.') {
        digits = strspn(++text, "0123456789");
        text += digits;
    }
    return digits == 0 ? NULL : text;
}

static const char *json_value(const char *text, unsigned depth);

// The members of an object or the elements of an array, up to the closing sign.
static inline const char *json_members(const char *text, unsigned depth, bool named, char closing) {
    text = json_blanks(text + 1);
    if (*text == closing) {
        return text + 1;
    }
    for (;; text = json_blanks(text + 1)) {
        if (named) {
            text = *text == '"' ? json_string(text) : NULL;
            if (text == NULL || *(text = json_blanks(text)) != ':') {
                return NULL;
            }
            text++;
        }
        text = json_value(text, depth + 1);
        if (text == NULL || *(text = json_blanks(text)) == '\0') {
            return NULL;
        }
        if (*text != ',') {
            return *text == closing ? text + 1 : NULL;
        }
    }
}

// Behind the value, or NULL where there is none.
static inline const char *json_value(const char *text, unsigned depth) {
    text = json_blanks(text);
    if (depth > JSON_DEEPEST) {
        return NULL;
    }
    switch (*text) {
    case '{':
        return json_members(text, depth, true, '}');
    case '[':
        return json_members(text, depth, false, ']');
    case '"':
        return json_string(text);
    case 't':
        return strncmp(text, "true", 4) == 0 ? text + 4 : NULL;
    case 'f':
        return strncmp(text, "false", 5) == 0 ? text + 5 : NULL;
    case 'n':
        return strncmp(text, "null", 4) == 0 ? text + 4 : NULL;
    default:
        return json_number(text);
    }
}

static inline bool is_json(const char *text) {
    const char *end = json_value(text, 0);
    return end != NULL && *json_blanks(end) == '\0';
}

#endif
