// flopcast cost: how long one kernel takes on a chip, what that rests on, and how far off it may be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/counts.h"
#include "base/text/numbers.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/cost/checked_time.h"
#include "flopcast/machine/named.h"
#include "flopcast/report/cost.h"

namespace flopcast::cli {
namespace {

/// Text of the positional arguments and the options all kernels share.
struct CostCommand {
  std::string shape, second, type = "bf16";
  std::string chip;
  std::vector<std::string> fits;
  bool json = false;
  // What only some kernels have; each command offers its own.
  std::int64_t batch = 1, head_dim = 128, window = 0, tensor_parallel = 1, expert_parallel = 1;
  double skew = 0;
  bool backward = false, full = false, ungated = false;
  std::string kv_cache;
};

Diagnostic misread(std::string_view text, std::string_view expected) {
  return {ErrorCode::kUsage, std::string(text), fmt::format("expected {}", expected),
          "flopcast cost --help shows an example of each"};
}

using ReadNumber = std::optional<std::int64_t> (*)(std::string_view text);

/// "8192x4096" split at `separator`: as many whole numbers >= 1 as there are in `out`.
template <std::size_t N>
bool split_numbers(std::string_view text, char separator, std::array<std::int64_t, N>& out,
                   ReadNumber read = parse_whole<std::int64_t>) {
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t end = i + 1 == N ? text.size() : text.find(separator);
    if (end == std::string_view::npos) return false;
    out[i] = read(text.substr(0, end)).value_or(0);
    if (out[i] < 1) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

Result<GemmType> gemm_type(const std::string& text) {
  if (const auto type = parse_gemm_type(text)) return *type;
  return misread(text,
                 "bf16, fp16, tf32, fp32, fp8, fp8_static, fp8_block, nvfp4, int8_wo, int4_wo, "
                 "sq, w4a16_mxfp4 or w4a8_mxfp4_mxfp8");
}

Result<DataType> data_type(const std::string& text) {
  if (const auto type = parse_data_type(text)) return *type;
  return misread(text, "a data type such as bf16, fp16, fp8 or fp32");
}

Result<Kernel> make_gemm(const CostCommand& c) {
  std::array<std::int64_t, 3> mnk{};
  if (!split_numbers(c.shape, 'x', mnk))
    return misread(c.shape, "MxNxK, for example 8192x8192x8192");
  const Result<GemmType> type = gemm_type(c.type);
  if (!type) return type.error();
  return Kernel(Gemm{mnk[0], mnk[1], mnk[2], c.batch, *type});
}

Result<Kernel> make_attention(const CostCommand& c) {
  Attention a;
  std::array<std::int64_t, 2> lengths{}, heads{};
  std::array<std::int64_t, 1> one{};
  if (split_numbers(c.shape, '@', lengths, parse_tokens)) {
    a.query_length = lengths[0];
    a.kv_length = lengths[1];
  } else if (split_numbers(c.shape, '@', one, parse_tokens)) {
    a.query_length = a.kv_length = one[0];
  } else {
    return misread(c.shape, "a length (4096), or new tokens at a length (1@8192 is decode)");
  }
  if (!split_numbers(c.second, '/', heads)) {
    if (!split_numbers(c.second, '/', one)) return misread(c.second, "HEADS or HEADS/KV_HEADS");
    heads = {one[0], one[0]};
  }
  a.heads = heads[0];
  a.kv_heads = heads[1];
  const Result<DataType> type = data_type(c.type);
  const Result<DataType> cache = data_type(c.kv_cache.empty() ? c.type : c.kv_cache);
  if (!type) return type.error();
  if (!cache) return cache.error();
  a.type = *type;
  a.kv_cache = *cache;
  a.batch = c.batch;
  a.head_dim = c.head_dim;
  a.window = c.window;
  a.backward = c.backward;
  a.causal = !c.full;
  return Kernel(a);
}

Result<Kernel> make_moe(const CostCommand& c) {
  std::array<std::int64_t, 2> routing{};
  std::array<std::int64_t, 3> all{};
  GroupedGemm g;
  if (!split_numbers(c.shape, 'x', all)) {
    return misread(c.shape, "TOKENSxHIDDENxINTERMEDIATE, for example 4096x7168x2048");
  }
  if (!split_numbers(c.second, '/', routing)) return misread(c.second, "TOP_K/EXPERTS (8/256)");
  const Result<GemmType> type = gemm_type(c.type);
  if (!type) return type.error();
  g.tokens = all[0];
  g.hidden = all[1];
  g.intermediate = all[2];
  g.top_k = routing[0];
  g.experts = routing[1];
  g.tensor_parallel = c.tensor_parallel;
  g.expert_parallel = c.expert_parallel;
  g.type = *type;
  g.skew = c.skew;
  g.gated = !c.ungated;
  return Kernel(g);
}

Result<Kernel> make_memory(const CostCommand& c) {
  MemoryBound k;
  std::array<std::int64_t, 2> shape{};
  const auto op = parse_memory_op(c.shape);
  if (!op) {
    std::string known;
    for (int i = 0; i <= static_cast<int>(MemoryOp::kQuantize); ++i) {
      known += fmt::format("{}{}", i == 0 ? "" : ", ", name(static_cast<MemoryOp>(i)));
    }
    return misread(c.shape, "one of " + known);
  }
  if (!split_numbers(c.second, 'x', shape)) return misread(c.second, "ROWSxCOLUMNS (4096x8192)");
  const Result<DataType> type = data_type(c.type);
  if (!type) return type.error();
  k.op = *op;
  k.rows = shape[0];
  k.columns = shape[1];
  k.type = *type;
  k.backward = c.backward;
  return Kernel(k);
}

Result<Machine> machine_of(const CostCommand& command) {
  std::string line = command.chip;
  if (auto problem = take_fits(line, command.fits)) return *problem;
  return named_chip(line, Catalog::builtin(),
                    with_uses({FitKind::kKernels}, "the time of a kernel"));
}

/// A fit that the answer does not rest on.
std::optional<Diagnostic> fit_left_aside(const Cluster& cluster, const Kernel& kernel,
                                         const KernelTime& time) {
  const auto used = [&](const auto& fit) {
    return time.source.find(fit->path) != time.source.npos;
  };
  const auto& fits = cluster.fits;
  const auto unused = std::ranges::find_if_not(fits, used);
  if (unused == fits.end()) return std::nullopt;
  return flopcast::usage_error(
      (*unused)->path,
      fmt::format("would not be used: of {} it holds nothing nearer than {}", kernel_words(kernel),
                  time.source),
      "measure such kernels, or leave the fit out");
}

int run_cost(Io& io, const CostCommand& command, Result<Kernel> (*make)(const CostCommand&)) {
  const Result<Kernel> kernel = make(command);
  if (!kernel) return fail(io, kernel.error());
  const Result<Machine> machine = machine_of(command);
  if (!machine) return fail(io, machine.error());
  const Result<KernelTime> time = checked_time(machine->kernels(), *kernel);
  if (!time) return fail(io, time.error());
  if (const auto unused = fit_left_aside(machine->cluster(), *kernel, *time)) {
    return fail(io, *unused);
  }
  const KernelReport report{*kernel, machine->cluster().name, *time, fit_notes(machine->cluster())};
  return print(io, command.json ? kernel_json(report) : kernel_text(report), {command.json, false});
}

CLI::App* add_kernel(CLI::App& cost, const std::string& name, const std::string& description,
                     const std::shared_ptr<CostCommand>& command,
                     Result<Kernel> (*make)(const CostCommand&), Action& action) {
  CLI::App* sub = cost.add_subcommand(name, description);
  sub->add_option("--on", command->chip, "Chip (flopcast hw list)")->required()->type_name("CHIP");
  add_fits(*sub, command->fits);
  sub->add_flag("--json", command->json, "Print JSON (docs/reference/json.md)");
  sub->callback([command, make, &action] {
    action = [command, make](Io& io) { return run_cost(io, *command, make); };
  });
  return sub;
}

void add_gemm(CLI::App& cost, Action& action) {
  const auto c = std::make_shared<CostCommand>();
  CLI::App* sub = add_kernel(cost, "gemm", "A matrix product", c, make_gemm, action);
  sub->add_option("SHAPE", c->shape, "MxNxK of C[m,n] = A[m,k] B[k,n]")->required()->type_name("");
  sub->add_option("TYPE", c->type, "bf16, fp8, fp8_block, nvfp4, int8_wo, ...")->type_name("");
  sub->add_option("--batch", c->batch, "Products of this shape at once")
      ->type_name("N")
      ->check(whole_from(1));
  set_example(*sub, "flopcast cost gemm 8192x8192x8192 bf16 --on h200");
}

void add_attention(CLI::App& cost, Action& action) {
  const auto c = std::make_shared<CostCommand>();
  CLI::App* sub = add_kernel(cost, "attention", "Flash attention", c, make_attention, action);
  sub->add_option("LENGTH", c->shape, "Tokens of a prompt, or NEW@CONTEXT (1@8192: decode)")
      ->required()
      ->type_name("");
  sub->add_option("HEADS", c->second, "HEADS or HEADS/KV_HEADS")->required()->type_name("");
  sub->add_option("TYPE", c->type, "bf16, fp16 or fp8")->type_name("");
  sub->add_option("--batch", c->batch, "Sequences")->type_name("N")->check(whole_from(1));
  sub->add_option("--head-dim", c->head_dim, "Elements per head")
      ->type_name("N")
      ->check(whole_from(1));
  sub->add_option("--window", c->window, "Sliding window in tokens; 0: none")
      ->type_name("N")
      ->transform(tokens())
      ->check(whole_from(0));
  sub->add_option("--kv-cache", c->kv_cache, "Type of the cache; else TYPE")->type_name("TYPE");
  sub->add_flag("--backward", c->backward, "The backward pass");
  sub->add_flag("--full", c->full, "Without a causal mask");
  set_example(*sub, "flopcast cost attention 1@8192 32/8 bf16 --batch 64 --on h100");
}

void add_moe(CLI::App& cost, Action& action) {
  const auto c = std::make_shared<CostCommand>();
  CLI::App* sub = add_kernel(cost, "moe", "The expert GEMMs of one chip", c, make_moe, action);
  sub->add_option("SHAPE", c->shape, "TOKENSxHIDDENxINTERMEDIATE of the whole layer")
      ->required()
      ->type_name("");
  sub->add_option("ROUTING", c->second, "TOP_K/EXPERTS")->required()->type_name("");
  sub->add_option("TYPE", c->type, "bf16, fp8, fp8_block, nvfp4, ...")->type_name("");
  sub->add_option("--tp", c->tensor_parallel, "Chips that split each expert")
      ->type_name("N")
      ->check(whole_from(1));
  sub->add_option("--ep", c->expert_parallel, "Chips that split the experts")
      ->type_name("N")
      ->check(whole_from(1));
  sub->add_option("--skew", c->skew, "Exponent of the power law of expert loads; 0: balanced")
      ->type_name("X")
      ->check(not_negative());
  sub->add_flag("--ungated", c->ungated, "Two matrices per expert instead of three");
  set_example(*sub, "flopcast cost moe 4096x7168x2048 8/256 fp8_block --ep 8 --on h100");
}

void add_memory(CLI::App& cost, Action& action) {
  const auto c = std::make_shared<CostCommand>();
  CLI::App* sub =
      add_kernel(cost, "memory", "An operator that only moves bytes", c, make_memory, action);
  sub->add_option("OP", c->shape, "layer_norm, rms_norm, softmax, add, rope, optimizer, ...")
      ->required()
      ->type_name("");
  sub->add_option("SHAPE", c->second, "ROWSxCOLUMNS")->required()->type_name("");
  sub->add_option("TYPE", c->type, "bf16, fp16, fp32, ...")->type_name("");
  sub->add_flag("--backward", c->backward, "The backward pass");
  set_example(*sub, "flopcast cost memory rms_norm 4096x8192 bf16 --on h100");
}

}  // namespace

void add_cost(CLI::App& app, Action& action) {
  CLI::App* cost = app.add_subcommand(
      "cost", "How long one kernel takes on a chip: time, band, roofline, source");
  cost->require_subcommand(1);
  set_example(*cost, "flopcast cost gemm 8192x8192x8192 bf16 --on h200");
  add_gemm(*cost, action);
  add_attention(*cost, action);
  add_moe(*cost, action);
  add_memory(*cost, action);
}

}  // namespace flopcast::cli
