// Our solutions: the functions of exercises/03_broadcasting.cpp that change.

Shape prediction_of_shape() { return {5, 5}; }

double prediction_of_gradient() { return 3; }

Tensor shares(const Tensor& sales) { return sales / sum(sales, 1, keepdim); }

Shape broadcast_shape(const Shape& a, const Shape& b) {
    Shape result = Shape::filled(std::max(a.rank(), b.rank()), 1);
    for (int i = 1; i <= result.rank(); ++i) {  // axis −i
        const std::int64_t m = i <= a.rank() ? a[a.rank() - i] : 1;
        const std::int64_t n = i <= b.rank() ? b[b.rank() - i] : 1;
        if (m != n && m != 1 && n != 1)
            throw ShapeError(a.str() + " and " + b.str() + " do not broadcast: axis " + std::to_string(-i));
        result[result.rank() - i] = m == 1 ? n : m;
    }
    return result;
}

Tensor outer_product(const Tensor& u, const Tensor& v) {
    return u.unsqueeze(1) * v;  // (m, 1) · (n,)
}

Tensor unbroadcast(const Tensor& dy, const Shape& shape) {
    Tensor dx = dy;
    while (dx.rank() > shape.rank()) dx = sum(dx, 0);
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] == 1) dx = sum(dx, axis, keepdim);
    return dx;
}

std::vector<double> costs_on_paper() { return {1500000, 55000, 480}; }
