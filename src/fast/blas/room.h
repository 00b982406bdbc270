// Memory for libraries that do not survive it when the system refuses them some.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace weft::kernels::fast {

// bad_alloc unless the process may have so many bytes more.
inline void check_room(std::size_t bytes) {
    void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || ::munmap(room, bytes) != 0) throw std::bad_alloc();
}

}  // namespace weft::kernels::fast
