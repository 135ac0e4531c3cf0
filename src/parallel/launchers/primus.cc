// AMD's Primus with its Megatron back end: YAML whose modules name a model's file and override Megatron-LM's
// arguments. What its own trainer files say where no override does is in primus_defaults().
#include <fmt/format.h>

#include "parallel/launchers/descendants.h"

namespace flopcast::parallel {
namespace {

/// primus/configs/modules/megatron: trainer_base.yaml and pre_trainer.yaml.
void primus_defaults(Translator& to, const std::string& overrides) {
  const auto give = [&](std::string_view flag, std::vector<std::string> values = {}) {
    to.otherwise(overrides + std::string(flag), flag, std::move(values));
  };
  to.otherwise(overrides + "fp16|" + overrides + "bf16", "bf16");
  give("micro-batch-size", {"2"});
  give("global-batch-size", {"16"});
  give("seq-length", {"1024"});
  give("use-distributed-optimizer");
}

/// "llama3.1_8B.yaml" is llama3.1 8B.
std::string model_name(std::string_view file) {
  std::string name(file.substr(0, file.find(".yaml")));
  name = name.substr(name.rfind('/') + 1);
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

}  // namespace

Result<PlanFile> read_primus(const LaunchText& text) {
  Translator to(text);
  std::string module = "modules.pre-trainer.";
  for (const char* other : {"modules.post-trainer.", "modules.sft-trainer."}) {
    if (to.find(std::string(other) + "framework") != nullptr) module = other;
  }
  const std::string framework = to.word(module + "framework", "megatron");
  if (framework != "megatron") {
    return Diagnostic{ErrorCode::kBadInput, text.where,
                      fmt::format("is of Primus with {}, of which only Megatron is read",
                                  framework.substr(0, 40)),
                      "give its plan by flags: --tp, --pp, --global-batch ..."};
  }
  const LaunchSetting* model = to.find(module + "model");
  for (const char* key : {"framework", "model"}) {
    if (const LaunchSetting* one = to.find(module + key)) to.used(*one);
  }
  const std::string overrides = module + "overrides.";
  to.section(overrides);
  primus_defaults(to, overrides);
  Result<PlanFile> file = read_megatron(to.take(), Launcher::kPrimus);
  if (!file) return file;
  if (model != nullptr && !has_unknown(model->first())) {
    file->model.name = model_name(model->first());
  }
  return file;
}

}  // namespace flopcast::parallel
