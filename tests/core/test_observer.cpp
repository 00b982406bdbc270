// Observers: who is told what, in which order, and what happens when one throws or goes out of order.
#include <memory>
#include <thread>

#include "catch.h"
#include "refusal.h"

using namespace weft;

namespace {

using Lines = std::vector<std::string>;

struct Writer : Observer {
    Writer(Lines& lines, std::string name) : lines(lines), name(std::move(name)) {}
    void begins(const Part& part) override {
        lines.push_back(name + " begins " + part.name);
        if (part.name == refused) throw ValueError(name + " refuses " + part.name);
    }
    void ends(const Part& part, bool well) noexcept override {
        lines.push_back(name + (well ? " ends " : " loses ") + part.name);
    }
    void computes(const char* operation) override { lines.push_back(name + " computes " + operation); }
    void records(const Recorded& node) override {
        lines.push_back(name + " records " + node.operation + " of " + std::to_string(node.inputs.size()));
    }
    void names(const char* of, const Tensor&) override { lines.push_back(name + " names " + of); }
    void starts(const Tensor&) override { lines.push_back(name + " starts"); }
    void passes(const Passed& edge) override {
        lines.push_back(name + " passes " + edge.operation + " " + std::to_string(edge.gradient.item()));
    }
    void visits(const Visited& node) override { lines.push_back(name + " visits " + node.operation); }
    Lines& lines;
    std::string name, refused = "nothing";
};
struct Other : Writer {
    using Writer::Writer;
};

}  // namespace

TEST_CASE("observers hear operations, nodes, names and backward; of one class the innermost alone",
          "[observer]") {
    Lines lines;
    const Tensor x = tensor(3.0).requires_grad_();
    const Writer outer(lines, "outer");
    {
        const Other other(lines, "other");
        const Writer inner(lines, "inner");
        const Tensor y = traced("y", exp(x));
    }
    CHECK(lines == Lines{"inner begins exp", "other begins exp", "inner computes exp", "other computes exp",
                         "inner records exp of 1", "other records exp of 1", "inner ends exp", "other ends exp",
                         "inner names y", "other names y"});
    lines.clear();
    {
        const Unwatched names(Observer::naming);
        const NoGrad off;
        traced("y", exp(x));
    }
    CHECK(lines == Lines{"outer begins exp", "outer computes exp", "outer ends exp"});
    lines.clear();
    const Tensor y = -x, seed = tensor(2.0);
    lines.clear();
    y.backward(seed);
    CHECK(lines == Lines{"outer begins backward", "outer starts", "outer passes seed 2.000000",
                         "outer visits negative", "outer begins negative", "outer begins negative",
                         "outer computes negative", "outer ends negative", "outer ends negative",
                         "outer passes negative -2.000000", "outer visits leaf", "outer ends backward"});
}

TEST_CASE("an observer that throws ends the operation, and who heard its begin hears its end",
          "[observer][fault]") {
    Lines lines;
    const Tensor x = tensor(3.0).requires_grad_();
    Other outer(lines, "outer");
    const Writer inner(lines, "inner");
    outer.refused = "exp";
    CHECK_THROWS_WITH(exp(x), "outer refuses exp");
    CHECK(lines == Lines{"inner begins exp", "outer begins exp", "inner loses exp"});
    outer.refused = "nothing";
    lines.clear();
    {
        const Unwatched names(Observer::naming);
        CHECK_THROWS_AS(matmul(x, x), ShapeError);
    }
    CHECK(lines.empty());  // it was refused before it began
    const auto failing = [&] {
        const Op here("a part");
        (void)matmul(x, x);
    };
    CHECK_THROWS_AS(failing(), ShapeError);
    CHECK(lines ==
          Lines{"inner begins a part", "outer begins a part", "inner loses a part", "outer loses a part"});
    CHECK(Observer::watching() == 2);
}

TEST_CASE("an observer does not hear itself, nor another thread", "[observer]") {
    struct Counter : Observer {
        void begins(const Part&) override {
            ++count;
            (void)exp(ones({2}));
        }
        int count = 0;
    };
    const Counter counter;
    (void)exp(ones({2}));
    std::thread([] {
        CHECK(Observer::watching() == 0);
        (void)exp(ones({2}));
    }).join();
    CHECK(counter.count == 1);
}

TEST_CASE("an observer that goes before a later one is refused, and the rest stays as it was",
          "[observer][fault]") {
    Lines lines;
    const Other outer(lines, "outer");
    auto* const first = new Writer(lines, "first");
    const Other later(lines, "later");
    {
        const Op here("a part");
        refuses<GraphError>("Observer: one is destroyed before another that was made later",
                            [&] { delete first; });
    }
    CHECK(lines == Lines{"later begins a part", "first begins a part", "later ends a part"});
    CHECK(Observer::watching() == 3);  // the depth of the innermost
    lines.clear();
    (void)exp(ones({2}));
    CHECK(lines == Lines{"later begins exp", "later computes exp", "later ends exp"});
}

TEST_CASE("an operation's name: the innermost, in errors that of who speaks, in hooks and rules none",
          "[observer]") {
    const auto name = [] { return std::string(Op::name()); };
    const auto failing = [] { (void)exp(arange(2)); };
    const Tensor x = tensor({1.0, 2}).requires_grad_();
    int apart = 0;
    const auto check_apart = [&] {
        CHECK(name().empty());
        refuses<DTypeError>("exp: takes float32", failing);
        ++apart;
    };
    {
        const Op outer("outer");
        CHECK(name() == "outer");
        CHECK(std::string(operation_of(exp(x))) == "exp");
        refuses<DTypeError>("exp: takes float32", failing);
        const Op speaks("speaks", Op::of_others), inner("inner", Op::of_others);
        CHECK(name() == "inner");
        CHECK_THROWS_WITH(failing(), "speaks: takes float32 or float64, not int64; convert it with to()");
        Tensor y = record("mine", x.detach() * 2, {x}, {}, [&](const Saved&, const Tensor& dy) {
            check_apart();
            return Grads{dy * 2};
        });
        y.register_hook([&](const Tensor& dy) {
            check_apart();
            return dy;
        });
        (void)jvp(
            [&](const Tensor& in) {
                return record("mine", in.detach() * 2, {in}, {}, [&](const Saved&, const Tensor& dy) {
                    check_apart();
                    return Grads{dy * 2};
                });
            },
            ones({2}), ones({2}));
        sum(y).backward();
        CHECK(name() == "inner");
    }
    CHECK(name().empty());
    CHECK(apart == 3);
}

TEST_CASE("an observer that is told of a backward may change a tensor that it does not hold", "[observer]") {
    struct Zeroing : Observer {
        explicit Zeroing(Tensor x) : x(std::move(x)) {}
        void begins(const Part& part) override {
            if (part.kind == Part::backward) x.fill_(++told);
        }
        Tensor x;
        int told = 0;
    };
    const Tensor x = tensor({1.0, 2}).requires_grad_();
    Zeroing zeroing(zeros({2}));
    for (int i = 1; i <= 3; ++i) {
        sum(x * x).backward();
        CHECK(zeroing.told == i);
        CHECK(all(zeroing.x == i));
    }
    CHECK(all(x.grad() == tensor({6.0, 12})));
}

TEST_CASE("an observer that a rule makes may outlive the backward, and hears on", "[observer]") {
    std::unique_ptr<Writer> left;
    Lines lines, inner;
    const Tensor x = ones({1}).requires_grad_();
    const Tensor y = record("leaving", x.detach() * 2, {x}, {}, [&](const Saved&, const Tensor& dy) {
        left = std::make_unique<Other>(inner, "left");
        return Grads{dy * 2};
    });
    {
        const Writer outer(lines, "outer");
        sum(y).backward();
        inner.clear();
        (void)exp(ones({1}));
        CHECK(inner == Lines{"left begins exp", "left computes exp", "left ends exp"});
        left.reset();
    }
    CHECK(all(x.grad() == 2));
}

TEST_CASE("an error without a colon keeps its words when another operation speaks for it", "[observer]") {
    const Op whole("whole", Op::of_others);
    const Op part("part");
    CHECK(std::string(ValueError("part: no").what()) == "whole: no");
    CHECK(std::string(ValueError("no luck").what()) == "whole: no luck");
}
