// What the output of a program can show: lines that are drawn anew, colours, links; and how wide it is.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::training {

// An output of the program, asked once what it is. It is drawn on if it is a terminal, TERM is set and not
// "dumb", and NO_COLOR is not set; otherwise it gets plain lines without control codes.
//
//     const training::Terminal terminal;
//     std::puts(terminal.folded({"a", "line", "of", "words"}).c_str());
class Terminal {
public:
    // Colours of text, by their codes.
    enum class Colour {
        dim = 2,      // less bright text
        green = 32,   // a success
        yellow = 33,  // a warning
        cyan = 36     // a curve
    };

    explicit Terminal(int file = STDOUT_FILENO);  // takes the file descriptor of an output

    bool is_drawn() const { return drawn_; }       // whether control codes may be written
    bool has_unicode() const { return unicode_; }  // whether the locale (LC_ALL, LC_CTYPE or LANG) is UTF-8
    std::size_t columns() const;  // how wide it is now; COLUMNS or 80 if the system does not know

    // The text in a colour; as it is where nothing is drawn.
    std::string coloured(const std::string& text, Colour colour) const;
    // The path of a file as a link to it (OSC 8); the path where nothing is drawn.
    std::string link(const std::filesystem::path& path) const;
    // The parts in a line or, where it is drawn on and too narrow, in several: each but the last ends in
    // `more`, and each but the first begins with two spaces.
    std::string folded(const std::vector<std::string>& parts, const std::string& separator = " ",
                       const std::string& more = "") const;

private:
    int file_;
    bool drawn_, unicode_;
};

}  // namespace weft::training
