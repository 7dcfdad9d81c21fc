// Fibers: threads that hand over to each other by name, without a system call. Each has a stack of its own. They are
// the coroutines of Conway: Design of a Separable Transition-Diagram Compiler, 1963.
#pragma once

#include <stdint.h>

namespace emulator {

// A fiber that does not run: where its registers are, on its own stack.
using Fiber = void*;

// A fiber that will call `main`, which must not return. The stack's end is a multiple of 16.
inline Fiber make_fiber(char* stack, uint64_t bytes, void (*main)());

// Stops the fiber that runs, leaves it in `from`, and goes on with the one in `to`, which may be the same place. Saves
// the registers that a function has to keep for its caller.
extern "C" void tracecore_switch_fiber(Fiber* from, const Fiber* to);

#if defined(__x86_64__) && !defined(FIBERS_BY_UCONTEXT)

asm(R"(
    .pushsection .text
    .p2align 4
    .type tracecore_switch_fiber, @function
tracecore_switch_fiber:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size tracecore_switch_fiber, . - tracecore_switch_fiber
    .popsection
)");

inline Fiber make_fiber(char* stack, uint64_t bytes, void (*main)()) {
    uint64_t* words = reinterpret_cast<uint64_t*>(stack + bytes) - 8;
    for (int i = 0; i < 8; ++i) words[i] = 0;
    words[6] = reinterpret_cast<uint64_t>(main);  // what `ret` takes; words[7] is what `main` would return to
    return words;
}

#elif defined(__aarch64__) && !defined(FIBERS_BY_UCONTEXT)

asm(R"(
    .pushsection .text
    .p2align 4
    .type tracecore_switch_fiber, %function
tracecore_switch_fiber:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    ldr x2, [x1]
    mov sp, x2
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size tracecore_switch_fiber, . - tracecore_switch_fiber
    .popsection
)");

inline Fiber make_fiber(char* stack, uint64_t bytes, void (*main)()) {
    uint64_t* words = reinterpret_cast<uint64_t*>(stack + bytes) - 20;
    for (int i = 0; i < 20; ++i) words[i] = 0;
    words[11] = reinterpret_cast<uint64_t>(main);  // x30
    return words;
}

#else

}  // namespace emulator

#include <ucontext.h>

namespace emulator {

extern "C" inline void tracecore_switch_fiber(Fiber* from, const Fiber* to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, static_cast<ucontext_t*>(*to));
}

inline Fiber make_fiber(char* stack, uint64_t bytes, void (*main)()) {
    ucontext_t* fiber = reinterpret_cast<ucontext_t*>(stack);
    getcontext(fiber);
    fiber->uc_stack.ss_sp = fiber + 1;
    fiber->uc_stack.ss_size = bytes - sizeof(ucontext_t);
    fiber->uc_link = nullptr;
    makecontext(fiber, main, 0);
    return fiber;
}

#endif

}  // namespace emulator
