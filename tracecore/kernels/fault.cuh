// What can go wrong while tracing: bits that become a KernelError on the host (tracecore/kernels/launch_records.py).
#pragma once

constexpr unsigned STACK_OVERFLOW = 1;
constexpr unsigned OVERDUE = 2;
