// Linked into every program of this folder. If an exception leaves main, the program prints its message and
// exits with 1. If standard output could not be written, the program says so and exits with 1, unless it
// already exits with another code.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iostream>  // std::cout is then flushed after check, which so knows the reason

namespace {

bool was_closed = false;

// Nobody reads: the pipe was closed (| head), or standard output was (>&-). That is not a failure.
bool unread() {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    return was_closed || (::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0);
}

const char* program() {
#ifdef __GLIBC__
    return program_invocation_short_name;
#else
    return ::getprogname();
#endif
}

// The handler of std::terminate. Without an exception the program ends by abort(), as it does without a
// handler.
[[noreturn]] void report() {
    try {
        if (std::current_exception() != nullptr) throw;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", program(), error.what());
        std::_Exit(1);
    } catch (...) {
    }
    std::abort();
}

void check(int code, void*) {
    errno = 0;
    const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    const int reason = errno;
    if (!failed || code != 0 || unread()) return;
    std::fprintf(stderr, "%s: cannot write to standard output: %s\n", program(),
                 reason != 0 ? std::strerror(reason) : "part of it is lost");
    std::_Exit(1);
}

[[maybe_unused]] const bool watching = [] {
    std::set_terminate(report);
    // A file that is opened later must not become standard output.
    was_closed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0;
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);  // gets the lowest free number
#ifdef __GLIBC__
    return ::on_exit(check, nullptr) == 0;
#else  // the code of the exit is not known
    return std::atexit([] { check(0, nullptr); }) == 0;
#endif
}();

}  // namespace
