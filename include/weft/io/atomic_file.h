// Internal: A file that takes its name once it has been written.
#pragma once

#include <filesystem>
#include <string_view>

namespace weft::io {

class AtomicFile {
public:
    // Opens a temporary file "name.….part" next to `path`, and removes those of writers of the same file that
    // were killed. IoError if that fails.
    explicit AtomicFile(const std::filesystem::path& path);
    ~AtomicFile();  // removes the temporary file unless commit() was called
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(std::string_view bytes);
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
