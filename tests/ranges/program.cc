// ranges_program SCENARIO: launches with different grids in ranges of every kind that NVTX and hotproof.h
// know, and prints what the calls return. Launches are told apart by their grid.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "cupti_tracer/include/hotproof.h"
#include "tests/device/probe/session.h"

extern "C" int ModulePush(const char* name);
extern "C" int ModulePop();

namespace {

nvtxEventAttributes_t Event() {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return event;
}
nvtxEventAttributes_t Event(const char* text) {
  nvtxEventAttributes_t event = Event();
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}
nvtxEventAttributes_t Event(nvtxStringHandle_t text) {
  nvtxEventAttributes_t event = Event();
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = text;
  return event;
}

void Stacks(probe::Session& s) {
  s.Count(s.stream, 1);  // in no range
  std::printf("push %d\n", nvtxRangePushA("outer"));
  const nvtxDomainHandle_t engine = nvtxDomainCreateA("engine");
  const nvtxStringHandle_t registered = nvtxDomainRegisterStringA(engine, "gemm");
  nvtxEventAttributes_t gemm = Event(registered);
  gemm.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  gemm.payload.llValue = -5;
  std::printf("push %d\n", nvtxDomainRangePushEx(engine, &gemm));
  s.Count(s.stream, 2);
  std::printf("pop %d\n", nvtxDomainRangePop(engine));
  s.Count(s.stream, 3);
  // The default domain's range ends while one of another domain, begun later, goes on.
  nvtxDomainRangePushEx(engine, &gemm);
  std::printf("pop %d\n", nvtxRangePop());
  s.Count(s.stream, 4);
  nvtxDomainRangePop(engine);
  std::printf("push %d\n", nvtxRangePushW(L"gr\u00f6\u00dfe \U0001F600"));
  nvtxEventAttributes_t wide = Event();
  wide.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  wide.message.unicode = L"w";
  wide.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  wide.payload.fValue = 0.5f;
  nvtxRangePushEx(&wide);
  s.Count(s.stream, 5);
  nvtxRangePop();
  nvtxRangePop();
  std::printf("pop of none %d\n", nvtxRangePop());
  std::printf("module %d\n", ModulePush("module"));
  nvtxEventAttributes_t unnamed = Event();
  nvtxRangePushEx(&unnamed);
  hotproof_push_if_loaded("torch op");
  s.Count(s.stream, 6);
  nvtxRangePop();  // NVTX's, not the innermost one
  hotproof_pop_if_loaded();
  ModulePop();
  nvtxNameCategoryA(3, "category");
  nvtxMarkA("a mark");
  nvtxDomainDestroy(engine);
  nvtxPayloadSchemaAttr_t schema{};
  nvtxPayloadSchemaRegister(nullptr, &schema);
  s.Count(s.stream, 1);
}

void Threads(probe::Session& s) {
  nvtxEventAttributes_t request = Event("request");
  request.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  request.payload.uiValue = 7;
  const nvtxRangeId_t id = nvtxRangeStartEx(&request);
  const nvtxRangeId_t second = nvtxDomainRangeStartEx(nvtxDomainCreateA("server"), &request);
  std::printf("ids differ %d\n", id != second);
  s.Count(s.stream, 1);
  std::thread([&] {
    s.Use();
    s.Count(s.stream, 2);
    nvtxRangePushA("worker");
    s.Count(s.stream, 3);
    nvtxRangeEnd(id);  // started by the other thread
    s.Count(s.stream, 4);
    nvtxRangePop();
  }).join();
  s.Count(s.stream, 5);
  nvtxRangeEnd(second);
  nvtxRangeEnd(12345);  // never started
  s.Count(s.stream, 6);
  for (int i = 0; i < 12; ++i) nvtxRangeStartA(("open " + std::to_string(i)).c_str());
  s.Count(s.stream, 7);
}

void Graphs(probe::Session& s) {
  s.Begin(s.stream);
  for (const char* layer : {"layer 0", "layer 1"}) {
    nvtxRangePushA(layer);
    s.Count(s.stream, 1);  // one site, two nodes
    nvtxRangePop();
  }
  s.Count(s.stream, 1);
  const CUgraphExec exec = s.Instantiate(s.EndCapture(s.stream));
  nvtxRangePushA("replay");
  for (int i = 0; i < 3; ++i) s.Launch(exec, s.stream);
  nvtxRangePop();
  CUgraph graph;
  CHECK(CU(cuGraphCreate)(&graph, 0));
  nvtxRangePushA("by hand");
  CUgraphNode node;
  CUDA_KERNEL_NODE_PARAMS params = s.CountNode(2);
  CHECK(CU(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &params));
  nvtxRangePop();
  s.Launch(s.Instantiate(graph), s.stream);
}

void Limits(probe::Session& s) {
  for (int i = 0; i < 70; ++i) nvtxRangePushA("deep");
  s.Count(s.stream, 1);
  for (int i = 0; i < 70; ++i) nvtxRangePop();
  const std::string name(300, 'n');
  nvtxRangePushA(name.c_str());
  s.Count(s.stream, 2);
  nvtxRangePop();
  nvtxRangePushA("loop");
  for (int i = 0; i < 600; ++i) {
    nvtxRangePushA(("step " + std::to_string(i)).c_str());
    nvtxRangePushA("inner");
    s.Count(s.stream, 3);
    nvtxRangePop();
    nvtxRangePop();
  }
  for (int i = 0; i < 40; ++i) {
    nvtxEventAttributes_t event = Event("payload");
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -i;
    nvtxRangePushEx(&event);
    s.Count(s.stream, 4);
    nvtxRangePop();
  }
  nvtxRangePop();
}

// torch's observer ends its pushes with numbers; what others end so stays as it is.
void Numbers(probe::Session& s) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("domain, seq = 1");
  nvtxEventAttributes_t registered = Event(nvtxDomainRegisterStringA(domain, "registered, seq = 2"));
  const nvtxRangeId_t id = nvtxRangeStartA("started, seq = 3");
  nvtxDomainRangePushEx(domain, &registered);
  nvtxRangePushA("aten::mm, seq = 4, op_id = 5");
  s.Count(s.stream, 1);
  nvtxRangePop();
  nvtxDomainRangePop(domain);
  nvtxRangeEnd(id);
}

// A child that goes on using NVTX, while another thread of the parent does.
void Fork(probe::Session& s) {
  nvtxRangePushA("parent");
  bool done = false;
  std::thread other([&] {
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
      nvtxRangeEnd(nvtxRangeStartA("busy"));
      nvtxDomainRegisterStringA(nullptr, "busy string");
    }
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      nvtxRangePushA("child");
      nvtxRangeEnd(nvtxRangeStartA("child's"));
      nvtxDomainRegisterStringA(nvtxDomainCreateA("child's"), "child's");
      nvtxRangePop();
      nvtxRangePop();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("child %d\n", status);
  }
  __atomic_store_n(&done, true, __ATOMIC_RELEASE);
  other.join();
  s.Count(s.stream, 1);
  nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(probe::Session&)>> scenarios = {
      {"stacks", Stacks}, {"threads", Threads}, {"graphs", Graphs}, {"limits", Limits}, {"fork", Fork},
      {"numbers", Numbers}};
  if (argc != 2 || !scenarios.contains(argv[1])) return 64;
  probe::Session session;
  scenarios.at(argv[1])(session);
  std::printf("counted %llu\n", static_cast<unsigned long long>(session.Counted()));
  return 0;
}
