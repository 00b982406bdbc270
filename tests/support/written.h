// What a call writes to standard output or error.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

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
