// Weft without MPI: a group has one process.
#include "dist/transport.h"
#include "weft/core/error.h"

namespace weft::dist {

std::unique_ptr<Transport> connected() {
    if (const char* name = launched())
        throw Error("Group: mpirun started this program (", name,
                    " is set), but Weft was built without MPI; configure it with -DWEFT_MPI=ON");
    return alone();
}

}  // namespace weft::dist
