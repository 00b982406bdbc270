# Every dependency comes from a Debian package; a missing one stops the configuration with the command that installs it.
function(weft_need found package what)
  if(NOT ${found})
    message(FATAL_ERROR "Weft needs ${what}. On Debian: apt-get install ${package}")
  endif()
endfunction()

find_package(xtl QUIET)
find_package(xtensor QUIET)
weft_need(xtensor_FOUND libxtensor-dev "xtensor")
find_package(xsimd QUIET)
weft_need(xsimd_FOUND libxsimd-dev "xsimd")
find_path(WEFT_XTENSOR_BLAS_INCLUDE xtensor-blas/xlinalg.hpp)
weft_need(WEFT_XTENSOR_BLAS_INCLUDE libxtensor-blas-dev "xtensor-blas")
find_package(OpenMP QUIET COMPONENTS CXX)
weft_need(OpenMP_CXX_FOUND "g++, or libomp-14-dev for clang 14" "OpenMP")
include(cmake/openblas.cmake)
weft_need(WEFT_OPENBLAS libopenblas-openmp-dev "OpenBLAS")
find_package(nlohmann_json QUIET)
weft_need(nlohmann_json_FOUND nlohmann-json3-dev "nlohmann::json")
find_package(ZLIB QUIET)
weft_need(ZLIB_FOUND zlib1g-dev "zlib")

# The numeric dependencies, as system headers: their warnings are not ours. The definitions must be the same in every
# file that includes xtensor.
add_library(weft_dependencies INTERFACE)
target_include_directories(weft_dependencies SYSTEM INTERFACE
  $<TARGET_PROPERTY:xtensor,INTERFACE_INCLUDE_DIRECTORIES> ${WEFT_XTENSOR_BLAS_INCLUDE})
target_compile_definitions(weft_dependencies INTERFACE XTENSOR_USE_XSIMD HAVE_CBLAS=1)
