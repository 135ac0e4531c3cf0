// A call of NCCL as its values go: what each rank gives, what each gets.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "live/wire/record.h"

namespace flopcast::live {

struct Call {
  Collective op = Collective::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  ///< of elements, as the call names it
  Element element = Element::kInt8;
  Reduction reduction = Reduction::kSum;
  std::vector<std::byte> scalar = {};  ///< of kScaledSum: this rank's elements are multiplied by it
  int peer = 0;                        ///< or root, or who gives in its place
  bool nobody_gives = false;           ///< the root is not there, and nobody has what it would give
  std::vector<void*> copies =
      {};  ///< where else goes what is received: of senders that are not there
};

/// Between two members, not of all.
bool between_two(Collective op);
/// Bytes that member `rank` of `size` gives and gets.
std::size_t bytes_given(const Call& call, int rank, int size);
std::size_t bytes_got(const Call& call, int rank, int size);
/// As nccl-tests counts them.
std::size_t bytes_counted(const Call& call, int size);
/// Whether its bytes go from rank to rank, where they are valid. All ranks agree. Numbers that are no floating point
/// carry objects, sizes and indices, which programs need; more of the others are weights and activations.
bool carries(const Call& call, int size);
/// What a member gets. @param parts what each has given
void deliver(const Call& call, int rank, std::span<const std::byte* const> parts);

}  // namespace flopcast::live
