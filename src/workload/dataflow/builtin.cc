// The workloads that are known by name, and files that hold one.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files/input_file.h"
#include "base/files/read_file.h"
#include "base/text/names.h"
#include "workload/dataflow/names.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

/// Tokens of a sample, samples of a step.
constexpr std::int64_t kMost = std::int64_t{1} << 40;

/// A published transformer. Sequence and batch are what its graphs take unless told.
struct Published {
  std::string_view name;
  DataflowPass pass;  ///< unless another is named
  std::int64_t hidden, heads, head_dim, ffn, sequence, layers, global_batch;
};
// Ko et al., "DFModel", and the setup files of its code. The graph of GPT-100T has 640 heads
// of 400, whatever the same file says of the model.
constexpr std::array<Published, 4> kPublished{{
    {"gpt3-175b", DataflowPass::kForward, 12288, 96, 128, 49152, 2048, 96, 2304},
    {"gpt3-1t", DataflowPass::kTraining, 25600, 160, 160, 102400, 2048, 128, 3072},
    {"gpt-100t", DataflowPass::kForward, 256000, 640, 400, 1024000, 2048, 128, 16384},
    {"llama3-8b-dfmodel", DataflowPass::kPrefill, 4096, 32, 128, 14336, 4096, 32, 16384},
}};

DataflowWorkload published(const Published& known, DataflowPass pass,
                           const DataflowOptions& options) {
  TransformerShape shape;
  shape.hidden = known.hidden;
  shape.heads = known.heads;
  shape.head_dim = known.head_dim;
  shape.ffn = known.ffn;
  DataflowWorkload workload =
      transformer_workload(shape, pass, options.sequence > 0 ? options.sequence : known.sequence);
  // The published decoder counts the copy into the cache as 2 FLOP an element.
  for (DataflowKernel& kernel : workload.graph.kernels) {
    if (kernel.name.ends_with("_cache")) kernel.operations = 2;
  }
  workload.graph.name = fmt::format("{}:{}", known.name, name(pass));
  workload.layers = known.layers;
  workload.global_batch = known.global_batch;
  return workload;
}

DataflowWorkload dlrm_workload(DataflowPass pass) {
  DataflowWorkload workload;
  workload.training = pass != DataflowPass::kForward;
  const DlrmShape shape;
  workload.graph = workload.training ? dlrm_training(shape) : dlrm_forward(shape);
  workload.resident = {static_cast<double>(shape.tables * shape.rows * shape.embedding) *
                       shape.word};
  // The setups say 128,000,000, and mean batches of 512 samples, a replica's share of one step.
  workload.global_batch = std::int64_t{128'000'000} * 512;
  return workload;
}

/// One pass over arrays that go through SRAM by at least 1/`pieces` of their rows at a time.
DataflowWorkload single(DataflowGraph graph, std::int64_t pieces) {
  DataflowWorkload workload;
  workload.graph = std::move(graph);
  workload.tokens = pieces;
  return workload;
}

/// Workloads of a size of their own.
struct Fixed {
  std::string_view name;
  DataflowWorkload (*make)();
};
constexpr std::array<Fixed, 6> kFixed{{
    {"dlrm", [] { return dlrm_workload(DataflowPass::kTraining); }},
    {"dlrm:forward", [] { return dlrm_workload(DataflowPass::kForward); }},
    {"hpl", [] { return single(hpl({.n = 1 << 20, .block = 2048, .iterations = 64}), 2048); }},
    {"hpl:5m", [] { return single(hpl({}), 2048); }},
    {"fft", [] { return single(fft({}), 1 << 20); }},
    {"fft3d", [] { return single(fft({.side = 8192, .dimensions = 3}), 8192); }},
}};

Diagnostic not_taken(const std::string& name, std::string_view option) {
  return {ErrorCode::kUsage, name, fmt::format("has no {} to set", option), "leave it out"};
}

Result<DataflowWorkload> from_file(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  if (!path.ends_with(".txt")) return parse_dataflow(*text, path);
  Result<DfmodelSetup> setup = parse_dfmodel_setup(*text, path);
  if (!setup) return setup.error();
  return std::move(setup->workload);
}

struct Request {
  std::string model;
  std::optional<DataflowPass> pass;
};

/// "gpt3-1t:decode" is a model and a pass; a colon before anything else belongs to the name.
Request split(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos) return {name, std::nullopt};
  const auto pass = dataflow::find_word<DataflowPass>(dataflow::kPasses, name.substr(colon + 1));
  if (!pass) return {name, std::nullopt};
  return {name.substr(0, colon), pass};
}

std::int64_t or_else(std::int64_t given, std::int64_t otherwise) {
  return given > 0 ? given : otherwise;
}

Result<DataflowWorkload> from_model(const Request& request, const DataflowOptions& options) {
  const Result<Model> model = load_model(request.model);
  if (!model) {
    Diagnostic error = model.error();
    if (error.code != ErrorCode::kUsage)
      return error;  // there is a file, and something wrong in it
    error.what = "is neither a built-in dataflow workload, nor a model, nor a file";
    const std::vector<std::string> near = nearest_names(request.model, builtin_dataflows());
    if (!near.empty()) error.hint = did_you_mean(request.model, builtin_dataflows(), "");
    return error;
  }
  const DataflowPass pass = request.pass.value_or(DataflowPass::kTraining);
  const std::int64_t longest = or_else(model->max_sequence, 4096);
  return transformer_workload(
      *model, pass, or_else(options.sequence, std::min<std::int64_t>(longest, 4096)),
      or_else(options.global_batch, pass == DataflowPass::kTraining ? 1024 : 1));
}

bool is_file(const std::string& name) {
  return name == kStandardInput || name.ends_with(".toml") || name.ends_with(".txt");
}

/// `name` as it is known, before batch and unrolling.
Result<DataflowWorkload> find(const std::string& name, const DataflowOptions& options) {
  for (const Fixed& fixed : kFixed) {
    if (fixed.name != name) continue;
    if (options.sequence > 0) return not_taken(name, "sequence");
    return fixed.make();
  }
  if (is_file(name)) {
    if (options.sequence > 0) return not_taken(name, "sequence");
    return from_file(name);
  }
  const Request request = split(name);
  for (const Published& known : kPublished) {
    if (known.name == request.model) {
      return published(known, request.pass.value_or(known.pass), options);
    }
  }
  return from_model(request, options);
}

}  // namespace

Result<DataflowWorkload> load_dataflow(const std::string& name_or_path,
                                       const DataflowOptions& options) {
  const auto within = [](std::int64_t value, std::int64_t least) {
    return value >= least && value <= kMost;
  };
  if (!within(options.sequence, 0) || !within(options.global_batch, 0) ||
      !within(options.unroll, 1)) {
    return Diagnostic{ErrorCode::kUsage, name_or_path,
                      "sequence and global batch are 0 to 2^40, unroll is 1 or more",
                      "leave out what you do not mean to set"};
  }
  Result<DataflowWorkload> workload = find(name_or_path, options);
  if (!workload) return workload;
  workload->global_batch = or_else(options.global_batch, workload->global_batch);
  if (workload->layers % options.unroll != 0) {
    return Diagnostic{
        ErrorCode::kUsage, name_or_path,
        fmt::format("{} layers cannot be unrolled by {}", workload->layers, options.unroll),
        "unroll by a divisor of the number of layers"};
  }
  workload->graph = unroll(workload->graph, options.unroll);
  workload->layers /= options.unroll;
  return workload;
}

std::vector<std::string> builtin_dataflows() {
  std::vector<std::string> names;
  for (const Published& known : kPublished) {
    for (const std::string_view pass : dataflow::kPasses) {
      names.push_back(fmt::format("{}:{}", known.name, pass));
    }
    names.emplace_back(known.name);
  }
  for (const Fixed& fixed : kFixed) names.emplace_back(fixed.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace flopcast
