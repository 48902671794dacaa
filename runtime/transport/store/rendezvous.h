#pragma once

#include <chrono>
#include <string>

#include "runtime/transport/store/store.h"

namespace cerar::runtime {

struct Meeting {
  std::string id;            ///< fresh for each meeting; prefix for what the job's ranks tell each other
  bool one_machine = false;  ///< all ranks run on one machine and share its loopback interface
};

/// Brings `ranks` processes together over a store, whatever a dead job left in it: each rank says hello with
/// a fresh nonce; rank 0 keeps a roster of the nonces, with a fresh id whenever one changes; a rank
/// acknowledges the id of a roster that holds its own nonce; when every acknowledgement is right, the roster
/// says go. Throws `timeout` naming the ranks that did not come: rank 0 knows them all and tells those that
/// came.
Meeting meet(Store& store, int rank, int ranks, std::chrono::milliseconds timeout);

/// Removes what this rank wrote. Call it when all ranks have met and need the meeting's keys no more.
void clean_up(Store& store, int rank);

}  // namespace cerar::runtime
