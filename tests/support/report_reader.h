// What a report's page holds, read from its HTML as a browser would find it.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/content.h"

// The JSON inside the page's script of data.
inline std::string report_json(const std::string& page) {
    const std::string mark = "<script type=\"application/json\" id=\"data\">";
    const std::size_t start = page.find(mark);
    if (start == std::string::npos) throw std::runtime_error("the page holds no data");
    const std::size_t end = page.find("</script>", start);
    return page.substr(start + mark.size(), end - start - mark.size());
}
inline nlohmann::json report_data(const weft::report::Report& report) {
    return nlohmann::json::parse(report_json(report.html()));
}

inline std::string decoded(const nlohmann::json& text) {
    std::string bytes;
    if (!weft::report::from_base64(text.get<std::string>(), bytes)) throw std::runtime_error("no base64");
    return bytes;
}
template <class T>
std::vector<T> decoded_numbers(const nlohmann::json& text) {
    const std::string bytes = decoded(text);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}
