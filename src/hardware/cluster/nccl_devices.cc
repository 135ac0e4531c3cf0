#include "hardware/cluster/nccl_devices.h"

#include <algorithm>
#include <array>

namespace flopcast::hardware {
namespace {

struct PciIdentity {
  std::string_view vendor, device, chip;
};
// The PCI ID repository (pci-ids.ucw.cz): vendors 10de NVIDIA, 1002 AMD.
constexpr PciIdentity kChips[] = {
    {"0x10de", "0x1db1", "v100-sxm2-16g"},
    {"0x10de", "0x1db5", "v100-sxm2-32g"},
    {"0x10de", "0x20b0", "a100-sxm-40g"},
    {"0x10de", "0x20b2", "a100-sxm-80g"},
    {"0x10de", "0x20f1", "a100-pcie-40g"},
    {"0x10de", "0x20b5", "a100-pcie-80g"},
    {"0x10de", "0x20b7", "a30"},
    {"0x10de", "0x2235", "a40"},
    {"0x10de", "0x2330", "h100-sxm"},
    {"0x10de", "0x2331", "h100-pcie"},
    {"0x10de", "0x2335", "h200-sxm"},
    {"0x10de", "0x2901", "b200-sxm"},
    {"0x10de", "0x27b8", "l4"},
    {"0x10de", "0x26b9", "l40s"},
    {"0x1002", "0x7408", "mi250x-gcd"},
    {"0x1002", "0x740c", "mi250x-gcd"},
    {"0x1002", "0x740f", "mi210"},
    {"0x1002", "0x74a1", "mi300x"},
    {"0x1002", "0x74a5", "mi325x"},
    {"0x1002", "0x75a3", "mi355x"},
};

struct Gcn {
  std::string_view
      prefix;  ///< of the attribute without "gfx"; older files have decimals: 910 is 90a
  std::string_view chip, link;
};
constexpr Gcn kGcn[] = {
    {"906", "", "infinity-fabric-2"},           {"908", "", "infinity-fabric-2"},
    {"90a", "mi250x-gcd", "infinity-fabric-3"}, {"910", "mi250x-gcd", "infinity-fabric-3"},
    {"94", "mi300x", "infinity-fabric-4"},      {"95", "mi355x", "infinity-fabric-5"},
};

const Gcn* find_gcn(const pugi::xml_node& gpu) {
  std::string_view text = gpu.attribute("gcn").as_string();
  if (text.starts_with("gfx")) text.remove_prefix(3);
  const auto* found = std::find_if(std::begin(kGcn), std::end(kGcn), [&](const Gcn& known) {
    return text.starts_with(known.prefix);
  });
  return found == std::end(kGcn) ? nullptr : found;
}

std::string_view nvlink_of(int compute_capability) {
  if (compute_capability >= 100) return "nvlink5";
  if (compute_capability >= 90) return "nvlink4";
  if (compute_capability >= 80) return "nvlink3";
  return compute_capability >= 70 ? "nvlink2" : "nvlink1";
}

}  // namespace

PciDevice pci_device(const pugi::xml_node& pci) {
  if (pci.child("gpu")) return PciDevice::kGpu;
  if (pci.child("nic")) return PciDevice::kNic;
  if (pci.child("pci")) return PciDevice::kBridge;
  const std::string_view code = pci.attribute("class").as_string();
  if (code.starts_with("0x03") || code == "0x120000") return PciDevice::kGpu;
  if (code.starts_with("0x02")) return PciDevice::kNic;
  return PciDevice::kOther;
}

std::string_view chip_of(const pugi::xml_node& pci) {
  const std::string_view vendor = pci.attribute("vendor").as_string();
  const std::string_view device = pci.attribute("device").as_string();
  const auto* found = std::find_if(
      std::begin(kChips), std::end(kChips),
      [&](const PciIdentity& known) { return known.vendor == vendor && known.device == device; });
  if (found != std::end(kChips)) return found->chip;
  const Gcn* gcn = find_gcn(pci.child("gpu"));
  return gcn == nullptr ? std::string_view() : gcn->chip;
}

std::string_view link_of(const pugi::xml_node& gpu) {
  const Gcn* gcn = find_gcn(gpu);
  return gcn == nullptr ? nvlink_of(gpu.attribute("sm").as_int()) : gcn->link;
}

}  // namespace flopcast::hardware
