// What one launch of a Triton kernel computes: its program is executed on the numbers that lie in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "live/standin/triton/count.h"
#include "live/standin/triton/number.h"

namespace flopcast::live::triton {

/// Memory of devices, as far as a program may touch it.
class DeviceBytes {
 public:
  virtual ~DeviceBytes() = default;
  /// These bytes if a GPU would have there what is there; null otherwise.
  virtual const char* readable(std::int64_t address, std::size_t bytes) = 0;
  /// These bytes if they lie within one allocation; null otherwise.
  virtual char* writable(std::int64_t address, std::size_t bytes) = 0;
  /// They are now what a GPU would have there.
  virtual void written(std::int64_t address, std::size_t bytes) = 0;
  /// What is there now, nobody has computed.
  virtual void lost(std::int64_t address, std::size_t bytes) = 0;
  /// The same of some of the tensor that begins here: nobody knows which.
  virtual void lost_within(std::int64_t tensor) = 0;
};

/// Of a parameter of the kernel: its bits, or the tensor that it describes.
struct Given {
  std::uint64_t bits = 0;
  std::shared_ptr<const Descriptor> descriptor;
};

enum class Ran : std::uint8_t {
  kWhole,
  kTainted,  ///< something is read that nobody computed
  kNot,      ///< something is not understood, or not allowed
  kTooLong,  ///< it takes more steps
};
/// Programs of the grid, one after the other. Integers that nobody computed may be moved and computed with, and what hangs on
/// them is lost; but nothing is decided by them. Products are summed up in double precision, whatever precision they ask for.
/// Where not all ran, some bytes may be written.
/// @param most_steps about as many single elements are computed. @param why not all ran
Ran run_program(const Program& program, const Grid& grid, const std::vector<Given>& arguments,
                DeviceBytes& memory, std::uint64_t most_steps, std::string& why);

}  // namespace flopcast::live::triton
