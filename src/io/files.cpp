#include "weft/io/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "weft/base/text.h"
#include "weft/io/safetensors.h"

namespace weft::io {

namespace fs = std::filesystem;

namespace {

// The target of symbolic links, even of one to a missing file: the rename must not replace the link.
fs::path resolve_symlinks(fs::path path) {
    std::error_code error;
    for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(path, error)); ++links) {
        const fs::path target = fs::read_symlink(path, error);
        if (error) break;
        path = target.is_absolute() ? target : path.parent_path() / target;
    }
    return path;
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

// It delegates to the default constructor, so the destructor runs if it throws.
AtomicFile::AtomicFile(const fs::path& path) : AtomicFile() {
    path_ = path;
    target_ = resolve_symlinks(path);
    std::error_code ignored;
    if (fs::is_directory(target_, ignored))
        throw IoError("cannot write ", display_path(path), ": it is a directory");
    if (fs::is_symlink(fs::symlink_status(target_, ignored))) {  // a cycle: the rename would replace a link
        errno = ELOOP;
        fail("follow its symbolic links");
    }
    remove_abandoned();
    open();
    struct stat old {};
    if (::stat(target_.c_str(), &old) == 0 && ::fchmod(file_, old.st_mode & 07777) != 0)
        fail("keep its permissions");
}

// The lock on the temporary file lasts as long as this process.
void AtomicFile::open() {
    static std::atomic<unsigned> count{0};  // distinguishes the writers in this process
    for (int tries = 0; tries < 1000; ++tries) {
        temporary_ = target_;
        temporary_ += "." + std::to_string(::getpid()) + "." + std::to_string(count++) + ".part";
        file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file_ < 0 && errno == EEXIST) continue;  // a process with our number on another machine made it
        if (file_ < 0) fail("open a temporary file beside it");
        // Only a writer that takes the file for abandoned can have the lock; without locks, none has.
        const bool taken = ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat own {};
        if (!taken && ::fstat(file_, &own) == 0 && own.st_nlink > 0) return;
        ::close(file_);
    }
    file_ = -1;
    errno = EEXIST;
    fail("open a temporary file beside it");
}

// A temporary file that can be locked has lost its writer.
void AtomicFile::remove_abandoned() const {
    std::error_code error;
    const std::string start = target_.filename().string() + ".";
    for (auto entry = fs::directory_iterator(folder_of(target_), error); !error && entry != fs::end(entry);
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(start) || !name.ends_with(".part")) continue;
        if (name.find_first_not_of("0123456789.", start.size()) != name.size() - 4) continue;  // "part"
        const int file = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file < 0) continue;
        if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
        ::close(file);
    }
}

AtomicFile::~AtomicFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("write");
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void AtomicFile::commit() {
    if (::fsync(file_) != 0) fail("sync");
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename the temporary file");
    ::close(file_);
    file_ = -1;
    // The new name is on the disk once the folder is synced; some file systems refuse to sync folders.
    const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    ::fsync(folder);
    ::close(folder);
}

void save_text(const fs::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

void AtomicFile::fail(const char* what) const {
    throw IoError("cannot write ", display_path(path_), ": could not ", what, ": ", std::strerror(errno));
}

namespace fs = std::filesystem;

namespace {

// IoError if the file is missing, a directory or was not opened.
void check_open(const fs::path& path, bool open) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::none) refuse(path, "it cannot be opened: " + error.message());
    if (!fs::exists(status)) refuse(path, "no such file");
    if (fs::is_directory(status)) refuse(path, "it is a directory");
    if (!open) refuse(path, "it cannot be opened; check its permissions");
}

// IoError if a file begins as a pointer does that Git LFS leaves in its place.
void check_content(const fs::path& path, std::string_view beginning) {
    if (beginning.starts_with("version https://git-lfs.github.com/spec/"))
        refuse(path, "it is a Git LFS pointer, not the file itself; fetch that with git lfs pull");
}

}  // namespace

std::string display_path(const fs::path& path) { return excerpt(path.string(), 1000); }

void refuse(const fs::path& path, const std::string& reason) {
    throw IoError("cannot read ", display_path(path), ": ", reason);
}

std::string load_text(const fs::path& path) {
    // Not a stream: where reading fails, libc++'s ends as if the file did.
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"), &std::fclose);
    check_open(path, in != nullptr);
    std::string text;
    std::array<char, 65536> buffer;
    while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), in.get()))
        text.append(buffer.data(), read);
    if (std::ferror(in.get()) != 0)
        refuse(path, "reading failed after " + std::to_string(text.size()) + " bytes");
    check_content(path, text);
    return text;
}

InputFile::InputFile(const fs::path& path) : path_(path), in_(path, std::ios::binary) {
    check_open(path, in_.is_open());
    const auto end = in_.seekg(0, std::ios::end).tellg();
    if (end < 0) refuse("it is not a file with a size");
    size_ = static_cast<std::uint64_t>(end);
    seek(0);
    if (size_ < 100 || size_ > 1000) return;  // a pointer has some 130 bytes
    std::string beginning(40, '\0');
    take(beginning.data(), beginning.size());
    check_content(path, beginning);
    seek(0);
}

void InputFile::seek(std::uint64_t at) { in_.seekg(static_cast<std::streamoff>(at)); }

void InputFile::take(void* to, std::uint64_t bytes) {
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (!in_) refuse("it ends too early; is it still being written?");
}

void InputFile::refuse(const std::string& reason) const { io::refuse(path_, reason); }

}  // namespace weft::io
