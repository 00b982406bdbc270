// The callers of what refused, at the end of a message, if WEFT_BACKTRACE is set. Functions and lines are
// addr2line's, which reads them from what the compiler left in the program; where that is missing or says
// nothing, the names are those that the program exports. Without the variable nothing is done.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "weft/base/error.h"

#if __has_include(<dlfcn.h>) && __has_include(<unwind.h>) && __has_include(<cxxabi.h>)
#define WEFT_HAS_FRAMES
#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>
#if __has_include(<link.h>)
#include <link.h>
#endif
#endif

namespace weft {
namespace {

const std::string heading = "\ncalled by:";

#ifdef WEFT_HAS_FRAMES

struct Frame {
    std::string file, text;  // the program or library; the function, and where it is in a source
    std::uintptr_t at = 0;   // the address of the call in that file
};

// With the name that the file exports.
Frame frame_of(std::uintptr_t call) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(call), &info) == 0 || info.dli_fname == nullptr) return {};
    Frame frame{info.dli_fname, "", call};
    if (frame.file.find('/') == std::string::npos) frame.file = "/proc/" + to_chars(getpid()) + "/exe";
#if __has_include(<link.h>)  // addresses of what is loaded anywhere count from its beginning
    if (static_cast<const ElfW(Ehdr)*>(info.dli_fbase)->e_type != ET_EXEC)
        frame.at -= reinterpret_cast<std::uintptr_t>(info.dli_fbase);
#endif
    if (info.dli_sname == nullptr) return frame;
    int status = 0;
    char* const name = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    frame.text = status == 0 ? name : info.dli_sname;
    std::free(name);
    return frame;
}

// Asks addr2line about frames of one file. Its answer for each has a line for the function, and one for each
// into which that was inlined.
void describe(std::vector<Frame>::iterator begin, std::vector<Frame>::iterator end) {
    if (begin->file.find('\'') != std::string::npos) return;
    std::string command = "addr2line -a -C -f -i -p -e '" + begin->file + "'", output;
    for (auto frame = begin; frame != end; ++frame) command += " 0x" + to_chars(frame->at, 16);
    FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr) return;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        output.append(buffer.data(), n);
    pclose(pipe);
    std::size_t at = output.find("0x");
    for (auto frame = begin; frame != end && at < output.size(); ++frame) {
        const std::size_t text = std::min(output.find(": ", at) + 2, output.size());
        const std::size_t next = std::min(output.find("\n0x", at), output.size());
        const std::string answer = output.substr(text, next - text);
        if (!answer.starts_with("??")) frame->text = answer;
        at = next + 1;
    }
}

std::vector<Frame> frames() {
    std::vector<Frame> found;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* to) {
            auto& all = *static_cast<std::vector<Frame>*>(to);
            if (const std::uintptr_t back = _Unwind_GetIP(context)) all.push_back(frame_of(back - 1));
            return all.size() < 64 ? _URC_NO_REASON : _URC_END_OF_STACK;
        },
        &found);
    for (auto begin = found.begin(); begin != found.end();) {
        const auto end =
            std::find_if(begin, found.end(), [&](const Frame& frame) { return frame.file != begin->file; });
        describe(begin, end);
        begin = end;
    }
    return found;
}

// Whether a line says something of the program: not the making of the error, not the standard library, and not
// what comes before main.
bool is_telling(const std::string& line) {
    for (const char* inside :
         {"weft::Error::", "Error::Error", "base/backtrace.cpp", "::located<", "__invoke", "_M_invoke"})
        if (line.find(inside) != std::string::npos) return false;
    if (line.starts_with("weft::") && line.find("{lambda") != std::string::npos) return false;
    for (const char* before : {"std::", "_start", "__libc_start", "_Unwind", "??"})
        if (line.starts_with(before)) return false;
    return !line.empty();
}

std::string callers() {
    std::string text;
    for (const Frame& frame : frames())
        for (std::size_t at = 0; at < frame.text.size();) {
            const std::size_t end = std::min(frame.text.find('\n', at), frame.text.size());
            std::string line = frame.text.substr(at, end - at);
            at = end + 1;
            if (const std::string inlined = " (inlined by) "; line.starts_with(inlined))
                line.erase(0, inlined.size());
            for (const char* unknown : {" at ??", " (discriminator", " [clone"})
                line.erase(std::min(line.find(unknown), line.size()));
            if (line.ends_with(":?")) line.erase(line.rfind(" at "));
            if (is_telling(line)) text += "\n  " + line;
        }
    return text.empty() ? "\n  (no function is known: link with -rdynamic, or install addr2line)" : text;
}

#else
std::string callers() { return "\n  (not on this system)"; }
#endif

}  // namespace

// A message that quotes another, with its callers, has those at its end. The newline after them tells where
// they end in the other.
std::string Error::with_callers(std::string message) {
    const char* const wanted = std::getenv("WEFT_BACKTRACE");
    if (wanted == nullptr || *wanted == '\0' || *wanted == '0') return message;
    const std::size_t begin = message.find(heading);
    if (begin == std::string::npos) return message + heading + callers() + "\n";
    std::size_t end = begin + heading.size();
    while (message.compare(end, 3, "\n  ") == 0) end = std::min(message.find('\n', end + 1), message.size());
    const std::string quoted = message.substr(begin, end + 1 - begin);
    return message.erase(begin, quoted.size()) + quoted;
}

}  // namespace weft
