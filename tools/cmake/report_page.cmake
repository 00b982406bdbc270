# Makes one C++ source of the report's page: cmake -D FOLDER=src/viz/report -D OUT=page.cpp -P report_page.cmake
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/report.css style)
file(READ ${FOLDER}/playground.css text)
string(APPEND style "${text}")
set(script "")
foreach(part base plot runs export losspicture loss gradients attention matrix explorer sentences model playground tables
    running)
  file(READ ${FOLDER}/${part}.js text)
  string(APPEND script "${text}\n")
endforeach()
string(REPLACE "{{style}}" "${style}" page "${page}")
string(REPLACE "{{script}}" "${script}" page "${page}")
# Cuts `page` in two at {{name}}. The second part stays in `page`.
macro(cut name before)
  string(FIND "${page}" "{{${name}}}" at)
  string(SUBSTRING "${page}" 0 ${at} ${before})
  string(LENGTH "{{${name}}}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${page}" ${at} -1 page)
endmacro()
cut(data before_data)
cut(model before_model)
file(WRITE ${OUT} "// Made by tools/cmake/report_page.cmake.
#include \"report/content.h\"

namespace weft::report {

const std::string_view page_before_data = R\"page(${before_data})page\";
const std::string_view page_before_model = R\"page(${before_model})page\";
const std::string_view page_after_model = R\"page(${page})page\";

}  // namespace weft::report
")
