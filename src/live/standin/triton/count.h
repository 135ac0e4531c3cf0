// What one launch of a Triton kernel does: its program is followed for the launch's arguments, program by program of the
// grid and turn by turn of its loops where these differ, so that each product, load and store is counted as often as it
// is done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "live/standin/triton/value.h"

namespace flopcast::live::triton {

/// What the program finds in memory.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// An integer of so many bytes there; none where nobody computed it. @param base what the address was reckoned from
  virtual std::optional<std::int64_t> read(std::int64_t address, std::size_t bytes,
                                           std::int64_t base) = 0;
  /// Bytes from there to the end of the allocation, or so many if there are more; 0: it is in none.
  virtual std::uint64_t left(std::int64_t address, std::uint64_t most) = 0;
  /// Whether the chip multiplies blocks that have scales; else they are brought to bf16 before.
  virtual bool scales_blocks() { return true; }
};

struct Product {
  enum class Kind : std::uint8_t { kPlain, kAttention, kAttentionBackward };
  std::string type;           ///< as the engine's signatures name it
  std::int64_t m = 0, n = 0;  ///< of a block
  double k = 0;               ///< that is summed up for a block
  double most = 0;            ///< that at most, of the programs that were followed
  double blocks = 0;
  Kind kind = Kind::kPlain;
};

/// Rows that are made to numbers by sums or the like.
struct Rows {
  double rows = 0, elements = 0;  ///< how many; of all of them
  bool exponentials = false;      ///< are taken in the kernel
};

struct LaunchWork {
  std::uint64_t read = 0, written = 0;  ///< bytes, each once that the addresses tell apart
  double operations = 0;                ///< of floating-point numbers outside of products
  std::vector<Product> products;
  Rows rows;  ///< of the reduction that most goes through
  bool assumed =
      false;  ///< something hangs on values that nobody computed, or on a mask that no bounds describe
  std::string
      unknown;  ///< what was not understood, with commas; its work is in none of these numbers
  std::vector<std::int64_t> written_at;  ///< addresses that were reckoned from to write; each once
  bool all_writes = true;                ///< and nothing else is written
  std::uint64_t most_elements = 0;       ///< that are read or written by one pointer
};

struct Grid {
  std::int64_t x = 1, y = 1, z = 1;
};
/// What is followed of a launch at most, operation by operation.
inline constexpr std::uint64_t kMostSteps = 6'000'000;
/// @param arguments one for each parameter of the kernel
LaunchWork count_work(const Program& program, const Grid& grid, const std::vector<Value>& arguments,
                      Surroundings& surroundings, std::uint64_t most_steps = kMostSteps);

}  // namespace flopcast::live::triton
