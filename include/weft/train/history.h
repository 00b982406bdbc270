// What a run has measured so far, as its file loss.csv keeps it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace weft::training {

// What one step measured.
struct Measured {
    std::int64_t step = 0;                       // which one
    double learning_rate = 0;                    // that it was made with
    std::optional<double> loss = {};             // on the step's batch; none after the last step
    std::optional<double> validation_loss = {};  // before the step, where there was an evaluation
};

// The rows of a run, in the order of their steps:
//
//     training::History history = training::History::load("out/loss.csv", step);  // of a run that goes on
//     history.rows.push_back({step, optimizer.lr(), loss.item()});
//     history.save("out/loss.csv");
struct History {
    std::vector<Measured> rows;  // one for each step, ascending

    // The mean loss of the steps since the last evaluation; none where there was no step.
    std::optional<double> mean_since_evaluation() const;
    // A line "step,learning_rate,loss,validation_loss", and one for each row; what was not measured is empty.
    void save(const std::filesystem::path& path) const;
    // The rows of the steps before `first_step`; none where there is no file. IoError, naming the line, where
    // it holds anything else. The last column may have its former name, "held_out_loss".
    static History load(const std::filesystem::path& path, std::int64_t first_step);
};

}  // namespace weft::training
