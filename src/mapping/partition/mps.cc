#include "mapping/partition/mps.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>

namespace flopcast::mapping {
namespace {

constexpr double kNanoseconds = 1e9, kMegabytes = 1e-6;

using Terms = std::map<std::string, double>;  // column -> coefficient; sorted, so output is too

/// Rows in the order they were added; columns sorted by name.
class MpsFile {
 public:
  /// sum terms >= least
  void at_least(const Terms& terms, double least) { add('G', terms, least); }
  void at_most(const Terms& terms, double most) { add('L', terms, most); }
  void minimise(const std::string& column, double cost) { columns_[column]["COST"] = cost; }
  void binary(const std::string& column) { bounds_ += fmt::format(" BV BND {}\n", column); }
  void fix(const std::string& column, double value) {
    bounds_ += fmt::format(" FX BND {} {}\n", column, value);
  }

  std::string text(const std::string& name) const {
    std::string out = fmt::format("NAME {}\nROWS\n N COST\n", name);
    for (std::size_t i = 0; i < kinds_.size(); ++i) out += fmt::format(" {} R{}\n", kinds_[i], i);
    out += "COLUMNS\n";
    for (const auto& [column, rows] : columns_) {
      for (const auto& [row, value] : rows) {
        fmt::format_to(std::back_inserter(out), " {} {} {}\n", column, row, value);
      }
    }
    out += "RHS\n";
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      if (limits_[i] != 0) {
        fmt::format_to(std::back_inserter(out), " RHS R{} {}\n", i, limits_[i]);
      }
    }
    return out + "BOUNDS\n" + bounds_ + "ENDATA\n";
  }

 private:
  void add(char kind, const Terms& terms, double limit) {
    const std::string row = fmt::format("R{}", kinds_.size());
    kinds_.push_back(kind);
    limits_.push_back(limit);
    for (const auto& [column, value] : terms) {
      if (value != 0) columns_[column][row] += value;
    }
  }

  std::vector<char> kinds_;
  std::vector<double> limits_;
  std::map<std::string, std::map<std::string, double>> columns_;
  std::string bounds_;
};

class PassWriter {
 public:
  PassWriter(const ChipProgram& program, std::size_t pass, unsigned partitions, MpsFile& file)
      : program_(program), pass_(pass), partitions_(partitions), file_(file) {}

  void write() {
    for (std::size_t i = 0; i < program_.size(); ++i) write_kernel(i);
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) write_tensor(t);
    for (unsigned p = 0; p < partitions_; ++p) write_partition(p);
  }

 private:
  std::string done(std::size_t kernel, unsigned p) const {
    return fmt::format("y{}_{}_{}", pass_, kernel, p);
  }
  std::string of(const char* what, std::size_t tensor, unsigned p) const {
    return fmt::format("{}{}_{}_{}", what, pass_, tensor, p);
  }
  std::string time(unsigned p) const { return fmt::format("T{}_{}", pass_, p); }
  /// terms += factor A[kernel, p]
  void add_in(Terms& terms, std::size_t kernel, unsigned p, double factor) const {
    terms[done(kernel, p)] += factor;
    if (p > 0) terms[done(kernel, p - 1)] -= factor;
  }

  void write_kernel(std::size_t i) {
    for (unsigned p = 0; p + 1 < partitions_; ++p) {
      file_.binary(done(i, p));
      file_.at_least({{done(i, p + 1), 1}, {done(i, p), -1}}, 0);
      program_.producers[i].each([&](std::size_t u) {
        file_.at_least({{done(u, p), 1}, {done(i, p), -1}}, 0);
      });
    }
    file_.fix(done(i, partitions_ - 1), 1);
  }

  void write_tensor(std::size_t t) {
    const ProgramTensor& tensor = program_.tensors[t];
    const bool made = tensor.producer != ProgramTensor::kOutside;
    const auto u = made ? static_cast<std::size_t>(tensor.producer) : 0;
    for (unsigned p = 0; p < partitions_; ++p) {
      if (made && tensor.output) {
        Terms store{{of("S", t, p), 1}};
        add_in(store, u, p, -1);
        file_.at_least(store, 0);
      }
      tensor.uses.each([&](std::size_t v) { write_use(t, made, u, v, p); });
    }
  }

  void write_use(std::size_t t, bool made, std::size_t u, std::size_t v, unsigned p) {
    Terms load{{of("L", t, p), 1}};
    add_in(load, v, p, -1);
    if (made) {
      add_in(load, u, p, 1);
      Terms store{{of("S", t, p), 1}};
      add_in(store, u, p, -1);
      store[done(v, p)] += 1;
      file_.at_least(store, 0);
      Terms held{{of("H", t, p), 1}};
      add_in(held, u, p, -1);
      add_in(held, v, p, -1);
      file_.at_least(held, -1);
    }
    file_.at_least(load, 0);
    if (!std::isfinite(program_.live_bytes)) return;
    Terms live{{of("V", t, p), 1}};
    if (p > 0) live[done(v, p - 1)] += 1;
    if (made && p > 0) live[done(u, p - 1)] -= 1;
    file_.at_least(live, made ? 0 : 1);
  }

  void write_partition(unsigned p) {
    Terms compute, memory, network, sram, live;
    for (std::size_t i = 0; i < program_.size(); ++i) {
      const ProgramKernel& kernel = program_.kernels[i];
      add_in(compute, i, p, kernel.compute_s * kNanoseconds);
      add_in(network, i, p, kernel.network_s * kNanoseconds);
      add_in(memory, i, p, kernel.traffic_bytes / program_.memory_bandwidth * kNanoseconds);
      add_in(sram, i, p, kernel.weight_bytes * kMegabytes);
    }
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const ProgramTensor& tensor = program_.tensors[t];
      const double pass_ns = tensor.bytes / program_.memory_bandwidth * kNanoseconds;
      for (const char* way : {"S", "L"}) {
        memory[of(way, t, p)] += pass_ns;
        sram[of(way, t, p)] += tensor.stream_bytes * kMegabytes;
      }
      sram[of("H", t, p)] += tensor.held_bytes * kMegabytes;
      live[of("S", t, p)] += tensor.bytes * kMegabytes;
      live[of("V", t, p)] += tensor.bytes * kMegabytes;
    }
    write_time(p, compute, memory, network);
    if (std::isfinite(program_.sram_bytes)) file_.at_most(sram, program_.sram_bytes * kMegabytes);
    if (std::isfinite(program_.live_bytes)) file_.at_most(live, program_.live_bytes * kMegabytes);
  }

  void write_time(unsigned p, const Terms& compute, const Terms& memory, const Terms& network) {
    file_.minimise(time(p), 1);
    const auto bound = [&](std::initializer_list<const Terms*> parts) {
      Terms row{{time(p), 1}};
      for (const Terms* part : parts) {
        for (const auto& [column, value] : *part) row[column] -= value;
      }
      file_.at_least(row, 0);
    };
    switch (program_.overlap) {
      case MappingOverlap::kPerfect:
        bound({&compute});
        bound({&memory});
        bound({&network});
        break;
      case MappingOverlap::kComputeMemory:
        bound({&compute, &network});
        bound({&memory, &network});
        break;
      case MappingOverlap::kNone:
        bound({&compute, &memory, &network});
        break;
    }
  }

  const ChipProgram& program_;
  const std::size_t pass_;
  const unsigned partitions_;
  MpsFile& file_;
};

}  // namespace

Result<std::string> partition_mps(const std::vector<PassProgram>& passes, const std::string& name,
                                  unsigned partitions) {
  MpsFile file;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const ChipProgram& program = passes[i].program;
    if (!program.curves.empty()) {
      return Diagnostic{ErrorCode::kUsage, name, "counting cycles is not linear",
                        "give a utilisation (--utilisation 0.9)"};
    }
    for (const ProgramKernel& kernel : program.kernels) {
      if (kernel.weight_bytes > program.sram_bytes) {
        return Diagnostic{ErrorCode::kUsage, name,
                          "a kernel's weights pass SRAM in pieces, which is not linear",
                          "take more SRAM or a higher tensor-parallel degree"};
      }
    }
    PassWriter(program, i, partitions, file).write();
  }
  std::string label = name;
  for (char& c : label) {
    if (c == ' ') c = '_';
  }
  return file.text(label);
}

}  // namespace flopcast::mapping
