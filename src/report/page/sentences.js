// ---- choosing a sentence: a text field that searches as you type (a WAI-ARIA 1.2 combobox)

function sentencePicker(texts, choose) {
  const input = html("input", {
    id: "sentence", type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", dir: "auto",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "sentences",
  });
  const list = html("ul", { id: "sentences", role: "listbox", "aria-label": "Sentences", hidden: true });
  const node = html("div", { class: "picker" }, html("label", { for: "sentence" },
    "Sentence ", html("span", { class: "muted" }, "of " + whole(texts.length) + "; type to search")),
    html("div", { class: "field" }, input, list));
  const shown = texts.map(visible);
  let chosen = 0, active = -1, found = [];

  function mark(text, needle) { // highlights what was typed
    const at = needle ? text.toLowerCase().indexOf(needle) : -1;
    if (at < 0) return [text];
    return [text.slice(0, at), html("mark", {}, text.slice(at, at + needle.length)), text.slice(at + needle.length)];
  }
  function activate(i) {
    active = i;
    [...list.querySelectorAll("[role=option]")].forEach((option, at) => option.classList.toggle("active", at === i));
    list.querySelector(".active")?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", i >= 0 ? "sentence-" + found[i] : "");
  }
  function open(needle) {
    const wanted = visible(needle).toLowerCase();
    found = shown.map((_, i) => i).filter((i) => shown[i].toLowerCase().includes(wanted));
    list.replaceChildren(...found.map((i) => html("li", {
      id: "sentence-" + i, role: "option", dir: "auto", "aria-selected": String(i === chosen),
      onpointerdown: (event) => { event.preventDefault(); take(i); },
    }, ...mark(shown[i], wanted))));
    if (found.length === 0) list.append(html("li", { class: "none" }, "No sentence contains this."));
    list.hidden = false;
    busy.add("list");
    input.setAttribute("aria-expanded", "true");
    activate(wanted && found.length > 0 ? 0 : found.indexOf(chosen));
    announce(found.length === 0 ? "No sentence contains this." : plural(found.length, "sentence"));
  }
  function close() {
    list.hidden = true;
    busy.delete("list");
    input.setAttribute("aria-expanded", "false");
    activate(-1);
    input.value = shown[chosen];
  }
  function take(i) {
    chosen = i;
    close();
    choose(i);
  }
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => { if (list.hidden) open(""); });
  input.addEventListener("input", () => open(input.value));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by && (list.hidden || (event.key !== "Enter" && event.key !== "Escape"))) return;
    event.preventDefault();
    if (by && list.hidden) open("");
    else if (by && found.length > 0) activate((Math.max(active, by > 0 ? -1 : 0) + by + found.length) % found.length);
    else if (event.key === "Enter" && active >= 0) take(found[active]);
    else if (event.key === "Escape") { close(); input.select(); }
  });
  input.value = shown[0];
  return { node, take };
}
