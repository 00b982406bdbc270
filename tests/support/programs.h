// The example programs, run as their users run them.
#pragma once

#if __has_include(<pty.h>)
#include <pty.h>
#else  // on macOS
#include <util.h>
#endif
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "environment.h"
#include "places.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"

inline std::string pangrams() {
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += "The quick brown fox jumps over the lazy dog.\nPack my box with five dozen jugs.\n";
    return text;
}

#ifdef WEFT_PROGRAMS

struct Result {
    int code = -1;       // exit code; −1 when a signal ended it
    std::string output;  // output and errors, as they came
};

// Runs a command of the shell.
inline Result shell(const std::string& command) {
    Result result;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        result.output.append(buffer.data(), n);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    printed_by_programs() += result.output;
    UNSCOPED_INFO(command << "\n" << result.output);
    return result;
}

// Runs "program arguments" of the shell; `before` is what the shell is to do first, for example "ulimit -f 8",
// and `by` begins the program's own line.
inline Result run(const std::string& arguments, const std::string& before = ":", const std::string& by = "") {
    return shell("{ " + before + "; " + by + places::programs() + "/" + arguments + "; } 2>&1");
}

// For `by`: takes root's right to read and write every file from a program, so that permissions mean something.
// Empty where that cannot be done; then the run's last lines say that the check `what` is skipped.
inline std::optional<std::string> without_privilege(const std::string& what) {
    if (geteuid() != 0) return "";
    const std::string by = "setpriv --bounding-set=-dac_override,-dac_read_search ";
    if (shell(by + "true 2>&1").code == 0) return by;
    skip("root ignores permissions, and setpriv is missing: " + what);
    return {};
}

// Runs "program arguments" of the shell on a terminal of so many columns; the output is as the terminal gets
// it.
inline Result run_on_terminal(const std::string& arguments, int columns, const std::string& variables = "") {
    const std::string command = "unset NO_COLOR LC_CTYPE; export TERM=xterm LC_ALL=C.UTF-8 COLUMNS=7 " +
                                variables + "; exec " + places::programs() + "/" + arguments;
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    int terminal = -1;
    const pid_t id = forkpty(&terminal, nullptr, nullptr, &size);
    REQUIRE(id >= 0);
    if (id == 0) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    Result result;
    std::array<char, 4096> buffer;
    for (ssize_t n; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;)  // an error at its end
        result.output.append(buffer.data(), static_cast<std::size_t>(n));
    ::close(terminal);
    int status = 0;
    waitpid(id, &status, 0);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    printed_by_programs() += result.output;
    UNSCOPED_INFO(command << "\n" << result.output);
    return result;
}

// A program that runs beside the test; its output goes to a file. It is killed when the test is done with it.
class Running {
public:
    Running(const std::string& arguments, const std::filesystem::path& log) {
        std::vector<std::string> words;
        std::istringstream in(arguments);
        for (std::string word; in >> word;) words.push_back(word);
        words.at(0).insert(0, places::programs() + "/");
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
        posix_spawn_file_actions_adddup2(&files, 1, 2);
        // As from a terminal: what runs in the background of a script would ignore Ctrl-C, and so would this.
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t heard;
        sigemptyset(&heard);
        for (const int signal : {SIGINT, SIGHUP, SIGTERM}) sigaddset(&heard, signal);
        posix_spawnattr_setsigdefault(&attributes, &heard);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        const int error = posix_spawn(&id_, pointers[0], &files, &attributes, pointers.data(), environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&files);
        if (error != 0) throw std::runtime_error("cannot run " + words[0]);
    }
    ~Running() {
        if (id_ <= 0) return;
        ::kill(id_, SIGKILL);
        wait();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void send(int signal) const { ::kill(id_, signal); }
    bool ended() const {
        siginfo_t about{};
        return waitid(P_PID, static_cast<id_t>(id_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               about.si_pid != 0;
    }
    // Its exit code, or 128 + the signal that ended it.
    int wait() {
        int status = 0;
        waitpid(id_, &status, 0);
        id_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t id_ = 0;
};

// A model small enough to train in a moment, and a text for it.
inline const std::string tiny =
    "train_gpt --num_layers 1 --num_heads 2 --d_model 16 --block_size 16 --batch_size 4 --max_new_tokens 20 ";

inline std::string in(const Scratch& scratch) { return "--out " + scratch.folder().string() + " "; }

inline void check_refusal(const Result& result, int code, const std::string& message) {
    CHECK(result.code == code);
    CHECK(contains(result.output, message));
}

#endif
