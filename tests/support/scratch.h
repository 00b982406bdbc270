// A folder of a test's own, gone with the test.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

class Scratch {
public:
    Scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for a test: " + name);
        folder_ = name;
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::filesystem::path& folder() const { return folder_; }
    friend std::filesystem::path operator/(const Scratch& scratch, const std::string& name) {
        return scratch.folder_ / name;
    }

private:
    std::filesystem::path folder_;
};
