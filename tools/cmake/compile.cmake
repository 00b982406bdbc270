# How the compiler is called: for this machine's processor, and through ccache where that is installed.

# Sets `flags` to what -march=native stands for on this processor, as GCC or clang spell it out. A cache of compilations takes
# "native" for the same on every processor.
function(weft_native_flags native flags)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${native} "-###" -E -x c++ /dev/null ERROR_VARIABLE said OUTPUT_QUIET)
  string(REGEX MATCH "[^\n]*(cc1plus|\"-cc1\")[^\n]*" line "${said}")
  separate_arguments(words UNIX_COMMAND "${line}")
  set(found "")
  set(before "")
  foreach(word ${words})
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      if(before STREQUAL -target-cpu)
        string(REPLACE native ${word} cpu ${native})
        list(APPEND found ${cpu})
      elseif(before STREQUAL -target-feature)
        list(APPEND found "SHELL:-Xclang -target-feature -Xclang ${word}")
      endif()
    elseif(before STREQUAL --param)
      list(APPEND found --param=${word})
    elseif(word MATCHES ^-m)
      list(APPEND found ${word})
    endif()
    set(before ${word})
  endforeach()
  string(REPLACE "SHELL:" "" CMAKE_REQUIRED_FLAGS "${found}")
  string(REPLACE ";" " " CMAKE_REQUIRED_FLAGS "${CMAKE_REQUIRED_FLAGS}")
  string(MD5 hash "${CMAKE_REQUIRED_FLAGS}")
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles("int main() {}" WEFT_NATIVE_${hash})
  if(NOT found OR NOT WEFT_NATIVE_${hash})
    set(found ${native})
  endif()
  set(${flags} ${found} PARENT_SCOPE)
endfunction()

# A tree that was compiled in another folder compiles from the cache: paths are relative to the folder of the build, and no
# compile line of this project has an absolute one in a definition.
function(weft_use_ccache)
  if(WEFT_CCACHE AND CMAKE_GENERATOR MATCHES Ninja)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/tools/cmake/ccache.sh ${PROJECT_SOURCE_DIR} PARENT_SCOPE)
    # For precompiled headers; and debug information that is the same in every folder: gdb finds it from that of the project.
    target_compile_options(weft_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
                           $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
