// NeMo 2 and Megatron-Bridge: a recipe by name, which says model, degrees and batch
// (catalog/launch/recipes), and overrides of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

struct Recipe {
  std::string model, flags;
};
using Recipes = std::map<std::string, Recipe, std::less<>>;

Recipes read_recipes(std::string_view launcher) {
  Recipes recipes;
  const std::string path = fmt::format("launch/recipes/{}.toml", launcher);
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != path) continue;
    const Result<TomlFile> read = parse_toml(file.text, "catalog/" + path, false);
    const toml::table* table = read ? read->root["recipes"].as_table() : nullptr;
    if (table == nullptr) continue;
    for (const auto& [name, row] : *table) {
      const toml::array* both = row.as_array();
      if (both == nullptr || both->size() != 2) continue;
      recipes[std::string(name.str())] = {both->get(0)->value_or(std::string()),
                                          both->get(1)->value_or(std::string())};
    }
  }
  return recipes;
}

const Recipes& recipes_of(Launcher launcher) {
  static const Recipes bridge = read_recipes("megatron-bridge"), nemo = read_recipes("nemo2");
  return launcher == Launcher::kNemo2 ? nemo : bridge;
}

Result<Recipe> find_recipe(const LaunchText& text, Launcher launcher, const std::string& name) {
  const Recipes& recipes = recipes_of(launcher);
  const auto found = recipes.find(name);
  if (found != recipes.end()) return found->second;
  if (name.empty()) {
    return Diagnostic{ErrorCode::kBadInput, text.where,
                      fmt::format("is of {}, but names no recipe", facts(launcher).words),
                      "name it by its flag, or give its plan by flags: --tp, --pp ..."};
  }
  std::vector<std::string> names;
  for (const auto& [known, recipe] : recipes) names.push_back(known);
  return Diagnostic{
      ErrorCode::kBadInput, text.where,
      fmt::format("{} has no recipe that is known as '{}'", facts(launcher).words,
                  readable(name).substr(0, 60)),
      did_you_mean(name, names, "give its plan by flags: --tp, --pp, --global-batch ...")};
}

constexpr Rename kRecipeNames[] = {
    {"model.seq-length", "seq-length"},
    {"dataset.seq-length", "seq-length"},
    {"dataset.sequence-length", "seq-length"},
    {"data.seq-length", "seq-length"},
    {"data.global-batch-size", "global-batch-size"},
    {"data.micro-batch-size", "micro-batch-size"},
    {"comm-overlap.tp-comm-overlap", "tp-comm-overlap"},
    {"peft.dim", "lora-rank"},
    {"trainer.devices", "nproc-per-node"},
    {"trainer.num-nodes", "nnodes"},
};
constexpr std::string_view kSections[] = {
    "model.",       "train.", "ddp.", "optimizer.", "trainer.strategy.ddp.", "trainer.strategy.",
    "model.config."};

/// What the recipe sets, where no override says otherwise.
void give(const Recipe& recipe, Translator& to) {
  for (const LaunchSetting& flag : command_settings(shell_words(recipe.flags))) {
    std::string keys = flag.key;
    for (const std::string_view section : kSections)
      keys += fmt::format("|{}{}", section, flag.key);
    for (const Rename& name : kRecipeNames) {
      if (name.megatron == flag.key) keys += fmt::format("|{}", name.own);
    }
    to.otherwise(keys, flag.key, flag.values);
  }
}

/// "bf16_with_fp8_current_scaling_mixed": what is trained in, and which products are narrower.
void recipe_precision(Translator& to, std::string_view key) {
  const LaunchSetting* found = to.find(key);
  if (found == nullptr) return to.otherwise(key, "bf16");
  const std::string_view word = found->first();
  const auto has = [&](std::string_view part) { return word.find(part) != std::string_view::npos; };
  to.as(*found, word.starts_with("fp16") ? "fp16" : "bf16", {"true"});
  if (has("nvfp4")) return to.otherwise("", "fp4-format", {"e2m1"});
  if (!has("fp8")) return;
  const std::string recipe = has("mxfp8")        ? "mxfp8"
                             : has("delayed")    ? "delayed"
                             : has("subchannel") ? "blockwise"
                                                 : "tensorwise";
  to.otherwise("", "fp8-format", {"hybrid"});
  to.otherwise("", "fp8-recipe", {recipe});
}

Result<PlanFile> read_recipe(const LaunchText& text, Launcher launcher, Translator& to,
                             const std::string& name, std::string_view precision_key) {
  const Result<Recipe> recipe = find_recipe(text, launcher, name);
  if (!recipe) return recipe.error();
  recipe_precision(to, precision_key);
  give(*recipe, to);
  to.rename(kRecipeNames);
  for (const std::string_view section : kSections) to.section(section);
  Result<PlanFile> file = read_megatron(to.take(), launcher);
  if (!file) return file;
  file->model = {};
  file->model.name = recipe->model;
  file->assumed.push_back(fmt::format("what no override says is the recipe's, {}", name));
  return file;
}

}  // namespace

Result<PlanFile> read_megatron_bridge(const LaunchText& text) {
  Translator to(text);
  const LaunchSetting* recipe = to.find("recipe");
  if (recipe != nullptr) to.used(*recipe);
  const std::string name = to.word("recipe");
  return read_recipe(text, Launcher::kMegatronBridge, to, name, "mixed-precision");
}

Result<PlanFile> read_nemo2(const LaunchText& text) {
  Translator to(text);
  const auto& words = text.words;
  if (std::find(words.begin(), words.end(), "finetune") != words.end()) {
    return Diagnostic{ErrorCode::kBadInput, text.where,
                      "is NeMo 2's fine-tuning, whose recipes are not read: only pretraining's are",
                      "give its plan by flags: --tp, --pp, --lora-rank, --global-batch ..."};
  }
  const LaunchSetting* factory = to.find("factory");
  if (factory != nullptr) to.used(*factory);
  std::string name = to.word("factory");
  const std::size_t call = name.find('(');
  if (call != std::string::npos) {  // llama3_8b(num_nodes=2)
    std::string inside = name.substr(call + 1, name.rfind(')') - call - 1);
    std::replace(inside.begin(), inside.end(), ',', ' ');
    for (const LaunchSetting& one :
         command_settings(shell_words(inside), CommandStyle::kOverrides)) {
      if (one.key == "num-nodes") to.otherwise("trainer.num-nodes", "nnodes", one.values);
      if (one.key == "num-gpus-per-node") {
        to.otherwise("trainer.devices", "nproc-per-node", one.values);
      }
    }
    name.erase(call);
  }
  return read_recipe(text, Launcher::kNemo2, to, name, "trainer.plugins");
}

}  // namespace flopcast::parallel
