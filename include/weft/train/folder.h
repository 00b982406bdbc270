// The folder that a run writes into.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::training {

// Held by one run at a time: const training::OutputFolder folder("out", {"model.safetensors"}). The lock is on
// a file in it, "train.lock", and goes with the process, however that ends; a file left behind does no harm.
class OutputFolder {
public:
    // Makes the folder, locks it and writes into it, so a run that cannot save fails before it trains; `files`
    // are what it will write. A folder made here goes again if it stays empty. IoError, naming the folder,
    // where another run holds it, nothing can be written, or one of `files` is a folder.
    explicit OutputFolder(const std::filesystem::path& folder, const std::vector<std::string>& files = {});
    ~OutputFolder();  // unlocks it
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

private:
    std::filesystem::path lock_name_;
    std::vector<std::filesystem::path> made_;
    int lock_ = -1;

    OutputFolder() = default;
};

}  // namespace weft::training
