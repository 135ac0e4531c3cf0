// Dataflow workloads as TOML: docs/reference/dataflow.md, round trips, and mistakes in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "flopcast/workload/dataflow.h"
#include "support/temporary_folder.h"

namespace flopcast::workload {
namespace {

using ::testing::HasSubstr;

std::string toml_refusal(const std::string& text) {
  const Result<DataflowWorkload> workload = parse_dataflow(text, "graph.toml");
  return workload ? "read" : workload.error().text();
}

constexpr const char* kTwo = R"(
[[kernel]]
name = "a"
m = 4
[[kernel]]
name = "b"
m = 4
[[tensor]]
from = "a"
bytes = 8
to = ["b"]
)";

TEST(DataflowToml, LeavesOutWhatIsUsual) {
  const Result<DataflowWorkload> workload = parse_dataflow(kTwo, "graph.toml");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->graph.name, "graph");
  EXPECT_EQ(workload->layers, 1);
  const DataflowKernel expected{.name = "a", .m = 4};
  EXPECT_EQ(workload->graph.kernels[0], expected);
  EXPECT_EQ(workload->graph.tensors[0].name, "a");
  EXPECT_EQ(workload->graph.tensors[0].uses, (std::vector<DataflowUse>{{1, Operand::kPointwise}}));
}

// The first block of TOML in the reference, which is there as a whole file.
TEST(DataflowToml, TheReferencesExampleIsAGraph) {
  const std::string page = test::read_text("docs/reference/dataflow.md");
  const std::size_t from = page.find("```toml\n");
  ASSERT_NE(from, std::string::npos) << "run from the repository's root";
  const std::size_t start = from + 8;
  const std::string example = page.substr(start, page.find("```", start) - start);
  const Result<DataflowWorkload> workload = parse_dataflow(example, "dataflow.md");
  ASSERT_TRUE(workload) << workload.error().text();
  // The page says what it adds up to.
  EXPECT_THAT(page, HasSubstr(std::to_string(workload->graph.kernels.size()) + " kernels, " +
                              std::to_string(workload->graph.uses()) + " uses"));
  EXPECT_EQ(workload->graph.work().value, 2 * 2.0 * 4096 * 11008 * 2048 + 11008.0 * 2048);
}

// Every key that is written is in the reference, and every word.
TEST(DataflowToml, TheReferenceNamesEveryKey) {
  const std::string page = test::read_text("docs/reference/dataflow.md");
  for (const char* key :
       {"name",      "training", "layers",   "global_batch", "tokens",     "resident",
        "boundary",  "word",     "kind",     "backward",     "outer",      "operations",
        "weight",    "traffic",  "gradient", "tiled",        "batch",      "traffic_per_sample",
        "transfers", "bytes",    "from",     "to",           "per_sample", "operand",
        "kernel"}) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(key) + "`"));
  }
  const auto named = [&page](auto last) {
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      EXPECT_THAT(page, HasSubstr("`" + std::string(name(static_cast<decltype(last)>(i))) + "`"));
    }
  };
  named(DataflowKind::kFft);
  named(KernelDimension::kK);
  named(Operand::kRightT);
  named(DataflowTransferKind::kPointToPoint);
  named(DataflowPass::kDecode);
  for (const std::string& workload : builtin_dataflows()) {
    const std::string known = workload.substr(0, workload.find(':'));
    EXPECT_THAT(page, HasSubstr("`" + known));
  }
}

TEST(DataflowToml, BuiltinWorkloadsComeBack) {
  for (const std::string& name : builtin_dataflows()) {
    const DataflowWorkload workload = *load_dataflow(name);
    const std::string text = dataflow_toml(workload);
    const Result<DataflowWorkload> read = parse_dataflow(text, name);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, workload) << name;
    EXPECT_EQ(dataflow_toml(*read), text) << name;
  }
}

template <typename Enum>
rc::Gen<Enum> any_of(Enum last) {
  return rc::gen::map(rc::gen::inRange(0, static_cast<int>(last) + 1),
                      [](int i) { return static_cast<Enum>(i); });
}

rc::Gen<double> amount() {
  return rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [](std::uint32_t i) { return i / 7.0; });
}

rc::Gen<std::string> odd_name(std::size_t i) {
  return rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange('\x01', '\x7f')),
                      [i](const std::string& text) { return text + std::to_string(i); });
}

DataflowKernel any_kernel(std::size_t i) {
  DataflowKernel kernel;
  kernel.name = *odd_name(i);
  kernel.kind = *any_of(DataflowKind::kFft);
  kernel.backward = *rc::gen::arbitrary<bool>();
  for (std::int64_t* size : {&kernel.outer, &kernel.m, &kernel.n, &kernel.k}) {
    *size = *rc::gen::inRange<std::int64_t>(1, 1 << 20);
  }
  kernel.operations = *amount();
  for (Bytes* bytes : {&kernel.weight, &kernel.traffic, &kernel.gradient}) *bytes = {*amount()};
  kernel.tiled = *any_of(KernelDimension::kK);
  kernel.batch = *any_of(KernelDimension::kK);
  kernel.traffic_per_sample = *rc::gen::arbitrary<bool>();
  const auto transfers = *rc::gen::inRange(0, 3);
  for (int t = 0; t < transfers; ++t) {
    kernel.transfers.push_back({*any_of(DataflowTransferKind::kPointToPoint), {*amount()}});
  }
  return kernel;
}

/// A chain with some further tensors, so that nothing dangles and nothing comes back.
DataflowWorkload any_workload() {
  DataflowWorkload workload;
  workload.graph.name = *odd_name(0);
  workload.training = *rc::gen::arbitrary<bool>();
  workload.layers = *rc::gen::inRange(1, 100);
  workload.global_batch = *rc::gen::inRange(1, 100);
  workload.tokens = *rc::gen::inRange(1, 100);
  workload.resident = {*amount()};
  workload.boundary = {*amount()};
  workload.word = *amount() + 0.5;
  const auto n = *rc::gen::inRange<std::uint32_t>(2, 6);
  for (std::uint32_t i = 0; i < n; ++i) {
    workload.graph.kernels.push_back(any_kernel(i));
    DataflowTensor tensor{.name = *odd_name(i), .producer = i, .bytes = {*amount()}, .uses = {}};
    tensor.per_sample = *rc::gen::arbitrary<bool>();
    for (std::uint32_t j = i + 1; j < n; ++j) {
      if (j > i + 1 && *rc::gen::arbitrary<bool>()) continue;
      tensor.uses.push_back({j, *any_of(Operand::kRightT)});
    }
    workload.graph.tensors.push_back(std::move(tensor));
  }
  return workload;
}

RC_GTEST_PROP(DataflowToml, WhatIsWrittenReadsBackTheSame, ()) {
  const DataflowWorkload workload = any_workload();
  RC_ASSERT(check_dataflow(workload.graph).ok());
  const Result<DataflowWorkload> read = parse_dataflow(dataflow_toml(workload), "x");
  if (!read) RC_FAIL(read.error().text());
  RC_ASSERT(*read == workload);
}

TEST(DataflowToml, MistakesNameLineAndKernel) {
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nm = 2.5\n"),
              HasSubstr("graph.toml:3:5: kernel 'a': 'm' must be a whole number"));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nkind = 'gem'\n"),
              HasSubstr("kernel 'a': 'gem' is no kind (one of gemm, elementwise"));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nwieght = 2\n"),
              HasSubstr("kernel 'a': 'wieght' is unknown (did you mean 'weight'?)"));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nweight = -1\n"), HasSubstr("0 or more"));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nweight = inf\n"), HasSubstr("0 or more"));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nbackward = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 7\n"), HasSubstr("'name' must be a text"));
  EXPECT_THAT(toml_refusal("kernel = 7\n"), HasSubstr("'kernel' must be an array"));
  EXPECT_THAT(toml_refusal("kernel = [7]\n"), HasSubstr("'kernel' must be tables"));
  EXPECT_THAT(toml_refusal("layers = 0\n"), HasSubstr("1 or more"));
  EXPECT_THAT(toml_refusal("word = 0\n"), HasSubstr("above 0"));
  EXPECT_THAT(toml_refusal("[[kernel\n"), HasSubstr("graph.toml"));
}

// A product that reads nothing would move nothing: which matrix it is that is missing is asked.
TEST(DataflowToml, AProductsMatricesAreAskedFor) {
  const std::string product = "[[kernel]]\nname = 'p'\nkind = 'gemm'\nm = 64\nn = 32\nk = 16\n";
  const std::string refused = toml_refusal(product);
  EXPECT_THAT(refused, HasSubstr("graph.toml:1:1: kernel 'p': 'weight' is missing"));
  EXPECT_THAT(refused, HasSubstr("weight = 2048"));  // 64 x 16 of 2 bytes
  EXPECT_EQ(toml_refusal(product + "weight = 2048\n"), "read");
  EXPECT_EQ(toml_refusal(product + "weight = 0\n"), "read");
  EXPECT_THAT(toml_refusal("word = 4\n" + product), HasSubstr("weight = 4096"));
  // One matrix of two comes as a tensor; then both do.
  const std::string left =
      "[[kernel]]\nname = 'a'\n[[tensor]]\nfrom = 'a'\nbytes = 8\nto = "
      "[{ kernel = 'p', operand = 'left' }]\n";
  EXPECT_THAT(toml_refusal(product + left), HasSubstr("a tensor brings one"));
  const std::string right =
      "[[kernel]]\nname = 'b'\n[[tensor]]\nfrom = 'b'\nbytes = 8\nto = "
      "[{ kernel = 'p', operand = 'right' }]\n";
  EXPECT_EQ(toml_refusal(product + left + right), "read");
  // A sum or a norm has no matrix to be missing.
  EXPECT_EQ(toml_refusal("[[kernel]]\nname = 's'\nm = 64\nn = 32\n"), "read");
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'p'\nkind = 'gemm'\nn = 32\nweight = 1\n"),
              HasSubstr("'m' is missing"));
}

TEST(DataflowToml, SizesThatWouldBeNothingAreAskedFor) {
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\nm = 4\nn = 8\n[[tensor]]\nfrom = 'a'\n"),
              HasSubstr("tensor 'a': 'bytes' is missing (bytes = 64"));
  EXPECT_THAT(toml_refusal("layers = 2\n" + std::string(kTwo)), HasSubstr("'boundary' is missing"));
}

TEST(DataflowToml, SaysWhatItTookForWhatWasLeftOut) {
  const DataflowWorkload told = *parse_dataflow(kTwo, "graph.toml");
  EXPECT_THAT(told.assumed,
              testing::ElementsAre(
                  "layers = 1: the graph is all there is", "global_batch = 1: one sample a step",
                  "tokens = 1: there are no tiles", "word = 2: elements of 16 bits",
                  "kind = \"elementwise\": a, b", "operations = 1 an element: a, b"));
  EXPECT_THAT(parse_dataflow(dataflow_toml(told), "again")->assumed, testing::IsEmpty());
}

TEST(DataflowToml, AllMistakesOfAFileAreToldAtOnce) {
  const std::string refused = toml_refusal(
      "layers = 0\n[[kernel]]\nname = 'a'\nwieght = 2\nm = 2.5\n[[tensor]]\nfrom = 'c'\n");
  EXPECT_THAT(refused, HasSubstr("graph.toml: 5 problems:"));
  for (const char* each : {"graph.toml:1", "'wieght' is unknown", "'m' must be a whole number",
                           "there is no kernel 'c'", "'bytes' is missing"}) {
    EXPECT_THAT(refused, HasSubstr(each));
  }
}

TEST(DataflowToml, TensorsNameKernelsThatAreThere) {
  EXPECT_THAT(toml_refusal(std::string(kTwo) + "[[tensor]]\nfrom = 'c'\n"),
              HasSubstr("there is no kernel 'c'"));
  EXPECT_THAT(toml_refusal(std::string(kTwo) + "[[tensor]]\nname = 't'\nto = ['a']\n"),
              HasSubstr("'from' is missing"));
  EXPECT_THAT(toml_refusal(std::string(kTwo) + "[[tensor]]\nname = 't'\nfrom = 'b'\nto = ['d']\n"),
              HasSubstr("tensor 't': there is no kernel 'd'"));
  EXPECT_THAT(
      toml_refusal(std::string(kTwo) + "[[tensor]]\nfrom = 'b'\nto = [{ operand = 'left' }]\n"),
      HasSubstr("'kernel' is missing"));
  EXPECT_THAT(toml_refusal(std::string(kTwo) + "[[tensor]]\nfrom = 'b'\nto = [3]\n"),
              HasSubstr("texts or tables"));
}

TEST(DataflowToml, GraphsAreCheckedAsAllAre) {
  EXPECT_THAT(toml_refusal(std::string(kTwo) + "[[tensor]]\nfrom = 'b'\nbytes = 8\nto = ['a']\n"),
              HasSubstr("graph.toml: has a cycle: "));
  EXPECT_THAT(toml_refusal("[[kernel]]\nname = 'a'\n[[kernel]]\nname = 'b'\n"),
              HasSubstr("dangling"));
  EXPECT_THAT(toml_refusal(""), HasSubstr("no kernels"));
}

}  // namespace
}  // namespace flopcast::workload
