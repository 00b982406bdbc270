#include "exercise.h"
#include EXERCISE

namespace {

check::Function with_tile(std::int64_t tile) {
    return [tile](const std::vector<Tensor>& x) { return tiled_attention(x[0], x[1], x[2], tile); };
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Project 5. Attention in tiles");
    Rng rng(5);
    const auto leaf = [&](const Shape& shape) { return randn(shape, rng, float64).requires_grad_(); };
    const Tensor q = leaf({4, 3}), k = leaf({7, 3}), v = leaf({7, 2});
    exercise.accept(
        "the values",
        {"Begin with a largest score of -∞ and sums of 0, for each query. What does a tile change?",
         "With now = the larger of both: each sum becomes exp(largest - now) · sum + that of the tile.",
         "scores (T, tile) = matmul(q, k.slice(0, from, to).T()) / √d; e = exp(scores - now); total += sum(e, "
         "1, keepdim), and weighted += matmul(e, v.slice(0, from, to)), after scaling both."},
        [&] {
            const Tensor want = scaled_dot_product_attention(q, k, v).detach();
            for (const std::int64_t tile : {1, 2, 3, 7, 50})
                expect_equal(
                    "tiled_attention of q (4, 3), k (7, 3), v (7, 2) with tile " + std::to_string(tile),
                    tiled_attention(q, k, v, tile).detach(), want);
            const Tensor large = 1000 * q.detach();
            expect_equal("tiled_attention with scores of about 1000 and tile 2",
                         tiled_attention(large, k.detach(), v.detach(), 2),
                         scaled_dot_product_attention(large, k.detach(), v.detach()));
            expect_error(
                "tiled_attention with tile 0", [&] { (void)tiled_attention(q, k, v, 0); }, "tile");
        });
    exercise.accept(
        "the memory", {"Which of your arrays has the size T × S?", "No array may be larger than T × tile."},
        [&] {
            const NoGrad off;
            const Tensor many = randn({6000, 8}, rng);
            (void)tiled_attention(many.slice(0, 0, 64), many.slice(0, 0, 64), many.slice(0, 0, 64), 64);
            const double before = peak_memory();
            (void)tiled_attention(many, many, many, 64);
            const double grown = peak_memory() - before;
            expect(grown < 60, "6000 queries and keys with tile 64 take " +
                                   std::to_string(static_cast<int>(grown)) +
                                   " MiB, and should take less than 60; all weights together are 137 MiB");
        });
    exercise.accept(
        "one operation",
        {"The values under NoGrad, then record(\"tiled_attention\", y, {q, k, v}, {q, k, v}, rule)."}, [&] {
            const std::string made_by = operation_of(tiled_attention(q, k, v, 3));
            expect(made_by == "tiled_attention", "the result was made by the operation \"" + made_by +
                                                     "\", and should be made by \"tiled_attention\"");
        });
    exercise.accept(
        "the gradient",
        {"Five lines of the page above, in this order. Check the shapes first.",
         "Grads has dq, dk and dv, in the order of the inputs. Both dq and dk have the factor 1/√d.",
         "P = softmax(matmul(q, k.T()) * scale, -1), and dS = P * (dP - sum(P * dP, 1, keepdim))."},
        [&] {
            expect_gradient("tiled_attention", with_tile(3), {q, k, v});
        });
    exercise.accept("the gradient of the gradient",
                    {"Is everything in the rule an operation of Weft on saved tensors and dy?",
                     "detach, item and data cut the history that the second gradient needs."},
                    [&] {
                        const check::GradcheckReport second =
                            check::gradgradcheck("tiled_attention", with_tile(2), {q, k, v});
                        expect(second.passed, second.message);
                    });
    return exercise.finish();
}
