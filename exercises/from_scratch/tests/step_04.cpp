// Tests of step 4.
#include "04_array.h"
#include "check.h"

using Doubles = std::vector<double>;

int main() {
    Step step(4, "an array with shape and strides");
    const Array x({2, 3}, {1, 2, 3, 4, 5, 6});

    step.claim("shape (2, 3, 4) has 24 elements and strides (12, 4, 1)", "The last axis has stride 1.", [] {
        expect_equal("numel({2, 3, 4})", static_cast<double>(numel({2, 3, 4})), 24);
        expect_equal("numel({})", static_cast<double>(numel({})), 1);
        expect_equal("row_major({2, 3, 4})", row_major({2, 3, 4}), Shape{12, 4, 1});
        expect(to_string(Shape{2, 3}) == "(2, 3)", "to_string({2, 3}) is " + to_string(Shape{2, 3}) + ".");
    });
    step.claim("an element is found by its strides", "offset + the sum of index times stride.", [&] {
        expect_equal("x.at({1, 2})", x.at({1, 2}), 6);
        expect_equal("x.values()", x.values(), Doubles{1, 2, 3, 4, 5, 6});
        expect_equal("x.size(-1)", static_cast<double>(x.size(-1)), 3);
    });
    step.claim("values that do not fit the shape are refused", "Compare numel(shape) with values.size().", [] {
        expect_error("Array({2, 3}, {1, 2})", [] { Array({2, 3}, {1, 2}); });
    });
    step.claim("transpose exchanges axes, and copies nothing", "Swap two sizes, and the same two strides.",
               [&] {
                   const Array t = x.transpose(0, 1);
                   expect_equal("the shape of x.transpose(0, 1)", t.shape, Shape{3, 2});
                   expect_equal("its values", t.values(), Doubles{1, 4, 2, 5, 3, 6});
                   expect(t.storage == x.storage, "x.transpose(0, 1) has a storage of its own.");
                   expect_equal("the shape of x.transpose(-2, -1)", x.transpose(-2, -1).shape, Shape{3, 2});
                   expect_equal("its values", x.transpose(-2, -1).values(), Doubles{1, 4, 2, 5, 3, 6});
               });
    step.claim("slice takes some indices of an axis", "Move the offset by from · stride.", [&] {
        const Array s = x.slice(1, 1, 3);
        expect_equal("the shape of x.slice(1, 1, 3)", s.shape, Shape{2, 2});
        expect_equal("its values", s.values(), Doubles{2, 3, 5, 6});
        expect_equal("x.slice(1, 1, 3).slice(0, 1, 2)", s.slice(0, 1, 2).values(), Doubles{5, 6});
        expect_error("x.slice(0, 1, 3)", [&] { x.slice(0, 1, 3); });
        expect_error("x.slice(0, -1, 1)", [&] { x.slice(0, -1, 1); });
    });
    step.claim("what is written through a view is seen in the array", "at() returns a reference into storage.",
               [] {
                   const Array zeros = Array::full({2, 3}, 0);
                   zeros.transpose(0, 1).slice(0, 1, 2).at({0, 1}) = 7;
                   expect_equal("the values", zeros.values(), Doubles{0, 0, 0, 0, 7, 0});
               });
    step.claim("expand repeats an axis of size 1 with stride 0", "Align the shapes from the right.", [] {
        const Array row({3}, {1, 2, 3});
        const Array e = row.expand({2, 3});
        expect_equal("{1, 2, 3} expanded to (2, 3)", e.values(), Doubles{1, 2, 3, 1, 2, 3});
        expect_equal("its strides", e.strides, Shape{0, 1});
        const Array column({2, 1}, {1, 2});
        expect_equal("(2, 1) expanded to (2, 3)", column.expand({2, 3}).values(), Doubles{1, 1, 1, 2, 2, 2});
        expect_equal("() expanded to (2, 2)", Array::full({}, 5).expand({2, 2}).values(), Doubles{5, 5, 5, 5});
        expect_error("(3) expanded to (3, 2)", [&] { row.expand({3, 2}); });
        expect_error("(2, 1) expanded to (2)", [&] { column.expand({2}); });
    });
    step.claim("reshape is a view where it can be, and a copy where it cannot", "Reshape contiguous().", [&] {
        expect(x.reshape({3, 2}).storage == x.storage, "x.reshape({3, 2}) copies, although x is contiguous.");
        const Array t = x.transpose(0, 1).reshape({6});
        expect_equal("x.transpose(0, 1).reshape({6})", t.values(), Doubles{1, 4, 2, 5, 3, 6});
        expect(t.storage != x.storage, "A transposed array was reshaped without a copy.");
        expect_equal("x.slice(0, 1, 2).reshape({3, 1})", x.slice(0, 1, 2).reshape({3, 1}).values(),
                     Doubles{4, 5, 6});
        expect_error("x.reshape({4})", [&] { x.reshape({4}); });
    });

    step.example([&] {
        std::printf("Views of one storage 1 2 3 4 5 6:\n");
        const auto show = [](const char* name, const Array& a) {
            std::printf("    %-22s shape %-7s strides %-7s values %s\n", name, to_string(a.shape).c_str(),
                        to_string(a.strides).c_str(), text(a.values()).c_str());
        };
        show("x", x);
        show("x.transpose(0, 1)", x.transpose(0, 1));
        show("x.slice(1, 1, 3)", x.slice(1, 1, 3));
        show("x.reshape({3, 2})", x.reshape({3, 2}));
        show("column 0, expanded", x.slice(1, 0, 1).expand({2, 3}));
    });
    return step.finish();
}
