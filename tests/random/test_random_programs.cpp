// Random programs of fixed seeds, compared by every route; tests/random/search.cpp takes new ones.
#include <algorithm>

#include "catch.h"
#include "environment.h"
#include "random/program.h"

using namespace random_programs;

constexpr std::uint64_t programs = sanitized ? 300 : 3000;

TEST_CASE("random programs: their gradients are the same by every route", "[random programs]") {
    Counts counts;
    std::vector<int> uses(rows().size());
    std::size_t statements = 0, hooks = 0, islands = 0;
    for (std::uint64_t seed = 1; seed <= programs; ++seed) {
        const Program program = ProgramBuilder(seed).make();
        const Verdict verdict = compare(program, counts);
        if (!verdict)
            FAIL("seed " << seed << ", " << verdict.route << ": " << verdict.what << "\n"
                         << as_cpp(minimised(program, verdict.route)));
        for (const Statement& s : program.statements) ++uses[s.row], hooks += s.hook != 0, islands += s.no_grad;
        statements += program.statements.size();
    }
    const auto share = [&](const char* route) { return double(counts[route]) / double(programs); };
    for (const char* route : {"repeated", "backward", "two backwards", "threads", "create_graph", "composed",
                              "reference kernels"}) {
        INFO(route);
        CHECK(share(route) > 0.8);
    }
    CHECK(share("jvp") > 0.6);     // not of parameters, which move in place
    CHECK(share("copies") > 0.7);  // not of programs that change a tensor in place
    CHECK(share("float64") > 0.15);
    CHECK(share("differences") > 0.5);
    CHECK(share("second order") > 0.35);
    CHECK(share("ill-conditioned") < 0.01);
    CHECK(share("differences: not smooth") < 0.03);
    CHECK(statements > 20 * programs);
    CHECK(hooks > programs / 5);
    CHECK(islands > programs / 5);
    for (std::size_t i = 0; i < rows().size(); ++i) {
        INFO(rows()[i].declaration << " " << rows()[i].cpp);
        CHECK(uses[i] > static_cast<int>(programs / 200));
    }
}

namespace {

// y = tanh x, with a gradient rule that is wrong by a factor where `lies` says so.
Tensor wrong_tanh(const Tensor& x, bool (*lies)()) {
    Tensor y;
    {
        const NoGrad off;
        y = tanh(x);
    }
    return record("wrong_tanh", y, {x}, {x}, [lies](const Saved& saved, const Tensor& dy) {
        const Tensor y = tanh(saved[0]);
        return Grads{dy * (1 - y * y) * (lies() ? 1.01 : 1.0)};
    });
}

// How many programs it takes to find a wrong tanh; the smallest program that shows it.
std::pair<int, Program> found_after(bool (*lies)()) {
    const auto row =
        std::find_if(rows().begin(), rows().end(), [](const Row& r) { return r.cpp == "tanh($0)"; });
    const auto right = row->run;
    row->run = [lies](const Call& c) { return wrong_tanh(c.x[0], lies); };
    std::pair<int, Program> found{-1, {}};
    Counts counts;
    for (int seed = 1; seed <= 500 && found.first < 0; ++seed) {
        const Program program = ProgramBuilder(static_cast<std::uint64_t>(seed)).make();
        const Verdict verdict = compare(program, counts);
        if (!verdict) found = {seed, minimised(program, verdict.route)};
    }
    row->run = right;
    return found;
}

}  // namespace

TEST_CASE("random programs: a wrong gradient rule is found, and shown without what is not needed",
          "[random programs]") {
    bool (*const lies[])() = {[] { return true; }, [] { return is_grad_enabled(); },
                              [] { return get_num_threads() > 1; }};
    for (const auto& lie : lies) {
        const auto [seed, program] = found_after(lie);
        CHECK(seed > 0);
        CHECK(program.statements.size() <= 8);
        CHECK(contains(as_cpp(program), "tanh("));
    }
}
