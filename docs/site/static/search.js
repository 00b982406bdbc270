// The search: answers while a word is typed, titles of pages first, then names of the library and titles of sections, then
// pages that hold all the words.
// It reads the index that Sphinx wrote, by a script element, which a page opened as a file may do too.
var Search = (() => {
    const asked = [], kinds = { title: 100, start: 90, name: 85, words: 80, prefix: 60, part: 50, text: 10 };
    let index = null, summaries = {}, loading = false;

    const here = document.currentScript;
    const root = here.src.slice(0, here.src.lastIndexOf("_static/"));

    function load(file) {
        const script = document.createElement("script");
        script.src = root + file;
        document.head.append(script);
    }

    // Calls back once the index is there.
    function ready(action) {
        if (index && typeof Stemmer === "function") return action();
        asked.push(action);
        if (!loading) for (const file of ["_static/language_data.js", "searchindex.js"]) load(file);
        loading = true;
        return undefined;
    }

    // Sphinx's index calls this, and then the summaries come.
    function setIndex(found) {
        index = found;
    }

    function setSummaries(found) {
        summaries = found;
        const wait = () => (typeof Stemmer === "function" ? asked.splice(0).forEach((action) => action()) : setTimeout(wait, 10));
        wait();
    }

    const plain = (text) => text.toLowerCase().replace(/^\d+\. /, "");
    const split = (text) => plain(text).split(/[^\p{L}\p{N}_]+/u).filter(Boolean);

    // How well a title fits: by itself, by its beginning, by its words.
    function ofTitle(title, query, words) {
        const name = plain(title).replace(/^(class|struct) /, "");
        if (name === query) return kinds.title;
        if (name.startsWith(query)) return kinds.start;
        const parts = split(title);
        return words.every((word) => parts.some((part) => part.startsWith(word))) ? kinds.words : 0;
    }

    // nn::Linear::weight: by its last part, or by all of it.
    function ofName(name, query) {
        const whole = name.toLowerCase(), last = whole.split("::").pop();
        if (last === query || whole === query || `weft::${whole}` === query) return kinds.name;
        if (last.startsWith(query)) return kinds.prefix;
        return query.length > 2 && whole.includes(query) ? kinds.part : 0;
    }

    // The pages that hold a word, or one that begins so: page → how well.
    function pagesOf(word, stem) {
        const found = new Map();
        for (const [terms, weight] of [[index.terms, 1], [index.titleterms, 3]])
            for (const term of Object.keys(terms)) {
                const lower = term.toLowerCase();
                if (!lower.startsWith(word) && !lower.startsWith(stem)) continue;
                const exact = lower === word || lower === stem ? 2 : 1;
                for (const page of [].concat(terms[term])) found.set(page, Math.max(found.get(page) || 0, weight * exact));
            }
        return found;
    }

    function inText(words) {
        const stemmer = new Stemmer();
        const sets = words.filter((word) => !stopwords.includes(word)).map((word) => pagesOf(word, stemmer.stemWord(word)));
        if (sets.length === 0) return [];
        return [...sets[0].keys()].filter((page) => sets.every((set) => set.has(page)))
            .map((page) => [page, sets.reduce((sum, set) => sum + set.get(page), 0) / sets.length]);
    }

    const address = (page, anchor) => `${root}${index.docnames[page]}.html${anchor ? `#${anchor}` : ""}`;

    // The best first: {title, where, summary, address}.
    function find(text) {
        const query = plain(text.trim()), words = split(query), found = [];
        if (words.length === 0) return found;
        const add = (score, page, title, where, anchor) => found.push({
            score, title, where, address: address(page, anchor), summary: anchor ? "" : summaries[index.docnames[page]] || "" });
        for (const [title, places] of Object.entries(index.alltitles)) {
            const score = ofTitle(title, query, words);
            for (const [page, anchor] of score ? places : []) {
                const whole = index.titles[page] === title;
                add(score - (whole ? 0 : 22), page, title, whole ? "page" : `in ${index.titles[page]}`, whole ? "" : anchor);
            }
        }
        for (const objects of Object.values(index.objects))
            for (const [page, kind, , anchor, name] of objects) {
                const score = ofName(name, query), what = index.objnames[kind][1];
                const main = ["function", "class", "struct", "typedef", "enum"].includes(what) && !/^[A-Z]\w*::/.test(name);
                if (score) add(score - (main ? 0 : 6), page, name, `${what} in ${index.titles[page]}`, anchor);
            }
        for (const [page, score] of inText(words))
            if (!found.some((other) => other.address === address(page)))
                add(kinds.text + score, page, index.titles[page], "in the text", "");
        return found.sort((a, b) => b.score - a.score || a.title.length - b.title.length || (a.title < b.title ? -1 : 1));
    }

    function item(result) {
        const line = document.createElement("li"), link = document.createElement("a"), where = document.createElement("span");
        link.href = result.address;
        link.textContent = result.title;
        where.className = "search-where";
        where.textContent = result.where;
        line.append(link, " ", where);
        if (result.summary) {
            const summary = document.createElement("p");
            summary.className = "context";
            summary.textContent = result.summary;
            line.append(summary);
        }
        return line;
    }

    // Shows what fits the field's text in `box`, at most so many.
    function show(field, box, most) {
        const text = field.value;
        if (!text.trim()) {
            box.replaceChildren();
            return;
        }
        ready(() => {
            if (field.value !== text) return;
            const found = find(text);
            const summary = document.createElement("p"), list = document.createElement("ul");
            summary.className = "search-summary";
            summary.setAttribute("role", "status");
            summary.textContent = found.length === 0 ? `Nothing found for “${text.trim()}”. Try fewer words, or the beginning of one.`
                : found.length === 1 ? "1 result" : `${found.length} results`;
            list.className = "search";
            list.append(...found.slice(0, most).map(item));
            box.replaceChildren(summary, list);
        });
    }

    // The arrow keys go from the field through the results and back, Escape ends the search.
    function keys(field, box) {
        for (const part of [field, box])
            part.addEventListener("keydown", (event) => {
                const stops = [field, ...box.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
                const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
                if (event.key === "Escape") {
                    field.value = "";
                    field.dispatchEvent(new Event("input"));
                    field.focus();
                } else if (at >= 0 && stops[to]) {
                    event.preventDefault();
                    stops[to].focus();
                }
            });
    }

    function begin() {
        const field = document.querySelector(".sidebar-search"), tree = document.querySelector(".sidebar-tree");
        const own = document.getElementById("search-again"), results = document.getElementById("search-results");
        if (field && tree) {
            const box = document.createElement("div");
            box.className = "sidebar-results";
            tree.before(box);
            field.autocomplete = "off";
            field.addEventListener("focus", () => ready(() => {}), { once: true });
            field.addEventListener("input", () => {
                tree.hidden = field.value.trim() !== "";
                show(field, box, 12);
            });
            keys(field, box);
        }
        if (own && results) {
            own.value = new URLSearchParams(location.search).get("q") || "";
            own.addEventListener("input", () => show(own, results, 60));
            own.form.addEventListener("submit", (event) => event.preventDefault());
            keys(own, results);
            show(own, results, 60);
            if (!own.value) own.focus();
        }
    }

    document.addEventListener("DOMContentLoaded", begin);
    return { setIndex, setSummaries, find, ready };
})();
