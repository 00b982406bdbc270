// How an exercise is tried: part by part, with what is wrong in words, and with hints for those who ask.
//
//     #include "exercise.h"
//     #include EXERCISE  // the reader's file, or the solution: the build says which
//
//     int main(int argc, char** argv) {
//         Exercise exercise(argc, argv, "9. Many heads");
//         exercise.predict("shape_of_heads", shape_of_heads, [] { return split_heads(x, 2).shape(); },
//                          "The heads come before the tokens.", {"Which axis is cut?"});
//         exercise.mend("merge_heads", "element (0, 0, 3)", {"Print a small example."}, [] {
//             expect_equal("merge_heads(x)", merge_heads(x), ...);
//         });
//         exercise.write("split_heads", {"Two steps.", "reshape, then permute."}, [] { ... });
//         exercise.paper("by_hand", by_hand, {{"the parameters", 2688}}, {"Count the matrices first."});
//         return exercise.finish();
//     }
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

// Marks where the reader writes: `return blank();`. It fits every return type, and never returns.
struct AnyValue {
    template <class T>
    operator T() const;
};
[[noreturn]] AnyValue blank();

// A prediction, or the truth: a number, true or false, a shape, or a word.
class Answer {
public:
    template <class T>
    requires std::is_arithmetic_v<T> Answer(T value) : number_(static_cast<double>(value)), is_number_(true) {
        if constexpr (std::is_same_v<T, bool>) is_number_ = false, text_ = value ? "true" : "false";
    }
    Answer(const Shape& shape) : text_(shape.str()) {}
    Answer(std::string word) : text_(std::move(word)) {}
    Answer(const char* word) : text_(word) {}

    std::string str() const;
    // Numbers agree within `tolerance`, words whatever their case.
    bool agrees(const Answer& truth, double tolerance) const;

private:
    double number_ = 0;
    bool is_number_ = false;
    std::string text_;
};

// NotYet unless `holds`; `otherwise` says what is wrong, and what would be right.
void expect(bool holds, const std::string& otherwise);
// NotYet unless got = want within `tolerance`, with the shapes or the first element that differs.
void expect_equal(const std::string& what, const Tensor& got, const Tensor& want, double tolerance = 1e-9);
void expect_equal(const std::string& what, double got, double want, double tolerance = 1e-9);
// NotYet unless `call` throws a weft::Error whose message contains `words`.
void expect_error(const std::string& what, const std::function<void()>& call, const std::string& words);
// NotYet unless the gradient of f at `inputs` (float64, requiring gradients) passes check::gradcheck.
void expect_gradient(const std::string& what, const check::Function& f, const std::vector<Tensor>& inputs);

// NotYet if `work` takes more than so many seconds of the processor; not measured in a build that looks for
// bugs, with sanitizers or without optimisation.
void expect_within(double seconds, const std::string& what, const std::function<void()>& work);
// The largest memory that this program has had so far, in MiB; 0 under sanitizers, whose own memory would
// count.
double peak_memory();

using Hints = std::vector<std::string>;  // from a nudge to nearly the line
// A sick program: what it shows, drawn from a seed; the verdict of check:: on it; and the test.
struct Fault {
    std::function<void(std::uint64_t)> program;
    std::string planted;  // as given the test fails with a message that contains it
    std::string look;     // what to look at while it is sick, which the reader is told instead
    Hints hints;
    std::function<std::string()> check;
    std::function<void()> test;
    std::string why;  // once it is mended
};
// What a paper task asks for: a label and the number for each.
using Numbers = std::vector<std::pair<std::string, double>>;

// The program's arguments:  [--progress FOLDER]  remembers failures and hints there, from run to run
//                           [--hint]             prints the next hint for the first part that does not pass
//                           [--check]            prints the verdict of check:: on a sick program
//                           [--seed N]           runs a sick program with another seed
//                           [--untouched]        the reader's file is as it was given
//                           [--brief]            one line, for the list of all exercises
//                           [--as-given]         succeeds where every part is blank, except the parts to mend,
//                                                which fail for the reason that was planted
class Exercise {
public:
    Exercise(int argc, char** argv, std::string title);

    // Compares the reader's prediction with the truth, which is computed, and told with the reason, only once
    // something was predicted.
    void predict(const std::string& name, const std::function<Answer()>& prediction,
                 const std::function<Answer()>& truth, const std::string& why, const Hints& hints,
                 double tolerance = 1e-9);
    // A function that was given with a bug: as given its test fails with a message that contains `planted`.
    void mend(const std::string& name, const std::string& planted, const Hints& hints,
              const std::function<void()>& test);
    // A function that the reader writes.
    void write(const std::string& name, const Hints& hints, const std::function<void()>& test);
    // Numbers worked out on paper, each right within `tolerance`, relative to numbers above 1. What is right
    // is not told.
    void paper(const std::string& name, const std::function<std::vector<double>()>& numbers,
               const Numbers& want, const Hints& hints, double tolerance = 1e-6);
    // An acceptance test of a project.
    void accept(const std::string& name, const Hints& hints, const std::function<void()>& test);
    // A sick program, run and judged: still sick, mended, or something else broken.
    void fault(const Fault& fault);

    // The program's exit code: 0 when every part passed. With --as-given: when each was as it should be given.
    int finish();

private:
    struct Level {
        const char* name;
        int parts = 0, passed = 0;
    };
    struct Memory {  // of one part, from run to run
        int failures = 0, hints = 0;
    };

    void part(Level& level, const std::string& name, const Hints& hints, const std::string& planted,
              const std::function<std::string()>& test);  // returns a remark on what is right, or nothing
    void give_hint(const Level& level, const std::string& name, const Hints& hints);
    std::filesystem::path memory_of(const std::string& name) const;
    Memory recall(const std::string& name) const;
    void remember(const std::string& name, const Memory& memory) const;
    std::string painted(const char* colour, const std::string& text) const;
    std::string hint_command() const;  // "make hint N=4"

    std::string title_, first_open_;
    std::filesystem::path progress_;
    bool brief_ = false, as_given_ = false, hint_ = false, check_ = false, pristine_ = false;
    bool colour_ = false, as_it_should_be_ = true;
    std::uint64_t seed_ = 1;
    Level predict_{"predict"}, mend_{"mend"}, write_{"write"}, paper_{"paper"}, project_{"project"},
        fault_{"fault"};
};
