#pragma once

#include <memory>

#include "runtime/base/environment.h"
#include "runtime/gpu/nccl/nccl_api.h"
#include "runtime/gpu/transport.h"

namespace cerar::runtime {

/// Ranks of an NCCL communicator: rounds are a grouped send and receive. Works on a communicator of its own,
/// split from `comm`; it is aborted after a failure, `comm` is not, unless it was made to share its resources
/// with communicators split from it. Every rank of `comm` must call. Throws `unsupported` without the driver
/// or NCCL, `invalid_argument` for a communicator that NCCL does not know, `timeout` when ranks do not come.
std::unique_ptr<DeviceTransport> make_nccl_transport(NcclComm comm, const Timeouts& timeouts);

/// An id for the ranks of one communicator, made by one of them and carried to the others by the caller.
NcclUniqueId make_nccl_id();

/// A communicator made for this purpose, on `device`. Throws `timeout` when ranks do not come.
std::unique_ptr<DeviceTransport> make_nccl_transport(const NcclUniqueId& id, int rank, int ranks, int device,
                                                     const Timeouts& timeouts);

/// The number of ranks of a caller's communicator. Throws as above, and `unsupported` where another NCCL than
/// the one that is used here made it, or may have.
int nccl_ranks(NcclComm comm);

}  // namespace cerar::runtime
