// A file that is read strictly: every refusal names it, and nothing is read that is not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::io {

std::string display_path(const std::filesystem::path& path);  // in a message

// The file, open at its beginning. IoError when it is missing, a directory or cannot be opened.
std::ifstream open_to_read(const std::filesystem::path& path);
[[noreturn]] void refuse(const std::filesystem::path& path,
                         const std::string& reason);  // IoError "cannot read path: reason"

class InputFile {
public:
    // What open_to_read refuses, and what has no size.
    explicit InputFile(const std::filesystem::path& path);

    std::uint64_t size() const { return size_; }  // of the file that was opened, should another take its name
    void seek(std::uint64_t at);
    void take(void* to, std::uint64_t bytes);  // the next ones; IoError when there are not so many
    [[noreturn]] void refuse(const std::string& reason) const;

private:
    std::filesystem::path path_;
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

}  // namespace weft::io
