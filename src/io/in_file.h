// A file that is read strictly: every refusal names it, and nothing is read that is not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::io {

class InFile {
public:
    // IoError when it is missing, a directory or cannot be opened.
    explicit InFile(const std::filesystem::path& path);

    std::uint64_t size() const { return size_; }  // of the file that was opened, should another take its name
    void seek(std::uint64_t at);
    void take(void* to, std::uint64_t bytes);  // the next ones; IoError when there are not so many
    [[noreturn]] void refuse(const std::string& reason) const;  // IoError "cannot read path: reason"

private:
    std::filesystem::path path_;
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

}  // namespace weft::io
