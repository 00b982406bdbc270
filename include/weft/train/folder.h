// The folder that a run writes into.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Held by one run at a time. The lock is on a file in it, "train.lock", and goes with the process that holds
// it, however that ends; one that was killed leaves the file behind, and nobody minds.
class OutFolder {
public:
    // Makes the folder, locks it and writes into it, so that what cannot be is known before a training. What it
    // made is gone again where this or the run comes to nothing. weft::IoError, naming the folder, where
    // another run holds it, nothing can be written there, or a folder has the name of a file of the run's.
    explicit OutFolder(const std::filesystem::path& folder);
    ~OutFolder();
    OutFolder(const OutFolder&) = delete;
    OutFolder& operator=(const OutFolder&) = delete;

private:
    std::filesystem::path folder_, name_;  // name_ of the lock
    std::vector<std::filesystem::path> made_;
    int lock_ = -1;

    void make();
    void lock();
    void try_to_write();
    void leave();
    [[noreturn]] void refuse(const std::string& reason) const;
};
