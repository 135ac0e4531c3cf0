#include "parallel/launchers/descendants.h"

#include <algorithm>

#include "base/text/names.h"

namespace flopcast::parallel {
namespace {

/// An attribute's name, its value as Python or YAML writes it, and the flag of the two together.
struct Attribute {
  std::string_view name, value;  ///< value empty: any
  std::string_view flag;
};
constexpr Attribute kAttributes[] = {
    {"add-bias-linear", "false", "disable-bias-linear"},
    {"add-position-embedding", "false", "no-position-embedding"},
    {"overlap-p2p-comm", "false", "no-overlap-p2p-communication"},
    {"share-embeddings-and-output-weights", "false", "untie-embeddings-and-output-weights"},
    {"masked-softmax-fusion", "false", "no-masked-softmax-fusion"},
    {"bias-gelu-fusion", "false", "no-bias-gelu-fusion"},
    {"bias-swiglu-fusion", "false", "no-bias-swiglu-fusion"},
    {"bias-dropout-fusion", "false", "no-bias-dropout-fusion"},
    {"bias-activation-fusion", "false", "no-bias-gelu-fusion"},
    {"apply-rope-fusion", "false", "no-rope-fusion"},
    {"gradient-accumulation-fusion", "false", "no-gradient-accumulation-fusion"},
    {"persist-layer-norm", "false", "no-persist-layer-norm"},
    {"fp8-wgrad", "false", "no-fp8-wgrad"},
    {"async-tensor-model-parallel-allreduce", "false", "no-async-tensor-model-parallel-allreduce"},
    {"fp8", "", "fp8-format"},
    {"fp4", "", "fp4-format"},
    {"num-moe-experts", "", "num-experts"},
    {"layernorm-epsilon", "", "norm-epsilon"},
};

bool is_false(std::string_view value) { return value == "false" || value == "False"; }
bool is_true(std::string_view value) { return value == "true" || value == "True"; }

/// "AttnBackend.flash", "torch.bfloat16" as flags have them.
std::string plain_value(std::string value) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"},
      {"torch.half", "fp16"},    {"torch.uint8", "fp8"},
  };
  for (const auto& [type, word] : kTypes) {
    if (value == type) return std::string(word);
  }
  constexpr std::string_view kEnum = "AttnBackend.";
  if (value.starts_with(kEnum)) value.erase(0, kEnum.size());
  return value;
}

/// "['core_attn', 'mlp']" as words.
std::vector<std::string> list_words(std::string_view value) {
  std::string text(value.substr(1, value.size() - 2));
  std::replace(text.begin(), text.end(), ',', ' ');
  return shell_words(text);
}

}  // namespace

void attributes_to_flags(LaunchSettings& settings) {
  for (LaunchSetting& setting : settings) {
    const std::string_view value = setting.first();
    for (const Attribute& one : kAttributes) {
      if (setting.key != one.name || setting.null) continue;
      if (!one.value.empty() && !is_false(value)) continue;
      if (one.value.empty() && (is_false(value) || is_true(value))) continue;
      setting.key = std::string(one.flag);
      if (!one.value.empty()) setting.values.clear();
      break;
    }
  }
}

bool Translator::taken(const LaunchSetting& setting) const {
  return std::find(taken_.begin(), taken_.end(), &setting) != taken_.end();
}

void Translator::as(const LaunchSetting& setting, std::string_view megatron,
                    std::vector<std::string> values) {
  LaunchSetting out = setting;
  out.key = std::string(megatron);
  if (!values.empty()) out.values = std::move(values);
  out_.push_back(std::move(out));
  if (!taken(setting)) taken_.push_back(&setting);
}

void Translator::used(const LaunchSetting& setting) {
  if (!taken(setting)) as(setting, kReadAlready);
}

void Translator::rename(std::span<const Rename> names) {
  for (const LaunchSetting& setting : text_.settings) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const Rename& one) { return one.own == setting.key; });
    if (found != names.end() && !taken(setting)) as(setting, found->megatron);
  }
}

void Translator::section(std::string_view prefix) {
  for (const LaunchSetting& setting : text_.settings) {
    if (taken(setting) || !setting.key.starts_with(prefix)) continue;
    const std::string name = setting.key.substr(prefix.size());
    if (name.find('.') == std::string::npos) as(setting, name);
  }
}

void Translator::otherwise(std::string_view keys, std::string_view megatron,
                           std::vector<std::string> values) {
  while (!keys.empty()) {
    const std::string_view one = keys.substr(0, keys.find('|'));
    keys.remove_prefix(std::min(one.size() + 1, keys.size()));
    for (const LaunchSetting& setting : text_.settings) {
      if (setting.key == one) return;
    }
  }
  out_.push_back({std::string(megatron), std::move(values), {}, 0, false});
}

const LaunchSetting* Translator::find(std::string_view key) const {
  const LaunchSetting* found = nullptr;
  for (const LaunchSetting& setting : text_.settings) {
    if (setting.key == key) found = &setting;
  }
  return found == nullptr || found->null ? nullptr : found;
}

std::string Translator::word(std::string_view key, std::string_view otherwise) const {
  const LaunchSetting* found = find(key);
  return std::string(found == nullptr ? otherwise : found->first());
}

LaunchText Translator::take() {
  for (const LaunchSetting& setting : text_.settings) {
    if (!taken(setting)) out_.push_back(setting);
  }
  attributes_to_flags(out_);
  for (LaunchSetting& setting : out_) {
    const std::string value(setting.first());
    if (setting.values.size() == 1 && is_true(value)) setting.values.clear();
    if (is_false(value) || value == "None" || value == "null") setting.null = true;
    if (setting.values.size() == 1 && value.starts_with('[') && value.ends_with(']')) {
      setting.values = list_words(value);
    }
    for (std::string& one : setting.values) one = plain_value(std::move(one));
  }
  LaunchText text = text_;
  text.settings = std::move(out_);
  return text;
}

LaunchSettings logged_arguments(std::string_view bytes) {
  constexpr std::string_view kBegin = "- arguments -", kEnd = "- end of arguments -";
  LaunchSettings settings;
  const std::size_t begin = bytes.find(kBegin);
  if (begin == std::string_view::npos) return settings;
  const std::string_view block = bytes.substr(begin, bytes.find(kEnd, begin) - begin);
  unsigned line = 1 + static_cast<unsigned>(std::count(bytes.begin(), bytes.begin() + begin, '\n'));
  for (std::string_view rest = block; !rest.empty(); ++line) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    const std::size_t dots = text.find(" ...");
    if (dots == std::string_view::npos) continue;
    // Ranks may write before it: "[default0]:  tp ...... 2".
    std::string_view name = trim(text.substr(0, dots));
    name = name.substr(name.find_last_of(" \t:|") + 1);
    const std::size_t value_at = text.find_first_not_of('.', dots + 1);
    if (name.empty() || value_at == std::string_view::npos) continue;
    const std::string value(trim(text.substr(value_at)));
    LaunchSetting setting{setting_key(name), {value}, std::string(name), line, value == "None"};
    settings.push_back(std::move(setting));
  }
  constexpr std::size_t kFewest = 5;  // fewer are somebody's heading
  if (settings.size() < kFewest) settings.clear();
  return settings;
}

}  // namespace flopcast::parallel
