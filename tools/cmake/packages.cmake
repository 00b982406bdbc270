# cpack: the Debian packages libweft, libweft-dev and libweft-doc, from a build of shared libraries with the prefix /usr,
# as the preset debs makes it. tools/packaging/README.md says more.
set(maintainer "Weft developers <weft@localhost>")

# The licence in Debian's form, a changelog, and the trigger that finds new libraries.
file(READ LICENSE licence)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]+)\n+(.*)\n$" matched "${licence}")
set(holder "${CMAKE_MATCH_1}")
string(REPLACE "\n" "\n " licence " ${CMAKE_MATCH_2}")
string(REPLACE "\n \n" "\n .\n" licence "${licence}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/debian)
file(WRITE ${folder}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Weft

Files: *
Copyright: ${holder}
License: Expat
${licence}
")
file(WRITE ${folder}/changelog "weft (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${maintainer}  ${date}
")
file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")
execute_process(COMMAND gzip -9nf ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)

# weft_package(libweft SECTION libs …): a component as a package, with further fields of Debian's.
function(weft_package name synopsis text)
  string(TOUPPER ${name} upper)
  list(APPEND fields PACKAGE_NAME ${name} DESCRIPTION "${synopsis}
Weft computes with tensors and their gradients, of any order. It has modules up
to a GPT, what programs need to train them, checks of every gradient, and
pictures of what a model does.
.
${text}" ${ARGN})
  while(fields)
    list(POP_FRONT fields field value)
    set(CPACK_DEBIAN_${upper}_${field} "${value}" PARENT_SCOPE)
  endwhile()
  list(APPEND CPACK_COMPONENTS_ALL ${name})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  install(FILES ${folder}/copyright ${folder}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}
          COMPONENT ${name} EXCLUDE_FROM_ALL)
endfunction()

weft_package(libweft "reverse-mode autograd tensor library" "These are the shared libraries, one for each layer."
  PACKAGE_SECTION libs PACKAGE_SHLIBDEPS ON PACKAGE_CONTROL_EXTRA ${folder}/triggers)
weft_package(libweft-dev "reverse-mode autograd tensor library (development)" "These are the headers and the CMake package."
  PACKAGE_SECTION libdevel PACKAGE_DEPENDS "libweft (= ${PROJECT_VERSION})" PACKAGE_RECOMMENDS libxtensor-dev
  PACKAGE_SUGGESTS libweft-doc)
weft_package(libweft-doc "reverse-mode autograd tensor library (book)" "This is the book with its figures and programs, as Markdown."
  PACKAGE_SECTION doc PACKAGE_ARCHITECTURE all)
install(FILES README.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libweft-doc
        COMPONENT libweft-doc EXCLUDE_FROM_ALL)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libweft-doc
        COMPONENT libweft-doc EXCLUDE_FROM_ALL PATTERN site EXCLUDE)

set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE weft)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR})
include(CPack)
