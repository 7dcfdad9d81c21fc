// Writes the boxes of children as whole steps from a corner: the bits of `_write_axis` of tracecore/layout/compressed8.py,
// whose citations are not repeated here.
#pragma once

#include "compressed8_node.cuh"
#include "node_boxes.cuh"

// The power of two that is above a number > 0: that of `frexp`.
__device__ inline int power_above(double value) {
    return static_cast<int>(__double_as_longlong(value) >> 52) - 1022;
}

__device__ inline double power_of_two(int exponent) {
    return __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
}

// The exponent of the shortest steps of which 255 cover a size: `_exponent`.
__device__ inline int exponent_for(double size, int least) {
    return size > 0.0 ? max(power_above(size / MOST_STEPS), least) : least;
}

__device__ inline int least_exponent(float extent) {
    const int power = extent > 0.0f ? power_above(extent) : 0;
    return max(power - 1 - EXTENT_BITS, 1 - EXPONENT_BIAS);
}

// The most whole steps that do not lead from the origin beyond a value, exactly: `_steps_within`.
__device__ inline double steps_within(double value, double origin, double steps_per_unit) {
    const double distance = value - origin, shift = distance - value;
    const double lost = (value - (distance - shift)) - (origin + shift);
    const double steps = floor(distance * steps_per_unit);
    return steps == distance * steps_per_unit && lost < 0.0 ? steps - 1.0 : steps;
}

__device__ inline void write_axis(const Planes* planes, unsigned filled, int axis, int least, PackedNode& packed) {
    double origin = infinite(), end = -infinite();
    for (int position = 0; position < WIDTH; ++position) {
        if ((filled >> position & 1) == 0) continue;
        const double lower = planes[position].lower[axis], upper = planes[position].upper[axis];
        origin = lower < origin ? lower : origin;
        end = upper > end ? upper : end;
    }
    const int exponent = exponent_for(end - origin, least);
    const double per_unit = power_of_two(-exponent);
    packed.origin[axis] = static_cast<float>(origin);
    packed.exponent[axis] = exponent + EXPONENT_BIAS;
    for (int position = 0; position < WIDTH; ++position) {
        if ((filled >> position & 1) == 0) continue;
        const double lower = planes[position].lower[axis], upper = planes[position].upper[axis];
        packed.lower[axis][position] = static_cast<int>(steps_within(lower, origin, per_unit));
        packed.upper[axis][position] = static_cast<int>(-steps_within(-upper, -origin, per_unit));
    }
}
