// Which format a launch configuration has, and what all formats share.
#include <fmt/format.h>

#include <algorithm>

#include "base/files/read_file.h"
#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "parallel/launchers/texts.h"

namespace flopcast {

using namespace parallel;  // the room's own names

std::string_view name(PlanFormat format) {
  constexpr std::string_view kNames[] = {"megatron", "torchtitan", "deepspeed"};
  return kNames[static_cast<int>(format)];
}

std::string_view parallel::first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trim(text.substr(0, text.find('\n')));
    if (!line.empty() && line[0] != '#') return line;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

Diagnostic parallel::bad_value(const std::string& where, std::string_view key,
                               std::string_view expected, std::string_view found) {
  return {ErrorCode::kBadInput, where,
          fmt::format("{}: expected {}, found '{}'", key, expected, found.substr(0, 60)),
          "correct the value"};
}

namespace {

Result<PlanFile> parse_json(std::string_view text, const std::string& where, bool bf16) {
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false, true);
  if (!root.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, where, "starts like JSON, but is no JSON object",
                      "give DeepSpeed's configuration"};
  }
  if (!is_deepspeed(root)) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      "has no key of DeepSpeed's configuration, such as zero_optimization",
                      "give the JSON file that deepspeed is started with"};
  }
  return read_deepspeed(root, where, bf16);
}

/// "[training]" begins TOML; "[ -z $TP ]" does not.
bool looks_like_toml(std::string_view line) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return false;
  const std::string_view name = trim(line.substr(1, end - 1));
  return !name.empty() && name.find_first_of(" $\"'-[") == std::string_view::npos;
}

}  // namespace

Result<PlanFile> parse_plan(std::string_view text, const std::string& where,
                            const LaunchSite& site) {
  const std::string_view first = first_line(text);
  if (first.starts_with('{')) return parse_json(text, where, site.bf16);
  if (looks_like_toml(first)) {
    const Result<TomlFile> file = parse_toml(text, where, false);
    if (!file) return file.error();
    return read_torchtitan(file->root, where);
  }
  return read_script(text, where, site);
}

Result<PlanFile> read_plan(const std::string& path, const LaunchSite& site) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_plan(*text, path, site);
}

std::optional<PlanFormat> parse_plan_format(std::string_view text) {
  for (const PlanFormat format :
       {PlanFormat::kMegatron, PlanFormat::kTorchtitan, PlanFormat::kDeepspeed}) {
    if (name(format) == text) return format;
  }
  return std::nullopt;
}

std::uint64_t parallel::chips_of_copy(const Plan& plan) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  std::uint64_t chips = 1;
  for (const unsigned degree : {plan.tp, plan.tp2, plan.cp, plan.pp}) {
    chips = std::min(chips * degree, kMost);
  }
  return chips;
}

Result<Plan> with_chips(const PlanFile& file, unsigned chips) {
  Plan plan = file.plan;
  const std::uint64_t others = chips_of_copy(plan);
  if (chips == 0) chips = file.chips;
  if (chips > 0) {
    if (others == 0 || chips % others != 0) {
      return Diagnostic{ErrorCode::kUsage, "world-size",
                        fmt::format("tp {} x cp {} x pp {} does not divide {} chips", plan.tp,
                                    plan.cp, plan.pp, chips),
                        fmt::format("use a multiple of {} chips", others)};
    }
    plan.dp = static_cast<unsigned>(chips / others);
  }
  if (plan.global_batch == 0) {
    plan.global_batch = plan.micro_batch * file.accumulation * plan.dp;
  }
  if (file.replicas <= 1) return plan;
  const std::uint64_t all = std::uint64_t{plan.dp} * plan.cp;
  if (all % file.replicas != 0) {
    return Diagnostic{
        ErrorCode::kUsage, "world-size",
        fmt::format("{} copies of the weights do not divide dp x cp {}", file.replicas, all),
        "change the number of copies or of chips"};
  }
  plan.shard = static_cast<unsigned>(all / file.replicas);
  return plan;
}

namespace {

/// What no writer says.
void lost_everywhere(const Plan& plan, Lose lose, void* to) {
  lose(to, plan.cuda_graph, "CUDA graphs", {});
  lose(to, plan.dispatcher != DispatcherKind::kUsual, "the dispatcher ", name(plan.dispatcher));
  lose(to, plan.gradient_type != GradientType::kSummed, "gradients reduced in ",
       name(plan.gradient_type));
}

void find_lost(const Plan& plan, PlanFormat format, Lose lose, void* to) {
  lost_everywhere(plan, lose, to);
  if (format == PlanFormat::kMegatron) return lost_in_megatron(plan, lose, to);
  if (format == PlanFormat::kTorchtitan) return lost_in_torchtitan(plan, lose, to);
  lost_in_deepspeed(plan, lose, to);
}

}  // namespace

PlanText write_plan(const Plan& plan, PlanFormat format) {
  PlanText text = format == PlanFormat::kMegatron     ? write_megatron(plan)
                  : format == PlanFormat::kTorchtitan ? write_torchtitan(plan)
                                                      : write_deepspeed(plan);
  const auto note = [](void* to, bool lost, std::string_view what, std::string_view which) {
    if (lost) static_cast<PlanText*>(to)->lost.push_back(fmt::format("{}{}", what, which));
  };
  find_lost(plan, format, note, &text);
  return text;
}

bool launchable(const Plan& plan, PlanFormat format) {
  bool all = true;
  const auto note = [](void* to, bool lost, std::string_view, std::string_view) {
    if (lost) *static_cast<bool*>(to) = false;
  };
  find_lost(plan, format, note, &all);
  return all;
}

}  // namespace flopcast
