// The table of a plan's settings, and plans made of them.
#include "flopcast/parallel/settings.h"
#include "base/text/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/counts.h"
#include "base/text/names.h"
#include "flopcast/parallel/names.h"
#include "parallel/launchers/texts.h"
#include "parallel/shell/shell.h"

namespace flopcast {

using namespace parallel;  // the room's own names

namespace {

/// Whether `text` is a value of the setting; sets it.
using Setter = bool (*)(Plan& plan, std::string_view text);
struct Entry {
  PlanSetting setting;
  Setter set;
};

template <auto kMember>
bool number(Plan& plan, std::string_view text) {
  const std::optional<std::int64_t> value = parse_whole(text);
  if (!value || *value < 1 || *value > kMostInPlan) return false;
  using Number = std::remove_reference_t<decltype(plan.*kMember)>;
  plan.*kMember = static_cast<Number>(*value);
  return true;
}

template <auto kMember>
bool onoff(Plan& plan, std::string_view text) {
  plan.*kMember = text == "true";
  return text == "true" || text == "false";
}

template <auto kMember, auto kParse>
bool choice(Plan& plan, std::string_view text) {
  const auto value = kParse(text);
  if (value) plan.*kMember = *value;
  return value.has_value();
}

bool set_batch(Plan& plan, std::string_view text) {
  const Result<BatchSize> batch = parse_batch(text);
  if (!batch || batch->sequences > kMostInPlan) return false;
  plan.global_batch = batch->sequences;
  return true;
}

bool set_sequence(Plan& plan, std::string_view text) {
  const std::optional<std::int64_t> tokens = parse_tokens(text);
  if (!tokens || *tokens < 1 || *tokens > kMostInPlan) return false;
  plan.sequence = *tokens;
  return true;
}

bool set_precision(Plan& plan, std::string_view text) {
  if (!choice<&Plan::precision, parse_precision>(plan, text)) return false;
  if (text.ends_with("pure")) plan.fp32_master = plan.fp32_gradients = false;
  return true;
}

bool set_layout(Plan& plan, std::string_view text) {
  const auto layers = parse_layout(text);
  if (layers) plan.stage_layers = *layers;
  return layers.has_value();
}

bool set_modules(Plan& plan, std::string_view text) {
  std::string words(text);
  std::replace(words.begin(), words.end(), ',', ' ');
  LaunchText flags;
  flags.settings = {flag_setting("recompute-granularity", {"selective"}),
                    flag_setting("recompute-modules", shell_words(words))};
  const Result<PlanFile> read = read_megatron_lm(flags);
  if (read) plan.recompute_modules = read->plan.recompute_modules;
  return read.ok();
}

bool set_offload(Plan& plan, std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::optional<unsigned> percent = parse_whole<unsigned>(text);
  if (percent) plan.offload = *percent;
  return percent && *percent <= 100;
}

bool set_moments(Plan& plan, std::string_view text) {
  const std::optional<unsigned> bytes = parse_whole<unsigned>(text);
  if (bytes) plan.moment_bytes = *bytes;
  return bytes && *bytes >= 1 && *bytes <= 16;
}

constexpr std::array<std::pair<std::string_view, bool Overlap::*>, 6> kOverlaps = {{
    {"gradients", &Overlap::gradients},
    {"weights", &Overlap::weights},
    {"tensor", &Overlap::tensor},
    {"pipeline", &Overlap::pipeline},
    {"context", &Overlap::context},
    {"experts", &Overlap::experts},
}};

bool set_overlap(Plan& plan, std::string_view text) {
  for (const auto& [name, member] : kOverlaps) plan.overlap.*member = text == "all";
  if (text == "all" || text == "none") return true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const auto found = std::find_if(kOverlaps.begin(), kOverlaps.end(),
                                    [&](const auto& overlap) { return overlap.first == word; });
    if (found == kOverlaps.end()) return false;
    plan.overlap.*(found->second) = true;
  }
  return true;
}

constexpr SettingKind kBatch = SettingKind::kBatch;
constexpr SettingKind kDegree = SettingKind::kDegree;
constexpr SettingKind kGrid = SettingKind::kGrid;
constexpr SettingKind kChoice = SettingKind::kChoice;

// clang-format off
constexpr Entry kEntries[] = {
    {{"global_batch", "global-batch-size", "N", "Sequences of one step, over all replicas; or its tokens: 16M",
      kBatch}, set_batch},
    {{"seq", "seq-length", "N", "Tokens of a sequence, such as 8192 or 8k; if not given, the model's longest",
      kBatch}, set_sequence},
    {{"tp", "tensor-model-parallel-size", "N", "Tensor-parallel chips", kDegree},
     number<&Plan::tp>},
    {{"pp", "pipeline-model-parallel-size", "N", "Pipeline stages", kDegree},
     number<&Plan::pp>},
    {{"cp", "context-parallel-size", "N", "Context-parallel chips", kDegree},
     number<&Plan::cp>},
    {{"dp", "data-parallel-size", "N", "Replicas; if not given, what the other degrees leave",
      kDegree}, number<&Plan::dp>},
    {{"ep", "expert-model-parallel-size", "N", "Expert-parallel chips", kDegree},
     number<&Plan::ep>},
    {{"etp", "expert-tensor-parallel-size", "N", "Chips that split one expert; if not given, as tp",
      kDegree}, number<&Plan::etp>},
    {{"vpp", "num-virtual-stages-per-pipeline-rank", "N", "Virtual stages per chip", kDegree},
     number<&Plan::vpp>},
    {{"micro_batch", "micro-batch-size", "N", "Sequences of one microbatch; 1 if not given",
      kDegree}, number<&Plan::micro_batch>},
    {{"schedule", "", "NAME", "gpipe, 1f1b, interleaved, zb-h1, zb-v or dualpipev", kDegree},
     choice<&Plan::schedule, parse_schedule_kind>},
    {{"layout", "pipeline-model-parallel-layout", "STAGES",
      "Layers of each stage, such as \"Et*15|t*16|t*16|t*15L\"; even if not given", kDegree},
     set_layout},
    {{"recompute", "recompute-granularity", "none|selective|full",
      "Activations dropped after forward and computed again", kDegree},
     choice<&Plan::recompute, parse_recompute>},
    {{"recompute_modules", "", "LIST",
      "What selective recompute drops: core_attn (default), layernorm, moe_act, mlp, mla_up_proj",
      kDegree}, set_modules},
    {{"recompute_layers", "recompute-num-layers", "N",
      "With full recompute: only so many layers of each stage", kDegree},
     number<&Plan::recompute_layers>},
    {{"zero", "zero-stage", "0|1|2|3",
      "What data-parallel chips share: 1 optimizer states (default), 2 gradients, 3 weights (FSDP)",
      kDegree}, choice<&Plan::zero, parse_zero>},
    {{"shard", "", "N", "Chips that share one copy of what zero shards; the others replicate it",
      kDegree}, number<&Plan::shard>},
    {{"sequence_parallel", "", "", "Shard norms over tensor-parallel chips: default with tp > 1",
      kDegree}, onoff<&Plan::sequence_parallel>},
    {{"tp2", "", "N", "Second dimension of 2-D and SUMMA tensor parallelism", kGrid},
     number<&Plan::tp2>},
    {{"panels", "", "N", "Panels of SUMMA", kGrid},
     number<&Plan::panels>},
    {{"tensor", "", "1d|2d|summa", "How matrices are cut", kChoice},
     choice<&Plan::tensor, parse_tensor_kind>},
    {{"context", "cp-comm-type", "all_gather|ring|ulysses",
      "How context-parallel chips exchange keys and values", kChoice},
     choice<&Plan::context, parse_context_kind>},
    {{"precision", "", "TYPE",
      "fp32, tf32, fp16, bf16 (default), bf16-pure, fp8, fp8_block, mxfp8, nvfp4, mxfp4 or int8", kChoice},
     set_precision},
    {{"optimizer", "", "adam|sgd|muon", "Adam if not given", kChoice},
     choice<&Plan::optimizer, parse_optimizer_kind>},
    {{"fp32_gradients", "", "", "Gradients are added up in fp32: default", kChoice},
     onoff<&Plan::fp32_gradients>},
    {{"gradient_type", "grad-reduce-type", "summed|fp32|bf16|fp16",
      "Type in which gradients are reduced; as they are added up if not given", kChoice},
     choice<&Plan::gradient_type, parse_gradient_type>},
    {{"split_master", "use-precision-aware-optimizer", "",
      "Of fp32 weights, keep only the 16 bits that bf16 weights lack", kChoice},
     onoff<&Plan::split_master>},
    {{"moment_bytes", "", "BYTES", "What the optimizer's moments of one weight take: 1 to 16",
      kChoice}, set_moments},
    {{"offload", "", "PERCENT",
      "How much of the optimizer the host keeps and updates: 0 (default) to 100", kChoice},
     set_offload},
    {{"fp8_gather", "fp8-param-gather", "",
      "With precision fp8, weights are gathered in 8 bits: default", kChoice},
     onoff<&Plan::fp8_gather>},
    {{"overlap", "", "LIST",
      "Transfers hidden behind compute: all, none, or some of gradients, weights, tensor, "
      "pipeline, context, experts", kChoice}, set_overlap},
    {{"dispatcher", "moe-token-dispatcher-type", "alltoall|deepep|hybridep|usual",
      "Who sends tokens to their experts; what the software usually has if not given", kChoice},
     choice<&Plan::dispatcher, parse_dispatcher>},
    {{"cuda_graph", "enable-cuda-graph", "",
      "Passes of layers are replayed from CUDA graphs: one launch each", kChoice},
     onoff<&Plan::cuda_graph>},
    {{"lora_rank", "", "N", "Train low-rank adapters only, on frozen weights", kChoice},
     number<&Plan::lora_rank>},
    {{"lora_mlp", "", "", "Adapters in feed-forwards as well as in attention", kChoice},
     onoff<&Plan::lora_mlp>},
    {{"mtp_layers", "mtp-num-layers", "N",
      "Modules that predict one more token each while training (DeepSeek-V3's MTP): 0 if not given",
      kChoice}, number<&Plan::mtp_layers>},
    {{"flash_attention", "", "", "Attention scores stay out of memory: default", kChoice},
     onoff<&Plan::flash_attention>},
    {{"reshard", "", "", "With zero 3, weights are dropped after forward: default", kChoice},
     onoff<&Plan::reshard>},
};
// clang-format on

const Entry* find_entry(std::string_view name) {
  for (const Entry& entry : kEntries) {
    const std::string key = name_key(name);
    if (key == name_key(entry.setting.name)) return &entry;
    if (!entry.setting.long_name.empty() && key == name_key(entry.setting.long_name)) return &entry;
  }
  return nullptr;
}

Diagnostic unknown_setting(const std::string& name) {
  std::string known;
  for (const Entry& entry : kEntries) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.setting.name);
  }
  return {ErrorCode::kUsage, name, "a plan has no such setting", "there are " + known};
}

/// What its meaning says of the values: "What is dropped: all, none" are "all, none".
std::string expected_by(const PlanSetting& setting) {
  if (setting.takes.empty()) return "true or false";
  if (setting.takes == "N") return fmt::format("a whole number from 1 to {}", kMostInPlan);
  if (setting.takes.find('|') != std::string_view::npos) return std::string(setting.takes);
  std::string_view values = setting.meaning.substr(0, setting.meaning.find(';'));
  const std::size_t list = values.find(": ");
  if (list != std::string_view::npos) values.remove_prefix(list + 2);
  std::string text(values);
  if (text.starts_with("Layers")) text[0] = 'l';
  return text;
}

/// A launch configuration, changed, and which settings were given, by their short names.
struct Changed {
  PlanFile file;
  std::set<std::string_view> given;
  std::optional<BatchSize> batch;  ///< as it was given
};

/// What follows from settings where nobody set it.
void imply(const std::set<std::string_view>& given, bool from_file, Plan& plan) {
  if (given.contains("layout") && !given.contains("vpp") && plan.pp > 0 &&
      plan.stage_layers.size() % plan.pp == 0) {
    plan.vpp = static_cast<unsigned>(plan.stage_layers.size() / plan.pp);
  }
  if (!given.contains("schedule") && plan.schedule == ScheduleKind::kOneFOneB && plan.vpp > 1) {
    plan.schedule = ScheduleKind::kInterleaved;
  }
  const bool folded =
      plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
  if (folded && given.contains("schedule") && !given.contains("vpp") && plan.pp > 1) plan.vpp = 2;
  if (given.contains("sequence_parallel") || (from_file && !given.contains("tp"))) return;
  plan.sequence_parallel = plan.tp > 1;
}

/// Why the setting is refused.
Diagnostic refused(const PlanSetting& setting, const std::string& value) {
  if (setting.name == "global_batch") {
    if (const Result<BatchSize> batch = parse_batch(value); !batch) {
      return usage_error(setting.name, fmt::format("'{}' {}", value, batch.error().what),
                         batch.error().hint);
    }
  }
  return Diagnostic{ErrorCode::kUsage, std::string(setting.name),
                    fmt::format("expected {}, found '{}'", expected_by(setting), value),
                    "correct the value"};
}

/// Of a batch in tokens, its sequences.
std::optional<Diagnostic> count_batch(Changed& changed) {
  if (!changed.batch || changed.batch->sequences > 0) return std::nullopt;
  Plan& plan = changed.file.plan;
  if (plan.sequence == 0) {
    return usage_error(
        "global_batch",
        fmt::format("'{}' is of tokens, and no length of a sequence is given", changed.batch->text),
        "give seq, or the sequences of one step");
  }
  Result<CountedBatch> counted = sequences_of(*changed.batch, plan.sequence);
  if (!counted) return counted.error();
  plan.global_batch = counted->sequences;
  changed.file.assumed.push_back(std::move(counted->words));
  return std::nullopt;
}

Result<Changed> change(const PlanSettings& settings, const PlanFile* from) {
  Changed changed;
  if (from != nullptr) changed.file = *from;
  if (from == nullptr) changed.file.plan.global_batch = 0;
  for (const auto& [name, value] : settings) {
    const Entry* entry = find_entry(name);
    if (entry == nullptr) return unknown_setting(name);
    if (!entry->set(changed.file.plan, value)) return refused(entry->setting, value);
    changed.given.insert(entry->setting.name);
    if (entry->setting.name == "global_batch") changed.batch = *parse_batch(value);
  }
  if (auto problem = count_batch(changed)) return *std::move(problem);
  imply(changed.given, from != nullptr, changed.file.plan);
  return changed;
}

/// A setting that the script leaves to its caller, and that nobody gave.
std::optional<Diagnostic> open_problem(const Changed& changed, bool searched) {
  std::string flags;
  std::string_view first;
  for (const OpenSetting& open : changed.file.open) {
    const Entry* entry = find_entry(open.name);
    if (entry == nullptr || changed.given.contains(entry->setting.name)) continue;
    if (searched && entry->setting.kind == SettingKind::kDegree) continue;
    if (first.empty()) first = entry->setting.name;
    flags += fmt::format("{}{} {}", flags.empty() ? "" : ", ", open.flag, open.value);
  }
  if (first.empty()) return std::nullopt;
  return Diagnostic{ErrorCode::kUsage, std::string(first),
                    fmt::format("the launch script leaves to its caller: {}", flags),
                    "give each by its flag, or what the script is called with by --plan-args"};
}

/// What the file said of its chips, where it is to run on others.
void note_chips(const PlanFile& file, unsigned chips, std::vector<std::string>& assumed) {
  if (file.chips == 0 || chips == 0 || file.chips == chips) return;
  assumed.push_back(
      fmt::format("the file launches {} chips: replicas are those of {}", file.chips, chips));
}

NamedPlan named_of(const PlanFile& file) {
  return {file.plan, file.assumed, file.used, file.ignored, file.unmodelled, file.unknown};
}

}  // namespace

std::span<const PlanSetting> plan_settings() {
  static const std::vector<PlanSetting> all = [] {
    std::vector<PlanSetting> list;
    for (const Entry& entry : kEntries) list.push_back(entry.setting);
    return list;
  }();
  return all;
}

Result<NamedPlan> make_plan(const PlanSettings& settings, unsigned chips, const PlanFile* from) {
  const Result<Changed> changed = change(settings, from);
  if (!changed) return changed.error();
  const PlanFile& file = changed->file;
  const std::set<std::string_view>& given = changed->given;
  if (auto problem = open_problem(*changed, false)) return *problem;
  if (from == nullptr && !given.contains("global_batch")) {
    return Diagnostic{ErrorCode::kUsage, "global_batch", "is missing",
                      "give the sequences of one step, over all replicas"};
  }
  NamedPlan named = named_of(file);
  if (!given.contains("dp")) note_chips(file, chips, named.assumed);
  const Plan& p = file.plan;
  const std::uint64_t copy = chips_of_copy(p);
  const bool divides = copy > 0 && chips % copy == 0;
  if (divides && !given.contains("dp")) {
    const Result<Plan> plan = with_chips(file, chips);
    if (!plan) return plan.error();
    named.plan = *plan;
  } else if (p.global_batch == 0) {
    named.plan.global_batch = p.micro_batch * p.dp * file.accumulation;
  }
  return named;
}

Result<NamedPlan> base_plan(const PlanSettings& settings, const PlanFile* from) {
  const Result<Changed> changed = change(settings, from);
  if (!changed) return changed.error();
  if (auto problem = open_problem(*changed, true)) return *problem;
  return named_of(changed->file);
}

}  // namespace flopcast
