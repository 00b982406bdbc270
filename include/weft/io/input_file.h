// Internal: Files that are read strictly: a refusal names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::io {

std::string display_path(const std::filesystem::path& path);  // the path as messages show it

// IoError "cannot read PATH: REASON".
[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason);

class InputFile {
public:
    // IoError if the file is missing, a directory, does not open, has no size or is a Git LFS pointer.
    explicit InputFile(const std::filesystem::path& path);

    std::uint64_t size() const { return size_; }  // of the open file, even if another takes its name
    void seek(std::uint64_t at);
    void take(void* to, std::uint64_t bytes);  // reads the next ones; IoError if there are fewer
    [[noreturn]] void refuse(const std::string& reason) const;

private:
    std::filesystem::path path_;
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

}  // namespace weft::io
