// A world of P processes within one program, to try out messages: each process is a thread, and shares nothing
// with the others but the messages that they exchange. It has a clock of its own, by which a message of n
// numbers takes latency + n / bandwidth seconds, so that a measured time is the same on every computer.
#pragma once

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error.h"

using Values = std::vector<double>;

class World;

// One of the processes. A message is handed over when one process sends it and the other receives it: the first
// of the two waits.
class Process {
public:
    int rank() const { return rank_; }  // of this process, from 0
    int size() const;                   // P, the number of processes

    void send(int to, const Values& values);                  // returns when process `to` has them
    Values receive(int from);                                 // what process `from` sends
    Values exchange(int to, const Values& values, int from);  // send and receive at the same time

private:
    friend class World;
    Process(World& world, int rank) : world_(world), rank_(rank) {}
    World& world_;
    int rank_;
};

// What connects the processes.
struct Network {
    double latency = 0;           // seconds that every message takes, whatever its length
    double bandwidth = INFINITY;  // numbers a second
};

class World {
public:
    explicit World(int size, const Network& network = {})
        : network_(network), states_(static_cast<std::size_t>(size)) {}

    // Calls work(process) for every process, all at the same time. Error if all wait for one another, with who
    // waits for whom; what `work` throws.
    void run(const std::function<void(Process&)>& work) {
        states_.assign(states_.size(), {});
        failure_.clear(), first_ = nullptr;
        std::vector<std::thread> threads;
        for (int rank = 0; rank < size(); ++rank)
            threads.emplace_back([this, &work, rank] {
                Process process(*this, rank);
                try {
                    work(process);
                    end(rank, "", nullptr);
                } catch (...) {
                    end(rank, "another process has failed", std::current_exception());
                }
            });
        for (std::thread& thread : threads) thread.join();
        if (first_) std::rethrow_exception(first_);
    }

    int size() const { return static_cast<int>(states_.size()); }
    double seconds() const {  // that the last run took
        double last = 0;
        for (const State& state : states_) last = std::max(last, state.clock);
        return last;
    }
    std::int64_t sent(int rank) const { return states_.at(static_cast<std::size_t>(rank)).sent; }  // numbers
    std::int64_t messages(int rank) const { return states_.at(static_cast<std::size_t>(rank)).messages; }

private:
    friend class Process;
    struct State {
        int to = -1, from = -1;  // that this process waits for; −1: none
        Values out, in;
        double clock = 0, asked = 0;  // now, and when it began to wait
        std::int64_t sent = 0, messages = 0;
        bool ended = false;
    };

    State& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }

    // Sends `values` unless `to` is −1, and receives unless `from` is −1.
    Values pass(int rank, int to, const Values& values, int from) {
        std::unique_lock lock(mutex_);
        State& me = state(rank);
        me.to = to, me.out = values, me.from = from, me.asked = me.clock;
        if (to >= 0) hand_over(rank, to);
        if (from >= 0) hand_over(from, rank);
        look_for_deadlock();
        changed_.wait(lock, [&] { return !failure_.empty() || (me.to < 0 && me.from < 0); });
        if (me.to >= 0 || me.from >= 0) throw weft::Error(failure_);
        return std::move(me.in);
    }

    void hand_over(int sender, int receiver) {
        State &a = state(sender), &b = state(receiver);
        if (a.to != receiver || b.from != sender) return;
        const auto n = static_cast<double>(a.out.size());
        const double done = std::max(a.asked, b.asked) + network_.latency + n / network_.bandwidth;
        a.clock = std::max(a.clock, done), b.clock = std::max(b.clock, done);
        a.sent += static_cast<std::int64_t>(a.out.size()), ++a.messages;
        b.in = std::move(a.out);
        a.to = b.from = -1;
        changed_.notify_all();
    }

    // Messages are handed over as soon as both sides ask, so if no process computes, none ever will again.
    void look_for_deadlock() {
        std::string waiting, ended;
        for (int rank = 0; rank < size(); ++rank) {
            const State& other = state(rank);
            if (other.ended) {
                ended += "; process " + std::to_string(rank) + " has ended";
                continue;
            }
            if (other.to < 0 && other.from < 0) return;
            waiting += (waiting.empty() ? "" : "; ") + ("process " + std::to_string(rank)) + " waits";
            if (other.to >= 0) waiting += " to send to " + std::to_string(other.to);
            if (other.to >= 0 && other.from >= 0) waiting += " and";
            if (other.from >= 0) waiting += " to receive from " + std::to_string(other.from);
        }
        if (!waiting.empty() && failure_.empty()) failure_ = "deadlock: " + waiting + ended;
        changed_.notify_all();
    }

    void end(int rank, const std::string& failure, const std::exception_ptr& error) {
        const std::lock_guard lock(mutex_);
        state(rank).ended = true;
        if (!first_) first_ = error;
        if (failure_.empty()) failure_ = failure;
        look_for_deadlock();
    }

    Network network_;
    std::vector<State> states_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string failure_;       // for those that wait
    std::exception_ptr first_;  // for run
};

inline int Process::size() const { return world_.size(); }

inline void Process::send(int to, const Values& values) {
    if (to < 0 || to >= size()) throw weft::Error("send: there is no process ", to, "; use 0 to ", size() - 1);
    world_.pass(rank_, to, values, -1);
}
inline Values Process::receive(int from) {
    if (from < 0 || from >= size())
        throw weft::Error("receive: there is no process ", from, "; use 0 to ", size() - 1);
    return world_.pass(rank_, -1, {}, from);
}
inline Values Process::exchange(int to, const Values& values, int from) {
    if (std::min(to, from) < 0 || std::max(to, from) >= size())
        throw weft::Error("exchange: there is no process ", to, " or ", from, "; use 0 to ", size() - 1);
    return world_.pass(rank_, to, values, from);
}
