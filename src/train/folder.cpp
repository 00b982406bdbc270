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

namespace {

// The locked file; −1 where another process holds it, or none with errno where it cannot be opened.
int locked(const fs::path& name, bool& taken) {
    for (;;) {
        const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file < 0) return file;
        // A file system without locks gives them to no other process either.
        taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat own {};
        if (!taken && ::fstat(file, &own) == 0 && own.st_nlink > 0) return file;
        ::close(file);
        if (taken) return -1;
        // else its holder removed it between the two
    }
}

bool can_write(int file) {
    const std::string text = "held by process " + std::to_string(::getpid()) + "\n";
    errno = 0;  // a disk that takes a part only leaves it so
    return ::ftruncate(file, 0) == 0 &&
           ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
}

}  // namespace

// The default constructor is done when this one begins, so the destructor cleans up where this one throws.
OutputFolder::OutputFolder(const fs::path& folder, const std::vector<std::string>& files) : OutputFolder() {
    const auto refuse = [&](const std::string& reason) {
        throw IoError("cannot write to the folder ", folder.string(), ": ", reason, "; choose another folder");
    };
    std::error_code error;
    for (fs::path part = fs::absolute(folder); !fs::exists(part, error) && part.has_relative_path();
         part = part.parent_path())
        created_.push_back(part);
    fs::create_directories(folder, error);
    if (error) refuse(error.message());

    lock_name_ = folder / "train.lock";
    bool taken = false;
    lock_ = locked(lock_name_, taken);
    if (taken)
        throw IoError("another run trains in ", folder.string(),
                      "; wait until it has ended, or choose another folder");
    if (lock_ < 0) refuse(std::strerror(errno));
    if (!can_write(lock_)) refuse(std::strerror(errno != 0 ? errno : ENOSPC));
    for (const std::string& name : files)
        if (fs::is_directory(folder / name, error)) refuse("its " + name + " is a folder, not a file");
}

// The file is removed while the lock is held: a process that had opened it before notices, see locked().
OutputFolder::~OutputFolder() {
    if (lock_ >= 0) {
        ::unlink(lock_name_.c_str());
        ::close(lock_);
    }
    for (const fs::path& folder : created_) ::rmdir(folder.c_str());  // refused unless it is empty
}

}  // namespace weft::training
