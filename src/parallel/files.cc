// What a launch configuration is read by, and what all of them share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/files/read_file.h"
#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "flopcast/parallel/names.h"
#include "parallel/launch/rules.h"
#include "parallel/launchers/descendants.h"
#include "parallel/launchers/texts.h"
#include "parallel/recognise.h"
#include "parallel/trainers/readers.h"
#include "parallel/trainers/torchtitan_models.h"

namespace flopcast {

using namespace parallel;  // the room's own names

namespace {

using Reader = Result<PlanFile> (*)(const LaunchText& text);
struct ReaderRow {
  Launcher launcher;
  Reader read;
};
constexpr ReaderRow kReaders[] = {
    {Launcher::kMegatronLm, read_megatron_lm},
    {Launcher::kMegatronDeepspeed, read_megatron_deepspeed},
    {Launcher::kMegatronLlama, read_megatron_llama},
    {Launcher::kPai, read_pai},
    {Launcher::kMsSwift, read_ms_swift},
    {Launcher::kSlime, read_slime},
    {Launcher::kVerl, read_verl},
    {Launcher::kNemo1, read_nemo1},
    {Launcher::kNemo2, read_nemo2},
    {Launcher::kMegatronBridge, read_megatron_bridge},
    {Launcher::kPrimus, read_primus},
    {Launcher::kTorchtitan, read_torchtitan},
    {Launcher::kDeepspeed, read_deepspeed_launch},
    {Launcher::kAccelerate, read_accelerate},
    {Launcher::kHfTrainer, read_hf_trainer},
    {Launcher::kTrl, read_trl},
    {Launcher::kLlamaFactory, read_llama_factory},
    {Launcher::kAxolotl, read_axolotl},
    {Launcher::kNanotron, read_nanotron},
    {Launcher::kOlmoCore, read_olmo_core},
    {Launcher::kAutomodel, read_automodel},
    {Launcher::kMaxtext, read_maxtext},
};

static_assert(std::size(kReaders) == static_cast<std::size_t>(Launcher::kMaxtext) + 1,
              "one for each launcher");

/// Reads what was recognised, and notes by what.
Result<PlanFile> read_as(const Recognised& found, const LaunchText& text) {
  const auto row = std::find_if(std::begin(kReaders), std::end(kReaders),
                                [&](const auto& one) { return one.launcher == found.launcher; });
  Result<PlanFile> file = row->read(text);
  if (!file) return file;
  file->launcher = found.launcher;
  file->recognised = found.evidence;
  if (file->software.empty()) file->software = facts(found.launcher).software;
  file->assumed.insert(file->assumed.end(), text.notes.begin(), text.notes.end());
  return file;
}

/// The first keys of a document, as they are shown.
std::string some_keys(const nlohmann::ordered_json& root) {
  constexpr std::size_t kShown = 3, kLongest = 40;
  std::string keys;
  std::size_t shown = 0;
  for (const auto& [key, value] : root.items()) {
    if (shown == kShown) return keys + " ...";
    keys += fmt::format("{}{}", shown++ == 0 ? "" : ", ", key.substr(0, kLongest));
  }
  return keys.empty() ? "none" : keys;
}

Result<PlanFile> read_document(LaunchText text, std::string_view syntax) {
  if (const auto found = recognise_document(text.document)) return read_as(*found, text);
  // Before its flags: a server's "--tp" is no plan of a training.
  if (const auto foreign = foreign_document(text.document)) {
    return Diagnostic{ErrorCode::kBadInput, text.where,
                      fmt::format("looks like {}", foreign->looks), std::string(foreign->hint)};
  }
  LaunchSettings flags = document_flags(text.settings, tells_megatron);
  if (const auto found = recognise_megatron(flags)) {
    text.settings = std::move(flags);
    return read_as(*found, text);
  }
  return Diagnostic{ErrorCode::kBadInput, text.where,
                    fmt::format("is {} of no launcher that is known; its keys: {}", syntax,
                                some_keys(text.document)),
                    "give the file that the training is started with"};
}

Result<PlanFile> read_json(std::string_view bytes, LaunchText text) {
  text.document = nlohmann::ordered_json::parse(bytes, nullptr, false, true);
  if (!text.document.is_object()) {
    return Diagnostic{ErrorCode::kBadInput, text.where, "starts like JSON, but is no JSON object",
                      "correct it, or give the file that the training is started with"};
  }
  text.settings = document_settings(text.document);
  return read_document(std::move(text), "JSON");
}

Result<PlanFile> read_toml(std::string_view bytes, LaunchText text) {
  const Result<TomlFile> file = parse_toml(bytes, text.where, false);
  if (!file) return file.error();
  TomlLines lines;
  text.document = toml_json(file->root, &lines);
  text.settings = document_settings(text.document, lines);
  return read_document(std::move(text), "TOML");
}

/// "[training]" begins TOML; "[ -z $TP ]" does not.
bool looks_like_toml(std::string_view line) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return false;
  const std::string_view name = trim(line.substr(1, end - 1));
  return !name.empty() && name.find_first_of(" $\"'-[") == std::string_view::npos;
}

Result<PlanFile> read_log(LaunchSettings arguments, LaunchText text) {
  text.settings = std::move(arguments);
  Result<PlanFile> file = read_megatron_log(text);
  if (!file) return file;
  file->recognised = "the block of arguments in a log";
  return file;
}

/// Of programs, those that set a recipe of NeMo 2's up.
Result<PlanFile> read_python(std::string_view bytes, LaunchText text) {
  text.settings = python_settings(bytes);
  for (const LaunchSetting& setting : text.settings) {
    if (setting.key != "factory") continue;
    const Recognised found{Launcher::kNemo2, setting.shown + ".pretrain_recipe", true};
    return read_as(found, text);
  }
  return Diagnostic{ErrorCode::kBadInput, text.where,
                    "looks like a Python program, of which only recipes of NeMo 2 are read",
                    "give its plan by flags: --tp, --pp, --global-batch ..."};
}

Result<PlanFile> read_bytes(std::string_view bytes, LaunchText text) {
  LaunchSettings logged = logged_arguments(bytes);
  if (!logged.empty()) return read_log(std::move(logged), std::move(text));
  const std::string_view first = first_line(bytes);
  if (looks_like_python(first)) return read_python(bytes, std::move(text));
  if (first.starts_with('{')) return read_json(bytes, std::move(text));
  if (looks_like_toml(first)) return read_toml(bytes, std::move(text));
  if (looks_like_yaml(first)) {
    if (auto problem = read_yaml(bytes, text)) return *problem;
    return read_document(std::move(text), "YAML");
  }
  const Result<Recognised> found = read_script(bytes, text);
  if (!found) return found.error();
  return read_as(*found, text);
}

LaunchText text_of(const std::string& where, const LaunchSite& site) {
  LaunchText text;
  text.where = where;
  text.site = site;
  return text;
}

}  // namespace

Result<PlanFile> parse_plan(std::string_view text, const std::string& where,
                            const LaunchSite& site) {
  return read_bytes(text, text_of(where, site));
}

Result<PlanFile> read_plan(const std::string& path, const LaunchSite& site) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.error();
  LaunchText text = text_of(path, site);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  text.folder = folder.empty() ? "." : folder.string();
  return read_bytes(*bytes, std::move(text));
}

std::optional<Diagnostic> strict_problem(const PlanFile& file, const std::string& where) {
  if (file.unmodelled.empty() && file.unknown.empty()) return std::nullopt;
  std::string what;
  if (!file.unknown.empty()) {
    what = fmt::format("not known: {}", fmt::join(file.unknown, ", "));
  }
  if (!file.unmodelled.empty()) {
    what += fmt::format("{}not modelled: {}", what.empty() ? "" : "; ",
                        fmt::join(file.unmodelled, ", "));
  }
  return Diagnostic{ErrorCode::kBadInput, where, std::move(what),
                    "take them out of the file, or leave --strict out"};
}

std::uint64_t parallel::chips_of_copy(const Plan& plan) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  std::uint64_t chips = 1;
  for (const unsigned degree : {plan.tp, plan.tp2, plan.cp, plan.pp}) {
    chips = std::min(chips * degree, kMost);
  }
  return chips;
}

unsigned parallel::chips_of_plan(const Plan& plan) {
  const std::uint64_t chips = chips_of_copy(plan) * plan.dp;
  return chips <= kMostInPlan ? static_cast<unsigned>(chips) : 0;
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

TitanRun titan_run(const LaunchContext& context) {
  constexpr int kCompiled = 0;  // of its softwares
  TitanRun run;
  run.compile = context.software == kCompiled;
  if (context.model == nullptr) return run;
  TitanName name = titan_name(*context.model);
  run.name = std::move(name.name);
  run.flavor = std::move(name.flavor);
  run.layers = context.model->layers();
  return run;
}

}  // namespace

PlanText write_plan(const Plan& plan, PlanFormat format, const LaunchContext& context) {
  const LauncherRules& rules = LauncherRules::of(format);
  PlanText text = format == PlanFormat::kMegatron     ? write_megatron(plan)
                  : format == PlanFormat::kTorchtitan ? write_torchtitan(plan, titan_run(context))
                                                      : write_deepspeed(plan);
  for (const std::string& flag : rules.needs(plan, context)) text.text += flag + '\n';
  text.lost = rules.refusals(plan, context);
  return text;
}

}  // namespace flopcast
