// The program generate: with models of train_gpt and a GPT-2, what it writes, and what it refuses with which
// exit code.
#include <chrono>
#include <thread>

#include "places.h"
#include "programs.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

const std::string gpt2 = places::golden() + "/gpt2";

Result generate(const std::string& arguments, const std::string& before = ":") {
    return run("generate " + arguments, before);
}

void check_refused(const Result& result, int code, const std::string& part) {
    CHECK(result.code == code);
    CHECK(contains(result.output, part));
    CHECK(result.output.starts_with("generate: "));  // and nothing was written before
}

// The bytes as the program prints them: with U+FFFD for what is no character (tests/text/test_tokenizer.cpp).
std::string readable(const std::string& bytes) {
    text::Utf8Stream characters;
    const std::string text = characters.push(bytes);
    return text + characters.finish();
}

// A copy of the golden GPT-2 of which a file can be changed.
struct Copy {
    Scratch scratch;
    Copy() { std::filesystem::copy(gpt2, scratch.folder()); }
    std::string model() const { return "--model " + scratch.folder().string() + " "; }
};

}  // namespace

TEST_CASE("generate goes on by a GPT-2 as the library does", "[programs]") {
    const text::Tokenizer tokenizer = text::BytePairs::load(gpt2);
    const lm::GPT model = lm::load_gpt2(gpt2);
    const auto wanted = [&](const std::string& prompt, const lm::GenerateTextOptions& options) {
        return lm::generate_text(model, tokenizer, prompt, options).text + "\n";
    };
    const lm::GenerateOptions greedy{.max_new_tokens = 30, .sampling = {.temperature = 0}};
    const std::string by_greed = "The weft" + wanted("The weft", {.generate = greedy});
    const std::string call = "--model " + gpt2 + " --prompt 'The weft' --max_new_tokens 30 --temperature 0 ";
    CHECK(generate(call).output == readable(by_greed));
    CHECK(generate(call + "--no-cache").output == readable(by_greed));
    CHECK(generate(call + "--dtype float64").output == readable(by_greed));
    CHECK(generate(call + "--threads 1").output == readable(by_greed));

    Rng rng(7);
    const std::string sampled =
        wanted("<|endoftext|>",
               {.generate = {.max_new_tokens = 12,
                             .sampling = {.temperature = 0.5, .top_k = 40, .rng = &rng, .top_p = 0.9}}});
    const std::string drawn = readable(sampled);
    const std::string options = " --max_new_tokens 12 --temperature 0.5 --top-k 40 --top-p 0.9 --seed 7";
    CHECK(generate("--model " + gpt2 + options).output == drawn);  // a text begins after <|endoftext|>
    CHECK(generate("--model " + gpt2 + options + "1").output != drawn);
}

TEST_CASE("generate --dtype float64 computes with a file's float64 weights, which float32 would round",
          "[programs]") {
    const Copy copy;
    const std::filesystem::path file = copy.scratch / "model.safetensors";
    const text::Tokenizer tokenizer = text::BytePairs::load(gpt2);
    const auto first_of = [&](DType dtype) {
        const lm::GPT model = lm::load_gpt2(copy.scratch.folder(), {.dtype = dtype});
        return lm::generate(model, tokenizer.encode("The weft"),
                            {.max_new_tokens = 1, .sampling = {.temperature = 0}})[0];
    };
    const std::int64_t likeliest = first_of(float64), other = likeliest + 1;
    io::SafeTensors saved = io::load_safetensors(file);
    for (auto& [name, x] : saved.tensors) {
        if (!is_floating_point(x.dtype())) continue;
        x = x.to(float64);
        // Its logit is above the likeliest one's by a share that float32 does not hold.
        if (name.ends_with("wte.weight")) x[other].copy_(x[likeliest] * (1 + 1e-12));
    }
    io::save_safetensors(file, saved.tensors, saved.metadata);
    REQUIRE(first_of(float64) == other);
    REQUIRE(first_of(float32) == likeliest);
    const std::string call = copy.model() + "--prompt 'The weft' --max_new_tokens 1 --temperature 0 ";
    const auto expected = [&](std::int64_t id) {
        return readable("The weft" + tokenizer.decode(text::Ids{id})) + "\n";
    };
    CHECK(generate(call + "--dtype float64").output == expected(other));
    CHECK(generate(call).output == expected(likeliest));
}

TEST_CASE("generate continues with what train_gpt left, and stops where it is told to", "[programs][fault]") {
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string text = "--text " + (scratch / "text").string() + " ";
    REQUIRE(run(tiny + in(scratch) + text + "--steps 150 --eval_interval 150 --lr 0.02 --bias").code == 0);
    const std::string model = "--model " + scratch.folder().string() + " ";
    const Result all = generate(model + "--prompt The --max_new_tokens 40 --temperature 0");
    CHECK(all.code == 0);
    CHECK(all.output.starts_with("The"));
    CHECK(all.output.size() == 44);  // the prompt, 40 characters and the last line break
    CHECK(all.output.find('\x1b') == std::string::npos);
    const std::string stop = all.output.substr(20, 3);
    const Result some =
        generate(model + "--prompt The --max_new_tokens 40 --temperature 0 --stop '" + stop + "'");
    CHECK(some.output == all.output.substr(0, all.output.find(stop, 3)) + "\n");
    const Result file = generate("--model " + (scratch / "model.safetensors").string() +
                                 " --prompt The --max_new_tokens 40 --temperature 0 --stats");
    CHECK(contains(file.output, "parameters, "));
    CHECK(contains(file.output, "generated 39 more in "));
    CHECK(contains(file.output, "MiB at most"));
    CHECK(generate(model + "--max_new_tokens 0 --prompt The").output == "The\n");
    CHECK(generate(model + "--max_new_tokens 5").output.size() == 6);  // no prompt: after a line break
    check_refused(generate(model + "--prompt 'The \xE2\x82\xAC'"), 1,
                  "\"\xE2\x82\xAC\" at position 4 of the text is not one of");
    check_refused(generate(model + "--prompt 'ab\xFF'"), 1, "byte 0xFF at offset 2");

    io::SafeTensors saved = io::load_safetensors(scratch / "model.safetensors");
    const auto with = [&](auto change) {
        io::SafeTensors other = saved;
        change(other);
        io::save_safetensors(scratch / "other.safetensors", other.tensors, other.metadata);
        return generate("--prompt The --max_new_tokens 4 --model " + (scratch / "other.safetensors").string());
    };
    // Rows of 16 weights are no fault of the file.
    check_refused(generate(model + "--weights q8_0"), 1,
                  "generate: Module::pack: weights of this GPT cannot be Q8_0:");
    const std::string none = "other.safetensors does not contain a model saved by train_gpt: ";
    check_refused(with([](auto& file) { file.metadata["num_layers"] = "two"; }), 1,
                  none + "its num_layers: \"two\" is not");
    check_refused(with([](auto& file) { file.metadata.erase("vocabulary"); }), 1, none);
    const Result other =
        with([](auto& file) { file.metadata["num_layers"] = "2", file.metadata["bias"] = "false"; });
    check_refused(other, 1, none + "load_state_dict: the state does not fit this GPT");
    for (const char* part :
         {"missing: blocks.1.mlp.W_out.weight (16, 64)", "unexpected: blocks.0.attn.W_out.bias (16,)"})
        CHECK(contains(other.output, part));
    const Result nan = with([](auto& file) {
        for (auto& [name, tensor] : file.tensors)
            if (name == "norm.weight") tensor = full({16}, std::nan(""));
    });
    CHECK(nan.code == 1);
    CHECK(contains(nan.output, "generate: warning: "));
    CHECK(contains(nan.output, "norm.weight"));
}

TEST_CASE("generate refuses a GPT-2 that is not whole or whose tokeniser is another's", "[programs]") {
    for (const char* file : {"vocab.json", "merges.txt", "model.safetensors"}) {
        const Copy other;
        std::filesystem::remove(other.scratch / file);
        const bool is_model = file == std::string("model.safetensors");
        check_refused(generate(other.model()), 1,
                      is_model ? "it has neither model.safetensors nor model.safetensors.index.json"
                               : std::string(file) + ": no such file");
    }
    const Copy other;
    text::BytePairs::train(pangrams(), 300).save(other.scratch.folder());
    check_refused(generate(other.model()), 1, "the tokeniser has 300 tokens and the model 384");
    io::save_text(other.scratch / "config.json", R"({"model_type": "llama"})");
    check_refused(generate(other.model()), 1,
                  "model_type is \"llama\", and GPT computes \"gpt2\"\n  vocab_size is missing");
    const Result longer = generate("--model " + gpt2 + " --prompt \"$(head -c 400 /dev/zero | tr '\\0' x)\"");
    CHECK(longer.code == 0);
    CHECK(contains(longer.output, " tokens, of which the model sees the last 24\n"));
}

TEST_CASE("generate ends wrong usage with 2, and a suggestion", "[programs][fault]") {
    check_refused(generate("--temprature 1"), 2, "unknown flag --temprature; did you mean --temperature?");
    check_refused(generate("--no-cash"), 2, "did you mean --no_cache?");
    check_refused(generate("The"), 2, "unexpected argument The");
    check_refused(generate("--max_new_tokens 1.5"), 2, "--max_new_tokens: \"1.5\" is not a whole number");
    check_refused(generate("--dtype float16"), 2, "neither float32 nor float64");
    const Result help = generate("--help");
    CHECK(help.code == 0);
    CHECK(contains(help.output, "--top_p"));
}

TEST_CASE("generate ends a model that is missing, a folder or something else with 1", "[programs][fault]") {
    const Scratch scratch;
    check_refused(generate("--model " + (scratch / "none").string()), 1,
                  "none does not exist; set --model to a folder with a model");
    check_refused(generate("--model " + scratch.folder().string()), 1, "contains neither config.json");
    check_refused(generate("", "cd " + scratch.folder().string()), 1, "out does not exist; set --model");
    io::save_text(scratch / "model.safetensors", "");
    check_refused(generate("--model " + scratch.folder().string()), 1, "it has 0 bytes");
    std::filesystem::remove(scratch / "model.safetensors");
    std::filesystem::create_directory(scratch / "model.safetensors");
    check_refused(generate("--model " + scratch.folder().string()), 1, "it is a directory");
}

TEST_CASE("generate survives an output that is closed or full, and tells", "[programs][fault]") {
    const std::string call = "generate --model " + gpt2 + " --max_new_tokens 1000000 --ignore-eos --prompt x ";
    const Scratch scratch;
    const std::string code = (scratch / "code").string();
    const int piped = std::system(("{ " + places::programs() + "/" + call + "2>" + (scratch / "said").string() +
                                   "; echo $? >" + code + "; } | head -c 1 >" + (scratch / "got").string())
                                      .c_str());
    CHECK(piped == 0);
    CHECK(io::load_text(code) == "1\n");
    CHECK(io::load_text(scratch / "said") == "generate: cannot write the text: Broken pipe\n");
    CHECK(io::load_text(scratch / "got") == "x");
    const Result full = run(call + ">/dev/full");
    CHECK(full.code == 1);
    CHECK(contains(full.output, "No space left on device"));
}

TEST_CASE("Ctrl-C ends what generate writes, with 130", "[programs][fault]") {
    const Scratch scratch;
    const auto log = scratch / "log";
    Running running("generate --model " + gpt2 + " --max_new_tokens 1000000 --ignore-eos --prompt weft", log);
    while (!std::filesystem::exists(log) || std::filesystem::file_size(log) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    running.send(SIGINT);
    CHECK(running.wait() == 130);
    const std::string text = io::load_text(log);
    CHECK(text.starts_with("weft"));
    CHECK(text.ends_with("\n"));
}

#endif
