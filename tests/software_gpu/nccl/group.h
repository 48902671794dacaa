#pragma once

#include "tests/software_gpu/nccl/communicator.h"

namespace software_nccl {

/// The calling thread's open group: tasks are kept until it ends.
void start_group();
NcclResult end_group();
/// A task of the open group, or a group of its own.
NcclResult enqueue(NcclComm comm, const Task& task, CuStream stream);

}  // namespace software_nccl
