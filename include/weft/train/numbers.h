// Numbers as text, the same under every locale.
#pragma once

#include <cstdint>
#include <string>

// The whole of `text` as a number. UsageError, naming `what` and the range, when it is none or lies outside low
// … high.
std::int64_t whole_number(const std::string& what, const std::string& text, double low, double high);
double real_number(const std::string& what, const std::string& text, double low, double high);

// "true" or "false"; UsageError, naming `what`, on anything else.
bool truth(const std::string& what, const std::string& text);

// The shortest text that real_number reads back as the same number; and with a number of places behind the
// point.
std::string number_text(double number);
std::string number_text(double number, int places);
