#include "runtime/bench/nccl_ids.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/measure/call_vectors.h"
#include "runtime/transport/store/poll.h"
#include "runtime/transport/store/rendezvous.h"

namespace cerar::runtime {

NcclIds make_nccl_ids() {
  NcclIds ids{};
  for (cerarNcclId_t* id : {&ids.measured, &ids.ring}) require_success(cerarGetNcclId(id));
  return ids;
}

SharedNcclIds::SharedNcclIds(const std::string& store, int rank, int ranks)
    : store_(open_store(store, rank)), rank_(rank) {
  const auto timeout = read_environment().timeouts.meeting;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  if (rank == 0) ids_ = make_nccl_ids();
  const Meeting meeting = meet(*store_, rank, ranks, timeout);
  key_ = fmt::format("nccl-{}", meeting.id);
  if (rank == 0) {
    store_->set(key_, {reinterpret_cast<const char*>(&ids_), sizeof ids_});
    return;
  }
  const bool there = poll_until(deadline, [&] {
    const auto bytes = store_->get(key_);
    if (!bytes || bytes->size() != sizeof ids_) return false;
    std::memcpy(&ids_, bytes->data(), sizeof ids_);
    return true;
  });
  if (!there)
    throw Error(ErrorCode::timeout,
                fmt::format("rank 0 put no NCCL id into the store {} within {} ms; look at its output.",
                            store_->name(), timeout.count()));
}

SharedNcclIds::~SharedNcclIds() {
  try {
    if (rank_ == 0) store_->remove(key_);
    clean_up(*store_, rank_);
  } catch (const std::exception&) {  // what is left is overwritten by the next job
  }
}

}  // namespace cerar::runtime
