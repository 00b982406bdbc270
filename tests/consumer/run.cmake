# Installs the library, moves what it installed to a path with a space, and configures, builds and runs the consumer
# against it: by CMake, and by pkg-config where that is installed.
#   cmake -D WEFT_BUILD= -D CONSUMER= -D WORK= -D COMPILER= -D GENERATOR= [-D CONFIG=] [-D FLAGS=] -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${WEFT_BUILD} --config ${CONFIG} --prefix ${WORK}/prefix)
file(RENAME ${WORK}/prefix "${WORK}/moved here")
if(NOT EXISTS "${WORK}/moved here/share/weft/weft_gdb.py")
  message(FATAL_ERROR "gdb's printers are not installed")
endif()
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_CONFIGURATION_TYPES=Release -D CMAKE_RUNTIME_OUTPUT_DIRECTORY_RELEASE=${WORK}/build
    -D CMAKE_CXX_COMPILER=${COMPILER} "-D CMAKE_PREFIX_PATH=${WORK}/moved here"
    "-D CMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build --config Release)
run(${WORK}/build/layers)
run(${WORK}/build/alone)
find_program(readelf readelf)
if(readelf)  # what it and Weft's shared libraries name; an MPI may load zlib for itself
  file(GLOB_RECURSE shared "${WORK}/moved here/libweft_core.so" "${WORK}/moved here/libweft_nn.so"
       "${WORK}/moved here/libweft_dist.so")
  execute_process(COMMAND ${readelf} -d ${WORK}/build/alone ${shared} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  if(needed MATCHES "libz[.]|pcre2|utf8proc")
    message(FATAL_ERROR "a program that links weft::dist alone needs zlib, PCRE2 or utf8proc: ${needed}")
  endif()
endif()
run(${WORK}/build/whole)

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE file "${WORK}/moved here/weft.pc")
  get_filename_component(folder "${file}" DIRECTORY)
  get_filename_component(libraries "${folder}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  execute_process(COMMAND ${pkg_config} --cflags --libs weft OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
  if(found MATCHES " -m")
    message(FATAL_ERROR "weft.pc has options of one compiler: ${found}")
  endif()
  separate_arguments(found UNIX_COMMAND "${found} ${FLAGS}")
  run(${COMPILER} -std=c++20 -Wall -Wextra -Wshadow -Werror "-DWEFT_HEADER=<weft/weft.h>" ${CONSUMER}/main.cpp
      -o ${WORK}/by_pkg_config ${found} "-Wl,-rpath,${libraries}")
  run(${WORK}/by_pkg_config)
  # Where /usr/include is searched anyway, nothing is said of it.
  run(${CMAKE_COMMAND} -E env DESTDIR=${WORK}/root ${CMAKE_COMMAND} --install ${WEFT_BUILD} --config ${CONFIG} --prefix /usr)
  file(GLOB_RECURSE file ${WORK}/root/weft.pc)
  file(READ ${file} text)
  if(NOT text MATCHES "Cflags: -I")
    message(FATAL_ERROR "weft.pc of /usr hides the C library's headers: ${text}")
  endif()
endif()

# Another version of C++ is one error.
execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only "-I${WORK}/moved here/include" "-DWEFT_HEADER=<weft/weft.h>"
                ${CONSUMER}/main.cpp ERROR_VARIABLE errors RESULT_VARIABLE code)
string(REGEX MATCHALL "error:" all "${errors}")
list(LENGTH all count)
if(NOT count EQUAL 1 OR NOT errors MATCHES "Weft needs C..20: add -std=c..20")
  message(FATAL_ERROR "C++17 is refused in ${count} errors:\n${errors}")
endif()
