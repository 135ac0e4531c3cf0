// Which of several choices are taken where the scores that decide it are tainted.
#pragma once

#include <ATen/ATen.h>

namespace flopcast::plugin {

/// For each row, `count` different ones of `among` choices: all equally often, or by a Zipf law whose favourites come
/// first (settings().skew). The same for the same sizes.
/// @return [rows, count], 64-bit
at::Tensor route(std::int64_t rows, std::int64_t among, std::int64_t count);

}  // namespace flopcast::plugin
