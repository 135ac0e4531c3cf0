// What a plug-in says of operators, through the stand-ins to the engine.
#include "live/standin/operators/operator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "live/engine/daemon/daemon.h"
#include "support/plain_work.h"

namespace flopcast::live {
namespace {

/// Remembers the signatures of kernels in the order in which they came.
class Listening final : public Work {
 public:
  Time kernel(const Record& record, std::string_view signature) override {
    heard.emplace_back(signature);
    gaps_ns.push_back(record.gap_ns);
    return plain_.kernel(record, signature);
  }
  Time copy(const Record& record) override { return plain_.copy(record); }
  void begin(std::uint64_t, const Transfer&, Time) override {}
  std::optional<Time> next_end() override { return std::nullopt; }
  std::vector<std::pair<std::uint64_t, Time>> advance(Time) override { return {}; }

  std::vector<std::string> heard;
  std::vector<std::int64_t> gaps_ns;  ///< before each of them

 private:
  PlainWork plain_;
};

/// The functions that a plug-in and a program call.
struct Calls {
  explicit Calls(void* core)
      : begin(reinterpret_cast<decltype(&flopcast_operator_begin)>(
            dlsym(core, "flopcast_operator_begin"))),
        end(reinterpret_cast<decltype(&flopcast_operator_end)>(
            dlsym(core, "flopcast_operator_end"))),
        passed(reinterpret_cast<decltype(&flopcast_operator_passed)>(
            dlsym(core, "flopcast_operator_passed"))),
        core_(core) {}
  template <typename... Arguments>
  int operator()(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(dlsym(core_, name))(arguments...);
  }
  void* found(const char* name) const { return dlsym(core_, name); }
  decltype(&flopcast_operator_begin) begin;
  decltype(&flopcast_operator_end) end;
  decltype(&flopcast_operator_passed) passed;

 private:
  void* core_;
};

struct Grid {
  unsigned x, y, z;
};

/// Launches a kernel of this name with so many blocks of 128 threads.
void launch(const Calls& cuda, const char* name, unsigned blocks) {
  cuda("__cudaRegisterFunction", static_cast<void**>(nullptr), name, static_cast<char*>(nullptr),
       name, -1, static_cast<void*>(nullptr), static_cast<void*>(nullptr),
       static_cast<void*>(nullptr), static_cast<void*>(nullptr), static_cast<int*>(nullptr));
  cuda("cudaLaunchKernel", static_cast<const void*>(name), Grid{blocks, 1, 1}, Grid{128, 1, 1},
       static_cast<void**>(nullptr), std::size_t{0}, static_cast<void*>(nullptr));
}

/// Runs a program of its own on one chip.
Listening listened(void (*program)(const Calls&), const HostCosts& costs = {}) {
  Listening work;
  Session session(work);
  DeviceFacts facts;
  facts.memory_bytes = std::uint64_t{1} << 34;
  facts.cores = 1;
  const auto daemon =
      std::move(*Daemon::listen(session, {.device = facts, .devices = 1, .chips = 1}));
  setenv(kSocketVariable, daemon->name().c_str(), 1);
  daemon->set_host(costs);
  daemon->expect(0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("RANK", "0", 1);
    void* const core = dlopen(FLOPCAST_LIVE_CORE, RTLD_NOW | RTLD_LOCAL);
    if (!core) _exit(1);
    const Calls calls(core);
    program(calls);
    calls("cudaDeviceSynchronize");
    _exit(0);
  }
  while (daemon->alive() > 0) {
    const auto problem = daemon->step();
    EXPECT_FALSE(problem) << problem->text();
    if (problem) break;
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return work;
}

/// @return what its kernels were said to be
std::vector<std::string> heard_of(void (*program)(const Calls&)) { return listened(program).heard; }

constexpr std::array<std::int64_t, 2> kSizes = {8, 4}, kStrides = {4, 1}, kExpanded = {0, 1};
constexpr int kFloat = 6, kBrainFloat = 15;

FlopcastTensor tensor(const void* data, int type, const std::int64_t* strides = kStrides.data()) {
  return {data, 128, type, 2, kSizes.data(), strides};
}

const char kPlaces[4] = {};

TEST(LiveOperatorsThreads, KernelsAreToldWithWhatTheirOperatorReadAndWrote) {
  const auto heard = heard_of([](const Calls& cuda) {
    const FlopcastTensor inputs[] = {tensor(&kPlaces[0], kBrainFloat),
                                     tensor(&kPlaces[1], kBrainFloat, kExpanded.data())};
    const FlopcastTensor output = tensor(&kPlaces[2], kFloat);
    cuda.begin("aten::add.Tensor", inputs, 2);
    launch(cuda, "first", 1);
    launch(cuda, "second", 3);
    cuda.end(&output, 1);
    launch(cuda, "outside", 1);
  });
  EXPECT_EQ(heard, (std::vector<std::string>{
                       "operator aten::add.Tensor bf16:8x4,bf16:8~x4 fp32:8x4 250 first",
                       "operator aten::add.Tensor bf16:8x4,bf16:8~x4 fp32:8x4 750 second",
                       "kernel outside"}));
}

TEST(LiveOperatorsThreads, OutputsThatAreInputsSaySo) {
  const auto heard = heard_of([](const Calls& cuda) {
    const FlopcastTensor inputs[] = {tensor(&kPlaces[0], kFloat), tensor(&kPlaces[1], kFloat)};
    cuda.begin("aten::mul_.Tensor", inputs, 2);
    launch(cuda, "kernel", 1);
    cuda.end(inputs, 1);
  });
  EXPECT_EQ(heard,
            (std::vector<std::string>{"operator aten::mul_.Tensor fp32:8x4*2 =0 1000 kernel"}));
}

TEST(LiveOperatorsThreads, ElementsOfSeveralInputsAreCountedByOne) {
  const auto heard = heard_of([](const Calls& cuda) {
    static float all[4096];
    static constexpr std::int64_t kTurned[] = {8, 1}, kApart[] = {8, 2}, kOne[] = {1, 32},
                                  kAny[] = {7, 1};
    const auto told = [&cuda](std::vector<FlopcastTensor> inputs) {
      cuda.begin("aten::op", inputs.data(), inputs.size());
      launch(cuda, "k", 1);
      cuda.end(nullptr, 0);
    };
    told({tensor(all, kFloat), tensor(all, kFloat)});
    told({tensor(all, kFloat), tensor(all + 100, kFloat), tensor(all, kFloat)});
    told({tensor(all + 8, kFloat), tensor(all, kFloat)});       // a shift: 24 of 32
    told({tensor(all + 32, kFloat), tensor(all, kFloat)});      // behind each other
    told({tensor(all, kFloat), tensor(all, kBrainFloat)});      // another type
    told({tensor(all, kFloat), tensor(all, kFloat, kTurned)});  // in another order
    FlopcastTensor halves[] = {tensor(all, kFloat, kApart), tensor(all + 1, kFloat, kApart)};
    for (FlopcastTensor& half : halves) half.bytes = 63 * 4;
    told({halves[0], halves[1]});  // between each other's elements
    told({halves[0], halves[0]});
    told({tensor(all, kFloat, kExpanded.data()), tensor(all, kFloat, kExpanded.data())});
    const FlopcastTensor row = {all, 128, kFloat, 2, kOne, kStrides.data()};
    const FlopcastTensor same = {all, 128, kFloat, 2, kOne, kAny};
    told({row, same});  // a stride of one element
    std::vector<FlopcastTensor> lists;
    std::vector<std::array<std::int64_t, 2>> sizes;
    for (std::int64_t i = 0; i < 20; ++i) sizes.push_back({i + 1, 1});
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t i = 0; i < sizes.size(); ++i)
        lists.push_back(
            {all + 64 * i, sizes[i][0] * 4, kFloat, 2, sizes[i].data(), kStrides.data()});
    told(lists);
  });
  std::vector<std::string> inputs;
  for (const std::string& one : heard) {
    const std::size_t begin = one.find("op ") + 3;
    inputs.push_back(one.substr(begin, one.find(' ', begin) - begin));
  }
  EXPECT_EQ(inputs, (std::vector<std::string>{"fp32:8x4,fp32:8x4!32", "fp32:8x4*2,fp32:8x4!32",
                                              "fp32:8x4!24,fp32:8x4", "fp32:8x4*2",
                                              "fp32:8x4,bf16:8x4", "fp32:8x4*2", "fp32:8x4*2",
                                              "fp32:8x4,fp32:8x4!32", "fp32:8~x4,fp32:8~x4!4",
                                              "fp32:1x32,fp32:1x32!32", "fp32:420!210"}));
}

TEST(LiveOperatorsThreads, PyTorchsSingleNumbersAreSeedsAndNobodysLengths) {
  const auto heard = heard_of([](const Calls& cuda) {
    static const std::int64_t lengths[] = {0, 8, 16, 20}, count = 4, step = 1, seed = 7;
    constexpr int kLong = 4;
    const FlopcastArgument arguments[] = {
        {"ends", false, 0, false, {lengths, sizeof lengths, kLong, 1, &count, &step}},
        {"seed", false, 0, false, {&seed, sizeof seed, kLong, 0, nullptr, nullptr}}};
    const auto begin = reinterpret_cast<decltype(&flopcast_named_operator_begin)>(
        cuda.found("flopcast_named_operator_begin"));
    for (const char* name : {"aten::attend", "mine::attend"}) {
      begin(name, arguments, 2);
      launch(cuda, "k", 1);
      cuda.end(nullptr, 0);
    }
  });
  EXPECT_EQ(heard, (std::vector<std::string>{
                       "operator aten::attend ends=i64:4@0+8^3;20,seed=i64: - 1000 k",
                       "operator mine::attend ends=i64:4@0+8^3;20,seed=i64:@7 - 1000 k"}));
}

TEST(LiveOperatorsThreads, AKernelBelongsToTheInnermostOperator) {
  const auto heard = heard_of([](const Calls& cuda) {
    const FlopcastTensor one = tensor(&kPlaces[0], kFloat);
    cuda.begin("aten::outer", &one, 1);
    launch(cuda, "before", 1);
    cuda.begin("aten::inner", nullptr, 0);
    launch(cuda, "within", 5);
    cuda.end(&one, 1);
    launch(cuda, "after", 1);
    cuda.end(nullptr, 0);
  });
  EXPECT_EQ(heard, (std::vector<std::string>{"operator aten::outer fp32:8x4 - 500 before",
                                             "operator aten::inner - fp32:8x4 1000 within",
                                             "operator aten::outer fp32:8x4 - 500 after"}));
}

TEST(LiveOperatorsThreads, AWaitLetsKernelsGoFirst) {
  const auto heard = heard_of([](const Calls& cuda) {
    const FlopcastTensor one = tensor(&kPlaces[0], kFloat);
    cuda.begin("aten::nonzero", &one, 1);
    launch(cuda, "count", 1);
    cuda("cudaDeviceSynchronize");
    launch(cuda, "write", 1);
    cuda.end(&one, 1);
  });
  EXPECT_EQ(heard, (std::vector<std::string>{"operator aten::nonzero fp32:8x4 ? 1000 count",
                                             "operator aten::nonzero fp32:8x4 =0 1000 write"}));
}

TEST(LiveOperatorsThreads, ManyTensorsAreToldByType) {
  const auto heard = heard_of([](const Calls& cuda) {
    static char places[40][128];
    std::vector<FlopcastTensor> tensors;
    for (int i = 0; i < 40; ++i)
      tensors.push_back(tensor(places[i], i % 2 == 0 ? kFloat : kBrainFloat));
    cuda.begin("aten::_foreach_add_.List", tensors.data(), tensors.size());
    launch(cuda, "lists", 1);
    cuda.end(nullptr, 0);
  });
  EXPECT_EQ(heard, (std::vector<std::string>{
                       "operator aten::_foreach_add_.List bf16:640,fp32:640 - 1000 lists"}));
}

TEST(LiveOperatorsThreads, OperatorsTakeTimeAndSoDoLaunchesOutsideOfThem) {
  HostCosts costs;
  costs.per_operator = 4000;
  costs.outside = 30000;
  const Listening work = listened(
      [](const Calls& calls) {
        launch(calls, "first", 8);
        for (int i = 0; i < 3; ++i) calls.passed();
        launch(calls, "second", 8);
        calls.passed();
        calls.begin("aten::add.Tensor", nullptr, 0);
        launch(calls, "third", 8);
        calls.end(nullptr, 0);
        launch(calls, "fourth", 8);
      },
      costs);
  ASSERT_EQ(work.gaps_ns.size(), 4u);
  EXPECT_EQ(work.gaps_ns[1], 30000 + 3 * 4000);
  EXPECT_EQ(work.gaps_ns[2], 30000 + 4000);
  EXPECT_EQ(work.gaps_ns[3], 0);
}

TEST(LiveOperatorsThreads, AnEndWithoutABeginningIsNothing) {
  const auto heard = heard_of([](const Calls& cuda) {
    cuda.end(nullptr, 0);
    launch(cuda, "kernel", 1);
  });
  EXPECT_EQ(heard, (std::vector<std::string>{"kernel kernel"}));
}

}  // namespace
}  // namespace flopcast::live
