// How much time the tests have: under AddressSanitizer, which takes ten times as long, and terabytes of
// addresses, and in `make check-all`, which sets WEFT_LONG.
#pragma once

#include <cstdlib>

#ifdef __SANITIZE_ADDRESS__  // GCC's
inline constexpr bool sanitized = true;
#elif defined(__has_feature)  // clang's
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

// Whether random cases and kills are as many as a night has time for.
inline bool long_run() { return std::getenv("WEFT_LONG") != nullptr; }
