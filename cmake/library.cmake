# The library as it is shipped, from all.c alone: shared, static, and shared with one thread-local pointer (hakmem_dl),
# which can be loaded by dlopen.
set(hakmem_soversion 1)
if(sanitized_flags)
    set(exports_map "${PROJECT_SOURCE_DIR}/src/api/exports_own.map")
else()
    set(exports_map "${PROJECT_SOURCE_DIR}/src/api/exports.map")
endif()

function(hakmem_add_library target kind output_name)
    add_library(${target} ${kind} "${PROJECT_SOURCE_DIR}/src/all.c")
    hakmem_compile_library(${target})
    target_include_directories(${target} PUBLIC
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output_name} DEFINE_SYMBOL "")
    if(PROJECT_IS_TOP_LEVEL) # build/release itself holds what ./hakmem builds
        set_target_properties(${target} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
    endif()
    if(kind STREQUAL "SHARED")
        set_target_properties(${target} PROPERTIES
            VERSION ${PROJECT_VERSION} SOVERSION ${hakmem_soversion} LINK_DEPENDS "${exports_map}")
        target_link_options(${target} PRIVATE
            ${hakmem_link_flags} ${sanitized_flags} "LINKER:--version-script=${exports_map}")
    endif()
endfunction()

hakmem_add_library(hakmem SHARED hakmem)
target_compile_definitions(hakmem PRIVATE HAKMEM_PRELOAD=1)
hakmem_add_library(hakmem_static STATIC hakmem)
hakmem_add_library(hakmem_dl SHARED hakmem-dl)
target_compile_definitions(hakmem_dl PRIVATE HAKMEM_TLS_POINTER=1)
# A program that never calls malloc itself takes it from the archive all the same, for the libraries it uses.
if(NOT sanitized_flags)
    target_link_options(hakmem_static INTERFACE "LINKER:-u,malloc")
endif()
set_target_properties(hakmem_static PROPERTIES EXPORT_NAME static)
set_target_properties(hakmem_dl PROPERTIES EXPORT_NAME dl)
add_library(hakmem::hakmem ALIAS hakmem)
add_library(hakmem::static ALIAS hakmem_static)
add_library(hakmem::dl ALIAS hakmem_dl)
