// Internal: Tensors that a function of the user's is given and must not change, because others hold them, too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/core/scoped.h"
#include "weft/core/tensor.h"

namespace weft {

// While it is alive, in-place changes on this thread of what shares memory with these tensors are refused. What
// it is made of must outlive it.
class [[nodiscard]] Lent {
public:
    // `to` and `of` begin the message: who was given the tensors.
    explicit Lent(std::string_view to, std::span<const Tensor> tensors = {}, std::string_view of = "");
    virtual ~Lent() = default;
    // GraphError, naming the operation on x, if x shares memory with what is lent.
    static void check(const char* operation, const Tensor& x) {
        if (current_ != nullptr) [[unlikely]]
            current_->refuse(operation, x);
    }

private:
    virtual bool holds(const Tensor& x) const;
    virtual std::string to() const { return std::string(to_).append(of_); }
    void refuse(const char* operation, const Tensor& x) const;

    static constinit inline thread_local const Lent* current_ = nullptr;
    const Lent* const outer_;
    const std::string_view to_, of_;
    const std::span<const Tensor> tensors_;
    const Scoped<const Lent*> here_;
};

}  // namespace weft
