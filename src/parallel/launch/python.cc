// A program that sets a recipe up in Python, as far as it assigns and calls with literals:
//
//   recipe = llm.llama3_8b.pretrain_recipe(num_nodes=2)       factory llama3-8b, trainer.num-nodes 2
//   recipe.trainer.strategy.tensor_model_parallel_size = 4    trainer.strategy.tensor-model-parallel-size 4
//
// Nothing is run: what is computed, looped over or imported is not seen.
#include <algorithm>
#include <cctype>

#include "base/text/names.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {
namespace {

bool in_path(unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; }

/// Without a comment; quoted '#' are rare in numbers and names.
std::string_view code_of(std::string_view line) { return trim(line.substr(0, line.find('#'))); }

/// A literal's words: "8", True, "bf16", [1, 2]. Empty: it is none.
std::string literal(std::string_view text) {
  text = trim(text);
  if (text.ends_with(',')) text = trim(text.substr(0, text.size() - 1));
  if (text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0]) {
    return std::string(text.substr(1, text.size() - 2));
  }
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), plain)) return {};
  const bool word = text == "True" || text == "False" || text == "None";
  const bool number = std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  return word || number ? std::string(text) : std::string();
}

class Program {
 public:
  LaunchSettings run(std::string_view bytes) {
    for (line_ = 1; !bytes.empty(); ++line_) {
      const std::string_view line = bytes.substr(0, bytes.find('\n'));
      bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
      read(code_of(line));
    }
    return std::move(settings_);
  }

 private:
  void read(std::string_view code) {
    constexpr std::string_view kCall = ".pretrain_recipe(";
    const std::size_t call = code.find(kCall);
    if (call != std::string_view::npos) {
      std::size_t begin = call;
      while (begin > 0 && in_path(static_cast<unsigned char>(code[begin - 1]))) --begin;
      const std::string_view path = code.substr(begin, call - begin);
      add("factory", std::string(path.substr(path.rfind('.') + 1)), path);
      inside_ = true;
      code.remove_prefix(call + kCall.size());
    }
    if (inside_) return arguments(code);
    const std::size_t equals = code.find('=');
    if (equals == std::string_view::npos || equals + 1 == code.size() || code[equals + 1] == '=')
      return;
    const std::string_view target = trim(code.substr(0, equals));
    const std::size_t dot = target.find('.');
    const bool path = !target.empty() && std::all_of(target.begin(), target.end(), in_path);
    if (!path || dot == std::string_view::npos) return;
    const std::string value = literal(code.substr(equals + 1));
    if (!value.empty()) add(target.substr(dot + 1), value, target);
  }

  /// Of the recipe's call, on this line and those behind it.
  void arguments(std::string_view code) {
    const std::size_t end = code.find(')');
    std::string_view rest = code.substr(0, end);
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const std::size_t equals = one.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view name = trim(one.substr(0, equals));
      const std::string value = literal(one.substr(equals + 1));
      if (value.empty()) continue;
      if (name == "num_nodes") add("trainer.num_nodes", value, name);
      if (name == "num_gpus_per_node") add("trainer.devices", value, name);
    }
    inside_ = end == std::string_view::npos;
  }

  void add(std::string_view key, std::string value, std::string_view shown) {
    const bool null = value == "None";
    settings_.push_back({setting_key(key), {std::move(value)}, std::string(shown), line_, null});
  }

  LaunchSettings settings_;
  unsigned line_ = 1;
  bool inside_ = false;
};

}  // namespace

bool looks_like_python(std::string_view first) {
  const bool from = first.starts_with("from ") && first.find(" import ") != std::string_view::npos;
  return from || first.starts_with("import ") || first.starts_with("\"\"\"") ||
         first.starts_with("def ");
}

LaunchSettings python_settings(std::string_view bytes) { return Program().run(bytes); }

}  // namespace flopcast::parallel
