// Hugging Face's Trainer, accelerate and TRL.
#include <fmt/format.h>

#include <algorithm>

#include "parallel/launchers/texts.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/hugging_face.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

/// The files that FSDP's settings stand in, ahead of what names them.
std::optional<Diagnostic> open_fsdp_file(LaunchText& text) {
  const std::string name(value_of(text.settings, "fsdp-config"));
  if (name.empty()) return std::nullopt;
  const nlohmann::ordered_json inline_config = nlohmann::ordered_json::parse(name, nullptr, false);
  NamedDocument document{"fsdp_config", inline_config, {}};
  if (inline_config.is_object()) {
    document.settings = document_settings(inline_config);
  } else {
    const Result<std::optional<NamedDocument>> found = find_document(text, name);
    if (!found) return found.error();
    if (!found->has_value()) return std::nullopt;
    document = **found;
  }
  // The name itself says nothing more.
  std::erase_if(text.settings, [](const LaunchSetting& one) { return one.key == "fsdp-config"; });
  put_ahead(text, document, "fsdp_config");
  return std::nullopt;
}

/// Adapters where any of their settings is there, as scripts around Trainer switch them on; their rank is the
/// script's own where no flag has it.
void read_script_adapters(Trainer& trainer) {
  SettingReader& settings = trainer.settings();
  const std::string_view switches = "use_peft|use_lora|lora_enable|lora|q_lora|use_qlora";
  const bool switched = settings.truth(switches, false);
  const bool ranked = settings.has("lora_r|lora_rank|peft_lora_r");
  trainer.read_adapters(switched || ranked, 1);
  if (switched && !ranked) trainer.ask("lora_rank", "--lora-rank", "rank of the script's adapters");
}

constexpr TrainerDefaults trl_defaults() {
  TrainerDefaults defaults;
  defaults.launcher = Launcher::kTrl;
  defaults.sequence = "max_length|max_seq_length";
  defaults.tokens = 1024;
  defaults.bf16 = true;
  defaults.checkpointing = true;
  return defaults;
}

Diagnostic other_method(const LaunchText& text, std::string_view what) {
  return {ErrorCode::kBadInput, text.where,
          fmt::format("{}: only supervised fine-tuning (trl sft) is forecast", what),
          "other methods generate, or run a second model, in every step"};
}

/// What TRL trains but by supervised fine-tuning has steps of other kinds.
std::optional<Diagnostic> refuse_methods(const LaunchText& text) {
  for (std::size_t i = 0; i + 1 < text.words.size(); ++i) {
    const bool trl = text.words[i] == "trl" || text.words[i].ends_with("/trl");
    if (trl && text.words[i + 1] != "sft") return other_method(text, "trl " + text.words[i + 1]);
  }
  constexpr std::string_view kOthers[] = {
      "beta",         "max-prompt-length",     "max-completion-length", "num-generations",
      "reward-funcs", "ref-model-name-or-path"};
  for (const LaunchSetting& setting : text.settings) {
    const bool other =
        std::find(std::begin(kOthers), std::end(kOthers), setting.key) != std::end(kOthers);
    if (other && !setting.null) return other_method(text, readable(setting.shown));
  }
  return std::nullopt;
}

/// Configurations of accelerate that TRL brings along, by their names.
struct BundledRow {
  std::string_view name, kind, key, value;
};
constexpr BundledRow kBundled[] = {
    {"single_gpu", "NO", "", ""},
    {"multi_gpu", "MULTI_GPU", "", ""},
    {"fsdp1", "FSDP", "fsdp-config.fsdp-sharding-strategy", "FULL_SHARD"},
    {"fsdp2", "FSDP", "fsdp-config.fsdp-version", "2"},
    {"zero1", "DEEPSPEED", "deepspeed-config.zero-stage", "1"},
    {"zero2", "DEEPSPEED", "deepspeed-config.zero-stage", "2"},
    {"zero3", "DEEPSPEED", "deepspeed-config.zero-stage", "3"},
};

/// `trl sft --accelerate_config`: one of those, or a file.
std::optional<Diagnostic> open_accelerate_config(LaunchText& text) {
  const std::string name(value_of(text.settings, "accelerate-config"));
  if (name.empty()) return std::nullopt;
  for (const BundledRow& row : kBundled) {
    if (row.name != name) continue;
    const auto add = [&](std::string_view key, std::string_view value) {
      LaunchSetting setting{
          std::string(key), {std::string(value)}, fmt::format("{}: {}", name, key), 0, false};
      text.settings.insert(text.settings.begin(), std::move(setting));
    };
    add("distributed-type", row.kind);
    if (!row.key.empty()) add(row.key, row.value);
    return std::nullopt;
  }
  const Result<std::optional<NamedDocument>> found = find_document(text, name);
  if (!found) return found.error();
  if (found->has_value()) {
    put_ahead(text, **found);
    return std::nullopt;
  }
  return Diagnostic{ErrorCode::kBadInput, text.where,
                    fmt::format("accelerate_config {} is not beside it", name),
                    "give that file, or put it there"};
}

}  // namespace

Result<PlanFile> read_hf_trainer(const LaunchText& given) {
  Result<LaunchText> text = with_documents(given, {});
  if (!text) return text.error();
  if (auto problem = open_fsdp_file(*text)) return *problem;
  Trainer trainer(*std::move(text), {});
  trainer.read_common();
  read_script_adapters(trainer);
  return trainer.finish();
}

Result<PlanFile> read_accelerate(const LaunchText& given) {
  Result<LaunchText> text = with_documents(given, {});
  if (!text) return text.error();
  if (auto problem = open_fsdp_file(*text)) return *problem;
  TrainerDefaults defaults;
  defaults.launcher = Launcher::kAccelerate;
  defaults.batch_size = 1;
  Trainer trainer(*std::move(text), defaults);
  trainer.read_common();
  if (!trainer.settings().has(defaults.batch)) {
    trainer.ask("micro_batch", "--micro-batch", "sequences that the script gives a chip at once");
  }
  return trainer.finish();
}

Result<PlanFile> read_deepspeed_launch(const LaunchText& given) {
  if (!given.document.is_null()) return read_deepspeed(given);
  TrainerDefaults defaults;
  defaults.launcher = Launcher::kDeepspeed;
  defaults.batch_size = 1;
  defaults.sequence = "seq_length|max_seq_length|seq_len|sequence_length|max_length";
  Trainer trainer(given, defaults);
  trainer.read_chips();
  trainer.read_sequence();
  trainer.read_sharding();
  trainer.take_deepspeed_batch();
  return trainer.finish();
}

Result<PlanFile> read_trl(const LaunchText& given) {
  if (auto problem = refuse_methods(given)) return *problem;
  Result<LaunchText> text = with_documents(given, "config");
  if (!text) return text.error();
  if (auto problem = refuse_methods(*text)) return *problem;
  if (auto problem = open_accelerate_config(*text)) return *problem;
  if (auto problem = open_fsdp_file(*text)) return *problem;
  const bool recipe = text->document.is_object() && !text->words.empty();
  Trainer trainer(*std::move(text), trl_defaults());
  SettingReader& settings = trainer.settings();
  if (recipe) settings.take("config");
  settings.take("accelerate_config");
  trainer.read_common();
  constexpr std::int64_t kUsualRank = 16;
  trainer.read_adapters(settings.truth("use_peft", false), kUsualRank);
  const bool packed = settings.truth("packing", false);
  const bool unpadded = settings.truth("padding_free", false);
  if (!packed && !unpadded) {
    settings.assume(
        "every sequence has max_length tokens: without packing they are as long as the data");
  }
  return trainer.finish();
}

}  // namespace flopcast::parallel
