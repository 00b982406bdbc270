# Installs the library into an empty folder, then configures, builds and runs the consumer against it.
#   cmake -D WEFT_BUILD= -D CONSUMER= -D WORK= -D COMPILER= -D GENERATOR= [-D FLAGS=] -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${WEFT_BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${WORK}/prefix "-D CMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/layers)
run(${WORK}/build/whole)
