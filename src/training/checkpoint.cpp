#include "weft/training/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "weft/core/error.h"
#include "weft/nn/states.h"
#include "weft/training/progress.h"

namespace fs = std::filesystem;

namespace weft::training {

namespace {

// The locked file, or −1: `taken` if another process holds it, else errno says why it cannot be opened.
int open_locked(const fs::path& name, bool& taken) {
    for (;;) {
        const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file < 0) return file;
        taken = ::flock(file, LOCK_EX | LOCK_NB) != 0 &&
                errno == EWOULDBLOCK;  // a file system without locks has no other owner
        struct stat own {};
        if (!taken && ::fstat(file, &own) == 0 && own.st_nlink > 0) return file;
        ::close(file);
        if (taken) return -1;  // else its holder removed it before it was locked
    }
}

bool can_write(int file) {
    const std::string text = "held by process " + std::to_string(::getpid()) + "\n";
    errno = 0;  // a full disk may write a part and leave errno alone
    return ::ftruncate(file, 0) == 0 &&
           ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
}

}  // namespace

// It delegates to the default constructor, so the destructor runs if it throws.
OutputFolder::OutputFolder(const fs::path& folder, const std::vector<std::string>& files, double patience)
    : OutputFolder() {
    const auto refuse = [&](const std::string& reason) {
        throw IoError("cannot write to the folder ", folder.string(), ": ", reason, "; choose another folder");
    };
    std::error_code error;
    for (fs::path part = fs::absolute(folder); !fs::exists(part, error) && part.has_relative_path();
         part = part.parent_path())
        created_.push_back(part);
    fs::create_directories(folder, error);
    if (error == std::errc::file_exists)
        error = std::make_error_code(std::errc::not_a_directory);  // libc++ says the first
    if (error) refuse(error.message());

    lock_name_ = folder / "train.lock";
    bool taken = false;
    lock_ = open_locked(lock_name_, taken);
    if (taken && patience > 0)
        warn(Error::text("another run trains in ", folder.string(), "; waiting ", patience, " s for its end"));
    using Clock = std::chrono::steady_clock;
    for (const auto start = Clock::now();
         taken && std::chrono::duration<double>(Clock::now() - start).count() < patience;
         lock_ = open_locked(lock_name_, taken))
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (taken)
        throw IoError("another run trains in ", folder.string(),
                      "; wait until it has ended, or choose another folder");
    if (lock_ < 0) refuse(std::strerror(errno));
    if (!can_write(lock_)) refuse(std::strerror(errno != 0 ? errno : ENOSPC));
    for (const std::string& name : files)
        if (fs::is_directory(folder / name, error)) refuse("its " + name + " is a folder, not a file");
}

// Removes the file while it holds the lock; open_locked notices that in another process.
OutputFolder::~OutputFolder() {
    if (lock_ >= 0) {
        ::unlink(lock_name_.c_str());
        ::close(lock_);
    }
    for (const fs::path& folder : created_) ::rmdir(folder.c_str());  // fails unless it is empty
}

namespace {

const std::string generator_prefix = "generator.", prefix_key = "optimizer_prefix";

// What names of the optimiser's state begin with in a file, and none of the model's.
std::string optimizer_prefix(const nn::NamedTensors& model) {
    std::string prefix = "optimizer.";
    const auto is_taken = [&](const auto& named) { return named.first.starts_with(prefix); };
    while (std::ranges::any_of(model, is_taken)) prefix.insert(0, "_");
    return prefix;
}

const std::string default_generator = "default_rng";

std::string text_of(const Rng& rng) {
    return std::to_string(rng.state().seed) + " " + std::to_string(rng.state().position);
}

Rng::State state_of(const std::string& name, const std::string& text) {
    const std::string what = "the state of the generator " + name;
    const std::size_t space = std::min(text.find(' '), text.size());
    return {number_of<std::uint64_t>(what, text.substr(0, space)),
            number_of<std::uint64_t>(what, text.substr(std::min(space + 1, text.size())))};
}

}  // namespace

Checkpoint::Checkpoint(const nn::Module& module, std::int64_t step, io::Metadata entries)
    : model(module.state_dict()), metadata(std::move(entries)) {
    std::erase_if(model, [](const auto& named) { return is_quantized(named.second.dtype()); });
    metadata["step"] = std::to_string(step);
    metadata["arithmetic_version"] = std::to_string(arithmetic_version);
    metadata[default_generator] = text_of(default_rng());
    for (const auto& [name, rng] : module.named_generators()) metadata[generator_prefix + name] = text_of(*rng);
}

void Checkpoint::save(const std::filesystem::path& path) const {
    nn::NamedTensors tensors = model;
    io::Metadata entries = metadata;
    const std::string prefix = optimizer_prefix(model);
    if (prefix != optimizer_prefix({})) entries[prefix_key] = prefix;
    for (const auto& [name, tensor] : optimizer) tensors.emplace_back(prefix + name, tensor);
    io::save_safetensors(path, tensors, entries);
}

Checkpoint Checkpoint::load(const std::filesystem::path& path) {
    io::SafeTensors file = io::load_safetensors(path);
    Checkpoint checkpoint;
    checkpoint.metadata = std::move(file.metadata);
    const auto entry = checkpoint.metadata.extract(prefix_key);
    const std::string prefix = entry ? entry.mapped() : optimizer_prefix({});
    for (const auto& [name, tensor] : file.tensors)
        if (name.starts_with(prefix))
            checkpoint.optimizer.emplace_back(name.substr(prefix.size()), tensor);
        else
            checkpoint.model.emplace_back(name, tensor);
    return checkpoint;
}

const std::string& Checkpoint::meta(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) throw IoError("it does not say its ", key);
    return found->second;
}

bool Checkpoint::has_this_arithmetic() const {
    const auto found = metadata.find("arithmetic_version");
    return found != metadata.end() && found->second == std::to_string(arithmetic_version);
}

std::function<std::int64_t()> Checkpoint::checked(nn::Module& module) const {
    nn::check_load(module, model);
    std::vector<std::pair<Rng*, Rng::State>> states;
    const nn::NamedGenerators generators = module.named_generators();
    for (const auto& [name, rng] : generators)
        states.emplace_back(rng.get(), state_of(name, meta(generator_prefix + name)));
    if (metadata.contains(default_generator))  // files of earlier versions do not say it
        states.emplace_back(&default_rng(), state_of(default_generator, meta(default_generator)));
    const auto step = number<std::int64_t>("step", 1'000'000'000'000'000);
    return [this, &module, states, step] {
        module.load_state_dict(model);
        for (const auto& [rng, state] : states) rng->set_state(state);
        return step;
    };
}

}  // namespace weft::training
