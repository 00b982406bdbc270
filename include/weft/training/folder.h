// The folder that a run writes to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::training {

// A folder that is locked for one run at a time.
//
//     const training::OutputFolder lock(folder, {"model.safetensors"});  // until the end of the scope
//
// The lock on its file "train.lock" ends with the process, however that ends; a file left behind is harmless.
class OutputFolder {
public:
    // Creates the folder, locks it and writes to it, so that a run that cannot save fails before it trains.
    // `files` are the names that it will write. If another run holds the folder, as one that was told to end
    // may for a moment, it warns and waits up to `patience` seconds. IoError, naming the folder, if it is held
    // longer, cannot be written to, or has a folder with one of the names.
    explicit OutputFolder(const std::filesystem::path& folder, const std::vector<std::string>& files = {},
                          double patience = 10);
    ~OutputFolder();  // unlocks the folder, and removes it if it was created here and is empty
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

private:
    std::filesystem::path lock_name_;
    std::vector<std::filesystem::path> created_;
    int lock_ = -1;

    OutputFolder() = default;
};

}  // namespace weft::training
