// How an exercise is tried: part by part, with what is wrong in words and, from the second failure on, a hint.
//
//     #include "exercise.h"
//     #include EXERCISE  // the reader's file, or the solution: the build says which
//
//     int main(int argc, char** argv) {
//         Exercise exercise(argc, argv, "9. Many heads");
//         exercise.part("split_heads", "reshape cannot move values past each other; permute can.", [] {
//             const Tensor x = arange(24, float64).reshape({1, 3, 8});
//             expect_equal("split_heads(x, 2)", split_heads(x, 2), ...);
//         });
//         return exercise.finish();
//     }
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weft/weft.h"

using namespace weft;  // exercises are small programs, and read better so

// Thrown where the reader has not written anything yet.
struct Blank : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// Thrown by the expectations below; `what` is shown to the reader.
struct NotYet : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Stands in the reader's file where something is to be written: `return blank("x times x");`. It fits every
// return type, and never returns.
struct AnyValue {
    template <class T>
    operator T() const;
};
[[noreturn]] AnyValue blank(const std::string& what);

// NotYet unless `holds`; `otherwise` says what is wrong, and what would be right.
void expect(bool holds, const std::string& otherwise);
// NotYet unless got = want within `tolerance`, with the shapes or the first element that differs.
void expect_equal(const std::string& what, const Tensor& got, const Tensor& want, double tolerance = 1e-9);
void expect_equal(const std::string& what, double got, double want, double tolerance = 1e-9);
// NotYet unless `call` throws a weft::Error whose message contains `words`.
void expect_error(const std::string& what, const std::function<void()>& call, const std::string& words);
// NotYet unless the gradient of f at `inputs` (float64, requiring gradients) passes check::gradcheck.
void expect_gradient(const std::string& what, const check::Function& f, const std::vector<Tensor>& inputs);

// The program's arguments:  [--progress FOLDER]  failures are counted there, so that a hint comes at the second
//                           [--brief]            one line, for the list of all exercises
//                           [--as-given]         succeeds where every part fails for not being filled in
class Exercise {
public:
    Exercise(int argc, char** argv, std::string title);

    // Runs `test` and tells how it went. Any exception is a failure that is told, too.
    void part(const std::string& name, const std::string& hint, const std::function<void()>& test);
    // The program's exit code: 0 when every part passed (with --as-given: when each was blank).
    int finish();

private:
    int failures_of(const std::string& name, bool failed);

    std::string title_;
    std::filesystem::path progress_;
    bool brief_ = false, as_given_ = false;
    int parts_ = 0, passed_ = 0, blank_ = 0;
};
