#pragma once

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/streams/graph.h"

namespace software_gpu {

Handles<CuGraph, const Graph>& graphs();
Handles<CuGraphExec, GraphExec>& graph_execs();

}  // namespace software_gpu
