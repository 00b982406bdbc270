// Errors. Weft refuses by throwing one of these; the message names the operation, the shapes or values, and
// the fix, and nothing has changed, with two exceptions: a backward may have released saved tensors (see
// Tensor::backward), and what runs step by step (the layers of a model, generation, a training loop) has done
// the steps before the one that was refused. If memory runs out the exception is std::bad_alloc.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/base/text.h"
#include "weft/core/op.h"

namespace weft {

// The base of all errors.
//
//     std::string message;
//     try {
//         (void)matmul(ones({2, 3}), ones({4, 5}));
//     } catch (const ShapeError& error) {
//         message = error.what();  // "matmul: inner dimensions differ: (2, 3) @ (4, 5): …"
//     }
struct Error : std::runtime_error {
    // The arguments are the message, one after another: texts, characters, numbers (as to_chars writes
    // them), and anything with a str(), such as a shape.
    //
    //     if (a.size(-1) != b.size(0))
    //         throw ShapeError("dot: ", a.shape(), " and ", b.shape(), " differ in length; use equal sizes");
    template <class... Parts>
    requires(sizeof...(Parts) > 0) explicit Error(const Parts&... parts)
        : std::runtime_error(Op::spoken(text(parts...))) {}

    // The same text, without an error. Parts may come from anywhere: see printable().
    //
    //     const std::string sizes = Error::text(a.shape(), " and ", 2.5);  // "(2, 3) and 2.5"
    static std::string text(const auto&... parts) { return printable((std::string() + ... + text_of(parts))); }

    // Puts the place of a model where it was thrown before the message, once: "GPT.blocks[3].attn: ".
    //
    //     ShapeError error("linear: x (2, 3) does not fit");
    //     error.locate("GPT.head");
    //     error.locate("GPT");
    //     const std::string message = error.what();  // "GPT.head: linear: x (2, 3) does not fit"
    void locate(const std::string& path) {
        if (!std::exchange(located_, true))
            static_cast<std::runtime_error&>(*this) = std::runtime_error(printable(path) + ": " + what());
    }

private:
    bool located_ = false;
    static std::string text_of(const auto& part) {
        if constexpr (std::is_convertible_v<decltype(part), std::string_view>)
            return std::string(part);
        else if constexpr (std::is_same_v<decltype(part), const char&>)
            return {part};
        else if constexpr (requires { part.str(); })
            return part.str();
        else
            return to_chars(part);
    }
};
// Shapes that do not fit each other or the operation. Each kind of error can be caught by itself:
//
//     std::string kinds;
//     const auto attempt = [&](const std::function<void()>& action) {
//         try {
//             action();
//         } catch (const DTypeError&) {
//             kinds += "type ";
//         } catch (const IndexError&) {
//             kinds += "index ";
//         } catch (const ValueError&) {
//             kinds += "value ";
//         } catch (const GraphError&) {
//             kinds += "graph ";
//         } catch (const IoError&) {
//             kinds += "file ";
//         } catch (const Error& error) {  // any other kind
//             kinds += error.what();
//         }
//     };
//     attempt([] { (void)exp(arange(3)); });
//     attempt([] { (void)ones({3}).select(0, 3); });
//     attempt([] { (void)dropout(ones({3}), 2); });
//     attempt([] { ones({3}).backward(); });
//     attempt([] { (void)io::load_safetensors("no such file"); });
//     // kinds is "type index value graph file "
struct ShapeError : Error {
    using Error::Error;
};
struct DTypeError : Error {  // a type that the operation does not take, or types that do not mix
    using Error::Error;
};
struct IndexError : Error {  // an index, axis or token id out of range
    using Error::Error;
};
struct ValueError : Error {  // an invalid value: a negative rate, a probability of 2
    using Error::Error;
};
struct GraphError : Error {  // a backward or an in-place change that the graph does not allow
    using Error::Error;
};
struct IoError : Error {  // a file that cannot be read, written or understood
    using Error::Error;
};

}  // namespace weft
