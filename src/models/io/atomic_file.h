// A file that is written completely or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace weft::io {

// Creates the folder and its parents if they are missing. IoError if it cannot.
void make_folder(const std::filesystem::path& path);

class AtomicFile {
public:
    // Opens a temporary file "name.….part" next to `path`, and removes those of writers of the same file that
    // were killed. IoError if it cannot.
    explicit AtomicFile(const std::filesystem::path& path);
    ~AtomicFile();  // without commit(), removes the temporary file and leaves the old one
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(const void* data, std::size_t bytes);
    void commit();  // syncs, then renames it to `path`

private:
    std::filesystem::path path_, target_, temporary_;
    int file_ = -1;
    AtomicFile() = default;
    void open();
    void remove_abandoned() const;
    [[noreturn]] void fail(const char* what) const;
};

}  // namespace weft::io
