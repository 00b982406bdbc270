// What a run has measured so far, as loss.csv keeps it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

struct Measured {
    std::int64_t step = 0;
    double learning_rate = 0;
    std::optional<double> loss;           // on the step's batch; none after the last step
    std::optional<double> held_out_loss;  // before the step, where there was an evaluation
};

struct History {
    std::vector<Measured> rows;  // in the order of their steps

    // The mean loss of the steps since the last evaluation; none when there was no step.
    std::optional<double> mean_since_evaluation() const;
};

// "step,learning_rate,loss,held_out_loss" and a line for each row; an empty field where nothing was measured.
void save(const History& history, const std::filesystem::path& path);
// The rows of the steps before first_step; none where there is no file. weft::IoError, naming the line, where
// it holds anything else.
History load_history(const std::filesystem::path& path, std::int64_t first_step);
