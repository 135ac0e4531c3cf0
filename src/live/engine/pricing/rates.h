// What kernels that PyTorch and its libraries bring along reach of a chip: catalog/live/rates.toml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/machine.h"

namespace flopcast::live {

/// How fast a class of kernels moves data that does not fit the cache.
struct Streaming {
  double bytes_per_second = 0;
  /// What working out an address for each element allows, in the cache as well; 0: more than any bandwidth
  double elements_per_second = 0;
  Basis basis = Basis::kRoofline;  ///< kFitted where this chip was measured

  /// @param elements that it writes
  double seconds(double bytes, double elements) const;
};

/// How fast a kind of attention is, over what the model of kernels says.
struct AttentionRate {
  double forward = 1, backward = 1;
  Basis basis = Basis::kRoofline;  ///< kFitted where this chip was measured
};

class Rates {
 public:
  /// Knows nothing.
  Rates() = default;
  /// Errors: a file that cannot be read, a chip that it names and the catalogue lacks.
  static Result<Rates> parse(std::string_view text, const std::string& where, const Chip& chip,
                             const Catalog& catalog);
  /// From the catalogue's own file.
  static Result<Rates> make(const Chip& chip, const Catalog& catalog);

  /// @param kernel its name, as programs register it
  std::optional<Streaming> streaming(std::string_view kernel) const;
  /// @param signature has the kernel's name in it
  std::optional<AttentionRate> attention(std::string_view signature) const;

  /// Kernels whose names have all of some words, and none of others.
  struct Class {
    std::string name;
    std::vector<std::string> with, without;
    Streaming streaming;
  };
  struct Attends {
    std::string kernel;  ///< a word of its name
    AttentionRate rate;
  };

 private:
  std::vector<Class> classes_;
  std::vector<Attends> attention_;
};

}  // namespace flopcast::live
