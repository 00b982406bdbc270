// How much time the tests have: under AddressSanitizer, which takes ten times as long, and terabytes of
// addresses, and in `make check-all`, which sets WEFT_LONG.
#pragma once

#include <cstdlib>

#ifdef WEFT_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Whether random cases and kills are as many as a night has time for.
inline bool long_run() { return std::getenv("WEFT_LONG") != nullptr; }
