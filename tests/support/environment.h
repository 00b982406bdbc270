// What a test runs in: its time, folders, variables, threads, and what it writes.
#pragma once

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "weft/core/modes.h"
#include "weft/io/files.h"

// How much time the tests have: under AddressSanitizer, which takes ten times as long, and terabytes of
// addresses, and in `make check-all`, which sets WEFT_LONG.
#ifdef WEFT_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Whether random cases and kills are as many as a night has time for.
inline bool long_run() { return std::getenv("WEFT_LONG") != nullptr; }

// A folder of a test's own, gone with the test.
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

// The number of threads, for as long as a test needs another.
struct Threads {  // puts the number back
    explicit Threads(int n) : before(weft::get_num_threads()) { weft::set_num_threads(n); }
    ~Threads() { weft::set_num_threads(before); }
    const int before;
};

// What a call writes to standard output or error.
// stream: STDOUT_FILENO or STDERR_FILENO.
template <class F>
std::string written_to(int stream, const F& f) {
    std::FILE* const file = std::tmpfile();
    std::fflush(stdout);
    const int before = ::dup(stream);
    ::dup2(::fileno(file), stream);
    f();
    std::fflush(stdout);
    ::dup2(before, stream);
    ::close(before);
    std::rewind(file);
    std::string written(10000, '\0');
    written.resize(std::fread(written.data(), 1, written.size(), file));
    std::fclose(file);
    return written;
}

// A disk that is full, for the tests of failed writes.
// While it lives no file may grow beyond `bytes`.
class SmallDisk {
public:
    explicit SmallDisk(rlim_t bytes = 1) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int);
};
