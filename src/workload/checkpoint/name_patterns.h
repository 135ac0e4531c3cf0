// Patterns by which checkpoints name modules, those that they keep in 16 bits for one: Python's regular expressions
// ("re:.*self_attn.*"), wildcards ("model.layers.*.mlp.gate"), or parts of names ("lm_head").
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace flopcast::workload {

/// All patterns of a list become one expression: lists may have thousands.
class NamePatterns {
 public:
  NamePatterns() = default;
  explicit NamePatterns(const std::vector<std::string>& patterns);
  bool empty() const { return expression_ == nullptr; }  ///< nothing was given
  /// What of the patterns is not understood (RE2 has no look-around); empty: nothing.
  const std::string& unread() const { return unread_; }
  /// Whether they name this module, or one that it is inside of. Modules are called "layers.3.mlp.up_proj" here; what
  /// checkpoints write before that is of no account.
  bool name(std::string_view module) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
  std::string unread_;
};

}  // namespace flopcast::workload
