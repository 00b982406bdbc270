// Profiles: every operation once, with its bytes and multiply-adds; times that add up; modules; the trace file.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "catch.h"
#include "environment.h"
#include "table/op_table.h"
#include "weft/base/text.h"
#include "weft/weft.h"

using namespace weft;

namespace {

ProfileRow row_of(const Profile& profile, const std::string& name, bool backward = false) {
    for (const ProfileRow& row : profile.operations())
        if (row.name == name && row.backward == backward) return row;
    return {};
}

ProfileModule module_of(const Profile& profile, const std::string& path) {
    for (const ProfileModule& module : profile.modules())
        if (module.path == path) return module;
    return {"none"};
}

std::map<std::string, std::int64_t> nodes_of(const Tensor& y) {
    std::map<std::string, std::int64_t> count;
    for (const GraphNode& node : graph_nodes(y))
        if (node.operation != "leaf") ++count[node.operation];
    return count;
}

void wait(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

const lm::GPTConfig small = {.vocab_size = 7, .block_size = 5, .num_layers = 2, .num_heads = 2, .d_model = 8};

// Checks that a step of a small GPT has as many calls forward, and of gradient rules, as the graph has nodes.
void check_calls_are_nodes(bool composed) {
    const Plain mode(Plain::operations, composed);
    Rng rng(1);
    const lm::GPT model(small, rng);
    const Tensor ids = randint(0, 7, {3, 5}, rng);
    const Profile profile;
    const Tensor loss = cross_entropy(model(ids), ids);
    const std::map<std::string, std::int64_t> nodes = nodes_of(loss);
    CHECK(nodes.size() >= 5);
    loss.backward();
    for (const auto& [operation, count] : nodes) {
        INFO(operation);
        CHECK(row_of(profile, operation, true).calls == count);
        // Positions are slices and sums outside the graph, too; a composed loss looks at its targets.
        const std::int64_t calls = row_of(profile, operation).calls;
        CHECK(calls >= count);
        if (operation == "linear" || operation == "layer_norm" || operation == "matmul" ||
            operation == "scaled_dot_product_attention" || operation == "softmax" || operation == "gelu")
            CHECK(calls == count);
    }
}

}  // namespace

TEST_CASE("a profile counts as many calls as the graph has nodes, forward and backward", "[profile]") {
    check_calls_are_nodes(false);
    check_calls_are_nodes(true);
}

// What an operation of its own rule calls to compute its values must not appear beside it, and the array of its
// result must have been made while it was measured.
TEST_CASE("every operation is measured as one call, with the bytes of its result", "[profile]") {
    const std::set<std::string> views = {"leaf",    "reshape",   "view",   "permute", "transpose",
                                         "squeeze", "unsqueeze", "expand", "slice",   "select"};
    int single = 0, measured = 0;
    for (const OpEntry& op : op_table()) {
        const Inputs inputs = as_leaves(inputs_of(op), float64);
        const Profile profile;
        const Outputs outputs = op.function(inputs);
        INFO(op.declaration << " " << op.golden);
        // What makes attention's shapes right is part of it.
        const bool is_attention = row_of(profile, "scaled_dot_product_attention").calls > 0;
        for (const Tensor& y : outputs) {
            if (!y.defined() || !y.requires_grad() || is_attention) continue;
            const std::vector<GraphNode> nodes = graph_nodes(y);
            std::int64_t operations = 0;
            for (const GraphNode& node : nodes) {
                operations += node.operation != "leaf";
                if (views.contains(node.operation)) continue;
                INFO(node.operation);
                CHECK(row_of(profile, node.operation).bytes >=
                      node.shape.numel() * static_cast<std::int64_t>(itemsize(node.dtype)));
                ++measured;
            }
            if (operations != 1 || outputs.size() > 1) continue;
            CHECK(row_of(profile, nodes.back().operation).calls == 1);
            ++single;
        }
    }
    CHECK(single >= 80);
    CHECK(measured >= 200);
}

TEST_CASE("a profile's bytes are those of the arrays that an operation makes", "[profile]") {
    const Tensor x = ones({3, 4}).requires_grad_(), y = ones({3, 4}), weight = ones({5, 4});
    const Profile profile;
    const Tensor z = x + y;
    (void)linear(z, weight);
    (void)z.reshape({4, 3});
    CHECK(row_of(profile, "add").bytes == 3 * 4 * 4);
    CHECK(row_of(profile, "linear").bytes == 3 * 5 * 4);
    CHECK(row_of(profile, "reshape").bytes == 0);
    z.backward(y);
    CHECK(row_of(profile, "add", true).bytes == 0);  // its gradients are views of dy
    CHECK(profile.operations().back().name == "outside operations");
}

TEST_CASE("a profile counts m·n·k multiply-adds for a product, and twice as many for its gradients",
          "[profile]") {
    const Tensor a = ones({2, 3}).requires_grad_(), b = ones({3, 5}).requires_grad_();
    const CountMultiplyAdds outer;
    {
        const Profile profile;
        matmul(a, b).backward(ones({2, 5}));
        CHECK(row_of(profile, "matmul").multiply_adds == 2 * 3 * 5);
        CHECK(row_of(profile, "matmul", true).multiply_adds == 2 * 2 * 3 * 5);
        CHECK(profile.operations().back().multiply_adds == 0);
        (void)(a * 2);
        CHECK(row_of(profile, "multiply").multiply_adds == 0);
    }
    CHECK(outer.count() == 3 * 2 * 3 * 5);  // a counter around it has them, too
}

TEST_CASE("the times of a profile's rows add up to all of its time, each once", "[profile]") {
    const auto start = std::chrono::steady_clock::now();
    const Profile profile;
    {
        const Op here("slow");
        wait(20);
        const Op inner("inner");  // is part of it
        wait(20);
        (void)(ones({2}) + 1);
    }
    wait(30);
    double sum = 0;
    const std::vector<ProfileRow> rows = profile.operations();
    for (const ProfileRow& row : rows) sum += row.ms;
    const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - start;
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].name == "slow");
    CHECK(rows[0].calls == 1);
    CHECK(rows[0].ms >= 40);
    CHECK(rows[1].name == "outside operations");
    CHECK(rows[1].calls == 0);
    CHECK(rows[1].ms >= 30);
    CHECK(sum >= 70);
    CHECK(sum <= all.count());
}

TEST_CASE("an operation's time is in its own row, and a gradient's in that of its operation", "[profile]") {
    const Tensor x = ones({2}).requires_grad_();
    const Profile profile;
    Tensor y;
    {
        const Op here("slow");
        y = record("slow", x.detach() * 2, {x}, {}, [](const Saved&, const Tensor& dy) {
            wait(20);
            return Grads{dy * 2};
        });
    }
    y.backward(ones({2}));
    const ProfileRow backward = row_of(profile, "slow", true);
    CHECK(backward.calls == 1);
    CHECK(backward.ms >= 20);
    CHECK(row_of(profile, "slow").calls == 1);
    CHECK(row_of(profile, "multiply").calls == 0);
    CHECK(row_of(profile, "multiply", true).calls == 0);
}

TEST_CASE("a profile adds up modules by their paths, forward and backward", "[profile][nn]") {
    Rng rng(1);
    const lm::GPT model(small, rng);
    const Tensor ids = randint(0, 7, {3, 5}, rng);
    const Profile profile;
    const Tensor loss = cross_entropy(model(ids), ids);
    loss.backward();
    const std::vector<ProfileModule> modules = profile.modules();
    CHECK(modules[0].path == "GPT");
    CHECK(modules.back().path.empty());  // the loss
    CHECK(modules.back().backward_ms > 0);
    double rows = 0, own = 0;
    for (const ProfileRow& row : profile.operations())
        if (row.name != "outside operations") rows += row.ms;
    for (const ProfileModule& module : modules) own += module.forward_ms + module.backward_ms;
    CHECK(own == Approx(rows));
    CHECK(modules[0].total_ms + modules.back().total_ms == Approx(rows));
    // (B·T, C) @ (C, 4C), and twice that backward
    const ProfileModule linear = module_of(profile, "GPT.blocks[1].mlp.W_in");
    CHECK(linear.multiply_adds == 3 * 15 * 8 * 32);
    CHECK(linear.forward_ms > 0);
    CHECK(linear.backward_ms > 0);
    CHECK(module_of(profile, "GPT.blocks[1].mlp").multiply_adds == 2 * linear.multiply_adds);
    CHECK(module_of(profile, "GPT.blocks[1].mlp").forward_ms > 0);  // gelu is called by the MLP itself
    CHECK(module_of(profile, "GPT.blocks[1]").total_ms > module_of(profile, "GPT.blocks[1].mlp").total_ms);
}

TEST_CASE("a profile nests, ends with an exception, and is a thread's own", "[profile]") {
    const Tensor x = ones({2});
    CHECK(Observer::watching() == 0);
    {
        const Profile outer;
        (void)exp(x);
        try {
            const Profile inner;
            (void)log(x);
            CHECK(row_of(inner, "log").calls == 1);
            CHECK(row_of(inner, "exp").calls == 0);
            throw std::runtime_error("out");
        } catch (const std::runtime_error&) {
        }
        std::thread([&] { (void)sqrt(x); }).join();
        CHECK_THROWS_AS(matmul(x, ones({3})), ShapeError);
        (void)exp(x);
        CHECK(row_of(outer, "exp").calls == 2);
        CHECK(row_of(outer, "log").calls == 0);
        CHECK(row_of(outer, "sqrt").calls == 0);
    }
    CHECK(Observer::watching() == 0);
}

TEST_CASE("a profile changes no bit, and threads change no count", "[profile]") {
    std::vector<std::string> counts;
    const auto step = [&](bool profiled) {
        Rng rng(1);
        const lm::GPT model(
            {.vocab_size = 65, .block_size = 64, .num_layers = 1, .num_heads = 4, .d_model = 128}, rng);
        const Tensor ids = randint(0, 65, {4, 64}, rng);
        std::optional<Profile> profile;
        if (profiled) profile.emplace();
        cross_entropy(model(ids), ids).backward();
        if (profile) {
            std::map<std::string, std::string> rows;
            for (const ProfileRow& row : profile->operations())
                rows[row.name + (row.backward ? "'" : "")] = std::to_string(row.calls) + " " +
                                                             std::to_string(row.bytes) + " " +
                                                             std::to_string(row.multiply_adds);
            std::string& text = counts.emplace_back();
            for (const auto& [name, row] : rows) text += name + ": " + row + "\n";
        }
        return model.token_embedding.weight.grad().to_vector<float>();
    };
    CHECK(step(true) == step(false));
    for (const int n : {1, 3}) {
        const Threads threads(n);
        (void)step(true);
    }
    CHECK(counts[1] == counts[0]);
    CHECK(counts[2] == counts[0]);
}

TEST_CASE("a profile's tables have 80 columns, and a row for what is small", "[profile]") {
    Rng rng(1);
    const lm::GPT model(small, rng);
    const Tensor ids = randint(0, 7, {3, 5}, rng);
    const Profile profile;
    {
        const Op here("a name that is so long that no column of a table could ever hold all of it");
        wait(5);
    }
    const Tensor kept = matmul(ones({2048, 1}), ones({1, 1024}));
    cross_entropy(model(ids), ids).backward();
    std::istringstream lines(profile.str());
    int full = 0;
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(display_width(line) <= 80);
        full += display_width(line) == 80;
    }
    CHECK(full >= 5);
    CHECK(contains(profile.str(), "others, each below 1 %"));
    CHECK(contains(profile.str(), "…"));
    CHECK(contains(profile.str(), "\nall "));
    CHECK(contains(profile.str(), "8.00       2.10\n"));  // MiB and millions of matmul
    CHECK(contains(profile.str(), "\nin no module"));
    // Those of the modules that are small add up to what the rows that are shown leave.
    double forward = 0, backward = 0;
    for (const ProfileModule& module : profile.modules())
        forward += module.forward_ms, backward += module.backward_ms;
    const std::string text = profile.str(), modules = text.substr(text.find("\nmodule "));
    CHECK(std::regex_search(modules, std::regex(R"(\n\d+ others below 1 % +\d+\.\d{3} +\d+\.\d{3}\n)")));
    static const std::regex numbers(R"( (\d+\.\d{3}) +(\d+\.\d{3})\b)");
    int rows = 0;
    for (std::sregex_iterator row(modules.begin(), modules.end(), numbers), end; row != end; ++row, ++rows)
        forward -= std::stod((*row)[1]), backward -= std::stod((*row)[2]);
    CHECK(std::abs(forward) < 0.001 * rows);
    CHECK(std::abs(backward) < 0.001 * rows);
}

TEST_CASE("a profile's trace is the JSON of Chrome's trace event format", "[profile]") {
    const Scratch scratch;
    const std::string path = (scratch / "trace.json").string();
    const nn::Sequential model{nn::Linear(3, 2)};
    const Profile profile;
    { const Op here("\"quoted\\\n"); }
    model(ones({4, 3})).backward(ones({4, 2}));
    profile.save_trace(path);
    const auto json = nlohmann::json::parse(io::load_text(path));
    std::map<std::string, nlohmann::json> events;
    for (const auto& event : json.at("traceEvents")) {
        CHECK(event.at("pid") == 1);
        CHECK(event.at("tid") == 1);
        if (event.at("ph") != "X") continue;
        events[event.at("name")] = event;
        CHECK(event.at("ts") >= 0);
        CHECK(event.at("dur") >= 0);
    }
    CHECK(events.size() == 5);
    CHECK(events.count("\"quoted\\\\x0a") == 1);
    const auto &linear = events.at("linear"), &rule = events.at("linear, backward"),
               &module = events.at("Sequential[0]"), &model_call = events.at("Sequential");
    CHECK(linear.at("cat") == "forward");
    CHECK(rule.at("cat") == "backward");
    CHECK(module.at("cat") == "module");
    CHECK(linear.at("args") ==
          nlohmann::json{{"module", "Sequential[0]"}, {"bytes", 32}, {"multiply_adds", 24}});
    CHECK(rule.at("args").at("module") == "Sequential[0]");
    // An operation lies within its module, and that within its parent.
    const auto begin = [](const auto& event) { return event.at("ts").template get<double>(); };
    const auto end = [&](const auto& event) { return begin(event) + event.at("dur").template get<double>(); };
    CHECK(begin(model_call) <= begin(module));
    CHECK(begin(module) <= begin(linear));
    CHECK(end(linear) <= end(module) + 0.002);
    CHECK(end(module) <= end(model_call) + 0.002);
    CHECK(begin(rule) >= end(model_call) - 0.002);
    CHECK_THROWS_WITH(profile.save_trace("/no/such/folder/trace.json"),
                      "Profile::save_trace: cannot write /no/such/folder/trace.json");
}
