#include "weft/train/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/core/error.h"

namespace fs = std::filesystem;

namespace weft::training {

OutputFolder::OutputFolder(const fs::path& folder, const std::vector<std::string>& files)
    : folder_(folder), lock_name_(folder / "train.lock") {
    try {
        make();
        lock();
        try_to_write(files);
    } catch (...) {
        leave();
        throw;
    }
}

OutputFolder::~OutputFolder() { leave(); }

void OutputFolder::make() {
    std::error_code error;
    for (fs::path part = fs::absolute(folder_); !fs::exists(part, error) && part.has_relative_path();
         part = part.parent_path())
        made_.push_back(part);
    fs::create_directories(folder_, error);
    if (error) refuse(error.message());
}

void OutputFolder::lock() {
    for (;;) {
        lock_ = ::open(lock_name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (lock_ < 0) refuse(std::strerror(errno));
        // A file system without locks gives them to no other process either.
        const bool taken = ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat own {};
        if (!taken && ::fstat(lock_, &own) == 0 && own.st_nlink > 0) return;
        ::close(lock_);
        lock_ = -1;
        if (taken)
            throw IoError("another run trains in " + folder_.string() +
                          "; wait until it has ended, or choose another folder");
        // else its holder removed it between the two
    }
}

void OutputFolder::try_to_write(const std::vector<std::string>& files) const {
    const std::string text = "held by process " + std::to_string(::getpid()) + "\n";
    errno = 0;
    const bool written = ::ftruncate(lock_, 0) == 0 &&
                         ::write(lock_, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                         ::fsync(lock_) == 0;
    if (!written) refuse(errno != 0 ? std::strerror(errno) : "the disk is full");
    std::error_code unreadable;
    for (const std::string& name : files)
        if (fs::is_directory(folder_ / name, unreadable)) refuse("its " + name + " is a folder, not a file");
}

// The file is removed while the lock is held: a process that had opened it before notices, see lock().
void OutputFolder::leave() {
    if (lock_ >= 0) {
        ::unlink(lock_name_.c_str());
        ::close(lock_);
    }
    for (const fs::path& folder : made_) ::rmdir(folder.c_str());  // refused unless it is empty
}

void OutputFolder::refuse(const std::string& reason) const {
    throw IoError("cannot write into the folder " + folder_.string() + ": " + reason +
                  "; choose another folder");
}

bool keep_as(const fs::path& file, const fs::path& name) {
    std::error_code error;
    if (!fs::exists(file, error)) return false;
    fs::remove(name, error);
    fs::create_hard_link(file, name, error);  // so the file never lacks its own name
    if (error) fs::copy_file(file, name, error);
    if (error) throw IoError("cannot keep " + file.string() + " of an earlier run: " + error.message());
    return true;
}

}  // namespace weft::training
