// Megatron's --pipeline-model-parallel-layout.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/numbers.h"
#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

constexpr std::size_t kMost = 100'000;  ///< letters after all repeats are written out

/// Writes repeats out: "(t|)*3t" becomes "t|t|t|t".
class Expander {
 public:
  explicit Expander(std::string_view text) : rest_(text) {}

  std::optional<std::string> run() {
    std::optional<std::string> all = sequence(0);
    return all && rest_.empty() ? all : std::nullopt;
  }

 private:
  std::optional<std::string> sequence(int depth) {
    constexpr int kDeepest = 16;
    if (depth > kDeepest) return std::nullopt;
    std::string out;
    while (!rest_.empty() && rest_[0] != ')') {
      const char letter = rest_[0];
      rest_.remove_prefix(1);
      if (letter == ',') continue;
      std::string piece(1, letter);
      if (letter == '(') {
        std::optional<std::string> inner = sequence(depth + 1);
        if (!inner || rest_.empty()) return std::nullopt;
        rest_.remove_prefix(1);
        piece = std::move(*inner);
      } else if (std::string_view("EtLm|").find(letter) == std::string_view::npos) {
        return std::nullopt;
      }
      const std::optional<std::size_t> times = repeats();
      if (!times || out.size() + piece.size() * *times > kMost) return std::nullopt;
      for (std::size_t i = 0; i < *times; ++i) out += piece;
    }
    return out;
  }

  std::optional<std::size_t> repeats() {
    if (rest_.empty() || rest_[0] != '*') return 1;
    rest_.remove_prefix(1);
    const auto times = take_whole<std::size_t>(rest_);
    return times && *times <= kMost ? times : std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<unsigned>> parse_layout(std::string_view text) {
  const std::optional<std::string> letters = Expander(text).run();
  if (!letters || letters->empty()) return std::nullopt;
  std::vector<unsigned> layers(1, 0);
  for (const char letter : *letters) {
    if (letter == '|') layers.push_back(0);
    if (letter == 't') ++layers.back();
  }
  return layers;
}

std::string write_layout(const std::vector<unsigned>& stage_layers) {
  std::string text = "E";
  for (std::size_t i = 0; i < stage_layers.size();) {
    const auto begin = stage_layers.begin() + static_cast<std::ptrdiff_t>(i);
    const auto other =
        std::find_if(begin, stage_layers.end(), [&](unsigned layers) { return layers != *begin; });
    // The last stage has no bar behind it.
    const auto end = other == stage_layers.end() ? other - 1 : other;
    const auto same = std::max<std::ptrdiff_t>(end - begin, 1);
    const std::string stage = *begin == 0 ? "" : fmt::format("t*{}", *begin);
    const bool last = i + 1 == stage_layers.size();
    constexpr std::ptrdiff_t kWorthIt = 3;
    if (same >= kWorthIt) {
      text += fmt::format("({}|)*{}", stage, same);
    } else {
      for (std::ptrdiff_t j = 0; j < same; ++j) text += last ? stage : stage + "|";
    }
    i += static_cast<std::size_t>(same);
  }
  return text + "L";
}

}  // namespace flopcast::parallel
