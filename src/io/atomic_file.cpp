#include "weft/io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "weft/io/files.h"
#include "weft/io/input_file.h"
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

}  // namespace weft::io
