// Weft with MPI (MPI: A Message-Passing Interface Standard, version 3.1).
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <numeric>

#include "dist/transport.h"
#include "dist/watch.h"
#include "weft/core/error.h"

namespace weft::dist {

namespace {

// "process 1 on mill: "
std::string who(const Transport& transport, int rank) {
    return words("process ", rank, " on ", transport.hosts[static_cast<std::size_t>(rank)]);
}

std::array<char, 300> about_me;  // "process 1 on mill"

// Writes a line on standard error with what this process does, without allocating.
void say_what_it_does() {
    const auto write = [](const char* text, std::size_t n) { return ::write(STDERR_FILENO, text, n) >= 0; };
    std::array<char, 20> digits;
    auto at = digits.end();
    std::int64_t step = Doing::step;
    do *--at = static_cast<char>('0' + step % 10);
    while ((step /= 10) > 0);
    const char* operation = Doing::now;
    write(about_me.data(), std::strlen(about_me.data())) && write(" was asked to end at step ", 26) &&
        write(&*at, static_cast<std::size_t>(digits.end() - at)) && write(", in ", 5) &&
        write(operation, std::strlen(operation)) && write("\n", 1);
}

// Open MPI ends processes by SIGCONT, SIGTERM a second later, and SIGKILL so soon after it that there may be no
// time left to write. So a SIGCONT to a process that was not stopped is taken for the first of them.
extern "C" void say_and_end(int signal) {
    static volatile std::sig_atomic_t said = 0;
    const bool was_stopped = nanoseconds() - Watch::last > 1'000'000'000;
    if (said == 0 && (signal == SIGTERM || !was_stopped)) {
        said = 1;
        say_what_it_does();
    }
    if (signal != SIGTERM) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// Throws what MPI reports, such as a process that is gone.
void check(int code) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw Error("MPI reports: ", text.data());
}

struct Started : Request {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<int> counts_out, counts_in, at_out, at_in;  // MPI reads them until it is done

    bool done() override {
        int done = 0;
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        return done != 0;
    }
};

std::vector<int> sums_before(const std::vector<int>& counts) {
    std::vector<int> sums(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), sums.begin(), 0);
    return sums;
}

class Mpi : public Transport {
public:
    Mpi() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // which the others take over
        for (MPI_Comm* communicator : {&calls_, &exchanges_, &completions_})
            MPI_Comm_dup(MPI_COMM_WORLD, communicator);
        hosts.assign(static_cast<std::size_t>(size), "");
        hosts = all_gather("Group", this_host());
        const std::string name = who(*this, rank).substr(0, about_me.size() - 1);
        std::copy(name.begin(), name.end(), about_me.begin());
        watch_ = std::make_unique<Watch>(hosts);
        for (const int signal : {SIGTERM, SIGCONT}) std::signal(signal, say_and_end);
    }

    ~Mpi() override {
        if (std::uncaught_exceptions() >
            exceptions_) {  // the others are ended by mpirun, when this process ends
            watch_.reset();
            std::fprintf(stderr, "%s fails at step %lld, in %s\n", about_me.data(),
                         static_cast<long long>(Doing::step), static_cast<const char*>(Doing::now));
            return;
        }
        try {
            const Doing doing("leaving the group");
            all_gather("the end of the group", "");
        } catch (const Error& error) {
            std::fprintf(stderr, "%s: %s\n", about_me.data(), error.what());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        watch_.reset();
        for (const int signal : {SIGTERM, SIGCONT}) std::signal(signal, SIG_DFL);
        MPI_Finalize();
    }

    std::vector<std::string> all_gather(const std::string& call, const std::string& bytes) override {
        struct Header {
            std::uint64_t bytes;
            char call[248];
        };
        std::vector<Header> headers(static_cast<std::size_t>(size));
        Header mine{bytes.size(), {}};
        std::copy_n(call.begin(), std::min(call.size(), sizeof mine.call - 1), mine.call);
        Started meeting;
        check(MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, headers.data(), sizeof mine, MPI_BYTE, calls_,
                             &meeting.request));
        finish(meeting);
        std::vector<int> counts;
        std::uint64_t total = 0;
        for (int other = 0; other < size; ++other) {
            const Header& header = headers[static_cast<std::size_t>(other)];
            if (std::strcmp(header.call, headers[0].call) != 0)
                throw Error("the processes made different calls: ", who(*this, 0), ": ", headers[0].call, "; ",
                            who(*this, other), ": ", header.call, "; all make the same ones in the same order");
            counts.push_back(static_cast<int>(header.bytes));
            total += header.bytes;
        }
        if (total > INT32_MAX)
            throw Error(call, ": the processes exchange ", total, " bytes; 2147483647 is the most at once");
        bytes_sent += (sizeof mine + bytes.size()) * static_cast<std::uint64_t>(size - 1);
        std::vector<std::string> parts(static_cast<std::size_t>(size));
        if (total == 0) return parts;
        std::string all(total, '\0');
        const std::vector<int> at = sums_before(counts);
        check(MPI_Iallgatherv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(), counts.data(),
                              at.data(), MPI_BYTE, calls_, &meeting.request));
        finish(meeting);
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i] = all.substr(static_cast<std::size_t>(at[i]), static_cast<std::size_t>(counts[i]));
        return parts;
    }

    std::unique_ptr<Request> exchange(const char* out, const std::vector<int>& counts_out, char* in,
                                      const std::vector<int>& counts_in) override {
        auto started = std::make_unique<Started>();
        started->counts_out = counts_out, started->at_out = sums_before(counts_out);
        started->counts_in = counts_in, started->at_in = sums_before(counts_in);
        check(MPI_Ialltoallv(out, started->counts_out.data(), started->at_out.data(), MPI_BYTE, in,
                             started->counts_in.data(), started->at_in.data(), MPI_BYTE, exchanges_,
                             &started->request));
        for (int other = 0; other < size; ++other)
            if (other != rank)
                bytes_sent += static_cast<std::uint64_t>(counts_out[static_cast<std::size_t>(other)]);
        return started;
    }

    std::unique_ptr<Request> complete(char* bytes, const std::vector<int>& counts) override {
        auto started = std::make_unique<Started>();
        started->counts_in = counts, started->at_in = sums_before(counts);
        check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, bytes, started->counts_in.data(),
                              started->at_in.data(), MPI_BYTE, completions_, &started->request));
        bytes_sent += static_cast<std::uint64_t>(counts[static_cast<std::size_t>(rank)]) *
                      static_cast<std::uint64_t>(size - 1);
        return started;
    }

private:
    // A communicator for each kind of exchange: on each of them the processes begin in one order.
    MPI_Comm calls_ = MPI_COMM_NULL, exchanges_ = MPI_COMM_NULL, completions_ = MPI_COMM_NULL;
    std::unique_ptr<Watch> watch_;
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

std::unique_ptr<Transport> connected() {
    if (launched() == nullptr) return alone();
    int initialised = 0, level = 0;
    MPI_Initialized(&initialised);
    if (initialised != 0)
        throw Error("Group: this process has had a group; make one, and let it live until the end of the work");
    const Deadline deadline(std::max(5.0, patience()) + 3);
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE)
        throw Error("Group: this MPI does not let several threads of a process send (MPI_THREAD_MULTIPLE)");
    return std::make_unique<Mpi>();
}

}  // namespace weft::dist
