// A stack in shared memory that the LANES lanes of a group have in common. An entry is WORDS words.
#pragma once

#include "warp.cuh"

template <int LANES, int WORDS = 1>
struct GroupStack {
    int (*entries)[WORDS];  // STACK_SIZE of them
    unsigned mask;          // the lanes of the group
    int size;

    __device__ bool is_full() const {
        return size == STACK_SIZE;
    }

    // A new top entry, whose words the lanes of the group write. Not where it is full.
    __device__ int* add() {
        __syncwarp(mask);  // all have read what is overwritten now
        return entries[size++];
    }

    // Lane i of the group brings word i. Not where it is full.
    __device__ void push(int word) {
        const unsigned lane = lane_index() % LANES;
        int* entry = add();
        if (lane < WORDS) entry[lane] = word;
    }

    // The words of the top entry, until the next push.
    __device__ const int* pop() {
        __syncwarp(mask);  // all have written
        return entries[--size];
    }
};
