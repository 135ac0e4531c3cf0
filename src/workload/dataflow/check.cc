// What a dataflow graph must be before anything is mapped: each refusal names what is wrong.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>

#include "workload/dataflow/links.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

/// Products of a few of these still fit a double well, and one times any batch fits an int64.
constexpr std::int64_t kLargestDimension = std::int64_t{1} << 42;

Diagnostic refuse(const DataflowGraph& graph, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, "dataflow graph " + graph.name, std::move(what), std::move(hint)};
}

bool sound(double amount) { return std::isfinite(amount) && amount >= 0; }

bool sizes_sound(const DataflowKernel& kernel) {
  for (const DataflowTransfer& transfer : kernel.transfers) {
    if (!sound(transfer.bytes.value)) return false;
  }
  return sound(kernel.weight.value) && sound(kernel.traffic.value) &&
         sound(kernel.gradient.value) && sound(kernel.operations);
}

bool dimensions_sound(const DataflowKernel& kernel) {
  for (const std::int64_t size : {kernel.outer, kernel.m, kernel.n}) {
    if (size < 1 || size > kLargestDimension) return false;
  }
  return kernel.k >= 0 && kernel.k <= kLargestDimension;
}

/// A dimension to cut or to grow that the kernel does not have.
bool sums_nothing(const DataflowKernel& kernel) {
  return kernel.k == 0 &&
         (kernel.tiled == KernelDimension::kK || kernel.batch == KernelDimension::kK);
}

std::optional<Diagnostic> check_kernels(const DataflowGraph& graph) {
  if (graph.kernels.empty()) return refuse(graph, "has no kernels", "give it at least one");
  std::set<std::string_view> names;
  for (const DataflowKernel& kernel : graph.kernels) {
    if (kernel.name.empty()) return refuse(graph, "a kernel has no name", "name every kernel");
    if (!names.insert(kernel.name).second) {
      return refuse(graph, fmt::format("two kernels are called '{}'", kernel.name),
                    "names must differ");
    }
    if (!dimensions_sound(kernel)) {
      return refuse(graph,
                    fmt::format("kernel '{}' is {} x {} x {}, summed over {}", kernel.name,
                                kernel.outer, kernel.m, kernel.n, kernel.k),
                    "outer, m and n are 1 or more, k is 0 or more, all at most 2^42");
    }
    if (!sizes_sound(kernel)) {
      return refuse(graph, fmt::format("kernel '{}' has a negative or infinite size", kernel.name),
                    "weight, traffic, gradient, transfers and operations are 0 or more");
    }
    if (sums_nothing(kernel)) {
      return refuse(graph, fmt::format("kernel '{}' is cut along k, but k is 0", kernel.name),
                    "give k, or another dimension as tiled and batch");
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> check_uses(const DataflowGraph& graph, const DataflowTensor& tensor) {
  std::set<std::uint32_t> readers;
  for (const DataflowUse& use : tensor.uses) {
    if (use.kernel >= graph.kernels.size()) {
      return refuse(graph,
                    fmt::format("tensor '{}' is read by kernel {} of {}", tensor.name, use.kernel,
                                graph.kernels.size()),
                    "uses are indices of kernels");
    }
    if (!readers.insert(use.kernel).second) {
      return refuse(graph,
                    fmt::format("tensor '{}' is read twice by kernel '{}'", tensor.name,
                                graph.kernels[use.kernel].name),
                    "one use per kernel");
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> check_tensors(const DataflowGraph& graph) {
  std::set<std::string_view> names;
  for (const DataflowTensor& tensor : graph.tensors) {
    if (tensor.name.empty()) return refuse(graph, "a tensor has no name", "name every tensor");
    if (!names.insert(tensor.name).second) {
      return refuse(graph, fmt::format("two tensors are called '{}'", tensor.name),
                    "names must differ");
    }
    if (tensor.producer >= graph.kernels.size()) {
      return refuse(graph, fmt::format("tensor '{}' has no producer", tensor.name),
                    "its producer is the index of a kernel");
    }
    if (!sound(tensor.bytes.value)) {
      return refuse(graph, fmt::format("tensor '{}' has a negative or infinite size", tensor.name),
                    "bytes are 0 or more");
    }
    if (auto wrong = check_uses(graph, tensor)) return wrong;
  }
  return std::nullopt;
}

std::optional<Diagnostic> check_dangling(const DataflowGraph& graph) {
  if (graph.kernels.size() == 1) return std::nullopt;
  std::vector<bool> touched(graph.kernels.size());
  for (const DataflowTensor& tensor : graph.tensors) {
    if (!tensor.uses.empty()) touched[tensor.producer] = true;
    for (const DataflowUse& use : tensor.uses) touched[use.kernel] = true;
  }
  std::string names;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (touched[i]) continue;
    if (!names.empty()) names += ", ";
    names += "'" + graph.kernels[i].name + "'";
  }
  if (names.empty()) return std::nullopt;
  return refuse(graph, "is dangling: no tensor joins the others to " + names,
                "let them read a tensor or be read, or leave them out");
}

/// Backwards along tensors from any kernel that the order leaves out, each step to another such
/// kernel, until one comes again.
std::vector<std::uint32_t> find_cycle(const dataflow::Links& links,
                                      const std::vector<std::uint32_t>& done) {
  const std::size_t n = links.readers.size();
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<bool> ordered(n);
  for (const std::uint32_t kernel : done) ordered[kernel] = true;
  std::vector<std::uint32_t> source(n, kNobody);  // one unordered producer of what kernel i reads
  std::uint32_t at = kNobody;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (ordered[i]) continue;
    at = i;
    for (const std::uint32_t reader : links.readers[i]) source[reader] = i;
  }
  std::vector<bool> met(n);
  for (; !met[at]; at = source[at]) met[at] = true;
  std::vector<std::uint32_t> cycle{at};
  for (std::uint32_t i = source[at]; i != at; i = source[i]) cycle.push_back(i);
  return {cycle.rbegin(), cycle.rend()};
}

std::optional<Diagnostic> check_cycle(const DataflowGraph& graph) {
  const dataflow::Links links(graph);
  const std::vector<std::uint32_t> done = dataflow::order(links);
  if (done.size() == graph.kernels.size()) return std::nullopt;
  const std::vector<std::uint32_t> cycle = find_cycle(links, done);
  std::string words;
  for (const std::uint32_t kernel : cycle) words += "'" + graph.kernels[kernel].name + "' -> ";
  words += "'" + graph.kernels[cycle.front()].name + "'";
  return refuse(graph, "has a cycle: " + words, "a kernel cannot wait for its own result");
}

}  // namespace

Result<bool> check_dataflow(const DataflowGraph& graph) {
  for (const auto check : {check_kernels, check_tensors, check_dangling, check_cycle}) {
    if (std::optional<Diagnostic> wrong = check(graph)) return std::move(*wrong);
  }
  return true;
}

}  // namespace flopcast
