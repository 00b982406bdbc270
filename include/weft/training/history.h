// The measurements of a run, as in its file loss.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace weft::training {

// What one step measured.
//
//     const training::Measured measured{.step = 0, .learning_rate = 1e-3, .loss = 2.3};
//     const training::History history{{measured}};  // history.mean_since_evaluation() == 2.3
struct Measured {
    std::int64_t step = 0;                       // counted from 0
    double learning_rate = 0;                    // that the step used
    std::optional<double> loss = {};             // loss of the step's batch; empty after the last step
    std::optional<double> validation_loss = {};  // measured before the step, if there was an evaluation
};

// The rows of a run, ascending by step.
//
//     training::History history = training::History::load(path, step);  // history of a resumed run
//     history.rows.push_back({step, optimizer.lr(), loss.item()});
//     history.save(path);
struct History {
    std::vector<Measured> rows;  // one for each step

    // The mean loss of the steps since the last evaluation; empty if there was no step.
    std::optional<double> mean_since_evaluation() const;
    // Writes a line "step,learning_rate,loss,validation_loss" and one for each row, empty where nothing was
    // measured. IoError if it cannot.
    void save(const std::filesystem::path& path) const;
    // The rows before `first_step`; none if there is no file. IoError, naming the line, if a line is malformed.
    // The last column may have its former name, "held_out_loss".
    static History load(const std::filesystem::path& path, std::int64_t first_step);
};

}  // namespace weft::training
