# Makes one C++ source of the report's page: cmake -D FOLDER=src/viz/report -D OUT=page.cpp -P report_page.cmake
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/report.css style)
set(script "")
foreach(part base plot runs export losspicture loss gradients attention matrix explorer sentences tables running)
  file(READ ${FOLDER}/${part}.js text)
  string(APPEND script "${text}\n")
endforeach()
string(REPLACE "{{style}}" "${style}" page "${page}")
string(REPLACE "{{script}}" "${script}" page "${page}")
string(FIND "${page}" "{{data}}" at)
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 8")
string(SUBSTRING "${page}" ${at} -1 after)
file(WRITE ${OUT} "// Made by cmake/report_page.cmake.
#include \"viz/report_content.h\"

namespace weft::viz {

const std::string_view page_before_data = R\"page(${before})page\";
const std::string_view page_after_data = R\"page(${after})page\";

}  // namespace weft::viz
")
