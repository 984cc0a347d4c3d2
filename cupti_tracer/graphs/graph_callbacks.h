// CUPTI's callbacks about graphs: captures, nodes, execs and what changes them, told to GraphRegistry.
// Called from core/callbacks.cc on the application's threads; its rules hold here too.
#pragma once

#include <cupti.h>

namespace hotproof::tracer {

class Session;

// A driver call that makes or changes graphs is entered or has returned; other calls are ignored.
void OnGraphCallEntered(Session& session, CUpti_CallbackId id);
void OnGraphCallExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data);
// A resource callback about a graph, a node or an exec; others are ignored.
void OnGraphResource(Session& session, CUpti_CallbackId id, const CUpti_GraphData& graph);

}  // namespace hotproof::tracer
