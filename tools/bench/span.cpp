#include "span.h"

#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <limits>
#include <numeric>
#include <ostream>
#include <queue>
#include <string>
#include <typeinfo>
#include <vector>

#include "fast/parallel.h"
#include "weft/weft.h"

namespace weft::bench {
namespace {

using kernels::Loop;
using Clock = std::chrono::steady_clock;

constexpr double forever = std::numeric_limits<double>::infinity();

double milliseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

// The tasks of a region, and the serial time before it.
struct Region {
    const std::type_info* body;
    double before;
    std::vector<double> tasks;
};

// Records the regions that this thread starts, and runs their tasks itself.
class Recorder {
public:
    // Records a step. Each duration is the fastest so far, of the steps with the most regions: one whose
    // gradients are short enough is not clipped.
    void record(const std::function<double()>& step) {
        current = this;
        now_.clear();
        last_ = Clock::now();
        kernels::loop_observer = run;
        step();
        run({0, nullptr, nullptr, typeid(void)});  // for the serial time after the last region
        kernels::loop_observer = nullptr;
        const bool is_same =
            std::equal(now_.begin(), now_.end(), regions.begin(), regions.end(),
                       [](const Region& a, const Region& b) { return a.tasks.size() == b.tasks.size(); });
        if (!is_same) {
            if (now_.size() > regions.size()) regions = now_;
            return;
        }
        for (std::size_t i = 0; i < now_.size(); ++i) {
            regions[i].before = std::min(regions[i].before, now_[i].before);
            for (std::size_t j = 0; j < now_[i].tasks.size(); ++j)
                regions[i].tasks[j] = std::min(regions[i].tasks[j], now_[i].tasks[j]);
        }
    }

    std::vector<Region> regions;

private:
    static void run(const Loop& loop) {
        const auto& [tasks, task, context, body] = loop;
        if (current->in_task_) {
            for (std::int64_t i = 0; i < tasks; ++i) task(context, i);
            return;
        }
        auto& [regions, now, last, in_task] = *current;
        now.push_back({&body, milliseconds(last, Clock::now()), {}});
        std::vector<double>& durations = now.back().tasks;
        durations.reserve(static_cast<std::size_t>(tasks));
        in_task = true;
        last = Clock::now();
        for (std::int64_t i = 0; i < tasks; ++i) {
            task(context, i);
            const auto end = Clock::now();
            durations.push_back(milliseconds(last, end));
            last = end;
        }
        in_task = false;
    }

    std::vector<Region> now_;
    Clock::time_point last_;
    bool in_task_ = false;
    static inline thread_local Recorder* current = nullptr;
};

// When the last of the tasks ends, if each starts on the first core that is free.
double greedy(const std::vector<double>& tasks, int cores) {
    std::priority_queue<double, std::vector<double>, std::greater<>> free;  // when each core is free
    for (int i = 0; i < cores; ++i) free.push(0);
    double end = 0;
    for (const double task : tasks) {
        const double done = free.top() + task;
        free.pop();
        free.push(done);
        end = std::max(end, done);
    }
    return end;
}

// What two threads take longer for a region of two tasks than for one of the tasks: the fastest of many, some
// of them with a core for the other thread.
double cost_of_start() {
    const double task = 0.05;
    double fastest = forever;
    const auto first = Clock::now();
    for (int i = 0; i < 200 || (fastest > task / 5 && milliseconds(first, Clock::now()) < 20000); ++i) {
        const auto start = Clock::now();
        kernels::parallel_blocks(2, 1, [&](std::int64_t, std::int64_t) {
            for (const auto begin = Clock::now(); milliseconds(begin, Clock::now()) < task;) {
            }
        });
        fastest = std::min(fastest, milliseconds(start, Clock::now()) - task);
    }
    return fastest;
}

// "gemm_parallel<float> #2" for the second lambda of that function, from the type of a loop's body.
std::string name(const std::type_info& body) {
    if (body == typeid(std::function<void(std::int64_t, std::int64_t)>)) return "weft::parallel_for";
    char* const text = abi::__cxa_demangle(body.name(), nullptr, nullptr, nullptr);
    std::string full = text != nullptr ? text : body.name();
    std::free(text);
    for (const std::string omitted : {"(anonymous namespace)::", "weft::kernels::", "weft::"})
        for (std::size_t at; (at = full.find(omitted)) != std::string::npos;) full.erase(at, omitted.size());
    const std::size_t number = full.rfind('#');
    return full.substr(0, full.find('(')) + (number == std::string::npos ? "" : " " + full.substr(number, 2));
}

}  // namespace

Span measure_span(const std::function<double()>& step, int repetitions, int lines, std::ostream& out) {
    Span result;
    result.one_thread = result.two_threads = forever;
    Recorder recorder;
    const auto time = [&](int threads, double& fastest) {
        set_num_threads(threads);
        const auto start = Clock::now();
        step();
        fastest = std::min(fastest, milliseconds(start, Clock::now()));
    };
    for (int i = 0; i < repetitions; ++i) {
        time(1, result.one_thread);
        time(2, result.two_threads);
        recorder.record(step);
    }
    const double start = cost_of_start();

    struct Share {
        int count = 0;
        std::size_t most_tasks = 0;
        double work = 0, on_16 = 0, on_64 = 0;
    };
    std::map<std::string, Share> shares;
    std::string previous = "the start";
    const auto add = [&](const std::string& name, double work, double longest, std::size_t tasks,
                         const std::function<double(int)>& on) {
        result.work += work;
        result.span += longest;
        for (const int cores : {2, 4, 8, 16, 32, 64}) result.predicted[cores] += on(cores);
        Share& share = shares[name];
        ++share.count;
        share.most_tasks = std::max(share.most_tasks, tasks);
        share.work += work;
        share.on_16 += on(16);
        share.on_64 += on(64);
    };
    for (const Region& region : recorder.regions) {
        const std::string here = region.tasks.empty() ? "the end" : name(*region.body);
        add("serial, " + previous + " to " + here, region.before, region.before, 1,
            [&](int) { return region.before; });
        previous = here;
        if (region.tasks.empty()) continue;
        add(here, std::accumulate(region.tasks.begin(), region.tasks.end(), 0.0),
            *std::max_element(region.tasks.begin(), region.tasks.end()), region.tasks.size(), [&](int cores) {
                const auto taking_part = std::min(static_cast<std::size_t>(cores), region.tasks.size());
                return greedy(region.tasks, cores) + start * std::log2(taking_part);
            });
    }

    std::vector<std::pair<std::string, Share>> sorted(shares.begin(), shares.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.second.on_64 > b.second.on_64; });
    if (lines > 0)
        out << "starting a region: " << start << " ms\n"
            << "   count   tasks   work ms  on 16 ms  on 64 ms\n"
            << std::fixed << std::setprecision(3);
    for (std::size_t i = 0; i < std::min(static_cast<std::size_t>(lines), sorted.size()); ++i) {
        const auto& [name, share] = sorted[i];
        out << std::setw(8) << share.count << std::setw(8) << share.most_tasks << std::setw(10) << share.work
            << std::setw(10) << share.on_16 << std::setw(10) << share.on_64 << "  " << name << "\n";
    }
    return result;
}

}  // namespace weft::bench
