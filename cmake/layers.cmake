# One library for each layer, compiled source by source, for unit tests: it links with the layers below and no others, so
# that a layer which reaches upwards does not link. Layers and their order come from layers.txt.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/layers.txt")
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/layers.txt" layer_lines REGEX "^[a-z]+")
set(hakmem_layers "")

# The sources that all.c leaves out where the C library's names stay with others.
file(READ "${PROJECT_SOURCE_DIR}/src/all.c" all_text)
string(REGEX MATCH "#ifndef HAKMEM_NO_OVERRIDE\n[^#]*(#include[^#]*)*#endif" override_text "${all_text}")
string(REGEX MATCHALL "[a-z_]+/[a-z_]+\\.c" override_sources "${override_text}")
list(TRANSFORM override_sources PREPEND "${PROJECT_SOURCE_DIR}/src/")

function(hakmem_add_layer_library target)
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
    hakmem_compile_library(${target})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
endfunction()

foreach(line IN LISTS layer_lines)
    string(REPLACE " " ";" below "${line}")
    list(POP_FRONT below layer)
    list(APPEND hakmem_layers ${layer})
    list(TRANSFORM below PREPEND layer_)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.c")
    list(REMOVE_ITEM sources ${override_sources})
    if(sources)
        hakmem_add_layer_library(layer_${layer} ${sources})
        target_link_libraries(layer_${layer} PUBLIC ${below})
    else()
        add_library(layer_${layer} INTERFACE)
        target_include_directories(layer_${layer} INTERFACE
            "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
        target_link_libraries(layer_${layer} INTERFACE ${below})
    endif()
endforeach()

# A unit test keeps the C library's malloc, but for those of the sources that define another one.
if(NOT sanitized_flags)
    hakmem_add_layer_library(layer_override ${override_sources})
    target_link_libraries(layer_override PUBLIC layer_api)
    target_compile_definitions(layer_override PRIVATE HAKMEM_PRELOAD=1) # dlopen too
endif()
