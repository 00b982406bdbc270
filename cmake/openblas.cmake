# weft::openblas, for the build of Weft and, installed beside its package config, for those who link the library.
if(NOT TARGET weft::openblas)
  find_library(WEFT_OPENBLAS openblas)
  if(WEFT_OPENBLAS)
    add_library(weft::openblas UNKNOWN IMPORTED)
    set_target_properties(weft::openblas PROPERTIES IMPORTED_LOCATION ${WEFT_OPENBLAS})
  endif()
endif()
