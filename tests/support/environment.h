// The environment of the programs that a test runs.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/npz.h"
#include "weft/io/safetensors.h"

// Gives a variable of the environment another value, and restores the old one at the end.
class Environment {
public:
    Environment(std::string name, const std::string& value) : name_(std::move(name)) {
        if (const char* old = ::getenv(name_.c_str())) old_ = old;
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    ~Environment() {
        if (old_)
            ::setenv(name_.c_str(), old_->c_str(), 1);
        else
            ::unsetenv(name_.c_str());
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    std::string name_;
    std::optional<std::string> old_;
};

// The path of the program of these tests.
extern std::string test_program;

// What programs that tests have run have printed.
inline std::string& printed_by_programs() {
    static std::string text;
    return text;
}

// A folder of the system in which nobody makes files, not even root.
inline std::string system_folder() { return std::filesystem::exists("/proc") ? "/proc" : "/dev"; }

// The search path for programs, with a folder before all others.
inline std::string path_with(const std::filesystem::path& folder) {
    const char* old = ::getenv("PATH");
    return folder.string() + ":" + (old != nullptr ? old : "/usr/bin:/bin");
}

inline void write_program(const std::filesystem::path& path, const std::string& script) {
    weft::io::save_text(path, "#!/bin/sh\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}
