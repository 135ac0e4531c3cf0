// What stands behind the codes of an NCCL or RCCL topology: classes and identities of PCI devices,
// generations of links.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <string_view>

namespace flopcast::hardware {

/// What a <pci> is.
enum class PciDevice : std::uint8_t { kBridge, kGpu, kNic, kOther };
/// By its children; without any by its PCI class, as NCCL does: 0x03.... is a display controller and
/// 0x120000 an accelerator, 0x02.... a network controller.
PciDevice pci_device(const pugi::xml_node& pci);

/// The catalogue's name of a GPU's chip, by vendor and device of its <pci>, else by "gcn" of its <gpu>;
/// empty where neither tells.
std::string_view chip_of(const pugi::xml_node& pci);

/// The catalogue's name of the links of a GPU: <nvlink> by compute capability, <xgmi> by gcn.
std::string_view link_of(const pugi::xml_node& gpu);

}  // namespace flopcast::hardware
