// What every operation does with integers and truths: it refuses them, or gives what it gives for the numbers
// they are.
#include "catch.h"
#include "golden/golden.h"
#include "op_table.h"

using namespace weft;

namespace {

const Golden& golden() {
    static const Golden file("ops.safetensors");
    return file;
}

// The sample with whole numbers where it has floating ones, in another type.
Inputs whole_inputs(const OpEntry& op, DType dtype) {
    Inputs inputs;
    for (int i = 0; golden().has(op.golden + "/in" + std::to_string(i)); ++i) {
        Tensor x = golden()(op.golden + "/in" + std::to_string(i));
        if (is_floating_point(x.dtype())) x = clamp(masked_fill(x, x != x, 2), -3, 3).to(int64).to(dtype);
        inputs.push_back(x);
    }
    return inputs;
}

}  // namespace

TEST_CASE(
    "every operation refuses integers and truths by name, or gives what it gives for the numbers they are",
    "[ops]") {
    int refused = 0, taken = 0;
    for (const OpEntry& op : op_table()) {
        if (!op.compared) continue;
        for (const DType dtype : {int64, boolean}) {
            INFO(op.declaration << " of " << name(dtype) << ", sample " << op.golden);
            const Inputs inputs = whole_inputs(op, dtype);
            Outputs found(std::vector<Tensor>{});
            try {
                found = op.function(inputs);
            } catch (const Error& error) {
                INFO(error.what());
                CHECK((dynamic_cast<const DTypeError*>(&error) || dynamic_cast<const ValueError*>(&error)));
                ++refused;
                continue;
            }
            ++taken;
            Inputs numbers = inputs;
            for (Tensor& x : numbers)
                if (x.dtype() == dtype && dtype == boolean)
                    x = x.to(int64).to(float64);
                else if (x.dtype() == dtype)
                    x = x.to(float64);
            const Inputs plain = whole_inputs(op, float64);
            for (std::size_t i = 0; i < numbers.size(); ++i)
                if (plain[i].dtype() != float64) numbers[i] = inputs[i];  // an index or a mask stays
            Outputs wanted(std::vector<Tensor>{});
            try {
                wanted = op.function(numbers);
            } catch (const DTypeError&) {  // this operation accepts bool alone
                continue;
            }
            REQUIRE(found.size() == wanted.size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                INFO("output " << i << "\nfound " << found[i] << "\nwanted " << wanted[i]);
                CHECK(found[i].shape() == wanted[i].shape());
                const double tolerance = found[i].dtype() == float32 ? 1e-7 : 0;  // a mean of truths is float32
                CHECK(allclose(found[i].to(float64), wanted[i].to(float64), tolerance, 0, true));
            }
        }
    }
    CHECK(refused > 50);
    CHECK(taken > 50);
}
