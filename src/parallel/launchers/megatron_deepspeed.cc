// Megatron-DeepSpeed: Megatron-LM's flags, and DeepSpeed's JSON where the script writes it or it lies
// beside.
#include <fmt/format.h>

#include <algorithm>

#include "parallel/launchers/texts.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

const LaunchSetting* find(const LaunchText& text, std::string_view key) {
  const auto found = std::find_if(text.settings.begin(), text.settings.end(),
                                  [&](const LaunchSetting& flag) { return flag.key == key; });
  return found == text.settings.end() ? nullptr : &*found;
}

/// Name of DeepSpeed's configuration, where a flag says it.
std::string configuration(const LaunchText& text) {
  for (const LaunchSetting& flag : text.settings) {
    const bool names = flag.key == "deepspeed-config" || flag.key == "ds-config" ||
                       (flag.key == "deepspeed" && flag.first().ends_with(".json"));
    if (names) return std::string(flag.first());
  }
  return {};
}

/// JSON with what the script does not know as "auto".
std::string closed(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (!has_unknown(rest.substr(0, 1))) {
      out += text[i];
      continue;
    }
    const bool quoted = i > 0 && text[i - 1] == '"';
    out += quoted ? "auto" : "\"auto\"";
    i += unknown_in(rest).size() + 1;
  }
  return out;
}

/// The JSON of this name; without a name, the last that the script writes.
nlohmann::ordered_json json_of(const LaunchText& text, const std::string& name) {
  nlohmann::ordered_json root;
  const auto take = [&](const std::string& bytes) {
    nlohmann::ordered_json parsed =
        nlohmann::ordered_json::parse(closed(bytes), nullptr, false, true);
    if (!deepspeed_key(parsed).empty()) root = std::move(parsed);
  };
  for (const ShellFile& file : text.written) {
    if (name.empty() || file.name == name) take(file.text);
  }
  if (!root.is_null() || name.empty()) return root;
  if (const std::optional<std::string> bytes = text.beside(name)) take(*bytes);
  return root;
}

/// DeepSpeed's own settings come from its JSON, the others from flags where both say them.
void merge(const LaunchText& text, const PlanFile& told, PlanFile& file) {
  Plan& plan = file.plan;
  if (plan.precision == Precision::kFp32) plan.precision = told.plan.precision;
  if (find(text, "micro-batch-size") == nullptr) plan.micro_batch = told.plan.micro_batch;
  if (plan.global_batch == 0) plan.global_batch = told.plan.global_batch;
  if (plan.global_batch == 0) file.accumulation = told.accumulation;
  plan.overlap.gradients = told.plan.overlap.gradients;
  plan.overlap.weights = told.plan.overlap.weights;
  plan.offload = std::max(plan.offload, told.plan.offload);
  plan.shard = told.plan.shard;
  plan.zero = told.plan.zero;
  for (const auto& [from, to] :
       {std::pair(&told.used, &file.used), std::pair(&told.ignored, &file.ignored),
        std::pair(&told.unmodelled, &file.unmodelled), std::pair(&told.unknown, &file.unknown)}) {
    for (const std::string& words : *from) add_once(*to, words);
  }
}

}  // namespace

Result<PlanFile> read_megatron_deepspeed(const LaunchText& text) {
  Result<PlanFile> file = read_megatron(text, Launcher::kMegatronDeepspeed);
  if (!file) return file;
  const std::string name = configuration(text);
  LaunchText inner;
  inner.where = text.where;
  inner.site = text.site;
  inner.document = json_of(text, name);
  if (inner.document.is_null()) {
    if (!name.empty()) {
      file->assumed.push_back(
          fmt::format("{} is another file: of DeepSpeed, --zero-stage and precision alone are read",
                      readable(name)));
    }
    return file;
  }
  inner.settings = document_settings(inner.document);
  const Result<PlanFile> told = read_deepspeed(inner);
  if (!told) return told.error();
  merge(text, *told, *file);
  const bool typed = inner.document.contains("zero_optimization");
  if (typed || file->plan.precision >= Precision::kBf16) {
    file->plan.fp32_gradients = told->plan.fp32_gradients;
  }
  return file;
}

}  // namespace flopcast::parallel
