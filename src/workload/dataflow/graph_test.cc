// Dataflow graphs: what is refused, orders, and several samples at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "flopcast/workload/dataflow.h"
#include "workload/dataflow/links.h"

namespace flopcast::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Kernels "a", "b", ... and a tensor of 8 bytes from the first of each pair to the second.
DataflowGraph letters(std::size_t kernels, const std::vector<std::pair<char, char>>& pairs) {
  DataflowGraph graph;
  graph.name = "letters";
  for (std::size_t i = 0; i < kernels; ++i) {
    graph.kernels.push_back({.name = std::string(1, static_cast<char>('a' + i)), .m = 4, .n = 2});
  }
  for (const auto& [from, to] : pairs) {
    graph.tensors.push_back({.name = {from, to},
                             .producer = static_cast<std::uint32_t>(from - 'a'),
                             .bytes = {8},
                             .uses = {{static_cast<std::uint32_t>(to - 'a')}}});
  }
  return graph;
}

std::string refusal(const DataflowGraph& graph) {
  const Result<bool> checked = check_dataflow(graph);
  if (checked) return "passed";
  EXPECT_EQ(checked.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(checked.error().where, HasSubstr(graph.name));
  EXPECT_FALSE(checked.error().hint.empty());
  return checked.error().what;
}

DataflowGraph pair() { return letters(2, {{'a', 'b'}}); }

TEST(CheckDataflow, TakesWhatIsWhole) {
  EXPECT_EQ(refusal(pair()), "passed");
  EXPECT_EQ(refusal(letters(1, {})), "passed");
  EXPECT_EQ(refusal(letters(4, {{'a', 'b'}, {'c', 'd'}})), "passed") << "two parts may be apart";
}

TEST(CheckDataflow, NamesTheKernelsOfACycle) {
  // d is on no cycle, but behind one; a is before it.
  const DataflowGraph graph =
      letters(5, {{'a', 'b'}, {'b', 'c'}, {'c', 'e'}, {'e', 'b'}, {'c', 'd'}});
  const std::string words = refusal(graph);
  EXPECT_THAT(words, HasSubstr("cycle: "));
  EXPECT_THAT(words, HasSubstr("'b' -> 'c'"));
  EXPECT_THAT(words, HasSubstr("'c' -> 'e'"));
  EXPECT_THAT(words, HasSubstr("'e' -> 'b'"));
  EXPECT_EQ(words.find("'a'"), std::string::npos) << words;
  EXPECT_EQ(words.find("'d'"), std::string::npos) << words;
  EXPECT_THAT(refusal(letters(1, {{'a', 'a'}})), HasSubstr("'a' -> 'a'"));
}

TEST(CheckDataflow, NamesDanglingKernels) {
  const std::string words = refusal(letters(4, {{'a', 'c'}}));
  EXPECT_THAT(words, HasSubstr("dangling"));
  EXPECT_THAT(words, HasSubstr("'b', 'd'"));
  DataflowGraph unread = pair();
  unread.kernels.push_back({.name = "lonely"});
  unread.tensors.push_back({.name = "out", .producer = 2, .bytes = {8}, .uses = {}});
  EXPECT_THAT(refusal(unread), HasSubstr("'lonely'"))
      << "an output that nobody reads joins nothing";
}

TEST(CheckDataflow, RefusesNames) {
  DataflowGraph graph = pair();
  graph.kernels[1].name = "a";
  EXPECT_THAT(refusal(graph), HasSubstr("two kernels are called 'a'"));
  graph.kernels[1].name = "";
  EXPECT_THAT(refusal(graph), HasSubstr("no name"));
  graph = letters(3, {{'a', 'b'}, {'b', 'c'}});
  graph.tensors[1].name = "ab";
  EXPECT_THAT(refusal(graph), HasSubstr("two tensors are called 'ab'"));
  graph.tensors[1].name = "";
  EXPECT_THAT(refusal(graph), HasSubstr("no name"));
  EXPECT_THAT(refusal(DataflowGraph{.name = "nothing", .kernels = {}, .tensors = {}}),
              HasSubstr("no kernels"));
}

TEST(CheckDataflow, RefusesTensorsOutsideTheGraph) {
  DataflowGraph graph = pair();
  graph.tensors[0].producer = 2;
  EXPECT_THAT(refusal(graph), HasSubstr("'ab' has no producer"));
  graph = pair();
  graph.tensors[0].uses = {{7}};
  EXPECT_THAT(refusal(graph), HasSubstr("read by kernel 7 of 2"));
  graph.tensors[0].uses = {{1}, {1, Operand::kRight}};
  EXPECT_THAT(refusal(graph), HasSubstr("read twice by kernel 'b'"));
}

TEST(CheckDataflow, RefusesSizes) {
  const auto with = [](auto change) {
    DataflowGraph graph = pair();
    change(graph.kernels[1]);
    return refusal(graph);
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_THAT(with([](DataflowKernel& k) { k.m = 0; }), HasSubstr("'b' is 1 x 0 x 2"));
  EXPECT_THAT(with([](DataflowKernel& k) { k.outer = -1; }), HasSubstr("'b' is -1 x"));
  EXPECT_THAT(with([](DataflowKernel& k) { k.k = -1; }), HasSubstr("summed over -1"));
  EXPECT_THAT(with([](DataflowKernel& k) { k.k = kHuge; }),
              HasSubstr("summed over 9223372036854775807"));
  EXPECT_THAT(with([](DataflowKernel& k) { k.weight = {-1}; }), HasSubstr("negative"));
  EXPECT_THAT(with([](DataflowKernel& k) { k.operations = kInfinite; }), HasSubstr("infinite"));
  EXPECT_THAT(with([](DataflowKernel& k) {
                k.transfers = {{DataflowTransferKind::kBroadcast, {-1}}};
              }),
              HasSubstr("negative"));
  EXPECT_THAT(with([](DataflowKernel& k) { k.batch = KernelDimension::kK; }),
              HasSubstr("cut along k, but k is 0"));
  DataflowGraph graph = pair();
  graph.tensors[0].bytes = {-8};
  EXPECT_THAT(refusal(graph), HasSubstr("'ab' has a negative"));
}

TEST(DataflowGraph, FindsKernelsAndSaysWhichAreNear) {
  const DataflowGraph graph =
      transformer_forward({.hidden = 8, .heads = 2, .head_dim = 4, .sequence = 16, .ffn = 32});
  ASSERT_TRUE(graph.find("scores"));
  EXPECT_EQ(graph.kernels[*graph.find("scores")].name, "scores");
  const Result<std::uint32_t> unknown = graph.find("score");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, HasSubstr("scores"));
}

TEST(DataflowOrder, TiesGoByIndexAndLevelsAreLongestPaths) {
  //   d -> b -> a     c -> a     e alone behind c
  const DataflowGraph graph = letters(5, {{'d', 'b'}, {'b', 'a'}, {'c', 'a'}, {'c', 'e'}});
  EXPECT_THAT(dataflow::order(dataflow::Links(graph)), ElementsAre(2, 3, 1, 0, 4));
  EXPECT_THAT(kernel_levels(graph), ElementsAre(2, 1, 0, 0, 1));
}

RC_GTEST_PROP(DataflowOrder, ProducersComeFirst, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(2, 12);
  const auto rank =
      *rc::gen::map(rc::gen::container<std::vector<int>>(n, rc::gen::arbitrary<int>()),
                    [](std::vector<int> keys) { return keys; });
  std::vector<std::pair<char, char>> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (std::pair(rank[i], i) < std::pair(rank[j], j) && *rc::gen::inRange(0, 3) == 0) {
        pairs.emplace_back('a' + i, 'a' + j);
      }
    }
  }
  const DataflowGraph graph = letters(n, pairs);
  const std::vector<std::uint32_t> order = dataflow::order(dataflow::Links(graph));
  const std::vector<std::uint32_t> levels = kernel_levels(graph);
  RC_ASSERT(order.size() == n);
  std::vector<std::size_t> place(n);
  for (std::size_t i = 0; i < n; ++i) place[order[i]] = i;
  for (const DataflowTensor& tensor : graph.tensors) {
    RC_ASSERT(place[tensor.producer] < place[tensor.uses[0].kernel]);
    RC_ASSERT(levels[tensor.producer] < levels[tensor.uses[0].kernel]);
  }
}

RC_GTEST_PROP(AtMicrobatch, IsLinearInSamples, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 1000);
  const auto name = *rc::gen::elementOf(builtin_dataflows());
  const DataflowGraph one = load_dataflow(name)->graph;
  const DataflowGraph many = at_microbatch(one, samples);
  const auto s = static_cast<double>(samples);
  RC_ASSERT(check_dataflow(many).ok());
  RC_ASSERT(std::abs(many.work().value / (one.work().value * s) - 1) < 1e-12);
  RC_ASSERT(many.weights() == one.weights());
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    RC_ASSERT(many.tensors[i].bytes.value == one.tensors[i].bytes.value * s);
  }
  for (std::size_t i = 0; i < one.kernels.size(); ++i) {
    const DataflowKernel& kernel = one.kernels[i];
    RC_ASSERT(many.kernels[i].gradient == kernel.gradient);
    RC_ASSERT(many.kernels[i].traffic == kernel.traffic * (kernel.traffic_per_sample ? s : 1));
  }
}

TEST(AtMicrobatch, GrowsEachKindOfKernelWhereItsSamplesAre) {
  const DataflowGraph graph = at_microbatch(
      transformer_training({.hidden = 8, .heads = 2, .head_dim = 4, .sequence = 16, .ffn = 32}), 3);
  const auto size = [&graph](const char* kernel) {
    const DataflowKernel& k = graph.kernels[*graph.find(kernel)];
    return std::array{k.outer, k.m, k.n, k.k};
  };
  EXPECT_THAT(size("ffn_up"), ElementsAre(1, 32, 48, 8)) << "more tokens";
  EXPECT_THAT(size("scores"), ElementsAre(6, 16, 16, 4)) << "more heads, no longer sequences";
  EXPECT_THAT(size("softmax"), ElementsAre(6, 16, 16, 0));
  EXPECT_THAT(size("ffn_up_grad"), ElementsAre(1, 32, 8, 48)) << "summed over more tokens";
}

}  // namespace
}  // namespace flopcast::workload
