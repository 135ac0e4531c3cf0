// Names as people type them: how two spellings are told to be the same, and which names are near.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flopcast {

/// Lower case, without '-', '_', '.', and blanks: "H100-SXM" and "h100 sxm" have one key.
std::string name_key(std::string_view text);

/// Without blanks at either end.
std::string_view trim(std::string_view text);

/// Up to three of `names`, nearest to `text` first (edit distance of the keys, then names that begin
/// with it); none that has little in common with it.
std::vector<std::string> nearest_names(std::string_view text,
                                       const std::vector<std::string>& names);

/// "did you mean 'a', 'b' or 'c'?", or `otherwise` where nothing is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& names,
                         std::string_view otherwise);

}  // namespace flopcast
