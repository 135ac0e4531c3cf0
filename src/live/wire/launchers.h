// How launchers of processes tell each of them which it is: variables of its environment.
#pragma once

namespace flopcast::live {

struct LauncherVariables {
  const char* rank;   ///< number of the process, from 0
  const char* ranks;  ///< how many there are
  const char* mark;   ///< set by the launcher alone, where people set the others themselves
  const char*
      copies;  ///< how many it has started at once; a batch script of Slurm's is one, however many tasks it may start
};

/// torchrun, Open MPI, MPICH, Slurm: the first that has numbered a process counts.
inline constexpr LauncherVariables kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

}  // namespace flopcast::live
