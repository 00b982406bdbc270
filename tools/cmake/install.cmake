# cmake --install, and afterwards find_package(weft), find_package(weft COMPONENTS core nn), or pkg-config weft.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(WEFT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
list(TRANSFORM WEFT_LIBRARIES PREPEND weft_ OUTPUT_VARIABLE libraries)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libweft-dev)
install(TARGETS weft ${libraries} EXPORT weft-targets LIBRARY COMPONENT libweft NAMELINK_COMPONENT libweft-dev)
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${WEFT_PACKAGE_DIR})
# gdb's printers: to be sourced, or with shared libraries loaded by gdb where it finds them.
install(FILES tools/gdb/weft_gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
if(BUILD_SHARED_LIBS)
  install(FILES tools/gdb/weft_gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}
          RENAME libweft_core.so.${PROJECT_VERSION}-gdb.py)
endif()
configure_package_config_file(tools/cmake/weft-config.cmake.in weft-config.cmake INSTALL_DESTINATION ${WEFT_PACKAGE_DIR})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
              tools/cmake/find_library.cmake DESTINATION ${WEFT_PACKAGE_DIR})

# weft.pc: the libraries from the top down, and what they call where they are static.
list(REVERSE libraries)
list(TRANSFORM libraries PREPEND "-l")
list(JOIN libraries " " WEFT_PC_LIBS)
set(called -lz -lpcre2-8 -lutf8proc)
if(WEFT_FAST)
  list(PREPEND called -ltbb)
endif()
if(WEFT_BLAS STREQUAL openblas)
  list(APPEND called -lopenblas)
endif()
if(WEFT_MPI)
  list(APPEND called ${MPI_CXX_LIBRARIES})
endif()
list(JOIN called " " WEFT_PC_PRIVATE_LIBS)
if(NOT BUILD_SHARED_LIBS)
  string(APPEND WEFT_PC_LIBS " ${WEFT_PC_PRIVATE_LIBS}")
endif()
file(RELATIVE_PATH WEFT_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# Its headers are a system's, so that a user's warnings do not come from them. In /usr/include they are that anyway, and
# -isystem /usr/include would hide the C library's headers from the C++ library's. (Where that is, is known when it is
# installed.)
set(WEFT_PC_INCLUDE "-isystem") # joined: pkg-config escapes a space of the path then
configure_file(tools/cmake/weft.pc.in weft.pc @ONLY)
set(WEFT_PC_INCLUDE "-I")
configure_file(tools/cmake/weft.pc.in usr/weft.pc @ONLY)
install(CODE "
  set(file \"${CMAKE_CURRENT_BINARY_DIR}/weft.pc\")
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(file \"${CMAKE_CURRENT_BINARY_DIR}/usr/weft.pc\")
  endif()
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\" TYPE FILE FILES \"\${file}\")")
