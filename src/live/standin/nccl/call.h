// A call of NCCL as its values go: what each rank gives, what each gets.
#pragma once

#include <cstddef>
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
/// Whether its bytes go from rank to rank, where they are valid. All ranks agree.
bool carries(const Call& call, int size);

/// Whether the numbers of all are put together.
bool reduces(Collective op);
/// Bytes that are only moved: from that place in what a member gave to a place in what is got.
struct Move {
  std::size_t member, from, to, bytes;
};
/// @param rank of who gets it @param members that give, all or one
std::vector<Move> moves_of(const Call& call, int rank, std::size_t members);
/// Of a reduction: where in what each gives the part begins that this member gets.
std::size_t reduced_from(const Call& call, int rank);

}  // namespace flopcast::live
