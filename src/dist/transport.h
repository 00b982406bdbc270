// How bytes get from one process to another.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/tensor.h"

namespace weft::dist {

// The parts as one text, written as in an Error.
std::string words(const auto&... parts) { return Error::text(parts...); }

// An exchange that has begun.
class Request {
public:
    virtual ~Request() = default;
    virtual bool done() = 0;  // whether it is complete; the call moves it on
};

class Transport {
public:
    virtual ~Transport() = default;

    int rank = 0, size = 1;
    std::vector<std::string> hosts = {};  // host names by rank
    std::uint64_t bytes_sent = 0;         // bytes that this process sent to others

    // The bytes of each process, by rank, on all of them. `call` describes the call; Error unless all made the
    // same one.
    virtual std::vector<std::string> all_gather(const std::string& call, const std::string& bytes) = 0;
    // Begins to send counts_out[q] bytes to each process q, from `out` one after the other, and to receive
    // counts_in[q] from it. Processes begin their exchanges in the same order.
    virtual std::unique_ptr<Request> exchange(const char* out, const std::vector<int>& counts_out, char* in,
                                              const std::vector<int>& counts_in) = 0;
    // Begins to complete `bytes` on all processes, of which process q has piece q, of counts[q] bytes.
    virtual std::unique_ptr<Request> complete(char* bytes, const std::vector<int>& counts) = 0;
};

// Waits until it is done.
void finish(Request& request);

std::string this_host();  // its name

// The variable by which mpirun says that it started this process; null if it did not.
const char* launched();

// This process alone.
std::unique_ptr<Transport> alone();
// The processes that mpirun started, or this one alone.
std::unique_ptr<Transport> connected();

// What this process does, for messages when it ends.
struct Doing {
    explicit Doing(const char* operation) : before_(now.exchange(operation)) {}
    ~Doing() {  // an exception is reported with the innermost operation that it ends
        if (std::uncaught_exceptions() == exceptions_) now = before_;
    }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

    inline static std::atomic<const char*> now = "the program's own work";
    inline static std::atomic<std::int64_t> step = 0;

private:
    const char* before_;
    int exceptions_ = std::uncaught_exceptions();
};

// A checksum of the words of a tensor, going on from `hash`.
std::uint64_t checksum(const Tensor& x, std::uint64_t hash = 0xcbf29ce484222325);

// How this process computes: the version of Weft, the compiler, and a checksum of one training step of a small
// model, which is another one where kernels round in another way.
std::string arithmetic();

}  // namespace weft::dist
