// Our solutions: the functions of exercises/02_tensors.cpp that change.

Strides prediction_of_strides() { return {1, 12, 4}; }

bool prediction_of_sharing() { return false; }

Tensor planes(const Tensor& pixels) { return pixels.permute({2, 0, 1}); }

Strides strides_of(const Shape& shape) {
    Strides strides = Strides::filled(shape.rank(), 1);
    for (int axis = shape.rank() - 2; axis >= 0; --axis) strides[axis] = strides[axis + 1] * shape[axis + 1];
    return strides;
}

std::int64_t position_of(const Shape& index, const Strides& strides, std::int64_t offset) {
    std::int64_t position = offset;
    for (int axis = 0; axis < index.rank(); ++axis) position += index[axis] * strides[axis];
    return position;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
    const Strides expected = strides_of(shape);
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] != 1 && strides[axis] != expected[axis]) return false;
    return true;
}

std::vector<double> view_on_paper() { return {8, 1, 6, 16}; }
