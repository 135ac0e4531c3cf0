// Code for a GPU: cubins, PTX, and images of names alone.
#include "live/standin/code/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "live/standin/shim/fat_binary.h"

namespace flopcast::live {
namespace {

constexpr std::string_view kOwnMark = "// kernels by name, without code\n";
constexpr std::string_view kEntry = ".entry ";

/// Attributes of .nv.info sections, as cuobjdump and nvdisasm show them.
enum InfoAttribute : std::uint8_t {
  kMaxThreads = 0x05,
  kParameterInfo = 0x17,
};
/// The form of an attribute with a size and bytes; others have two bytes of value.
constexpr std::uint8_t kSized = 4;

template <typename T>
T read_at(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// A cubin. It comes without a length, so it is taken at its word as the driver takes it.
class Cubin {
 public:
  explicit Cubin(const void* code)
      : begin_(static_cast<const unsigned char*>(code)), head_(read_at<Elf64_Ehdr>(begin_)) {}

  Image read() const {
    Image image;
    image.complete = true;
    read_symbols(image);
    for (ImageKernel& kernel : image.kernels) read_sections(kernel);
    image.bytes = bytes();
    return image;
  }

 private:
  /// Up to the end of what it says that it has.
  std::size_t bytes() const {
    std::size_t end = head_.e_shoff + std::size_t{head_.e_shnum} * sizeof(Elf64_Shdr);
    end = std::max(end, head_.e_phoff + std::size_t{head_.e_phnum} * sizeof(Elf64_Phdr));
    for (std::size_t i = 0; i < head_.e_shnum; ++i) {
      const Elf64_Shdr own = section(i);
      if (own.sh_type != SHT_NOBITS) end = std::max<std::size_t>(end, own.sh_offset + own.sh_size);
    }
    return end;
  }
  Elf64_Shdr section(std::size_t index) const {
    return read_at<Elf64_Shdr>(begin_ + head_.e_shoff + index * sizeof(Elf64_Shdr));
  }
  const char* text(std::size_t table, std::size_t at) const {
    return reinterpret_cast<const char*>(begin_ + section(table).sh_offset + at);
  }
  std::string_view name(const Elf64_Shdr& of) const { return text(head_.e_shstrndx, of.sh_name); }

  void read_symbols(Image& image) const {
    for (std::size_t i = 0; i < head_.e_shnum; ++i) {
      const Elf64_Shdr table = section(i);
      if (table.sh_type != SHT_SYMTAB) continue;
      for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = read_at<Elf64_Sym>(begin_ + table.sh_offset + at);
        const int type = ELF64_ST_TYPE(symbol.st_info);
        const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
        if (is_local || symbol.st_shndx == SHN_UNDEF) continue;
        const std::string own = text(table.sh_link, symbol.st_name);
        if (type == STT_FUNC) image.kernels.push_back({.name = own});
        if (type == STT_OBJECT) image.variables.push_back({own, symbol.st_size});
      }
    }
  }

  void read_sections(ImageKernel& kernel) const {
    for (std::size_t i = 0; i < head_.e_shnum; ++i) {
      const Elf64_Shdr own = section(i);
      if (name(own) == ".nv.info." + kernel.name) read_info(own, kernel);
      if (name(own) == ".nv.shared." + kernel.name) kernel.shared = static_cast<int>(own.sh_size);
      // The upper eight bits of a code section's info are its registers a thread.
      if (name(own) == ".text." + kernel.name)
        kernel.registers = static_cast<int>(own.sh_info >> 24);
    }
  }

  void read_info(const Elf64_Shdr& own, ImageKernel& kernel) const {
    const unsigned char* at = begin_ + own.sh_offset;
    const unsigned char* const end = at + own.sh_size;
    std::map<std::uint16_t, std::size_t> parameters;  // by ordinal: they are told backwards
    while (at + 4 <= end) {
      const std::uint8_t form = at[0], attribute = at[1];
      const auto size = read_at<std::uint16_t>(at + 2);
      const unsigned char* const value = at + 4;
      at = form == kSized ? value + size : value;
      if (form != kSized || at > end) continue;
      if (attribute == kParameterInfo && size >= 12)
        parameters[read_at<std::uint16_t>(value + 4)] = read_at<std::uint32_t>(value + 8) >> 18;
      if (attribute == kMaxThreads && size >= 12) {
        kernel.max_threads =
            static_cast<int>(read_at<std::uint32_t>(value) * read_at<std::uint32_t>(value + 4) *
                             read_at<std::uint32_t>(value + 8));
      }
    }
    for (const auto& [ordinal, bytes] : parameters) kernel.parameters.push_back(bytes);
  }

  const unsigned char* begin_;
  Elf64_Ehdr head_;
};

/// Names behind ".entry" in PTX.
Image read_assembly(std::string_view text) {
  Image image;
  for (std::size_t at = text.find(kEntry); at != text.npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    const std::size_t end = std::min(text.find_first_of(" (\n\t", at), text.size());
    image.kernels.push_back({.name = std::string(text.substr(at, end - at))});
  }
  image.complete = !text.starts_with(kOwnMark);
  return image;
}

}  // namespace

std::optional<Image> read_image(const void* code) {
  if (!code) return std::nullopt;
  const auto* const bytes = static_cast<const unsigned char*>(code);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) return Cubin(code).read();
  if (is_fat_binary(code)) return Image();
  const auto is_text = [](unsigned char c) {
    return c == '\t' || c == '\n' || (c >= ' ' && c < 127);
  };
  if (!std::all_of(bytes, bytes + 4, is_text)) return std::nullopt;
  return read_assembly(static_cast<const char*>(code));
}

std::string make_image(const std::vector<std::string>& kernels) {
  std::string text(kOwnMark);
  for (const std::string& kernel : kernels) text.append(kEntry).append(kernel).append("\n");
  return text;
}

}  // namespace flopcast::live
