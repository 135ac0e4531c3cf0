// Plans as launch lines that start.
#include "flopcast/parallel/launch_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "flopcast/parallel/files.h"
#include "parallel/launch/rules.h"
#include "parallel/launchers/texts.h"
#include "parallel/trainers/torchtitan_models.h"

namespace flopcast {

using namespace parallel;  // the room's own names

namespace {

constexpr std::size_t kWidth = 78;
constexpr std::string_view kTitanFile = "plan.toml", kDeepspeedFile = "plan.json";

/// Words of a command over lines: each goes on behind a backslash.
std::string wrapped(const std::vector<std::string>& words) {
  constexpr std::string_view kInset = "  ";
  std::string text;
  std::size_t width = 0;
  for (const std::string& word : words) {
    const bool fits = width + 1 + word.size() + 2 <= kWidth;
    if (!text.empty()) text += fits ? " " : fmt::format(" \\\n{}", kInset);
    width = text.empty() || !fits ? (text.empty() ? 0 : kInset.size()) + word.size()
                                  : width + 1 + word.size();
    text += word;
  }
  return text;
}

/// Processes of a node: as many as it has chips, or the most that deal the plan's chips evenly.
unsigned processes(unsigned chips, unsigned per_node) {
  unsigned count = std::clamp(per_node, 1u, std::max(chips, 1u));
  while (chips % count != 0) --count;
  return count;
}

std::vector<std::string> torchrun(const Plan& plan, unsigned chips_per_node, Launch& launch) {
  const unsigned per_node = processes(plan.chips(), chips_per_node);
  const unsigned nodes = plan.chips() / per_node;
  if (nodes == 1) {
    return {"torchrun", "--standalone", fmt::format("--nproc-per-node {}", per_node)};
  }
  launch.notes.push_back(
      fmt::format("on each of {} nodes; MASTER_ADDR is the first of them", nodes));
  return {"torchrun",
          fmt::format("--nnodes {}", nodes),
          fmt::format("--nproc-per-node {}", per_node),
          "--rdzv-backend c10d",
          "--rdzv-endpoint $MASTER_ADDR:29500",
          "--rdzv-id plan"};
}

/// A setting a line, as words of a command.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    lines.emplace_back(line);
  }
  return lines;
}

/// What flags do not say of the model, found by reading them.
std::vector<std::string> unsaid(const std::vector<std::string>& flags, const Model& model) {
  std::string script = "pretrain_gpt.py";
  for (const std::string& flag : flags) script += " " + flag;
  const Result<PlanFile> read = parse_plan(script, "flags");
  if (!read) return {read.error().text()};
  const FileModel& told = read->model;
  if (!told.whole) return {fmt::format("its flags are not all: {}", fmt::join(told.missing, ", "))};
  std::vector<std::string> words = model_differences(told, model);
  const Model& m = *told.whole;
  const auto differs = [&](bool is, std::string_view what) {
    if (is) words.emplace_back(what);
  };
  if (words.empty()) {
    differs(m.kinds != model.kinds || m.order != model.order, "parts of its layers");
    differs(m.vocab != model.vocab, "its vocabulary");
    differs(m.tied_embeddings != model.tied_embeddings ||
                m.learned_positions != model.learned_positions ||
                m.embedding_norm != model.embedding_norm || model.final_norm != m.final_norm ||
                model.head_bias || model.pooler || model.embedding_width > 0,
            "its embedding or its head");
  }
  return words;
}

void launch_megatron(const Plan& plan, const LaunchContext& context, const PlanText& text,
                     std::vector<std::string> words, Launch& launch) {
  std::vector<std::string> model = megatron_model_flags(*context.model, plan.sequence);
  const std::vector<std::string> missing = unsaid(model, *context.model);
  if (!missing.empty()) {
    launch.notes.push_back(
        fmt::format("Megatron-LM's flags do not say all of {}: {}; add what its own script has",
                    context.model->name, fmt::join(missing, ", ")));
  }
  words.emplace_back("pretrain_gpt.py");
  for (const auto& part : {lines_of(text.text), model,
                           LauncherRules::of(PlanFormat::kMegatron).flags(plan, context)}) {
    words.insert(words.end(), part.begin(), part.end());
  }
  launch.command = wrapped(words);
  launch.notes.emplace_back("in a checkout of Megatron-LM, with Transformer Engine");
}

void launch_torchtitan(const LaunchContext& context, const PlanText& text,
                       std::vector<std::string> words, Launch& launch) {
  launch.files.push_back({std::string(kTitanFile), text.text});
  words.emplace_back("-m torchtitan.train");
  words.push_back(fmt::format("--job.config_file {}", kTitanFile));
  launch.command = wrapped(words);
  if (titan_name(*context.model).name.empty()) {
    launch.notes.push_back(
        fmt::format("torchtitan has no model of the shape of {}: bring it by "
                    "--experimental.custom_import, and name "
                    "it under [model]",
                    context.model->name));
  }
  launch.notes.emplace_back(
      "in a checkout of torchtitan v0.2.2: its tests/assets have a tokenizer and c4_test");
}

void launch_deepspeed(const PlanText& text, std::vector<std::string> words, Launch& launch) {
  launch.files.push_back({std::string(kDeepspeedFile), text.text});
  words.emplace_back("train.py");
  words.push_back(fmt::format("--deepspeed_config {}", kDeepspeedFile));
  launch.command = wrapped(words);
  launch.notes.emplace_back(
      "train.py is your program: it builds the model and its data, and calls "
      "deepspeed.initialize");
}

/// What rules know of the model.
void describe(const Model& model, LaunchContext& context) {
  for (const Layer& layer : model.kinds) {
    if (layer.experts.count > context.experts) {
      context.experts = layer.experts.count;
      context.expert_biases = layer.experts.expert.bias;
    }
    context.latent |= layer.attention.latent();
    context.rotary |= layer.attention.rotary;
  }
}

}  // namespace

std::span<const std::string> launcher_softwares(PlanFormat launcher) {
  return LauncherRules::of(launcher).softwares();
}

std::string_view launcher_words(PlanFormat launcher) { return LauncherRules::of(launcher).words(); }

LaunchContext launch_context(PlanFormat launcher, const Model* model, std::string_view software,
                             double capability) {
  LaunchContext context;
  context.model = model;
  context.capability = capability;
  if (model != nullptr) describe(*model, context);
  const std::span<const std::string> known = launcher_softwares(launcher);
  const auto found = std::ranges::find(known, software);
  if (!software.empty())
    context.software = found == known.end() ? -1 : static_cast<int>(found - known.begin());
  return context;
}

bool launchable(const Plan& plan, PlanFormat launcher, const LaunchContext& context) {
  return LauncherRules::of(launcher).runs(plan, context);
}

bool launched_as(Plan& plan, PlanFormat launcher, const LaunchContext& context,
                 std::span<const std::string> named) {
  return LauncherRules::of(launcher).settle_and_run(plan, context, named);
}

void settle_plan(Plan& plan, PlanFormat launcher, const LaunchContext& context,
                 std::span<const std::string> named) {
  LauncherRules::of(launcher).settle(plan, context, named);
}

Launch write_launch(const Plan& plan, PlanFormat launcher, const LaunchContext& context,
                    unsigned chips_per_node) {
  const bool stages = launcher == PlanFormat::kMegatron;
  const Plan told = stages ? with_stages(plan, context.model->layers()) : plan;
  PlanText text = write_plan(told, launcher, context);
  Launch launch;
  launch.environment = LauncherRules::of(launcher).environment(told, context);
  launch.lost = std::move(text.lost);
  launch.elsewhere = std::move(text.elsewhere);
  std::vector<std::string> words = torchrun(told, chips_per_node, launch);
  if (launcher == PlanFormat::kMegatron) {
    launch_megatron(told, context, text, std::move(words), launch);
  } else if (launcher == PlanFormat::kTorchtitan) {
    launch_torchtitan(context, text, std::move(words), launch);
  } else {
    launch_deepspeed(text, std::move(words), launch);
  }
  return launch;
}

std::string launch_script(const Launch& launch) {
  std::string script;
  for (const LaunchFile& file : launch.files) {
    script += fmt::format("cat > {} <<'END'\n{}END\n", file.name, file.text);
  }
  for (const std::string& variable : launch.environment)
    script += fmt::format("export {}\n", variable);
  return script + launch.command + '\n';
}

}  // namespace flopcast
