# Compiler and linker flags: the library's own from flags.txt, and what a flavour adds.
include(CheckCCompilerFlag)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/flags.txt")
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/flags.txt" flag_lines REGEX "^[a-z]+ ")
foreach(line IN LISTS flag_lines)
    string(REGEX MATCH "^([a-z]+) (.*)$" unused "${line}")
    set(when "${CMAKE_MATCH_1}")
    set(flag "${CMAKE_MATCH_2}")
    if(when STREQUAL "optional")
        string(MAKE_C_IDENTIFIER "HAKMEM_HAS${flag}" known)
        check_c_compiler_flag("-Werror ${flag}" ${known})
        if(NOT ${known})
            continue()
        endif()
        set(when code)
    endif()
    list(APPEND hakmem_${when}_flags "${flag}")
endforeach()

set(sanitize_asan -fsanitize=address,undefined -fno-sanitize-recover=all)
set(sanitize_tsan -fsanitize=thread)
set(sanitized_flags "${sanitize_${HAKMEM_FLAVOUR}}")
if(sanitized_flags)
    set(flavour_flags -O1 -g -fno-omit-frame-pointer ${sanitized_flags})
    set(flavour_definitions CHECKED=1 HAKMEM_NO_OVERRIDE=1)
    # What only the C library's names call is not called without them.
    list(APPEND hakmem_warning_flags -Wno-unused-function)
elseif(HAKMEM_FLAVOUR STREQUAL "checked")
    set(flavour_flags ${hakmem_optimise_flags} -g)
    set(flavour_definitions CHECKED=1)
else()
    set(flavour_flags ${hakmem_optimise_flags})
    set(flavour_definitions "")
endif()
set(error_flags "$<$<BOOL:${HAKMEM_WERROR}>:-Werror>")

# What every file of the library is compiled with.
function(hakmem_compile_library target)
    target_compile_options(${target} PRIVATE
        ${hakmem_code_flags} ${flavour_flags} ${hakmem_warning_flags} ${error_flags})
    target_compile_definitions(${target} PRIVATE ${flavour_definitions})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
endfunction()

# What a test program is compiled and linked with: it is not the thing that is measured.
function(hakmem_compile_test target)
    target_compile_options(${target} PRIVATE -O1 -g ${sanitized_flags} -Wall -Wextra -Wundef ${error_flags}
        $<$<COMPILE_LANGUAGE:C>:-std=gnu11>)
    target_compile_definitions(${target} PRIVATE ${flavour_definitions})
    target_link_options(${target} PRIVATE ${sanitized_flags})
endfunction()
