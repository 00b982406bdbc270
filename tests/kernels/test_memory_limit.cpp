// Programs whose memory is limited. OpenBLAS asks for buffers of 128 MiB, and for ever; oneDNN writes code
// where it was refused the memory.
#include "programs.h"
#include "sanitized.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

TEST_CASE("a program whose memory is limited works, or ends with a message about memory", "[programs]") {
    if (sanitized) return skip("AddressSanitizer has memory of its own: programs whose memory is limited");
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string text = "--text " + (scratch / "text").string();
    const std::string train = tiny + in(scratch) + "--steps 2 --quiet " + text;
    const std::string train_message =
        "train_gpt: out of memory: reduce --d_model, --num_layers, --block_size or --batch_size, or raise the "
        "limit (ulimit -v)\n";
    // No program starts without room for one buffer of OpenBLAS, which newer versions take when they are
    // loaded. Weft's own message comes before theirs, except from position-independent libraries.
    const std::string blas_message = "out of memory: OpenBLAS takes 128 MiB; raise the limit (ulimit -v)\n";
    bool said = false;
    const auto lacks_blas = [](const Result& help) {
        return help.code != 0 && contains(help.output, "OpenBLAS");
    };
    for (int kilobytes = 100'000; kilobytes <= 700'000; kilobytes += 75'000) {
        const std::string limit = "ulimit -t 60; ulimit -v " + std::to_string(kilobytes);
        const Result help = run("train_gpt --help", limit);  // without a product
        said = said || (help.code == 1 && help.output == blas_message);
        if (lacks_blas(help)) continue;
        CHECK(help.code == 0);
        const Result product = run("xor", limit);
        CHECK((product.code == 0 || contains(product.output, "std::bad_alloc")));
        const Result trained = run(train, limit);
        if (trained.code != 0) CHECK(trained.output == train_message);
    }
#ifdef WEFT_POSITION_INDEPENDENT
    skip("the programs take Weft from position-independent libraries: their message about OpenBLAS's buffer");
#else
    CHECK(said);
#endif
    const Result large =
        run("train_gpt --d_model 4096 --quiet " + in(scratch) + text, "ulimit -t 60; ulimit -v 400000");
    CHECK(large.code == 1);
    CHECK(large.output == train_message);
    for (int kilobytes = 300'000; kilobytes <= 500'000; kilobytes += 12'500) {  // oneDNN's code, too
        const std::string limit = "ulimit -t 60; ulimit -v " + std::to_string(kilobytes);
        if (lacks_blas(run("train_gpt --help", limit))) continue;
        const Result trained = run(train + " --precision medium", limit);
        INFO(kilobytes << " kB: " << trained.output);
        CHECK((trained.code == 0 || trained.code == 1));
    }
    // Without the threads that OpenBLAS would start, each with a buffer, there is room for a small model.
    CHECK(run(train, "export OPENBLAS_NUM_THREADS=64; ulimit -t 60; ulimit -v 1000000").code == 0);
}

#endif
