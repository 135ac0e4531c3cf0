// Rows of a file as they come, to blocks and their places.
#pragma once

#include <functional>
#include <string_view>

#include "trace/pack/index.h"

namespace flopcast::trace {

/// Takes bytes of a pack. False where they cannot be kept.
using PackSink = std::function<bool(std::string_view)>;

/// Writes blocks of one file one after the other; places in them count from the first byte.
class BlockWriter {
 public:
  BlockWriter(PackSink sink, PackMember& member) : sink_(std::move(sink)), member_(member) {}

  /// Writes the rows of `raw` as a block, if there are any, and forgets them.
  bool write(RawTrace& raw, bool python);

 private:
  PackSink sink_;
  PackMember& member_;
  std::uint64_t written_ = 0;
};

}  // namespace flopcast::trace
