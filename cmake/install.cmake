# Where things go when installed: libraries, headers, the CMake package and pkg-config's file.
include(CMakePackageConfigHelpers)

install(TARGETS hakmem hakmem_static hakmem_dl EXPORT hakmem-targets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hakmem" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hakmem")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/hakmem-config.cmake.in"
    "${PROJECT_BINARY_DIR}/hakmem-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hakmem-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(EXPORT hakmem-targets NAMESPACE hakmem:: DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/hakmem-config.cmake" "${PROJECT_BINARY_DIR}/hakmem-config-version.cmake"
    DESTINATION "${package_dir}")

# Directories relative to the .pc file, so that an installed tree can be moved; absolute ones stay as they are.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
    set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
    file(RELATIVE_PATH pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    set(pc_prefix "\${pcfiledir}/${pc_up}")
    string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/hakmem.pc.in" "${PROJECT_BINARY_DIR}/hakmem.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hakmem.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
