// nvidia-smi on a simulated machine: what programs and people ask most, by NVML. What it does not know it refuses by name.
#include <cstdio>
#include <string>
#include <string_view>

#include "live/standin/smi/report.h"

namespace flopcast::smi {
namespace {

constexpr int kUsage = 2, kNoDevice = 6;

constexpr const char* kHelp =
    "nvidia-smi of a simulated machine\n"
    "  nvidia-smi                       all devices\n"
    "  nvidia-smi -L                    their names\n"
    "  nvidia-smi -q                    what is known of each\n"
    "  nvidia-smi topo -m               how they are joined\n"
    "  nvidia-smi --query-gpu=F,... --format=csv[,noheader][,nounits]\n"
    "  nvidia-smi --query-compute-apps=F,... --format=csv[,noheader][,nounits]\n"
    "  -i N,...                         these devices alone, by number, UUID or bus\n";

enum class Page { kTable, kList, kDetails, kTopology, kDevices, kProcesses };

struct Request {
  Page page = Page::kTable;
  std::string fields, devices;
  Format format;
  bool csv = false;
};

int refuse(const std::string& what) {
  std::fprintf(stderr, "nvidia-smi: error: %s (nvidia-smi -h lists what is known)\n", what.c_str());
  return kUsage;
}

bool set_format(std::string_view text, Request& request) {
  for (const std::string_view word : split(text, ',')) {
    if (word == "csv") {
      request.csv = true;
    } else if (word == "noheader") {
      request.format.header = false;
    } else if (word == "nounits") {
      request.format.units = false;
    } else {
      return false;
    }
  }
  return true;
}

/// Words are "--name=value", "--name value" or "-n value".
class Words {
 public:
  Words(int count, char** words) : words_(words + 1, words + count) {}
  bool next() {
    if (at_ == words_.size()) return false;
    word = words_[at_++];
    const std::size_t equals = word.find('=');
    given_ = word.starts_with("--") && equals != word.npos;
    if (!given_) return true;
    value_ = word.substr(equals + 1);
    word.resize(equals);
    return true;
  }
  std::string value() {
    if (given_) return value_;
    return at_ < words_.size() ? words_[at_++] : std::string();
  }
  std::string word;

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  bool given_ = false;
  std::string value_;
};

/// @return 0, or what to end with
int read(Words& words, Request& request) {
  while (words.next()) {
    const std::string& word = words.word;
    if (word == "-L" || word == "--list-gpus") {
      request.page = Page::kList;
    } else if (word == "-q" || word == "--query") {
      request.page = Page::kDetails;
    } else if (word == "topo") {
      if (!words.next() || (words.word != "-m" && words.word != "--matrix"))
        return refuse("topo: '" + words.word + "' is not known");
      request.page = Page::kTopology;
    } else if (word == "--query-gpu") {
      request.page = Page::kDevices;
      request.fields = words.value();
    } else if (word == "--query-compute-apps") {
      request.page = Page::kProcesses;
      request.fields = words.value();
    } else if (word == "--format") {
      const std::string format = words.value();
      if (!set_format(format, request)) return refuse("--format: '" + format + "' is not known");
    } else if (word == "-i" || word == "--id") {
      request.devices = words.value();
    } else {
      return refuse("'" + word + "' is not known");
    }
  }
  const bool asks = request.page == Page::kDevices || request.page == Page::kProcesses;
  if (asks && !request.csv) return refuse("a query wants --format=csv");
  if (!asks && request.csv) return refuse("--format is of queries");
  return 0;
}

/// Those that are asked for; none if one of them is not there.
std::vector<Device> chosen(const std::string& names) {
  std::vector<Device> all, found;
  for (unsigned i = 0, count = Device::count(); i < count; ++i) all.emplace_back(i);
  if (names.empty()) return all;
  for (const std::string_view name : split(names, ',')) {
    std::size_t before = found.size();
    for (const Device& device : all) {
      const PciInfo pci = device.pci();
      if (name == std::to_string(device.index()) || name == device.uuid() || name == pci.id ||
          name == pci.legacy)
        found.push_back(device);
    }
    if (found.size() == before) return {};
  }
  return found;
}

int print(const Request& request) {
  const std::vector<Device> devices = chosen(request.devices);
  if (devices.empty()) {
    std::printf("No devices were found\n");
    return kNoDevice;
  }
  Unknown unknown;
  switch (request.page) {
    case Page::kTable:
      print_table(devices);
      break;
    case Page::kList:
      print_list(devices);
      break;
    case Page::kDetails:
      print_details(devices);
      break;
    case Page::kTopology:
      print_topology(devices);
      break;
    case Page::kDevices:
      unknown = print_devices(devices, request.fields, request.format);
      break;
    case Page::kProcesses:
      unknown = print_processes(devices, request.fields, request.format);
      break;
  }
  if (!unknown) return 0;
  std::printf("Field \"%s\" is not a valid field to query.\n", unknown->c_str());
  return kUsage;
}

}  // namespace
}  // namespace flopcast::smi

int main(int count, char** words) {
  using namespace flopcast::smi;
  if (count == 2 &&
      (std::string_view(words[1]) == "-h" || std::string_view(words[1]) == "--help")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  Words all(count, words);
  Request request;
  if (const int status = read(all, request); status != 0) return status;
  return print(request);
}
