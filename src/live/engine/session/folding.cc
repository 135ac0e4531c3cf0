#include "live/engine/session/folding.h"

#include <algorithm>

#include "live/wire/ranks.h"

namespace flopcast::live {

namespace {

using Ranks = std::vector<std::int32_t>;

constexpr char kNext = '|';  // between groups of ranks in a text

bool anybody_is_there(const Folding& folding, const Ranks& group) {
  return std::any_of(group.begin(), group.end(),
                     [&](std::int32_t rank) { return folding.is_there(rank); });
}

bool are_like(const Folding& folding, const Ranks& a, const Ranks& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [&](std::int32_t one, std::int32_t other) { return folding.are_alike(one, other); });
}

/// Nodes of the group's ranks, each once.
std::vector<std::uint32_t> nodes_of(const Ranks& group, std::uint32_t node) {
  std::vector<std::uint32_t> nodes;
  for (const std::int32_t rank : group) nodes.push_back(static_cast<std::uint32_t>(rank) / node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

bool share(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&b](std::uint32_t one) {
    return std::binary_search(b.begin(), b.end(), one);
  });
}

}  // namespace

/// A group within one node disturbs nobody elsewhere; what it does to others of its node, one does that is there.
std::vector<Ranks> images_of(const Folding& folding, const Ranks& group, std::uint32_t node) {
  std::vector<Ranks> images;
  const std::vector<std::uint32_t> own = nodes_of(group, node);
  for (const std::vector<Ranks>& family : folding.families) {
    if (std::find(family.begin(), family.end(), group) == family.end()) continue;
    const auto first = std::find_if(family.begin(), family.end(), [&](const Ranks& other) {
      return anybody_is_there(folding, other) && are_like(folding, group, other);
    });
    if (first == family.end() || *first != group) return {};  // another one brings them
    for (const Ranks& other : family) {
      if (anybody_is_there(folding, other) || !are_like(folding, group, other)) continue;
      const std::vector<std::uint32_t> nodes = nodes_of(other, node);
      if (nodes.size() > 1 && (folding.shares_tiers || share(own, nodes))) images.push_back(other);
    }
    break;
  }
  return images;
}

std::string text_of(const Folding& folding) {
  if (folding.alone) return "alone";
  std::vector<std::int32_t> there;
  std::vector<std::vector<std::int32_t>> alike;
  for (std::size_t rank = 0; rank < folding.alike.size(); ++rank) {
    const std::size_t number = folding.alike[rank];
    if (folding.there[rank]) there.push_back(static_cast<std::int32_t>(rank));
    alike.resize(std::max(alike.size(), number + 1));
    alike[number].push_back(static_cast<std::int32_t>(rank));
  }
  return text_of_ranks(there) + kNext + text_of_groups(alike);
}

std::string text_of_groups(const std::vector<Ranks>& groups) {
  std::string text;
  for (const Ranks& ranks : groups) {
    if (!text.empty()) text += kNext;
    text += text_of_ranks(ranks);
  }
  return text;
}

std::optional<std::vector<Ranks>> groups_of_text(std::string_view text, std::size_t ranks) {
  std::vector<Ranks> groups;
  std::vector<bool> taken(ranks, false);
  for (bool more = true; more;) {
    const std::size_t end = std::min(text.find(kNext), text.size());
    std::optional<Ranks> group = ranks_of_text(text.substr(0, end), ranks);
    if (!group || group->empty()) return std::nullopt;
    for (const std::int32_t rank : *group) {
      const auto at = static_cast<std::size_t>(rank);
      if (at >= ranks || taken[at]) return std::nullopt;
      taken[at] = true;
    }
    groups.push_back(std::move(*group));
    more = end < text.size();
    if (more) text.remove_prefix(end + 1);
  }
  return groups;
}

std::optional<Folding> folding_of(std::string_view text, std::size_t ranks) {
  const std::size_t end = text.find(kNext);
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<std::vector<Ranks>> there = groups_of_text(text.substr(0, end), ranks);
  const std::optional<std::vector<Ranks>> kinds = groups_of_text(text.substr(end + 1), ranks);
  if (!there || !kinds) return std::nullopt;
  Folding folding;
  folding.there.assign(ranks, false);
  for (const std::int32_t rank : there->front())
    folding.there[static_cast<std::size_t>(rank)] = true;
  folding.alike.assign(ranks, 0);
  std::size_t known = 0;
  for (std::uint32_t number = 0; number < kinds->size(); ++number) {
    const Ranks& kind = (*kinds)[number];
    if (!anybody_is_there(folding, kind)) return std::nullopt;
    for (const std::int32_t rank : kind) folding.alike[static_cast<std::size_t>(rank)] = number;
    known += kind.size();
  }
  if (known != ranks) return std::nullopt;
  return folding;
}

}  // namespace flopcast::live
