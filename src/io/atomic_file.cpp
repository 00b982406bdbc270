#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "weft/error.h"

namespace weft::io {

namespace fs = std::filesystem;

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
    // Through symbolic links to what they mean, so that the rename replaces the file and not the link.
    std::error_code ignored;
    target_ = fs::weakly_canonical(path, ignored);
    if (ignored || target_.empty()) target_ = path;
    if (fs::is_directory(target_, ignored))
        throw IoError("cannot write " + path.string() + ": it is a directory");

    static std::atomic<unsigned> count{0};  // two savers in one process write two temporary files
    temporary_ = target_;
    temporary_ += "." + std::to_string(::getpid()) + "." + std::to_string(count++) + ".part";
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) fail("open a temporary file beside it");
    struct stat old {};
    if (::stat(target_.c_str(), &old) == 0 && ::fchmod(file_, old.st_mode & 07777) != 0) {
        const int reason = errno;
        ::close(file_);
        ::unlink(temporary_.c_str());
        errno = reason;
        fail("keep its permissions");
    }
}

AtomicFile::~AtomicFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = ::write(file_, next, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("write");
        next += written;
        bytes -= static_cast<std::size_t>(written);
    }
}

void AtomicFile::commit() {
    if (::fsync(file_) != 0) fail("sync");
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename the temporary file");
    ::close(file_);
    file_ = -1;
    // The name is on the disk only once its folder is. Some file systems refuse to sync folders: that is theirs
    // to know.
    const int folder = ::open(target_.has_parent_path() ? target_.parent_path().c_str() : ".",
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    ::fsync(folder);
    ::close(folder);
}

void AtomicFile::fail(const char* what) const {
    throw IoError("cannot write " + path_.string() + ": could not " + what + ": " + std::strerror(errno));
}

}  // namespace weft::io
