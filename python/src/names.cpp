// What weft/tensors.py, data.py and notebook.py need besides what the headers declare: Tensor's constructor,
// memory behind `data`, in-place operations in the graph, and the pictures of the rooms viz and report.
#include "bind.h"
#include "tensor/array.h"
#include "weft/io/safetensors.h"
#include "weft/report/report.h"
#include "weft/viz/figure.h"
#include "weft/viz/pictures.h"

namespace {

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

// Whether nothing else, neither a view nor the graph nor a module, has x's memory or x itself.
bool is_alone(T x) { return x.handle().use_count() == 1 && x.array().storage.use_count() == 1; }

void bind_plot(py::module_& viz) {
    using viz::Plot;
    py::class_<Plot> plot(viz, "Plot");
    plot.def(py::init([](const std::string& title, const std::string& x, const std::string& y, bool log_x,
                         bool log_y, double width, double height) {
                 return Plot({.title = title,
                              .x = x,
                              .y = y,
                              .log_x = log_x,
                              .log_y = log_y,
                              .width = width,
                              .height = height});
             }),
             Signature("Plot(title='', x='', y='', log_x=False, log_y=False, width=640, height=400)"));
    const auto series = [&](const char* name, Plot& (Plot::*draw)(const Numbers&, const Numbers&,
                                                                  const std::string&, viz::LineStyle)) {
        def(plot, std::string(name) + "(self, x, y, label='')",
            [draw](py::object self, const Numbers& x, const Numbers& y, const std::string& label) {
                return (self.cast<Plot&>().*draw)(x, y, label, {}), self;
            });
    };
    series("line", &Plot::line);
    series("points", &Plot::points);
    def(plot, "bars(self, names, values, label='')",
        [](py::object self, const Texts& names, const Numbers& values, const std::string& label) {
            return self.cast<Plot&>().bars(names, values, label), self;
        });
    def(plot, "horizontal(self, y, label='')", [](py::object self, double y, const std::string& label) {
        return self.cast<Plot&>().horizontal(y, label), self;
    });
    def(plot, "svg(self)", &Plot::svg);
}

void bind_report(py::module_& m) {
    using report::Report;
    py::class_<Report> type(m, "Report");
    type.def(py::init([](const std::string& title) { return Report(title); }), Signature("Report(title)"));
    def(type, "setting(self, name, value)", &Report::setting);
    def(type, "loss(self, step, training=None, validation=None, learning_rate=None)",
        [](Report& r, I step, std::optional<double> training, std::optional<double> validation,
           std::optional<double> rate) {
            r.loss(step, {training, validation, rate});
        });
    def(type, "gradients(self, step, module)", &Report::gradients);
    def(type, "parameters(self, module)", &Report::parameters);
    def(type, "sample(self, step, text, prompt='')", &Report::sample);
    def(type, "attention(self, step, tokens, layers)", &Report::attention);
    def(type, "html(self)", &Report::html);
    def(type, "save(self, path)", [](const Report& r, const std::filesystem::path& path) { r.save(path); });
}

}  // namespace

void bind_names(Modules m, py::class_<Tensor>& t) {
    t.def(py::init([](const py::args& data) {
        return py::module_::import("weft.tensors").attr("made")(*data).cast<Tensor>();
    }));
    def(t, "_set_data(self, other)", [](Tensor& x, T other) { (void)x.set_data(other); });
    def(t, "_is_alone(self)", is_alone);
    def(t, "_become(self, other)", [](Tensor& x, T other) { x = other; });

    def(m, "_load(path)", [](const std::filesystem::path& path) {
        const io::SafeTensors file = io::load_safetensors(path);
        return py::make_tuple(py::dict(py::cast(file.tensors)), py::cast(file.metadata));
    });
    py::module_ viz = m.def_submodule("viz");
    const auto map = [](const Texts& queries, const Texts& keys, const Mask& mask, const std::string& title) {
        return viz::MapOptions{.queries = queries, .keys = keys, .mask = mask, .title = title};
    };
    def(viz, "attention_text(weights, queries=(), keys=(), mask=Mask(), title='')",
        [map](T x, const Texts& q, const Texts& k, const Mask& mask, const std::string& title) {
            return viz::attention_text(x, map(q, k, mask, title));
        });
    def(viz, "_attention_svg(layers, queries, keys, mask, title)",
        [map](const std::vector<Tensor>& x, const Texts& q, const Texts& k, const Mask& mask,
              const std::string& title) {
            return x.size() == 1 && x[0].rank() == 2 ? viz::attention_svg(x[0], map(q, k, mask, title))
                                                     : viz::attention_grid_svg(x, map(q, k, mask, title));
        });
    def(viz, "attention_weights(run, input)", viz::attention_weights);
    def(viz, "mask_grid(mask, B, H, T, S)", [](const Mask& mask, I B, I H, I rows, I columns) {
        return viz::mask_grid(mask, B, H, rows, columns);
    });
    def(viz, "_cells_svg(values, title)", [](T x, const std::string& title) {
        const auto columns = static_cast<double>(x.size(-1)),
                   rows = x.rank() == 2 ? static_cast<double>(x.size(0)) : 1.0;
        const bool small = columns * rows <= 100;
        const double side = small ? 48 : 12;
        viz::CellsStyle style{.viridis = true};
        if (!small) style.texts.assign(static_cast<std::size_t>(x.numel()), " ");
        return viz::Drawing(columns * side + 2, rows * side + 2, title).cells(1, 1, side, side, x, style).svg();
    });
    bind_plot(viz);
    bind_report(m);
}
