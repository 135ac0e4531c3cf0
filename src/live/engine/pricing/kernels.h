// What a kernel is, from what the stand-in libraries say of it, and how long it takes.
//
// Signatures are words separated by spaces; sizes are elements unless said otherwise:
//   gemm TYPE M N K BATCH NAME...                            a product, of a library or not
//   attention TYPE BATCH QUERIES KEYS HEADS KV_HEADS DIM CAUSAL BACKWARD NAME...
//   packed TYPE SEQUENCES QUERIES KEYS ...                   the same of sequences behind each other, by the longest: lengths
//                                                            are the operator's to tell, if there is one
//   memory READ WRITTEN NAME...                              bytes that it has to move
//   operator CALL                                            does a share of an operator (operator_call.h)
//   beside CALL                                              launched with a library call that does the operator
//   arguments READ WRITTEN BEHIND NAME...                    bytes that its arguments lead to, all of those allocations:
//                                                            what it does with them is not known
//   counted READ WRITTEN OPERATIONS BEHIND STATE PRODUCTS ROWS NAME...   what a program was counted to do (counted_kernels.h)
//   told NAME ROWS=4096 ...                                  arguments that the table asks for of such kernels
//   spin CYCLES NAME...                                      waits until the clock has ticked so often
//   kernel NAME...                                           nothing is known but its name and grid
// What operators and kernels of extensions do says a table (operator_table.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flopcast/machine.h"
#include "live/engine/pricing/counted_kernels.h"
#include "live/engine/pricing/operator_table.h"
#include "live/engine/pricing/rates.h"

namespace flopcast::live {

/// What a signature says.
struct Signature {
  Kernel kernel;       ///< a memory-bound one by its threads where nothing is known
  bool known = false;  ///< its work is; else at most some of the bytes that it moves
  bool guessed =
      false;  ///< its bytes are: they follow from threads, or from an operator that is in no table
  double elements = 0;           ///< that it writes, where an operator launched it
  std::string_view kernel_name;  ///< as the program registered it
  std::string_view name;         ///< what people see
  /// Besides `kernel`, which has the bytes.
  std::optional<CountedKernel> counted = std::nullopt;
  std::optional<double> cycles = std::nullopt;  ///< it only waits, for so many
  double behind = 0;      ///< bytes that it can reach, where its work is not known; 0: nobody knows
  std::string lack = {};  ///< why its rule cannot tell its work
  const std::string* rule = nullptr;  ///< the table's pattern that fitted
};
/// A signature that is none of these counts as a name of which nothing is known.
Signature parse_signature(std::string_view signature, std::uint64_t threads,
                          const OperatorTable& table = OperatorTable::builtin());

/// Of one kind of answer.
struct Coverage {
  std::uint64_t kernels = 0;
  Time time;
};
/// Kernels of one name whose work is not known.
struct Unknown {
  Coverage priced;
  std::uint64_t bytes = 0;  ///< that they can reach
  Time floor;               ///< what moving those once takes at least, no less than their price
};

/// What a chip is used in.
struct Conditions {
  /// Rate of PyTorch's own attention over that of the model, where no rate of it is known.
  double attention_share = 1;
  double power_share = 1;  ///< rate of products on a chip held below its rated power
};

/// Prices kernels, each signature once, and remembers what the prices rest on: "measured", "fitted", "roofline",
/// "assumed" or, where only a name is known, "unknown".
class KernelPrices {
 public:
  explicit KernelPrices(Machine machine, Rates rates = {}, Conditions conditions = {},
                        OperatorTable table = OperatorTable::builtin())
      : machine_(std::move(machine)),
        rates_(std::move(rates)),
        conditions_(conditions),
        table_(std::move(table)) {}
  /// @param threads of the whole grid
  Time price(std::string_view signature, std::uint64_t threads);
  /// Whether a kernel of this kind, priced before, multiplies with all of the chip: it has as many blocks as the chip has cores.
  bool fills_chip(std::string_view signature, std::uint64_t threads);
  /// Bytes moved from here to there within the chip.
  Time copy_on_chip(std::uint64_t bytes) const;
  /// Bytes set to a value.
  Time fill_on_chip(std::uint64_t bytes) const;

  const std::map<std::string, Coverage>& by_basis() const { return by_basis_; }
  /// All, by what people see.
  const std::map<std::string, Coverage>& by_name() const { return by_name_; }
  /// Kernels whose work is not known, by name.
  const std::map<std::string, Unknown>& unknown() const { return unknown_; }
  /// By which the work of operators is told.
  const OperatorTable& table() const { return table_; }
  /// Patterns of the user's table that no kernel had: "my.toml:3:1: ns::*".
  std::vector<std::string> unmatched() const;

 private:
  struct Price {
    Time time;
    std::string basis, name;
    bool unknown = false;  ///< its work is
    bool fills = false;    ///< the chip, with products
    double behind = 0;     ///< bytes that it can reach then
    Time floor;            ///< for those
    std::string lack = {};
    const std::string* rule = nullptr;
    // Where its kernels count.
    Coverage *of_basis = nullptr, *of_name = nullptr;
    Unknown* of_unknown = nullptr;
  };
  /// A signature by its number, and the threads of its grid.
  using Key = std::pair<std::uint32_t, std::uint64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t mixed = (key.second << 32 ^ key.second ^ key.first) * 0x9e3779b97f4a7c15U;
      return mixed ^ mixed >> 32;
    }
  };
  void begin_to_count(Price& price);
  Price price_of(std::string_view signature, std::uint64_t threads) const;
  KernelTime time_of(const Signature& read, std::string_view signature) const;
  KernelTime attention(const Attention& kernel, std::string_view signature) const;
  KernelTime counted(const Signature& read, std::string_view signature) const;
  KernelTime streaming(const MemoryBound& kernel, const Signature& read) const;

  Machine machine_;
  Rates rates_;
  Conditions conditions_;
  OperatorTable table_;
  std::set<const std::string*> matched_;
  StringTable signatures_;
  std::unordered_map<Key, Price, KeyHash> prices_;
  std::map<std::string, Coverage> by_basis_, by_name_;
  std::map<std::string, Unknown> unknown_;
};

}  // namespace flopcast::live
