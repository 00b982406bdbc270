// The examples in the headers of weft::lm, word for word, and what they claim.
#include "catch.h"
#include "gguf_writer.h"
#include "places.h"
#include "scratch.h"
#include "weft/lm.h"

using namespace weft;

namespace {

const std::filesystem::path golden = places::golden();

}  // namespace

TEST_CASE("sample.h: temperature 0 takes the largest logit, top_k draws from the k largest",
          "[header-examples]") {
    Rng rng(1);
    const Tensor logits = tensor({0.0, 2, 1});
    const std::int64_t likeliest = lm::sample(logits, {.temperature = 0});     // 1
    const std::int64_t drawn = lm::sample(logits, {.top_k = 2, .rng = &rng});  // 1 or 2
    CHECK(likeliest == 1);
    CHECK((drawn == 1 || drawn == 2));
}

TEST_CASE("generate.h: ids and text that continue a prompt", "[header-examples]") {
    const text::Characters tokenizer("hello");
    Rng rng(1);
    const lm::GPT model({.vocab_size = tokenizer.vocab_size(), .block_size = 16}, rng);
    const lm::GenerateOptions options = {.max_new_tokens = 8, .sampling = {.rng = &rng}};
    const text::Ids ids = lm::generate(model, tokenizer.encode("he"), options);  // eight ids
    CHECK(ids.size() == 8);

    const std::string prompt = "he";
    const lm::GeneratedText result =
        lm::generate_text(model, tokenizer, prompt, {.generate = options, .stop = "o"});
    const std::string text = prompt + result.text;  // without the "o"
    CHECK(text.starts_with(prompt));
    CHECK_FALSE(contains(text, "o"));
    CHECK(result.finish_reason ==
          (result.ids.size() < 8 ? lm::GeneratedText::stop : lm::GeneratedText::length));
}

TEST_CASE("language_model.h: a struct that counts, and the GPT behind a handle", "[header-examples]") {
    struct Next {  // after token i comes i + 1, after 2 comes 0
        struct {
            std::int64_t vocab_size = 3, block_size = 8;
        } config;
        Tensor logits = tensor({{0, 9, 0}, {0, 0, 9}, {9, 0, 0}}).to(float32);         // (V, V)
        Tensor operator()(const Tensor& ids) const { return embedding(logits, ids); }  // (B, T) → (B, T, V)
    };
    const lm::LanguageModel model = Next{};
    const text::Ids ids = lm::generate(model, {0}, {.max_new_tokens = 3, .sampling = {.temperature = 0}});
    CHECK(ids == text::Ids{1, 2, 0});

    const lm::GPT gpt({.num_layers = 2, .d_model = 8});
    const lm::LanguageModel handle = gpt;
    const std::int64_t layers = handle.target<lm::GPT>()->config.num_layers;
    CHECK(layers == 2);
}

TEST_CASE("gpt.h: logits of all tokens, of those that follow a cache, and generated ids", "[header-examples]") {
    Rng rng(1);
    lm::GPT model({.vocab_size = 65, .block_size = 32, .d_model = 64}, rng);
    const Tensor ids = randint(0, 65, {2, 16}, rng);  // (B, T)
    const Tensor logits = model(ids);                 // (B, T, V)
    // One head of keys and values for two of queries, and positions as angles:
    const lm::GPT turned({.num_heads = 4, .attention = {.num_kv_heads = 2, .rotary_base = 10000}}, rng);
    CHECK(logits.shape() == Shape{2, 16, 65});
    CHECK(turned.blocks[0].attn.num_kv_heads == 2);
    {
        const NoGrad no_grad;
        std::vector<nn::KeyValueCache> caches = model.make_caches();
        model(ids.slice(1, 0, 15), caches);                       // fills the caches
        const Tensor last = model(ids.slice(1, 15, 16), caches);  // (B, 1, V)
        CHECK(last.shape() == Shape{2, 1, 65});
        CHECK(max(abs(last - logits.slice(1, 15, 16))).item() < 1e-4);
    }
    const Tensor more = model.generate(ids, 8, {.rng = &rng});  // (B, T + 8)
    CHECK(more.shape() == Shape{2, 24});
    CHECK(all(more.slice(1, 0, 16) == ids));
}

TEST_CASE("gpt2.h: a checkpoint's sizes, tensors and model", "[header-examples]") {
    const std::filesystem::path folder = golden / "gpt2", path = folder / "model.safetensors";
    const lm::GPTConfig config = lm::gpt2_config(folder / "config.json");
    nn::NamedTensors state = lm::from_gpt2(io::load_safetensors(path).tensors, config);
    Rng rng(1);
    lm::GPT(config, rng).load_state_dict(state);
    {
        lm::GPT model = lm::load_gpt2(folder);
        const text::Tokenizer tokenizer = text::BytePairs::load(folder);
        const lm::GenerateOptions greedy = {.max_new_tokens = 5, .sampling = {.temperature = 0}};
        const std::string text = lm::generate_text(model, tokenizer, "The loom", {.generate = greedy}).text;
        CHECK_FALSE(text.empty());
    }
}

TEST_CASE("io.h: files of tensors and of text are read back", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path path = scratch / "file";
    {
        io::save_safetensors(path, {{"w", ones({2, 3})}, {"b", zeros({3})}}, {{"step", "100"}});
        const io::SafeTensors file = io::load_safetensors(path);
        const Tensor w = file.at("w");               // (2, 3)
        const std::string step = file.meta("step");  // "100"
        CHECK(w.shape() == Shape{2, 3});
        CHECK(step == "100");
    }
    {
        Rng rng(1);
        const nn::Linear net(3, 2, rng);
        nn::Linear other(3, 2, rng);
        io::save(net, path);
        io::load(other, path);  // a module made with the same sizes now has the values of net
        CHECK(all(other.weight == net.weight));
    }
    {
        io::save_npy(path, arange(6).reshape({2, 3}));
        const Tensor x = io::load_npy(path);  // int64 (2, 3); np.load(path) in Python
        CHECK(x.dtype() == int64);
        CHECK(all(x == arange(6).reshape({2, 3})));
    }
    {
        io::save_npz(path, {{"x", ones({2, 3})}, {"y", arange(4)}}, /*compressed=*/true);
        const io::NamedTensors arrays = io::load_npz(path);  // "x" (2, 3), "y" (4,)
        REQUIRE(arrays.size() == 2);
        CHECK(arrays[0].first == "x");
        CHECK(arrays[0].second.shape() == Shape{2, 3});
        CHECK(arrays[1].first == "y");
        CHECK(all(arrays[1].second == arange(4)));
    }
    io::save_text(path, "one\ntwo\n");
    const std::string text = io::load_text(path);
    CHECK(text == "one\ntwo\n");
}

TEST_CASE("gguf.h and safetensors.h: a model in GGUF, and one in shards", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path folder = scratch.folder(), path = scratch / "model.gguf";
    {
        const std::vector<std::string> tokens = {"a", "b"};
        const io::GgufMetadata meta("model.gguf", {{"general.architecture", "llama"},
                                                   {"llama.block_count", std::int64_t{30}},
                                                   {"tokenizer.ggml.tokens", tokens}});
        const std::string architecture = meta.text("general.architecture");  // "llama"
        const std::int64_t layers = meta.integer("llama.block_count");       // 30
        const double base = meta.number("llama.rope.freq_base", 10000);      // 10000: the file lacks it
        const std::size_t vocabulary = meta.strings("tokenizer.ggml.tokens").size();  // 2
        CHECK((architecture == "llama" && layers == 30 && base == 10000 && vocabulary == 2));
    }
    GgufWriter writer;
    writer.add("general.architecture", "llama");
    writer.add("blk.0.attn_q.weight", Tensor(pack(ones({32, 64}), BlockFormat::Q4_1)));
    io::save_text(path, writer.bytes());
    {
        const io::Gguf file = io::load_gguf(path);
        const std::string architecture = file.metadata.text("general.architecture");  // "llama"
        const Tensor w = file.at("blk.0.attn_q.weight");                              // (32, 64), of Q4_1
        const Tensor y = linear(ones({3, 64}), w);                                    // (3, 64) → (3, 32)
        CHECK(architecture == "llama");
        CHECK(w.packed()->format() == BlockFormat::Q4_1);
        CHECK(w.shape() == Shape{32, 64});
        CHECK(all(y == 64));
        CHECK(y.shape() == Shape{3, 32});
    }
    io::save_safetensors(folder / "one.safetensors", {{"w", ones({2, 3})}});
    io::save_safetensors(folder / "two.safetensors", {{"b", zeros({3})}});
    io::save_text(folder / "model.safetensors.index.json",
                  R"({"weight_map": {"w": "one.safetensors", "b": "two.safetensors"}})");
    const io::NamedTensors state = io::load_sharded_checkpoint(folder);  // "w" (2, 3), "b" (3,)
    REQUIRE(state.size() == 2);
    CHECK((state[0].first == "w" && state[0].second.shape() == Shape{2, 3}));
    CHECK((state[1].first == "b" && state[1].second.shape() == Shape{3}));
}

TEST_CASE("tokenizer.h: characters, bytes and byte pairs, and the tokeniser that holds any of them",
          "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path folder = scratch / "tokenizer";
    {
        const text::Characters tokenizer("hello");       // e, h, l, o
        const text::Ids ids = tokenizer.encode("hole");  // 1, 3, 2, 0
        const std::string text = tokenizer.decode(ids);  // "hole"
        CHECK(tokenizer.vocabulary() == "ehlo");
        CHECK(ids == text::Ids{1, 3, 2, 0});
        CHECK(text == "hole");
    }
    {
        const text::Ids ids = text::Bytes().encode("hi");  // 104, 105
        CHECK(ids == text::Ids{104, 105});
    }
    {
        const text::BytePairs tokenizer = text::BytePairs::train("low lower lowest", 260);
        const text::Ids ids = tokenizer.encode("low");  // one token, made by two merges
        tokenizer.save(folder);                         // vocab.json and merges.txt
        const text::BytePairs same = text::BytePairs::load(folder);
        CHECK(ids.size() == 1);
        CHECK(tokenizer.num_merges() >= 2);
        CHECK(same.encode("low") == ids);
    }
    {
        std::filesystem::copy(golden / "tokenizers/gpt4o.json", folder / "tokenizer.json");
        const auto tokenizer = text::PreTrainedTokenizer::load(folder / "tokenizer.json");
        const text::Ids ids = tokenizer.encode("the weft");  // as transformers' tokenizer("the weft").input_ids
        const std::string text = tokenizer.decode(ids);      // "the weft"
        const text::Ids end = tokenizer.encode("<|end|>", {.parse_special = true});  // one token
        CHECK(text == "the weft");
        CHECK(end.size() == 1);
        const text::EncodeOptions chat{.add_special_tokens = false, .parse_special = true};
        CHECK(tokenizer.encode("<|end|>", chat) == end);
    }
    const text::Tokenizer tokenizer = text::Characters("hello");
    const std::int64_t V = tokenizer.vocab_size();  // 4
    CHECK(V == 4);
}

TEST_CASE("tokenizer.h: an unfinished character waits for the next piece", "[header-examples]") {
    text::Utf8Stream stream;
    const std::string first = stream.push("caf\xC3");  // "caf"
    const std::string second = stream.push("\xA9");    // "é"
    const std::string rest = stream.finish();          // ""
    CHECK(first == "caf");
    CHECK(second == "é");
    CHECK(rest.empty());
}

TEST_CASE("decoder.h: options, parameters, and a GPT that is a Decoder", "[header-examples]") {
    Rng rng(1);
    {
        lm::DecoderConfig config{.vocab_size = 100, .num_layers = 2, .num_kv_heads = 2, .d_model = 32};
        config.qk_norm = true;                 // as in Qwen3
        config.layers = {{.window = 16}, {}};  // the first block sees 16 tokens, the second all
        const lm::Decoder model(config, rng);
        CHECK(model.layers[0].options.window == 16);
        CHECK_FALSE(model.layers[1].options.window);
    }
    const std::vector<lm::DecoderParameter> all = lm::decoder_parameters({.num_layers = 1});  // 11
    CHECK(all.size() == 11);

    const lm::GPTMemory memory = lm::decoder_memory({.d_model = 64}, bfloat16);
    CHECK(memory.weights < lm::decoder_memory({.d_model = 64}).weights * 0.51);
    {
        Rng rng(1);
        const lm::Decoder decoder({.vocab_size = 9, .num_layers = 1, .d_model = 8}, rng);
        const Tensor tokens = tensor({{1, 2, 3}}), x = randn({1, 3, 8}, rng);
        lm::DecoderPassOptions options{.last_only = true};
        const Tensor last = decoder(tokens, options);  // (B, T) → (B, 1, V)
        CHECK(last.shape() == Shape{1, 1, 9});

        const lm::DecoderPass pass{.mask = Mask::causal()};  // without rotary positions and cache
        const lm::DecoderBlock& block = decoder.layers[0];
        const lm::DecoderMLP& mlp = block.mlp;
        const Tensor y = block(x, pass), z = mlp(x);  // (B, T, C) → (B, T, C), both
        CHECK(y.shape() == x.shape());
        CHECK(z.shape() == x.shape());
    }
    {
        Rng rng(1);
        const lm::Decoder model({.vocab_size = 65, .num_heads = 4, .num_kv_heads = 2, .d_model = 64}, rng);
        const Tensor ids = randint(0, 65, {2, 16}, rng);  // (B, T)
        const Tensor logits = model(ids);                 // (B, T, V)
        CHECK(logits.shape() == Shape{2, 16, 65});
    }
    const lm::GPT gpt({.vocab_size = 65, .d_model = 64, .bias = true}, rng);
    const lm::Decoder same(lm::decoder_config(gpt.config), lm::decoder_state(gpt.state_dict()));
    const Tensor ids = randint(0, 65, {2, 16}, rng);
    CHECK(max(abs(same(ids) - gpt(ids))).item() == 0);
}

TEST_CASE("generate.h: what is kept of a prompt, and two prompts", "[header-examples]") {
    Rng rng(1);
    const lm::Decoder model({.vocab_size = 9, .num_layers = 1, .d_model = 16}, rng);
    lm::PromptCache kept;
    text::Ids ids = lm::generate(model, {1, 2, 3}, {.max_new_tokens = 2, .kept = &kept});
    ids.insert(ids.begin(), {1, 2, 3});
    const text::Ids more = lm::generate(model, ids, {.max_new_tokens = 2, .kept = &kept});
    CHECK(kept.ids.size() == 6);
    CHECK(more.size() == 2);

    const std::vector<text::Ids> both = lm::generate_batch(model, {{1, 2, 3}, {4}}, {.max_new_tokens = 5});
    CHECK(both[1].size() == 5);
}

TEST_CASE("likelihood.h: the perplexity of four tokens", "[header-examples]") {
    Rng rng(1);
    const lm::LanguageModel model = lm::Decoder({.vocab_size = 3, .num_layers = 1, .d_model = 8}, rng);
    const lm::Likelihood found = lm::log_likelihood(model, {1, 2, 0, 1});
    const double perplexity = std::exp(found.mean());
    CHECK(found.tokens == 3);
    CHECK(perplexity > 1);
}

TEST_CASE("chat.h and pretrained.h: a model with its tokenizer, written and read", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path folder = scratch / "model";
    {
        Rng rng(1);
        lm::DecoderConfig sizes{.vocab_size = 600, .num_layers = 1, .d_model = 16};
        const lm::Decoder model(sizes, rng);
        lm::save_pretrained(folder, model);
    }
    std::filesystem::copy_file(golden / "tokenizers/qwen2.json", folder / "tokenizer.json");

    const lm::DecoderConfig config = lm::pretrained_config(folder / "config.json");
    CHECK(config.d_model == 16);
    {
        lm::Decoder model = lm::load_pretrained(folder, {.dtype = float32});
        CHECK(model.config == config);
    }
    const text::PreTrainedTokenizer tokenizer = [&] {
        const lm::Pretrained published = lm::load_language(folder);
        const text::Ids ids = published.tokenizer.encode("The loom");
        const text::Ids more = lm::generate(published.model, ids, {.max_new_tokens = 5});
        CHECK(more.size() == 5);
        return published.tokenizer;
    }();
    const std::vector<lm::ChatMessage> chat{{"system", "Be brief."}, {"user", "Hello"}};
    CHECK(chat[1].role == "user");
    const lm::ChatTemplate form = lm::ChatTemplate::named("chatml");
    const text::Ids ids = form.encode(tokenizer, {{"user", "What is 1 + 1?"}});
    CHECK(ids.size() > 10);
}
