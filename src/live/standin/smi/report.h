// What nvidia-smi prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/standin/smi/device.h"

namespace flopcast::smi {

/// "csv,noheader,nounits"
struct Format {
  bool header = true, units = true;
};

/// A field that is not known: its name.
using Unknown = std::optional<std::string>;

/// --query-gpu and --query-compute-apps: a line for each device or process.
Unknown print_devices(const std::vector<Device>& devices, std::string_view fields,
                      const Format& format);
Unknown print_processes(const std::vector<Device>& devices, std::string_view fields,
                        const Format& format);
void print_list(const std::vector<Device>& devices);      ///< -L
void print_table(const std::vector<Device>& devices);     ///< without arguments
void print_details(const std::vector<Device>& devices);   ///< -q
void print_topology(const std::vector<Device>& devices);  ///< topo -m
/// "Sat Nov 28 22:40:19 2026", of the run
std::string now(const char* format);

std::vector<std::string_view> split(std::string_view text, char at);

}  // namespace flopcast::smi
