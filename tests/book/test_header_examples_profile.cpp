// The examples in weft/autograd/profile.h, and of texts in weft/base/error.h.
#include <iostream>
#include <sstream>

#include "catch.h"
#include "scratch.h"
#include "weft/weft.h"

using namespace weft;

TEST_CASE("example: the rows of a profile", "[header-examples]") {
    const Profile profile;
    const Tensor c = matmul(ones({2, 3}), ones({3, 4}));
    const ProfileRow row = profile.operations()[0];  // "matmul": 1 call, 32 bytes, 24 multiply-adds
    CHECK(row.name == "matmul");
    CHECK(row.calls == 1);
    CHECK(row.bytes == 32);
    CHECK(row.multiply_adds == 24);
    CHECK(c.shape() == Shape{2, 4});
}

TEST_CASE("example: the modules of a profile", "[header-examples]") {
    const nn::Sequential model{nn::Linear(4, 3), relu};
    const Profile profile;
    const Tensor y = model(ones({2, 4}));
    const ProfileModule first = profile.modules()[1];  // "Sequential[0]", after the Sequential itself
    CHECK(first.path == "Sequential[0]");
    CHECK(profile.modules()[0].path == "Sequential");
}

TEST_CASE("example: Profile", "[header-examples]") {
    const Scratch scratch;
    const std::string path = scratch / "step.json";
    const nn::Linear model(4, 3);
    const Tensor x = ones({2, 4}), target = arange(2);
    std::ostringstream printed;
    std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
    const Profile profile;
    cross_entropy(model(x), target).backward();
    std::cout << profile;      // two tables of 80 columns
    profile.save_trace(path);  // a file for chrome://tracing, ui.perfetto.dev or profiler.firefox.com
    std::cout.rdbuf(before);
    CHECK(contains(printed.str(), "cross_entropy, backward"));
    CHECK(std::filesystem::exists(path));
}

TEST_CASE("example: Profile::Span", "[header-examples]") {
    const Profile profile;
    {
        const Profile::Span here("reading the batch");
        (void)ones({2});
    }
    CHECK(profile.operations()[0].name == "reading the batch");
}

TEST_CASE("example: Error::text", "[header-examples]") {
    const Tensor a = ones({2, 3});
    const std::string sizes = Error::text(a.shape(), " and ", 2.5);  // "(2, 3) and 2.5"
    CHECK(sizes == "(2, 3) and 2.5");
}
