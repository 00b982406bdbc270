// A file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace weft::io {

// Makes the folder, and those that it is in, where they are missing. IoError when it cannot.
void make_folder(const std::filesystem::path& path);

class AtomicFile {
public:
    // Opens a temporary file "name.….part" in the folder of `path`, and removes those that writers of the same
    // file left there when they were killed. IoError when it cannot.
    explicit AtomicFile(const std::filesystem::path& path);
    ~AtomicFile();  // without commit(), the temporary file goes and the old one stays
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(const void* data, std::size_t bytes);
    void commit();  // syncs, then renames over `path`

private:
    std::filesystem::path path_, target_, temporary_;
    int file_ = -1;
    void open();
    void remove_abandoned() const;
    [[noreturn]] void fail(const char* what) const;
};

}  // namespace weft::io
