// The files that train_gpt goes on from: see readers.h.
#pragma once

#include "checkpoint.h"
#include "history.h"
#include "readers.h"

namespace fuzz {

inline std::string checkpoint(const std::string& bytes) {
    const File file(bytes);
    Options options;
    options.out = folder() / "out";
    std::filesystem::create_directories(options.out);
    std::filesystem::remove(options.out / "model.safetensors");
    std::filesystem::create_symlink(file.path(), options.out / "model.safetensors");
    return refusal_of([&] {
        Run run = load(options);
        run.options.out = options.out = folder() / "again";
        save(run);
        promise_same(load(options).model.state_dict(), run.model.state_dict());
    });
}

inline std::string history(const std::string& bytes) {
    return refusal_of([&] {
        const History read = load_history(File(bytes).path(), 1000);
        save(read, folder() / "loss.csv");
        const History again = load_history(folder() / "loss.csv", 1000);
        promise(again.rows.size() == read.rows.size(), "as many rows after writing");
        (void)read.mean_since_evaluation();
    });
}

}  // namespace fuzz
