#include "live/setup/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

constexpr std::uint16_t kHidden = 0x8000;  // bit of a version's number

Diagnostic no_library(const std::filesystem::path& path, std::string_view what) {
  return {ErrorCode::kBadInput, path.string(), std::string(what),
          "expected a shared library for 64-bit Linux: install PyTorch again"};
}

/// A file as memory; every look into it is checked.
class ElfFile {
 public:
  static std::optional<ElfFile> open(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct ::stat facts {};
    if (!file || ::fstat(file.get(), &facts) != 0 || facts.st_size <= 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED) return std::nullopt;
    return ElfFile({static_cast<const char*>(at), size});
  }
  ElfFile(ElfFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  ElfFile& operator=(ElfFile&&) = delete;
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  template <typename T>
  std::optional<T> at(std::size_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  /// Up to its end; empty where it has none.
  std::string_view text(std::size_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest(bytes_.data() + offset, bytes_.size() - offset);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
  }

 private:
  explicit ElfFile(std::span<const char> bytes) : bytes_(bytes) {}
  std::span<const char> bytes_;
};

/// Sections that speak of symbols.
struct Sections {
  std::map<std::uint32_t, Elf64_Shdr> by_type;
  std::vector<Elf64_Shdr> all;

  const Elf64_Shdr* of(std::uint32_t type) const {
    const auto found = by_type.find(type);
    return found == by_type.end() ? nullptr : &found->second;
  }
  /// Where the texts of a section begin.
  std::size_t texts_of(const Elf64_Shdr& section) const {
    return section.sh_link < all.size() ? all[section.sh_link].sh_offset : ~std::size_t{0};
  }
};

std::optional<Sections> sections_of(const ElfFile& file) {
  const auto head = file.at<Elf64_Ehdr>(0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
      head->e_type != ET_DYN)
    return std::nullopt;
  Sections sections;
  for (std::size_t i = 0; i < head->e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    sections.all.push_back(*section);
    sections.by_type.emplace(section->sh_type, *section);
  }
  return sections;
}

using VersionNames = std::map<std::uint16_t, std::string>;

/// Of versions that the library asks of others.
void read_wanted_versions(const ElfFile& file, const Sections& sections, VersionNames& names) {
  const Elf64_Shdr* section = sections.of(SHT_GNU_verneed);
  if (!section) return;
  const std::size_t texts = sections.texts_of(*section);
  std::size_t at = section->sh_offset;
  for (std::uint32_t i = 0; i < section->sh_info; ++i) {
    const auto need = file.at<Elf64_Verneed>(at);
    if (!need) return;
    std::size_t part = at + need->vn_aux;
    for (unsigned k = 0; k < need->vn_cnt; ++k) {
      const auto version = file.at<Elf64_Vernaux>(part);
      if (!version) return;
      names[version->vna_other & ~kHidden] = file.text(texts + version->vna_name);
      part += version->vna_next;
    }
    at += need->vn_next;
  }
}

/// Of versions that it has itself.
void read_own_versions(const ElfFile& file, const Sections& sections, VersionNames& names) {
  const Elf64_Shdr* section = sections.of(SHT_GNU_verdef);
  if (!section) return;
  const std::size_t texts = sections.texts_of(*section);
  std::size_t at = section->sh_offset;
  for (std::uint32_t i = 0; i < section->sh_info; ++i) {
    const auto own = file.at<Elf64_Verdef>(at);
    const auto name = own ? file.at<Elf64_Verdaux>(at + own->vd_aux) : std::nullopt;
    if (!name) return;
    if ((own->vd_flags & VER_FLG_BASE) == 0)
      names[own->vd_ndx & ~kHidden] = file.text(texts + name->vda_name);
    at += own->vd_next;
  }
}

}  // namespace

Result<std::vector<DynamicSymbol>> dynamic_symbols(const std::filesystem::path& library) {
  const std::optional<ElfFile> file = ElfFile::open(library);
  if (!file) return no_library(library, "cannot be read");
  const std::optional<Sections> sections = sections_of(*file);
  const Elf64_Shdr* table = sections ? sections->of(SHT_DYNSYM) : nullptr;
  if (!table) return no_library(library, "is no shared library");
  VersionNames names;
  read_wanted_versions(*file, *sections, names);
  read_own_versions(*file, *sections, names);
  const Elf64_Shdr* versions = sections->of(SHT_GNU_versym);
  const std::size_t texts = sections->texts_of(*table);
  std::vector<DynamicSymbol> symbols;
  for (std::size_t i = 1; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = file->at<Elf64_Sym>(table->sh_offset + i * sizeof(Elf64_Sym));
    if (!symbol) return no_library(library, "ends inside its symbols");
    const auto version = versions ? file->at<std::uint16_t>(versions->sh_offset + 2 * i)
                                  : std::optional<std::uint16_t>();
    const auto name = names.find(version.value_or(0) & static_cast<std::uint16_t>(~kHidden));
    symbols.push_back({std::string(file->text(texts + symbol->st_name)),
                       name == names.end() ? std::string() : name->second,
                       symbol->st_shndx != SHN_UNDEF, ELF64_ST_BIND(symbol->st_info) == STB_WEAK});
  }
  return symbols;
}

}  // namespace flopcast::live
