#include "weft/training/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "weft/core/error.h"
#include "weft/training/progress.h"

namespace fs = std::filesystem;

namespace weft::training {

namespace {

// The locked file, or −1: `taken` if another process holds it, else errno says why it cannot be opened.
int open_locked(const fs::path& name, bool& taken) {
    for (;;) {
        const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file < 0) return file;
        taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 &&
                errno == EWOULDBLOCK;  // a file system without locks has no other owner
        struct stat own {};
        if (!taken && ::fstat(file, &own) == 0 && own.st_nlink > 0) return file;
        ::close(file);
        if (taken) return -1;  // else its holder removed it before it was locked
    }
}

bool can_write(int file) {
    const std::string text = "held by process " + std::to_string(::getpid()) + "\n";
    errno = 0;  // a full disk may write a part and leave errno alone
    return ::ftruncate(file, 0) == 0 &&
           ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
}

}  // namespace

// It delegates to the default constructor, so the destructor runs if it throws.
OutputFolder::OutputFolder(const fs::path& folder, const std::vector<std::string>& files, double patience)
    : OutputFolder() {
    const auto refuse = [&](const std::string& reason) {
        throw IoError("cannot write to the folder ", folder.string(), ": ", reason, "; choose another folder");
    };
    std::error_code error;
    for (fs::path part = fs::absolute(folder); !fs::exists(part, error) && part.has_relative_path();
         part = part.parent_path())
        created_.push_back(part);
    fs::create_directories(folder, error);
    if (error == std::errc::file_exists)
        error = std::make_error_code(std::errc::not_a_directory);  // libc++ says the first
    if (error) refuse(error.message());

    lock_name_ = folder / "train.lock";
    bool taken = false;
    lock_ = open_locked(lock_name_, taken);
    if (taken && patience > 0)
        warn(Error::text("another run trains in ", folder.string(), "; waiting ", patience, " s for its end"));
    using Clock = std::chrono::steady_clock;
    for (const auto start = Clock::now();
         taken && std::chrono::duration<double>(Clock::now() - start).count() < patience;
         lock_ = open_locked(lock_name_, taken))
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (taken)
        throw IoError("another run trains in ", folder.string(),
                      "; wait until it has ended, or choose another folder");
    if (lock_ < 0) refuse(std::strerror(errno));
    if (!can_write(lock_)) refuse(std::strerror(errno != 0 ? errno : ENOSPC));
    for (const std::string& name : files)
        if (fs::is_directory(folder / name, error)) refuse("its " + name + " is a folder, not a file");
}

// Removes the file while it holds the lock; open_locked notices that in another process.
OutputFolder::~OutputFolder() {
    if (lock_ >= 0) {
        ::unlink(lock_name_.c_str());
        ::close(lock_);
    }
    for (const fs::path& folder : created_) ::rmdir(folder.c_str());  // fails unless it is empty
}

}  // namespace weft::training
