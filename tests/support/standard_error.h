// What a call writes to standard error.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

template <class F>
std::string standard_error_of(const F& f) {
    std::FILE* const file = std::tmpfile();
    const int before = ::dup(STDERR_FILENO);
    ::dup2(::fileno(file), STDERR_FILENO);
    f();
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    std::rewind(file);
    std::string written(10000, '\0');
    written.resize(std::fread(written.data(), 1, written.size(), file));
    std::fclose(file);
    return written;
}
