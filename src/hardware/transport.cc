#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "flopcast/hardware.h"

namespace flopcast {
namespace {

constexpr std::array<std::string_view, 6> kTransports = {"direct", "nvlink", "xgmi",
                                                         "pcie",   "rdma",   "sockets"};
constexpr std::array<std::string_view, 2> kAttachments = {"chip", "host"};

template <typename Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  const std::string key = name_key(text);
  const auto found =
      std::ranges::find_if(names, [&](std::string_view known) { return name_key(known) == key; });
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(Transport transport) {
  return kTransports[static_cast<std::size_t>(transport)];
}
std::string_view name(Attachment attachment) {
  return kAttachments[static_cast<std::size_t>(attachment)];
}
std::optional<Transport> parse_transport(std::string_view text) {
  return find<Transport>(kTransports, text);
}
std::optional<Attachment> parse_attachment(std::string_view text) {
  return find<Attachment>(kAttachments, text);
}

}  // namespace flopcast
