"""Writes the binding of what the headers declare, so a new operation is in Python when it is declared: generate.py include out
writes out_0.cpp and out_1.cpp. That is the functions of weft/ops, Tensor's methods, the modules of weft/nn with their constructors and
calls, the schedules and optimisers, the words of enumerations, pictures, reports and checks. A parameter gets PyTorch's name, and a
structure of options becomes arguments. What Python writes in another way is in python/src, and left out here."""
import pathlib
import re
import sys

# PyTorch's names of parameters: everywhere, and of one function or layer.
NAMES = {"x": "input", "a": "input", "b": "other", "axis": "dim", "axes": "dim", "axis0": "dim0", "axis1": "dim1", "rng": "generator",
         "low": "min", "high": "max", "offset": "diagonal", "shift": "shifts", "first": "start_dim", "last": "end_dim", "to": "destination",
         "from": "source", "logits": "input", "targets": "target", "log_p": "input", "prediction": "input",
         "sizes": "split_size_or_sections", "mean": "running_mean", "var": "running_var"}
NAMES_OF = {"weft::": NAMES, "nn::Module": {"state": "state_dict", "training": "mode"}, "nn::init::": {"x": "tensor", "low": "a", "high": "b", "rng": "generator", "value": "val"}}
OF_ONE = {"operator()": {"extra_mask": "mask"}, "with_weights": {"extra_mask": "mask"}, "embedding": {"table": "weight", "ids": "input"}, "LayerNorm": {"dim": "normalized_shape"}, "RMSNorm": {"dim": "normalized_shape"},
          "GELU": {"kind": "approximate"}, "Flatten": {"first": "start_dim", "last": "end_dim"}, "calculate_gain": {"a": "param"}, "gelu": {"kind": "approximate"}, "multi_head_attention": {"sizes": "num_heads"}, "roll": {"axis": "dims"}, "split": {"size": "split_size_or_sections"}, "pow": {"p": "exponent"}, "full_like": {"value": "fill_value"},
          "full": {"value": "fill_value", "shape": "size"}, "outer": {"b": "vec2"}, "select": {}, "multinomial": {"weights": "input"},
          "one_hot": {"ids": "tensor"}, "binary_cross_entropy_with_logits": {"logits": "input"}, "randint": {"low": "low", "high": "high", "shape": "size"},
          "broadcast_to": {"shape": "size"}, "sum_to": {"shape": "size"}, "where": {"a": "input", "b": "other"}, "repeat": {"times": "repeats"},
          "pad": {"padding": "pad"}, "requires_grad_": {"wanted": "requires_grad"}, "scatter": {"source": "src"}, "tensordot": {"a": "a", "b": "b", "axes": "dims"},
          "diagonal": {"offset": "offset", "axis0": "dim1", "axis1": "dim2"}}
# What PyTorch converts first, where it is given a type.
TYPED = {"sum", "mean", "prod", "cumsum", "cumprod", "softmax", "log_softmax"}
# What is in module.cpp and exchange.cpp, and what Python has no use for.
OTHERWISE = {"tensor", "from_blob", "from_vector", "defined", "zero_grad", "str", "rank", "at", "begin", "end", "impl", "version", "set_data",
             "print", "repr", "path", "kind", "hook", "hooked"}
# Types that Python does not have; classes and where they are; Python's names of methods.
UNKNOWN = r"\b(Label|Stroke|BoxStyle|ReportRun|PageModel|Characters|NamedGenerators|AttentionSubject|Array|Group|Options|RotaryTable)\b"
CLASSES = {"Mask": "weft", "Drawing": "viz", "Plot": "viz", "Report": "report", "FlowReport": "check", "AttentionReport": "check"}
OF_PLACE = {"optim": "_lr$| clip_grad_norm$", "nn": " from_torch_multi", "check": "Report | check_finite$", "viz": " (attention_.*|mask_grid|graph|save_svg)$"}
METHODS = {"str": "__str__", "summary": "__repr__", "item": "__float__", "passed": "__bool__", "operator()": "forward"}
# The arguments that take the words of an enumeration, and PyTorch's words that are no members' names.
ENUMERATIONS = {"Reduction": "reduction", "Gelu": "approximate", "Anneal": "anneal_strategy", "FanMode": "mode", "Nonlinearity": "nonlinearity", "RotaryPairs": "pairs"}
WORDS = {"Gelu::exact": ["none"], "Nonlinearity::linear": ["linear", "conv1d", "conv2d"]}
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
             "||": "or", "&&": "and", "!": "invert"}
FUNCTIONS_OF = {"truediv": "div", "or": "logical_or", "and": "logical_and", "invert": "logical_not"}
# Functions that are no methods; there are more below a line of ops/functions.h.
FUNCTIONS = {"where", "linear", "one_hot", "pad", "conv2d", "batch_norm", "tensordot", "kl_div", "unfold", "fold", "max_pool2d", "avg_pool2d", "dropout", "embedding", "gelu", "layer_norm",
             "rms_norm", "multi_head_attention", "scaled_dot_product_attention", "scaled_dot_product_attention_with_weights"}
DEFAULTS = {"nullptr": "None", "true": "True", "false": "False", "default_rng()": "default_generator", "INFINITY": "float('inf')"}


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
    for name, body in re.findall(r"struct (\w+(?:Options|Stats|Config|Style|Loss)) \{ (.*?;)(?: bool operator==[^;]*;)? \};", text):
        found[name] = []
        for kind, first in re.findall(r"(std::array<double, 3>|std::pair<double, double>|[\w:<>]+\*?) ([^;]+);", body):
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


def default_of(kind, default, space):
    """A default in Python's words; layers of ours have one for every mask."""
    if kind == "Mask" and (default == "{}" or default is None and space in ("nn::", "lm::")):
        return "Mask()"
    if default == "{}" or kind == "Axes":
        return "''" if kind == "std::string" else "()" if re.search("vector|Named", kind) else "None"
    if default and "::" in default:
        return repr(WORDS.get(default, [default.split("::")[1]])[0])
    return default and DEFAULTS.get(default, re.sub(r"^\{(.*)\}$", r"(\1)", default).replace("'", "").replace('"', "'"))


def arguments_of(name, parameters, known, space):
    """What Python writes in the brackets, what the lambda takes, and what it passes on."""
    written, taken, passed = [], [], []
    for kind, parameter, default in parameters:
        kind = kind.replace("const HeadSizes&", "std::int64_t")  # the number of heads alone
        plain = re.sub("const |&", "", kind)
        if plain == "Rng" and space not in NAMES_OF or plain == "char*":
            continue  # modules draw from default_rng()
        members, value = of_structure(plain, known, space) if plain in known else ([(kind, parameter, default)], parameter)
        for k, p, d in members:
            python = OF_ONE.get(name, {}).get(p, NAMES_OF.get(space, {}).get(p, p))
            d = default_of(re.sub("const |&", "", k), d, space)
            written.append(python + ("" if d is None else " = " + d))
            taken.append(f"{k} {p}")
        passed.append(value)
    order = sorted(range(len(taken)), key=lambda i: taken[i] in ("double delta", "double beta", "double label_smoothing"))  # last, as in PyTorch
    return ", ".join(written[i] for i in order), ", ".join(taken[i] for i in order), ", ".join(passed)


def binding(scope, name, result, parameters, known, space="weft::", kind=None):
    """The line that declares a function, or a method of a class; what returns the object itself returns it in Python, too."""
    written, taken, passed = arguments_of(name, parameters, known, space)
    call = f"{space}{name}({passed})"
    if kind:
        itself = result.rstrip("&") == kind.split("::")[-1] != result or result == "void" and name in {"train", "eval", "to"}
        written, taken = (", ".join(filter(None, pair)) for pair in [("self", written), ("py::object self" if itself else f"{kind}& self", taken)])
        call = f"self.cast<{kind}&>().{name}({passed}), self" if itself else f"self.{name}({passed})"
    elif name in TYPED:
        written, taken, call = written + ", dtype = None", taken + ", std::optional<DType> dtype", re.sub(r"\bx\b", "(dtype ? x.to(*dtype) : x)", call, count=1)
    wrap = "dict_of" if name in ("state_dict", "from_torch_multihead_attention") else "pair_of" * (result in ("AttentionResult", "ValuesIndices", "UniqueResult"))
    return f'    def({scope}, "{METHODS.get(name, name)}({written})", []({taken}) {{ return {wrap}({call}); }});\n'


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
        yield from (f'    def({scope}, "{FUNCTIONS_OF.get(name, name)}({", ".join(["input", "other"][:len(names)])})", {f});\n' for scope in "mt")


def made(variable, function, name, parameters, known, space):
    """The line that declares a constructor."""
    written, taken, passed = arguments_of(name, parameters, known, space)
    return f'    {variable}.def(py::init([]({taken}) {{ return {function}({passed}); }}), Signature("{name}({written})"));\n'


def members_of(scope, kind, body, known, space, there=()):
    """The lines that declare the methods of a class."""
    for static, result, name, parameters in re.findall(METHOD, body):
        if name in (OTHERWISE | set(there)) - set(METHODS) or kind.endswith("::" + name) or "..." in parameters or re.search(UNKNOWN, result + parameters):
            continue
        written, taken, passed = arguments_of(name, list(split(parameters)), known, space)
        yield (f'    {scope}.def_static("{name}", []({taken}) {{ return {kind}::{name}({passed}); }}, Signature("{name}({written})"));\n' if static else
               binding(scope, name, result, list(split(parameters)), known, space, kind))


def modules(text, known, space="nn::"):
    """The lines that declare the modules of headers, each by its constructors that draw from default_rng() and its calls without a cache; a template by its aliases, and what is derived from one with its calls."""
    known_calls = {}
    for name, base, body in re.findall(r"struct (\w+) : (?:nn::)?(Module|PreNormBlock)(?:<[^>]*>)? \{((?:(?!(?:struct|class) \w+ : ).)*)", text):
        constructors = [list(split(p)) for p in re.findall(rf"(?<=[;}}] )(?:explicit )?{name}\(((?:[^();]|\([^()]*\))*)\)(?=;| :)", body)]
        constructors = [p for p in constructors if p and not any("Rng" in kind and default is None for kind, _, default in p) and not re.search("All|string|Attention", p[0][0])]
        calls = [(result, call, list(split(p))) for result, call, p in re.findall(r"(Tensor|AttentionResult) (operator\(\)|with_weights)\(([^()]*)\) const", body) if "Cache" not in p]
        known_calls[name] = calls = calls + known_calls.get(base, [])
        for named in re.findall(rf"using (\w+) = {name}<", text) or [name]:
            lines = f'    py::class_<{space}{named}, nn::Module> {named}(nn, "{named}");\n' * bool(constructors)
            for parameters in constructors:
                lines += made(named, space + named, name, parameters, known, space).replace(f'"{name}(', f'"{named}(')
            for result, call, parameters in calls * bool(constructors):
                lines += binding(named, call, result, parameters, known, space, space + named)
            yield lines


DECLARATION = (r"(?<=[;{}\]:] )(?:inline )?(Tensor&?|bool|double|void|std::string|NamedTensors|FlowReport|AttentionReport|ValuesIndices|UniqueResult|std::vector<Tensor>|std::u?int64_t|int|const S\w+&|AttentionResult)"
               r" (\w+)\(((?:[^();]|\([^()]*\))*)\)")
METHOD = r"(?<=[;{}:] )(?!return |explicit |else )(static |)((?:const )?[\w:]+(?:<[^()]*?>)?&?) (\w+)\(((?:[^();]|\([^()]*\))*)\)(?: const)?(?=;| \{)"


def main(include, out):
    folder = pathlib.Path(include) / "weft"
    optim = " ".join(code_of(path) for path in sorted((folder / "optim").glob("*.h")))
    families = sorted(re.findall(r'"weft/(\w+)/(\w+)\.h"', (folder / "ops.h").read_text()), key=lambda place: place[1])
    ops = " ".join(code_of(folder / room / f"{name}.h") for room, name in families if name not in ("heads", "mask"))
    layers = " ".join(code_of(path) for path in sorted((folder / "nn").glob("*.h")))
    gpt = code_of(folder / "lm/gpt.h")
    shown = " ".join(map(code_of, [*sorted((folder / "check").glob("*.h")), *[folder / f"{name}.h" for name in ("viz/figure", "viz/pictures", "report/report", "core/mask")]]))
    known = {name: members for text in [ops, optim, gpt, layers, shown] for name, members in structures(text).items()}
    known |= {alias: known[options] for alias, options in re.findall(r"using (\w+Options) = (\w+);", layers)}
    activations = re.findall(r"^Tensor (\w+)\(", (folder / "ops/functions.h").read_text().split("// Activations, which Python has in")[1].split("// Of two")[0], re.MULTILINE)
    lines, methods, words = [], set(), ""
    for name, scope in CLASSES.items():
        body = re.search(rf"(?:class|struct)(?: \[\[nodiscard\]\])? {name} \{{(.*?)(?: private:|\}};)", shown)[1]
        constructors = re.findall(rf"(?:explicit |public: ){name}\(([^()]+)\);", body)
        lines.append(f'    py::class_<{scope}::{name}> {name}_({scope}, "{name}");\n' + f"    {name}_.def(py::init());\n" * ("() = default" in body)
                     + "".join(made(name + "_", f"{scope}::{name}", name, list(split(p)), known, scope + "::") for p in constructors)
                     + "".join(members_of(name + "_", f"{scope}::{name}", body, known, scope + "::")))
    for result, name, parameters in re.findall(DECLARATION + "(?=;)", ops):
        parameters = list(split(parameters))
        if name in OTHERWISE or (result, name) in {("bool", "all"), ("bool", "any")} or any("Nested" in kind or "std::vector<T>" in kind for kind, _, _ in parameters):
            continue
        lines.append(binding("m", name, result, parameters, known))
        if parameters[0][0] == "const Tensor&" and name not in FUNCTIONS.union(activations) and not re.search("_like|_loss|_entropy", name):
            lines.append(binding("t", name, result, parameters, known))
            methods.add(name)
    for symbol, parameters in re.findall(r"Tensor operator(\S+)\(([^()]*)\);", ops):
        lines += operator(symbol, list(split(parameters)))
    members = re.search(r"class \[\[nodiscard\]\] (Tensor \{.*?)explicit Tensor\(std::", code_of(folder / "core/tensor.h"))[1]
    for symbol, kind in re.findall(r"Tensor& operator([^=(])=\((const Tensor&|double) ", members):
        lines.append(f'    def(t, "__i{OPERATORS[symbol]}__(self, other)", [](py::object self, {kind} other) {{ return self.cast<Tensor&>() {symbol}= other, self; }});\n')
    lines += members_of("t", "Tensor", members, known, "weft::", methods)
    for space, text in [("optim", optim), ("nn", layers), ("check", shown), ("viz", shown)]:
        for result, name, parameters in re.findall(DECLARATION + "(?=;)", text):
            if re.search(OF_PLACE[space], f"{result} {name}") and not re.search(UNKNOWN, parameters):
                lines.append(binding(space, name, result, list(split(parameters)), known, space + "::"))
    rules = re.search(r"class Optimizer \{ public:(.*?) private:", optim)[1]
    for name in ("SGD", "Adam", "AdamW", "Muon"):
        line = (f'    py::class_<optim::{name}> {name}(optim, "{name}");\n'
                + made(name, "grouped", name, [("Lists", "params", None), (name + "Options", "options", "{}")], known, "optim::")
                + "".join(members_of(name, f"optim::{name}", rules.replace("group, const Options", f"group, const {name}Options"), known, "optim::")))
        for ours, theirs in [("beta1 = 0.9, beta2 = 0.999", "betas = (0.9, 0.999)"), ("double beta1, double beta2", "std::pair<double, double> betas"),
                             (".beta1 = beta1, .beta2 = beta2", ".beta1 = betas.first, .beta2 = betas.second")]:
            line = line.replace(ours, theirs)
        lines.append(line)
    for result, name, parameters in re.findall(r"(?:const )?(Tensor|double)&? (\w+)\(((?:[^();]|\([^()]*\))*)\)(?=;| \{)", code_of(folder / "nn/init.h").split("namespace init")[1]):
        lines.append(binding('nn.attr("init")', name, result, list(split(parameters)), known, "nn::init::"))
    lines += members_of('nn.attr("Module")', "nn::Module", re.search(r"class Module \{ (public:.*?) protected:", layers)[1], known, "nn::Module")
    lines += [*modules(layers, known), *modules(gpt, known, "lm::")]
    for name, members in re.findall(r"enum class (\w+)(?: : [\w:]+)? \{ ([^}]*) \};", ops + optim + layers):
        pairs = [f'{{"{word}", {name}::{m}}}' for m in members.split(", ") for word in WORDS.get(f"{name}::{m}", [m])]
        words += (f'template <>\nstruct Words<{name}> {{\n    static Known<{name}> all() {{ return {{"{ENUMERATIONS[name]}", {{{", ".join(pairs)}}}}}; }}\n}};\n'
                  f"template <>\nstruct py::detail::type_caster<{name}> : Word<{name}> {{}};\n")
    scopes = ", ".join(f'{name} = m.attr("{name}")' for name in ("nn", "optim", "viz", "check")) + ", weft = m, report = m"
    for part, own in enumerate([lines[:len(lines) // 2], lines[len(lines) // 2:]]):
        text = f"void bind_declared_{part}(py::module_& m, [[maybe_unused]] py::class_<Tensor>& t) {{\n    [[maybe_unused]] py::object {scopes};\n{''.join(own)}}}\n"
        pathlib.Path(f"{out}_{part}.cpp").write_text(f'// Made by python/generate.py.\n#include "bind.h"\n\n{words}\n{text}')


main(*sys.argv[1:])
