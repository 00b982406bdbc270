// Step 10: a GPT learns a nursery rhyme, character by character, and recites it.
#include <fstream>
#include <iterator>
#include <set>

#include "10_gpt.h"

int main(int argc, char** argv) {
    std::ifstream file(argc > 1 ? argv[1] : "exercises/from_scratch/rhyme.txt");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.empty()) throw std::runtime_error("no text: run this from the repository, or name a file");
    const std::set<char> different(text.begin(), text.end());
    const std::string characters(different.begin(), different.end());  // the id of a character is its position
    std::vector<Index> ids;
    for (const char c : text) ids.push_back(static_cast<Index>(characters.find(c)));

    Random random(3);
    const GPT model({static_cast<Index>(characters.size())}, random);
    Adam adam(model.parameters, 6e-3);
    const Index B = 8, T = model.config.block_size, steps = 500;
    for (int step = 0; step <= steps; ++step) {
        std::vector<Index> inputs, targets;  // (B, T) each
        for (Index b = 0; b < B; ++b) {
            const auto start = ids.begin() + static_cast<Index>(random.uniform() * (ids.size() - T));
            inputs.insert(inputs.end(), start, start + T);
            targets.insert(targets.end(), start + 1, start + T + 1);
        }
        const Tensor loss = cross_entropy(model(inputs, B), targets);  // ()
        adam.zero_grad();
        backward(loss);
        if (step % 100 == 0) std::printf("step %3d  loss %.2f\n", step, loss.item());
        adam.lr = 6e-3 * (steps - step) / steps;  // smaller and smaller steps
        adam.step();
    }

    const std::string prompt = argc > 2 ? argv[2] : "This is the man all tattered and torn,\n";
    std::vector<Index> written;
    for (const char c : prompt) written.push_back(static_cast<Index>(characters.find(c)));
    for (int n = 0; n < 202; ++n) {
        const std::vector<Index> last(written.end() - std::min<Index>(T, written.size()), written.end());
        const std::vector<double> logits = model(last, 1).data().values();  // (1, T, V)
        const auto row = logits.end() - model.config.vocab_size;            // what follows the last character
        written.push_back(std::max_element(row, logits.end()) - row);
    }
    for (const Index id : written) std::printf("%c", characters[id]);
    std::printf("\n");
}
