// What a live run costs the program that runs: a record, and calls of the stand-in libraries that write one. The engine is
// another process and drains while the program waits; times are the processor's for the calling thread, in bursts that the ring holds.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "live/engine/daemon/daemon.h"
#include "live/standin/operators/operator.h"
#include "support/plain_work.h"

namespace flopcast::live {
namespace {

/// Less than a ring holds, so that nobody waits for room.
constexpr int kBurst = 2048;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The engine of a run of one rank, in a process of its own that dies with this one.
class Engine {
 public:
  Engine() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) serve(ends[1]);
    std::array<char, 256> name{};
    if (::read(ends[0], name.data(), name.size() - 1) <= 0) std::abort();
    ::setenv("FLOPCAST_LIVE_SOCKET", name.data(), 1);
    ::setenv("RANK", "0", 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Engine() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

 private:
  [[noreturn]] static void serve(int tell) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    PlainWork work;
    Session session(work);
    DeviceFacts facts;
    facts.memory_bytes = std::uint64_t{1} << 34;
    facts.cores = 1;
    const auto daemon = Daemon::listen(session, {.device = facts, .devices = 1, .chips = 1});
    if (!daemon) _exit(1);
    (*daemon)->expect(0);
    const std::string& name = (*daemon)->name();
    if (::write(tell, name.data(), name.size()) < 0) _exit(1);
    while (!(*daemon)->step())
      benchmark::DoNotOptimize(session.run().take_settled(session.horizon()));
    _exit(1);
  }

  pid_t child_ = 0;
};

struct Grid {
  unsigned x, y, z;
};

/// The stand-ins, in this process.
class Program {
 public:
  static Program& get() {
    static Engine engine;
    static Program program;
    return program;
  }

  void launch() const { launch_(kKernel, Grid{256, 1, 1}, Grid{128, 1, 1}, nullptr, 0, nullptr); }
  void record_event() const { record_(event_, nullptr); }
  void begin(const FlopcastTensor* inputs, std::size_t count) const {
    begin_("aten::add.Tensor", inputs, count);
  }
  void end(const FlopcastTensor* outputs, std::size_t count) const { end_(outputs, count); }
  void passed() const { passed_(); }
  void wait() const { synchronize_(); }

 private:
  static constexpr const char* kKernel = "void at::native::vectorized_elementwise_kernel<4>()";

  Program() {
    core_ = ::dlopen(FLOPCAST_LIVE_CORE, RTLD_NOW | RTLD_LOCAL);
    if (!core_) std::abort();
    const auto add = find<int (*)(void**, const char*, char*, const char*, int, void*, void*, void*,
                                  void*, int*)>("__cudaRegisterFunction");
    add(nullptr, kKernel, nullptr, kKernel, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    launch_ = find<decltype(launch_)>("cudaLaunchKernel");
    record_ = find<decltype(record_)>("cudaEventRecord");
    synchronize_ = find<decltype(synchronize_)>("cudaDeviceSynchronize");
    begin_ = find<decltype(begin_)>("flopcast_operator_begin");
    end_ = find<decltype(end_)>("flopcast_operator_end");
    passed_ = find<decltype(passed_)>("flopcast_operator_passed");
    find<int (*)(void**)>("cudaEventCreate")(&event_);
  }
  template <typename Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(core_, name));
  }

  void* core_ = nullptr;
  void* event_ = nullptr;
  int (*launch_)(const void*, Grid, Grid, void**, std::size_t, void*) = nullptr;
  int (*record_)(void*, void*) = nullptr;
  int (*synchronize_)() = nullptr;
  decltype(&flopcast_operator_begin) begin_ = nullptr;
  decltype(&flopcast_operator_end) end_ = nullptr;
  decltype(&flopcast_operator_passed) passed_ = nullptr;
};

void count(benchmark::State& state) {
  state.counters["seconds_each"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kBurst),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Bursts of a call; what the engine does meanwhile is not timed.
template <typename Call>
void bursts(benchmark::State& state, const Call& call) {
  const Program& program = Program::get();
  for (auto _ : state) {
    const double begin = thread_seconds();
    for (int i = 0; i < kBurst; ++i) call(program);
    state.SetIterationTime(thread_seconds() - begin);
    program.wait();
  }
  count(state);
}

void live_record(benchmark::State& state) {
  static Ring ring;
  static Doorbell bell;
  Record record;
  record.act = Act::kKernel;
  for (auto _ : state) {
    const double begin = thread_seconds();
    for (int i = 0; i < kBurst; ++i) ring.write(record, bell);
    state.SetIterationTime(thread_seconds() - begin);
    while (ring.front()) ring.pop();
  }
  count(state);
}
BENCHMARK(live_record)->UseManualTime();

void live_record_of_event(benchmark::State& state) {
  bursts(state, [](const Program& program) { program.record_event(); });
}
BENCHMARK(live_record_of_event)->UseManualTime();

void live_record_of_launch(benchmark::State& state) {
  bursts(state, [](const Program& program) { program.launch(); });
}
BENCHMARK(live_record_of_launch)->UseManualTime();

/// As the plug-in tells one: two inputs, an output, a launch.
void live_record_of_operator(benchmark::State& state) {
  static constexpr std::array<std::int64_t, 2> kSizes = {4096, 4096}, kStrides = {4096, 1};
  static const char memory[4] = {};
  const FlopcastTensor tensor{memory, std::int64_t{1} << 26, 6, 2, kSizes.data(), kStrides.data()};
  const std::array<FlopcastTensor, 2> inputs = {tensor, tensor};
  bursts(state, [&](const Program& program) {
    program.passed();
    program.begin(inputs.data(), inputs.size());
    program.launch();
    program.end(&tensor, 1);
  });
}
BENCHMARK(live_record_of_operator)->UseManualTime();

}  // namespace
}  // namespace flopcast::live
