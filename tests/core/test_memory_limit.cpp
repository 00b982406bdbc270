// Programs whose memory is limited, as docs/installing.md says to start them. OpenBLAS asks for buffers of 128
// MiB, and for ever; oneDNN writes code where it was refused the memory.
#include "environment.h"
#include "programs.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

std::string limited(int kilobytes) {
    return "export OPENBLAS_NUM_THREADS=1; ulimit -t 60; ulimit -v " + std::to_string(kilobytes);
}

}  // namespace

TEST_CASE("a program whose memory is limited works, or ends with a message about memory", "[programs]") {
    if (sanitized) return skip("AddressSanitizer has memory of its own: programs whose memory is limited");
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string text = "--text " + (scratch / "text").string();
    const std::string train = tiny + in(scratch) + "--steps 2 --quiet " + text;
    const std::string train_message =
        "train_gpt: out of memory: reduce --d_model, --num_layers, --block_size or --batch_size, or raise the "
        "limit (ulimit -v)\n";
    for (int kilobytes = 100'000; kilobytes <= 700'000; kilobytes += 75'000) {
        // Newer versions of OpenBLAS take a buffer when they are loaded, and ask for it for ever or end.
        const bool starts = run("train_gpt --help", limited(kilobytes) + "; ulimit -t 2").code == 0;
        if (kilobytes >= 250'000) CHECK(starts);
        if (!starts) continue;
        const Result product = run("xor", limited(kilobytes));
        CHECK((product.code == 0 || contains(product.output, "std::bad_alloc")));
        const Result trained = run(train, limited(kilobytes));
        if (trained.code != 0) CHECK(trained.output == train_message);
    }
    const Result large = run("train_gpt --d_model 4096 --quiet " + in(scratch) + text, limited(400'000));
    CHECK(large.code == 1);
    CHECK(large.output == train_message);
    for (int kilobytes = 300'000; kilobytes <= 500'000; kilobytes += 12'500) {  // oneDNN's code, too
        const Result trained = run(train + " --precision medium", limited(kilobytes));
        INFO(kilobytes << " kB: " << trained.output);
        CHECK((trained.code == 0 || trained.code == 1));
    }
    CHECK(run(train, limited(1'000'000)).code == 0);
}

#endif
