"""Writes the binding of what the headers declare, so a new operation is in Python when it is declared: generate.py include out
writes out_0.cpp and out_1.cpp.
That is the functions of weft/ops, Tensor's methods, the modules of weft/nn with their constructors and calls, and the schedules
and optimisers. A parameter gets PyTorch's name, and a structure of options becomes arguments. What Python writes in another way is in
python/src, and left out here."""
import pathlib
import re
import sys

# PyTorch's names of parameters: everywhere, and of one function.
NAMES = {"x": "input", "a": "input", "b": "other", "axis": "dim", "axes": "dim", "axis0": "dim0", "axis1": "dim1", "rng": "generator",
         "low": "min", "high": "max", "offset": "diagonal", "shift": "shifts", "first": "start_dim", "last": "end_dim", "to": "destination",
         "from": "source", "logits": "input", "targets": "target", "log_p": "input", "prediction": "input",
         "sizes": "split_size_or_sections", "mean": "running_mean", "var": "running_var"}
NAMES_OF = {"weft::": NAMES, "nn::init::": {"x": "tensor", "low": "a", "high": "b", "rng": "generator", "value": "val"}}
OF_ONE = {"calculate_gain": {"a": "param"}, "gelu": {"kind": "approximate"}, "roll": {"axis": "dims"}, "split": {"size": "split_size_or_sections"}, "pow": {"p": "exponent"}, "full_like": {"value": "fill_value"},
          "full": {"value": "fill_value", "shape": "size"}, "outer": {"b": "vec2"}, "select": {}, "multinomial": {"weights": "input"},
          "one_hot": {"ids": "tensor"}, "binary_cross_entropy_with_logits": {"logits": "input"}, "randint": {"low": "low", "high": "high", "shape": "size"},
          "broadcast_to": {"shape": "size"}, "sum_to": {"shape": "size"}, "where": {"a": "input", "b": "other"}, "repeat": {"times": "repeats"},
          "pad": {"padding": "pad"}, "requires_grad_": {"wanted": "requires_grad"}, "scatter": {"source": "src"}, "tensordot": {"a": "a", "b": "b", "axes": "dims"},
          "diagonal": {"offset": "offset", "axis0": "dim1", "axis1": "dim2"}}
# What PyTorch converts first, where it is given a type.
TYPED = {"sum", "mean", "prod", "cumsum", "cumprod", "softmax", "log_softmax"}
# What is in module.cpp and exchange.cpp, and what Python has no use for.
OTHERWISE = {"tensor", "from_blob", "from_vector", "defined", "shape", "dtype", "item", "is_leaf", "requires_grad", "grad", "set_grad",
             "zero_grad", "str", "rank", "T", "at", "begin", "end", "impl", "version", "set_data"}
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
             "||": "or", "&&": "and", "!": "invert"}
FUNCTIONS_OF = {"truediv": "div", "or": "logical_or", "and": "logical_and", "invert": "logical_not"}
# Functions that are no methods, and the line of ops/functions.h below which there are more.
FUNCTIONS = {"where", "linear", "one_hot", "pad", "conv2d", "batch_norm", "tensordot", "kl_div", "unfold", "fold", "max_pool2d", "avg_pool2d", "dropout", "embedding", "gelu", "layer_norm",
             "rms_norm", "multi_head_attention", "scaled_dot_product_attention", "scaled_dot_product_attention_with_weights"}
ACTIVATIONS = "// Activations, which Python has in weft.nn.functional, as PyTorch has them, and not as methods.\n"
DEFAULTS = {"{}": "None", "nullptr": "None", "Gelu::exact": "'none'", "Reduction::mean": "'mean'", "true": "True", "false": "False", "default_rng()": "default_generator", "INFINITY": "float('inf')", "Anneal::cos": "'cos'", "FanMode::fan_in": "'fan_in'", "Nonlinearity::leaky_relu": "'leaky_relu'"}


def code_of(path):
    text = re.sub(r"//[^\n]*|^#[^\n]*", "", path.read_text(), flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text).replace("KeepDim", "bool")


def split(text):
    """At the commas that are in no brackets: [(type, name, default or None)]."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<({") - (c in ">)}")
        parts = parts + [""] if c == "," and depth == 0 else parts[:-1] + [parts[-1] + c]
    for part in filter(str.strip, parts):
        declared, _, default = map(str.strip, part.partition("="))
        kind, name = declared.rsplit(" ", 1)
        yield kind, name, default or None


def structures(text):
    """{name: [(type, name, default)]} of the structs that hold options."""
    found = {}
    for name, body in re.findall(r"struct (\w+(?:Options|Stats|Config)) \{ (.*?;)(?: bool operator==[^;]*;)? \};", text):
        found[name] = []
        for kind, first in re.findall(r"(std::array<double, 3>|[\w:<>]+\*?) ([^;]+);", body):
            found[name] += [(kind, member, default) for _, member, default in split(re.sub(r"(^|, )([A-Za-z])", rf"\1{kind} \2", first))]
    return found


def of_structure(name, known, space, outer=()):
    """The arguments that become a structure of options, and its value in C++. One inside it takes those that the outer one lacks."""
    own = [member for member in known[name] if member[1] not in outer]
    arguments, values = [], []
    for kind, member, default in own:
        inner, value = [(kind, member, default)], member
        if (plain := kind.removeprefix("nn::")) in known:
            inner, value = of_structure(plain, known, "nn::", {member for _, member, _ in own})
        arguments += inner
        values.append(f".{member} = {value}")
    return arguments, f"{space}{name}{{{', '.join(values)}}}"


def arguments_of(name, parameters, known, space):
    """What Python writes in the brackets, what the lambda takes, and what it passes on."""
    written, taken, passed = [], [], []
    for kind, parameter, default in parameters:
        plain = re.sub("const |&", "", kind)
        if plain == "Rng" and space not in NAMES_OF:
            continue  # modules draw from default_rng()
        members, value = of_structure(plain, known, space) if plain in known else ([(kind, parameter, default)], parameter)
        for k, p, d in members:
            python = OF_ONE.get(name, {}).get(p, NAMES_OF.get(space, {}).get(p, p))
            d = "Mask()" if k.removeprefix("const ").rstrip("&") == "Mask" else d
            written.append(python + ("" if d is None else " = " + DEFAULTS.get(d, d)))
            taken.append(f"{k} {p}")
        passed.append(value)
    return ", ".join(written), ", ".join(taken), ", ".join(passed)


def binding(scope, name, result, parameters, known, space="weft::"):
    """The line that declares a function, or a method of Tensor."""
    method = space == "self."
    written, taken, passed = arguments_of(name, parameters, known, "weft::" if method else space)
    self_, tensor = ("self" + ", " * bool(written), "Tensor self" + ", " * bool(taken)) if method else ("", "")
    call = f"{space}{name}({passed})"
    if name in TYPED and not method:
        written, taken, call = written + ", dtype = None", taken + ", std::optional<DType> dtype", re.sub(r"\bx\b", "(dtype ? x.to(*dtype) : x)", call, count=1)
    if result in ("AttentionResult", "ValuesIndices", "UniqueResult"):
        result, call = "py::object", f"pair_of({call})"
    return f'    def({scope}, "{name}({self_}{written})", []({tensor}{taken}) -> {result.replace("&", "")} {{ return {call}; }});\n'


def operator(symbol, parameters):
    """The lines that declare an operator of Tensor: __add__ and add for a + b, __radd__ for 2 + b, __neg__ and neg for −a."""
    kinds, names = [kind for kind, _, _ in parameters], [name for _, name, _ in parameters]
    reflected, name = kinds[0] == "double", "neg" if len(names) == 1 and symbol == "-" else OPERATORS[symbol]
    if reflected and symbol not in "+-*/":
        return
    taken = ", ".join(f"{kind} {n}" for kind, n in (list(zip(kinds, names))[::-1] if reflected else zip(kinds, names)))
    f = f'[]({taken}) -> Tensor {{ return {f" {symbol} ".join([""] * (len(names) == 1) + names)}; }}'
    yield f'    def(t, "__{"r" * reflected}{name}__({", ".join(["self", "other"][:len(names)])})", {f});\n'
    if not reflected:
        yield f'    def(m, "{FUNCTIONS_OF.get(name, name)}({", ".join(["input", "other"][:len(names)])})", {f});\n'


def modules(text, known, space="nn::"):
    """The lines that declare the modules of headers, each by its constructors that draw from default_rng() and its calls without a cache; a template by its aliases."""
    for name, body in re.findall(r"struct (\w+) : (?:nn::)?Module \{((?:(?!struct \w+ : ).)*)", text):
        constructors = [list(split(p)) for p in re.findall(rf"(?<=[;}}] )(?:explicit )?{name}\(((?:[^();]|\([^()]*\))*)\)(?=;| :)", body)]
        constructors = [p for p in constructors if p and not any("Rng" in kind and default is None for kind, _, default in p) and not re.search("All|string|Attention", p[0][0])]
        calls = [(call, list(split(p))) for call, p in re.findall(r"(?:Tensor|AttentionResult) (operator\(\)|with_weights)\(([^()]*)\) const", body) if "Cache" not in p]
        for named in re.findall(rf"using (\w+) = {name}<", text) or [name]:
            lines = f'    py::class_<{space}{named}, nn::Module> {named}(nn, "{named}");\n' * bool(constructors)
            for parameters in constructors:
                written, taken, passed = arguments_of(name, parameters, known, space)
                lines += f'    {named}.def(py::init([]({taken}) {{ return {space}{named}({passed}); }}), Signature("{named}({written})"));\n'
            for call, parameters in calls * bool(constructors):
                written, taken, passed = arguments_of(call, parameters, known, space)
                f = f"[](const {space}{named}& f, {taken}) {{ return {'pair_of(f.with_weights' if call == 'with_weights' else '(f'}({passed})); }}"
                lines += f'    def({named}, "{call.replace("operator()", "forward")}(self, {written.replace("extra_mask", "mask")})", {f});\n'
            yield lines


DECLARATION = (r"(?<=[;{}\]:] )(?:inline )?(Tensor&?|bool|double|void|ValuesIndices|UniqueResult|std::vector<Tensor>|std::u?int64_t|int|const S\w+&|AttentionResult)"
               r" (\w+)\(((?:[^();]|\([^()]*\))*)\)")


def main(include, out):
    folder = pathlib.Path(include) / "weft"
    tensor = code_of(folder / "autograd/tensor.h")
    optim = " ".join(code_of(path) for path in sorted((folder / "optim").glob("*.h")))
    ops = " ".join(map(code_of, [path for path in sorted((folder / "ops").glob("*.h")) if path.stem not in ("heads", "mask", "packed")]))
    layers = " ".join(code_of(path) for path in sorted((folder / "nn").glob("*.h")))
    gpt = code_of(folder / "lm/gpt.h")
    known = {name: members for text in [ops, optim, gpt, layers] for name, members in structures(text).items()}
    for alias, options in re.findall(r"using (\w+Options) = (\w+);", layers):
        known[alias] = known[options]
    activations = re.findall(r"^Tensor (\w+)\(", (folder / "ops/functions.h").read_text().split(ACTIVATIONS)[1], re.MULTILINE)
    lines, methods = [f'    m.attr("_activations") = py::make_tuple({", ".join(map("{!r}".format, activations))});\n'.replace("'", '"')], set()
    for text in [ops]:
        for result, name, parameters in re.findall(DECLARATION + "(?=;)", text):
            parameters = list(split(parameters))
            if name in OTHERWISE or any("Nested" in kind or "std::vector<T>" in kind for kind, _, _ in parameters):
                continue
            lines.append(binding("m", name, result, parameters, known))
            if parameters[0][0] == "const Tensor&" and name not in FUNCTIONS.union(activations) and not re.search("_like|_loss|_entropy", name):
                lines.append(binding("t", name, result, parameters, known))
                methods.add(name)
    for symbol, parameters in re.findall(r"Tensor operator(\S+)\(([^()]*)\);", ops):
        lines += operator(symbol, list(split(parameters)))
    members = tensor[tensor.index("class [[nodiscard]] Tensor {"):tensor.index("explicit Tensor(std::")]
    for symbol, kind in re.findall(r"Tensor& operator([^=(])=\((const Tensor&|double) ", members):
        lines.append(f'    def(t, "__i{OPERATORS[symbol]}__(self, other)", [](py::object self, {kind} other) {{ return self.cast<Tensor&>() {symbol}= other, self; }});\n')
    for result, name, parameters in re.findall(DECLARATION + r"(?: const)?(?: \{[^{}]*\})?(?=;| )", members):
        if name not in OTHERWISE | methods and "..." not in parameters:
            lines.append(binding("t", name, result, list(split(parameters)), known, "self."))
    for result, name, parameters in re.findall(DECLARATION + "(?=;)", optim):
        if name.endswith("_lr") or name == "clip_grad_norm":
            lines.append(binding("optim", name, result, list(split(parameters)), known, "optim::"))
    for name, options in [("SGD", "SGDOptions"), ("Adam", "AdamOptions"), ("AdamW", "AdamWOptions"), ("Muon", "MuonOptions")]:
        written, taken, passed = arguments_of(name, [("Lists", "params", None), (options, "options", "{}")], known, "optim::")
        line = (f'    py::class_<optim::{name}> {name}(optim, "{name}");\n'
                f'    {name}.def(py::init([]({taken}) {{ return grouped({passed}); }}), Signature("{name}({written})"));\n'
                f'    def({name}, "step(self)", [](optim::{name}& o) {{ o.step(); }});\n'
                f'    def({name}, "state_dict(self)", [](const optim::{name}& o) {{ return dict_of(o.state_dict()); }});\n'
                f'    def({name}, "load_state_dict(self, state_dict)", [](optim::{name}& o, const nn::NamedTensors& state) {{ o.load_state_dict(state); }});\n')
        written, taken, passed = (text.replace("params", "group", 1).replace("Lists", "I") for text in (written, taken, passed))
        line += f'    def({name}, "_set_options(self, {written})", [](optim::{name}& self, {taken}) {{ self.set_options({passed}); }});\n'
        for ours, theirs in [("beta1 = 0.9, beta2 = 0.999", "betas = (0.9, 0.999)"), ("double beta1, double beta2", "std::pair<double, double> betas"),
                             (".beta1 = beta1, .beta2 = beta2", ".beta1 = betas.first, .beta2 = betas.second"),
                             ("{3.4445, -4.7750, 2.0315}", "(3.4445, -4.7750, 2.0315)")]:
            line = line.replace(ours, theirs)
        lines.append(line)
    for result, name, parameters in re.findall(r"(?:const )?(Tensor|double)&? (\w+)\(((?:[^();]|\([^()]*\))*)\)(?=;| \{)", code_of(folder / "nn/init.h").split("namespace init")[1]):
        lines.append(binding('nn.attr("init")', name, result, list(split(parameters)), known, "nn::init::"))
    public = re.search(r"class Module \{ public:(.*?) protected:", layers).group(1)
    for result, name, parameters in re.findall(r"(NamedTensors|std::vector<[^()]*>|void|std::int64_t) (?!pack\()(\w+)\(([^()]*)\)(?: const)?(?=;| \{)", public):
        written, taken, passed = arguments_of(name, list(split(parameters)), known, "nn::")
        written, taken = written.replace("state", "state_dict").replace("training", "mode"), taken.replace("Named", "nn::Named")
        call = f"self.cast<nn::Module&>().{name}({passed})" + ", self" * (name in {"train", "eval", "to"})
        lines.append(f'    def(nn.attr("Module"), "{name}({", ".join(filter(None, ["self", written]))})", []({", ".join(filter(None, ["py::object self", taken]))}) {{ return {f"dict_of({call})" if name == "state_dict" else call}; }});\n')
    lines += modules(layers, known)
    lines += modules(gpt, known, "lm::")
    half = len(lines) // 2
    for part, own in enumerate([lines[:half], lines[half:]]):
        text = f"void bind_declared_{part}([[maybe_unused]] Modules m, [[maybe_unused]] py::class_<Tensor>& t, [[maybe_unused]] Modules nn, [[maybe_unused]] Modules optim) {{\n{''.join(own)}}}\n"
        pathlib.Path(f"{out}_{part}.cpp").write_text('// Made by python/generate.py.\n#include "modules.h"\n\n' + text)


main(*sys.argv[1:])
