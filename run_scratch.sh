slow g++ -std=c++20 -O2 -Iinclude ${1:-scratch.cpp} -o build/${2:-scratch} build/release/libweft_core.a -ltbb -lopenblas && build/${2:-scratch}
