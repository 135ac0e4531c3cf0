// Functions whose work follows from their arguments: what the generated ones (src/live/standin/api/generate.py) say.
#pragma once

struct FlopcastWork {
  const char *name, *work;
  void* handle;
  int type;  ///< cudaDataType_t
  long m, n, k, batch;
  int side;   ///< 0: the triangular or symmetric matrix is on the left
  int times;  ///< as often
  int* info;  ///< on the device, one a matrix
  int* now;   ///< on the host
};

/// Puts it on the stream of its handle. @return the success of every library
int flopcast_modelled(const FlopcastWork& work);
