// Whether these tests run under AddressSanitizer, which takes ten times as long, and terabytes of addresses.
#pragma once

#ifdef __SANITIZE_ADDRESS__  // GCC's
inline constexpr bool sanitized = true;
#elif defined(__has_feature)  // clang's
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif
