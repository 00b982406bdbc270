// Whole files of text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace weft::io {

// The bytes of a file; IoError if it is missing, a directory, unreadable or a Git LFS pointer.
//
//     io::save_text(path, "one\ntwo\n");
//     const std::string text = io::load_text(path);  // "one\ntwo\n"
std::string load_text(const std::filesystem::path& path);
// Writes the bytes; IoError if it cannot.
void save_text(const std::filesystem::path& path, const std::string& text);

// Internal: A file that takes its name once it has been written.

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

// Internal: Files that are read strictly: a refusal names the file.

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

// Internal: Files that gzip packed.

// The bytes of a file, unpacked if gzip packed them: then they begin with 1F 8B. `path` is for messages.
// IoError if they are damaged or cut short, go on after their end, or unpack to far more than a text does.
std::string unpacked(std::string bytes, const std::filesystem::path& path);

}  // namespace weft::io
