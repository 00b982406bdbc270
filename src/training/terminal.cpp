#include "weft/training/terminal.h"

#include <sys/ioctl.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weft/base/read_number.h"
#include "weft/base/table.h"

namespace weft::training {

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
    std::string locale;
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (locale.empty()) locale = variable(name);
    for (char& c : locale) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

}  // namespace

Terminal::Terminal(int file) : file_(file), unicode_(locale_is_utf8()) {
    const std::string kind = variable("TERM");
    drawn_ = isatty(file) == 1 && !kind.empty() && kind != "dumb" && variable("NO_COLOR").empty();
}

std::size_t Terminal::columns() const {
    winsize size{};
    if (ioctl(file_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    std::size_t columns = 0;
    const bool is_given = read_number<std::size_t>(variable("COLUMNS"), 1, 10'000, columns).empty();
    return is_given ? columns : 80;
}

std::string Terminal::coloured(const std::string& text, Colour colour) const {
    return drawn_ ? "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\x1b[0m" : text;
}

std::string Terminal::link(const std::filesystem::path& path) const {
    if (!drawn_ || variable("TERM") == "linux")
        return path.string();  // the console would show the link's codes
    std::string address;
    for (const char c : std::filesystem::absolute(path).string()) {
        char code[4];
        std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::string_view("/-._~").find(c) < 5;
        address += plain ? std::string(1, c) : code;
    }
    return "\x1b]8;;file://" + address + "\x1b\\" + path.string() + "\x1b]8;;\x1b\\";
}

std::string Terminal::folded(const std::vector<std::string>& parts, const std::string& separator,
                             const std::string& more) const {
    const std::size_t limit = drawn_ ? columns() : std::string::npos;
    std::string text;
    std::size_t used = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t width = display_width(parts[i]);
        const std::size_t reserve = i + 1 < parts.size() ? more.size() : 0;
        if (i > 0 && used + separator.size() + width + reserve > limit) {
            text += more + "\n  ";
            used = 2;
        } else if (i > 0) {
            text += separator;
            used += separator.size();
        }
        text += parts[i];
        used += width;
    }
    return text;
}

}  // namespace weft::training
