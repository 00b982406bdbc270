// Every flag of the programs at both ends of its range runs two steps, or is refused by its name; one beyond is
// refused. The flags are those that --help lists: a new one without a row here fails.
#include <regex>
#include <set>

#include "environment.h"
#include "places.h"
#include "programs.h"

#ifdef WEFT_PROGRAMS

using namespace weft;
namespace fs = std::filesystem;

namespace {

struct Row {
    std::string flag;
    std::vector<std::string> ends;    // values that run, or are refused by name
    std::vector<std::string> beyond;  // values that are wrong usage
    std::string with = "";            // what else stands on the command line
};

std::string no_beyond(const std::string& low) { return low == "0" ? "-1" : low == "1" ? "0" : "-1e-9"; }

// A flag with a number from low to high.
Row number(const std::string& flag, const std::string& low, const std::string& high, const std::string& above,
           const std::string& with = "") {
    return {flag, {low, high}, {no_beyond(low), above, "x"}, with};
}
Row words(const std::string& flag, const std::vector<std::string>& values, const std::string& with = "") {
    return {flag, values, {}, with};
}
Row file(const std::string& flag, const std::vector<std::string>& values, const std::string& with = "") {
    return {flag, values, {"''"}, with};
}
Row toggle(const std::string& flag, const std::string& with = "") {
    return {flag, {"true", "false"}, {"maybe", "2", ""}, with};
}

// The flags that `program --help` lists.
std::set<std::string> flags_of(const std::string& program) {
    static const std::regex line("\n {2,10}(?:-h, *)?--([a-z_0-9]+)");  // by any CLI11
    const std::string help = run(program + " --help").output;
    std::set<std::string> flags;
    for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) flags.insert((*at)[1]);
    return flags;
}

void check_flags(const std::string& program, const std::string& call, const std::vector<Row>& rows) {
    std::set<std::string> known = {"help", "version"};
    // What is too large for the memory is refused, not tried until the machine has none left.
    const std::string limits =
        sanitized ? ":" : "export OPENBLAS_NUM_THREADS=1; ulimit -t 300; ulimit -v 8000000";
    for (const Row& row : rows) {
        known.insert(row.flag);
        const auto with_value = [&](const std::string& value) {
            return run(call + row.with + " --" + row.flag + "=" + value, limits);
        };
        for (const std::string& value : sanitized ? std::vector<std::string>{} : row.ends) {
            const Result result = with_value(value);
            const bool by_name =
                contains(result.output, row.flag) || contains(result.output, value.substr(0, 40));
            INFO(result.output);
            CHECK((result.code == 0 || ((result.code == 1 || result.code == 2) && by_name)));
        }
        for (const std::string& value : row.beyond) {
            const Result result = with_value(value);
            CHECK(result.code == 2);
            CHECK(result.output.starts_with(program + ": --" + row.flag + ": "));
        }
    }
    CHECK(known == flags_of(program));
    if (sanitized)
        skip("AddressSanitizer admits no limit of memory: the ends of the ranges of flags of " + program);
}

// A run of the tiny model that has made a step, and the call that makes two.
struct Trained {
    Scratch scratch;
    std::string folder = (scratch / "out").string();
    std::string call = tiny + "--eval_interval 1 --max_new_tokens 2 --steps 2 --out " + folder + " --text " +
                       (scratch / "text").string() + " ";
    Trained() {
        io::save_text(scratch / "text", pangrams());
        io::save_text(scratch / "settings", "max_new_tokens = 3\n");
        REQUIRE(run(call + "--steps 1").code == 0);
    }
};

}  // namespace

TEST_CASE("every flag of train_gpt at both ends of its range runs two steps or is refused by name",
          "[programs][train][flags]") {
    const Trained trained;
    const std::string path = trained.folder, settings = (trained.scratch / "settings").string(),
                      million = "1000000", above_million = "1000001", billion = "1000000000",
                      above_billion = "1000000001", long_name(300, 'a'), long_text(100'000, 'a');
    const std::string below_1 = "0.9999999999999999";
    check_flags(
        "train_gpt", trained.call,
        {
            file("out", {path, path + "/" + long_name}),
            toggle("resume"),
            number("stop_at", "0", billion, above_billion),
            toggle("sample_only"),
            toggle("best", "--sample_only"),
            file("compare", {path, path + "/report.html", path + "/none"}),
            number("threads", "0", "1024", "1025"),
            number("page_weights", "0", billion, above_billion),
            file("profile", {path + "/trace.json", path + "/none/trace.json", path}),
            toggle("quiet"),
            file("config", {settings, path}),
            number("num_layers", "1", "1000", "1001", "--d_model 2 --block_size 2 --eval_interval 9"),
            number("num_heads", "1", "1000", "1001", "--d_model 1000 --eval_interval 9 --page_weights 0"),
            number("d_model", "1", million, above_million, "--num_heads 1"),
            number("block_size", "1", million, above_million),
            number("dropout", "0", below_1, "1"),
            toggle("bias"),
            file("text", {trained.scratch / "text", path, long_name}),
            number("steps", "1", billion, above_billion, "--stop_at 2"),
            number("batch_size", "1", million, above_million, "--d_model 256"),
            number("micro_batch", "0", million, above_million),
            {"precision", {"highest", "medium"}, {"high", "''"}},
            number("lr", "0", million, above_million),
            number("min_lr", "0", million, above_million, "--lr 1e6"),
            number("warmup_steps", "0", billion, above_billion),
            number("weight_decay", "0", million, above_million),
            number("beta2", "0", below_1, "1"),
            number("grad_clip", "0", million, above_million),
            number("eval_interval", "1", billion, above_billion),
            number("save_interval", "1", billion, above_billion),
            number("seed", "0", "1000000000000000", "1000000000000001"),
            words("prompt", {"", "The", long_text}),
            number("max_new_tokens", "0", million, above_million, "--quiet"),
            number("temperature", "0", million, above_million),
            number("top_k", "0", million, above_million),
        });
}

TEST_CASE("every flag of generate at both ends of its range writes two tokens or is refused by name",
          "[programs][flags]") {
    const Trained trained;
    const std::string path = trained.folder, settings = (trained.scratch / "settings").string(),
                      million = "1000000", above_million = "1000001";
    check_flags("generate", "generate --prompt The --max_new_tokens 2 --model " + path + " ",
                {
                    file("model", {path, path + "/model.safetensors", path + "/none", std::string(300, 'a')}),
                    words("prompt", {"", "The", std::string(100'000, 'a')}),
                    words("stop", {"", "The", std::string(100'000, 'a')}),
                    {"max_new_tokens", {"0", million}, {"-1", above_million}, "--stop e --temperature 1e6"},
                    number("temperature", "0", million, above_million),
                    number("top_k", "0", million, above_million),
                    number("top_p", "0.000000001", "1", "1.1"),
                    number("seed", "0", "1000000000000000", "1000000000000001"),
                    number("threads", "0", "1024", "1025"),
                    {"dtype", {"float32", "float64"}, {"float16", "''", "float64 --weights q8_0"}},
                    {"weights", {"bfloat16", "float16"}, {"float32", "q4"}},
                    {"cache", {"bfloat16", "float16"}, {"float32", "q8_0"}},
                    {"precision", {"highest", "medium"}, {"high", "''"}},
                    words("ignore_keys", {"a", "a,b", std::string(100'000, 'a')}),
                    toggle("no_cache"),
                    toggle("ignore_eos"),
                    toggle("stats"),
                    toggle("random", "--max_new_tokens 1"),
                    file("config", {settings, path}),
                });
}

TEST_CASE("every other program that takes arguments runs or refuses them, and is not aborted",
          "[programs][flags]") {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(places::source() + "/examples"))
        if (entry.path().extension() == ".cpp" && contains(io::load_text(entry.path()), "int main(int argc"))
            found.insert(entry.path().stem().string());
    const std::set<std::string>
        with_steps = {"data_parallel", "encoder_decoder", "encoder_padding", "induction", "iris", "lenet"},
        with_file = {"attention_maps", "graph_picture", "layers_picture", "specialised_heads"};
    std::set<std::string> known = {"train_gpt", "generate", "chat", "evaluate", "inside"};
    known.insert(with_steps.begin(), with_steps.end());
    known.insert(with_file.begin(), with_file.end());
    CHECK(found == known);
    const Scratch scratch;
    const auto call = [&](const std::string& arguments) {
        return run(arguments, "cd " + scratch.folder().string() + "; ulimit -t 60");
    };
    for (const std::string& program : with_steps) {
        for (const char* steps : {"0", "2"}) {  // too few for it to learn, which some say with 1
            const Result result = call(program + " --steps " + steps);
            CHECK((result.code == 0 || result.code == 1));
            CHECK_FALSE(contains(result.output, program + ":"));
        }
        for (const char* wrong : {"-1", "1000000001", "2147483648", "x", "''", ""})
            check_refusal(call(program + " --steps " + wrong), 2, "\"--steps\"\nusage: " + program);
        for (const char* wrong : {"--svg ''", "--step 1", "2"}) CHECK(call(program + " " + wrong).code == 2);
    }
    for (const std::string program : {"encoder_decoder", "induction"})
        check_refusal(call(program + " --steps 2 --svg /no/such/folder/x.svg"), 1, "/no/such/folder/x.svg");
    for (const std::string& program : with_file)
        check_refusal(call(program + " --help"), 2, "usage: " + program);
    for (const std::string program : {"graph_picture", "layers_picture"})
        check_refusal(call(program + " /no/such/folder/x.svg"), 1, program + ": ");
    CHECK(fs::is_empty(scratch.folder()));
}

#endif
