# cmake --install, and afterwards find_package(weft), or find_package(weft COMPONENTS core nn).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(WEFT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
list(TRANSFORM WEFT_LAYERS PREPEND weft_ OUTPUT_VARIABLE layers)
install(TARGETS weft ${layers} EXPORT weft-targets)
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${WEFT_PACKAGE_DIR})
configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake INSTALL_DESTINATION ${WEFT_PACKAGE_DIR})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
              cmake/find_library.cmake DESTINATION ${WEFT_PACKAGE_DIR})
