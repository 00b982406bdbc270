// Each key of config.json, and mutations of several, against what transformers computes
// (make_config_keys_golden.py).
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "environment.h"
#include "golden_weights.h"
#include "lm/pretrained.h"
#include "places.h"
#include "refusal.h"
#include "weft/io/json.h"

using namespace weft;
using nlohmann::json;

namespace {

struct Golden {
    const json all = io::load_json(std::filesystem::path(places::golden()) / "config_keys.json");
    const Scratch folder;

    lm::DecoderConfig config(const std::string& family, const json& changes) const {
        json keys = all["models"][family]["keys"];
        keys.update(changes);
        keys["model_type"] = family;
        std::ofstream(folder / "config.json") << keys;
        return lm::pretrained_config(folder / "config.json");
    }
    // The model whose config.json was written last, with the tensors that transformers' had.
    lm::Decoder model(const std::string& family, const json& changed) const {
        json shapes = all["models"][family]["tensors"];
        shapes.merge_patch(changed);
        io::NamedTensors tensors;
        for (const auto& [name, sizes] : shapes.items()) {
            const auto shape = sizes.get<std::vector<std::int64_t>>();
            tensors.emplace_back(name, golden_weights(name, Shape(std::span(shape))));
        }
        io::save_safetensors(folder / "model.safetensors", tensors);
        return lm::load_pretrained(folder.folder());
    }
};

}  // namespace

TEST_CASE("each key of config.json is computed as transformers does, changes nothing there, or is refused",
          "[lm][pretrained]") {
    const Golden golden;
    const NoGrad off;
    const auto ids = golden.all["ids"].get<std::vector<std::int64_t>>();
    const Tensor tokens = from_vector(ids, {1, std::ssize(ids)});
    std::map<std::string, int> computed;
    for (const json& change : golden.all["cases"]) {
        const std::string family = change["family"];
        INFO(change.dump());
        try {
            (void)golden.config(family, change["keys"]);
        } catch (const IoError& error) {
            const std::string message = error.what();
            INFO(message);
            bool is_named = false;
            for (const auto& [key, value] : change["keys"].items())
                is_named = is_named || contains(message, "\n    " + key) || contains(message, key + ".") ||
                           contains(message, key + " ");
            CHECK(is_named);
            continue;
        }
        CHECK_FALSE(change["logits"].is_null());  // transformers refuses it
        if (change["logits"].is_null()) continue;
        const auto got =
            golden.model(family, change["tensors"])(tokens).select(1, -1)[0].contiguous().to_vector<float>();
        double difference = 0;
        for (std::size_t i = 0; i < change["logits"].size(); ++i)
            difference = std::max(difference, std::abs(got[i] - change["logits"][i].get<double>()));
        CHECK(difference < 0.001);  // the golden numbers have three digits
        ++computed[family];
    }
    for (const auto& [family, model] : golden.all["models"].items()) {
        INFO(family);
        UNSCOPED_INFO(computed[family]);
        CHECK(computed[family] >= 15);
        const lm::DecoderConfig base = golden.config(family, json::object());
        // What transformers passes over Weft passes over, or refuses.
        for (const std::string key : model["same"])
            for (const json& x : {json(3), json(0.5), json(true), json("relu")}) {
                INFO(key << " " << x);
                try {
                    const lm::DecoderConfig config = golden.config(family, {{key, x}});
                    CHECK(config == base);
                } catch (const IoError& error) {
                    const std::string message = error.what();
                    CHECK(contains(message, key + " is "));
                }
            }
        // What is listed as harmless was tried there, and is.
        for (const std::string& key : lm::harmless_in_config) {
            INFO(key);
            CHECK(std::ranges::find(model["same"], json(key)) != model["same"].end());
        }
    }
}
