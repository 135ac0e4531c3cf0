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

Diagnostic parallel::bad_value(const std::string& where, std::string_view key,
                               std::string_view expected, std::string_view found) {
  return {ErrorCode::kBadInput, where,
          fmt::format("{}: expected {}, found '{}'", key, expected, found.substr(0, 60)),
          "correct the value"};
}

namespace {

Result<PlanFile> parse_json(std::string_view text, const std::string& where) {
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false, true);
  if (!root.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, where, "starts like JSON, but is no JSON object",
                      "give DeepSpeed's configuration"};
  }
  return read_deepspeed(root, where);
}

/// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trim(text.substr(0, text.find('\n')));
    if (!line.empty() && line[0] != '#') return line;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

}  // namespace

Result<PlanFile> parse_plan(std::string_view text, const std::string& where) {
  const std::string_view first = first_line(text);
  if (first.starts_with('{')) return parse_json(text, where);
  if (first.starts_with('[')) {
    const Result<TomlFile> file = parse_toml(text, where, false);
    if (!file) return file.error();
    return read_torchtitan(file->root, where);
  }
  if (text.find("--") == std::string_view::npos) {
    return Diagnostic{
        ErrorCode::kBadInput, where,
        "expected flags of Megatron-LM, torchtitan TOML or DeepSpeed JSON, found none",
        "give the file that training is launched with"};
  }
  return read_megatron(text, where);
}

Result<PlanFile> read_plan(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_plan(*text, path);
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

PlanText write_plan(const Plan& plan, PlanFormat format) {
  switch (format) {
    case PlanFormat::kMegatron:
      return write_megatron(plan);
    case PlanFormat::kTorchtitan:
      return write_torchtitan(plan);
    case PlanFormat::kDeepspeed:
      return write_deepspeed(plan);
  }
  return {};
}

}  // namespace flopcast
