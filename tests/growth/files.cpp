#include "gguf_writer.h"
#include "growth.h"

namespace {

weft::io::Metadata metadata_of(std::int64_t n) {
    weft::io::Metadata metadata;
    for (std::int64_t i = 0; i < n; ++i) metadata["key " + std::to_string(i)] = "value";
    return metadata;
}

}  // namespace

std::vector<growth::Case> growth::files() {
    using training::Checkpoint;
    return {
        {"save_safetensors: tensors", 1000,
         [](auto n) { return [state = named(n)] { io::save_safetensors(scratch("a"), state); }; }},
        {"load_safetensors: tensors", 1000,
         [](auto n) {
             io::save_safetensors(scratch("a"), named(n));
             return [] { (void)io::load_safetensors(scratch("a")); };
         }},
        {"save_safetensors: metadata", 1000,
         [](auto n) {
             return [metadata = metadata_of(n)] { io::save_safetensors(scratch("a"), {}, metadata); };
         }},
        {"load_safetensors: metadata", 1000,
         [](auto n) {
             io::save_safetensors(scratch("a"), {}, metadata_of(n));
             return [] { (void)io::load_safetensors(scratch("a")); };
         }},
        {"load_gguf: tensors", 1000,
         [](auto n) {
             GgufWriter file;
             for (const auto& [name, x] : named(n)) file.add(name, x);
             io::save_text(scratch("a"), file.bytes());
             return [] { (void)io::load_gguf(scratch("a")); };
         }},
        {"load_gguf: metadata", 1000,
         [](auto n) {
             GgufWriter file;
             for (const auto& [key, value] : metadata_of(n)) file.add(key, value);
             file.add("tokens", std::vector<std::string>(static_cast<std::size_t>(n), "token"));
             io::save_text(scratch("a"), file.bytes());
             return [] { (void)io::load_gguf(scratch("a")); };
         }},
        {"load_sharded_checkpoint: shards", 100,
         [](auto n) {
             std::string index;
             for (const auto& [name, x] : named(n)) {
                 io::save_safetensors(scratch(name), {{name, x}});
                 index += (index.empty() ? "\"" : ", \"") + name + "\": \"" + name + "\"";
             }
             io::save_text(scratch("model.safetensors.index.json"), "{\"weight_map\": {" + index + "}}");
             return [] { (void)io::load_sharded_checkpoint(scratch("a").parent_path()); };
         }},
        {"save_npz: members", 200,
         [](auto n) { return [state = named(n)] { io::save_npz(scratch("a"), state); }; }},
        {"load_npz: members", 200,
         [](auto n) {
             io::save_npz(scratch("a"), named(n));
             return [] { (void)io::load_npz(scratch("a")); };
         }},
        {"save_npz: compressed bytes", 2000,
         [](auto n) { return [x = arange(n)] {
                          io::save_npz(scratch("a"), {{"x", x}}, true);
                      }; }},
        {"load_npz: compressed bytes", 2000,
         [](auto n) {
             io::save_npz(scratch("a"), {{"x", arange(n)}}, true);
             return [] { (void)io::load_npz(scratch("a")); };
         }},
        {"save_npy: elements", 200000,
         [](auto n) { return [x = ones({n})] { io::save_npy(scratch("a"), x); }; }},
        {"load_npy: elements", 200000,
         [](auto n) {
             io::save_npy(scratch("a"), ones({n}));
             return [] { (void)io::load_npy(scratch("a")); };
         }},
        {"load_npy: elements of bool", 20000,
         [](auto n) {
             io::save_npy(scratch("a"), ones({n}, boolean));
             return [] { (void)io::load_npy(scratch("a")); };
         }},
        {"save_text, load_text: bytes", 200000,
         [](auto n) {
             return [text = std::string(static_cast<std::size_t>(n), 'x')] {
                 io::save_text(scratch("a"), text);
                 (void)io::load_text(scratch("a"));
             };
         }},
        {"read_text: lines", 2000,
         [](auto n) {
             std::string text;
             for (std::int64_t i = 0; i < n; ++i) text += "a line\r\n";
             io::save_text(scratch("a"), text);
             return [] { (void)training::read_text({scratch("a")}); };
         }},
        {"read_text: files", 40,
         [](auto n) {
             io::save_text(scratch("a"), words(100));
             return [paths = std::vector(static_cast<std::size_t>(n), scratch("a"))] {
                 (void)training::read_text(paths);
             };
         }},
        {"Checkpoint: parameters", 48,
         [](auto n) {
             return [module = Many(n)]() mutable {
                 optim::AdamW optimizer(module);
                 sum(stack(module.all)).backward();
                 optimizer.step();
                 Checkpoint(module, optimizer, 1).save(scratch("a"));
                 Checkpoint::load(scratch("a")).restore(module, optimizer);
             };
         }},
        {"History: rows", 500,
         [](auto n) {
             training::History history;
             for (std::int64_t i = 0; i < n; ++i) history.rows.push_back({i, 1e-3, 2.5, 2.25});
             return [history, n] {
                 history.save(scratch("a"));
                 (void)training::History::load(scratch("a"), n);
             };
         }},
        {"BytePairs: merges of its files", 300,
         [](auto n) {
             text::BytePairs::train(words(20 * n), 257 + n, 1).save(scratch("pairs"));
             return [] { text::BytePairs::load(scratch("pairs")).save(scratch("pairs")); };
         }},
    };
}
