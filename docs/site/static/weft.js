// What the pages do beyond showing text: listings can be copied, and what is wider than the screen says so.

function copyButton(pre) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the listing");
    let timer = 0;
    const say = (word) => {
        button.textContent = word;
        button.setAttribute("aria-label", word === "Copy" ? "Copy the listing" : word);
        clearTimeout(timer);
        if (word !== "Copy") timer = setTimeout(say, 2000, "Copy");
    };
    button.addEventListener("click", async () => {
        const listing = pre.cloneNode(true);
        for (const number of listing.querySelectorAll(".linenos")) number.remove();
        try {
            await navigator.clipboard.writeText(listing.textContent);
            say("Copied");
        } catch {  // not allowed here: the reader can do it by hand
            getSelection().selectAllChildren(pre);
            say("Selected");
        }
    });
    button.setAttribute("aria-live", "polite");
    pre.before(button);
}

// A hint above the box, and a soft edge, as long as there is more to the right. The keyboard scrolls it, too.
function scrollHint(box, what) {
    const hint = document.createElement("span");
    hint.className = "scroll-hint";
    hint.textContent = "scroll sideways →";
    hint.setAttribute("aria-hidden", "true");
    box.before(hint);
    const look = () => {
        const more = box.scrollWidth - box.clientWidth > 2;
        hint.hidden = !more;
        box.classList.toggle("more-to-the-right", more && box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
        for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", `${what}, scrolls sideways`]])
            if (more) box.setAttribute(name, value);
            else box.removeAttribute(name);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
}

document.addEventListener("DOMContentLoaded", () => {
    for (const pre of document.querySelectorAll("article div.highlight > pre")) copyButton(pre);
    for (const box of document.querySelectorAll("article .figure-box")) scrollHint(box, "Figure");
    for (const box of document.querySelectorAll("article .table-wrapper")) scrollHint(box, "Table");
});
