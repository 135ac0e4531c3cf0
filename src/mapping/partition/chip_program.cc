#include "mapping/partition/chip_program.h"

namespace flopcast::mapping {

void link_producers(ChipProgram& program) {
  program.producers.assign(program.size(), KernelSet{});
  for (const ProgramTensor& tensor : program.tensors) {
    if (tensor.producer == ProgramTensor::kOutside) continue;
    tensor.uses.each([&](std::size_t kernel) {
      program.producers[kernel].add(static_cast<std::size_t>(tensor.producer));
    });
  }
}

}  // namespace flopcast::mapping
