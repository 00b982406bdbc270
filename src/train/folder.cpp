#include "folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/core/error.h"

namespace fs = std::filesystem;

OutFolder::OutFolder(const fs::path& folder) : folder_(folder), name_(folder / "train.lock") {
    try {
        make();
        lock();
        try_to_write();
    } catch (...) {
        leave();
        throw;
    }
}

OutFolder::~OutFolder() { leave(); }

void OutFolder::make() {
    std::error_code error;
    for (fs::path part = fs::absolute(folder_); !fs::exists(part, error) && part.has_relative_path();
         part = part.parent_path())
        made_.push_back(part);
    fs::create_directories(folder_, error);
    if (error) refuse(error.message());
}

void OutFolder::lock() {
    for (;;) {
        lock_ = ::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (lock_ < 0) refuse(std::strerror(errno));
        // Where the file system knows no locks, nobody else can take one.
        const bool taken = ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat own {};
        if (!taken && ::fstat(lock_, &own) == 0 && own.st_nlink > 0) return;
        ::close(lock_);
        lock_ = -1;
        if (taken)
            throw weft::IoError("another run trains in " + folder_.string() +
                                "; wait for its end, or choose another --out");
        // else its holder removed it between the two
    }
}

void OutFolder::try_to_write() {
    const std::string text = "held by process " + std::to_string(::getpid()) + "\n";
    errno = 0;
    const bool written = ::ftruncate(lock_, 0) == 0 &&
                         ::write(lock_, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                         ::fsync(lock_) == 0;
    if (!written) refuse(errno != 0 ? std::strerror(errno) : "the disk is full");
    std::error_code unreadable;
    for (const char* name : {"model.safetensors", "best.safetensors", "loss.csv", "report.html"})
        if (fs::is_directory(folder_ / name, unreadable))
            refuse("its " + std::string(name) + " is a folder, where a file is to be");
}

// The lock's name goes while it is held, so that whoever opens it next finds that out.
void OutFolder::leave() {
    if (lock_ >= 0) {
        ::unlink(name_.c_str());
        ::close(lock_);
    }
    for (const fs::path& folder : made_) ::rmdir(folder.c_str());  // refused unless it is empty
}

void OutFolder::refuse(const std::string& reason) const {
    throw weft::IoError("cannot write into the folder " + folder_.string() + ": " + reason +
                        "; choose another --out");
}
