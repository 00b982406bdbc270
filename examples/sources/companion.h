// What the sources' companions share: claims that are checked, and how they are.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "../chapters/chapter.h"

inline bool held = true;  // whether every claim so far is true; main returns 1 if not

// Prints a claim and whether it is true.
inline void claim(const char* text, bool is_true) {
    std::printf("%s: %s\n", text, is_true ? "yes" : "NO");
    held = held && is_true;
}

// The largest |a − b|.
inline double difference(const weft::Tensor& a, const weft::Tensor& b) { return (a - b).abs().max().item(); }

// What the library says when it refuses `call`.
template <class Call>
std::string refusal(const Call& call) {
    try {
        (void)call();
        held = false;
        return "nothing is refused";
    } catch (const weft::Error& error) {
        return error.what();
    }
}

// The tensor that a traced run named.
inline weft::Tensor step(const std::vector<weft::TraceEntry>& entries, const std::string& name) {
    for (const weft::TraceEntry& entry : entries)
        if (entry.name == name) return entry.tensor;
    throw weft::ValueError("no tensor is named ", name);
}
