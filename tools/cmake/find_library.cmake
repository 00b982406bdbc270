# Libraries without a CMake package, for the build of Weft and, installed beside its package config, for those who link
# the library: weft_find_library(pcre2-8) makes the target weft::pcre2-8 if the library is there.
function(weft_find_library name)
  find_library(WEFT_LIBRARY_${name} ${name})
  if(WEFT_LIBRARY_${name} AND NOT TARGET weft::${name})
    add_library(weft::${name} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(weft::${name} PROPERTIES IMPORTED_LOCATION ${WEFT_LIBRARY_${name}})
  endif()
endfunction()
