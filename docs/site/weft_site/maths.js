// A formula as JSON on each line of the input, its HTML on a line of the output.
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
    const { tex, display } = JSON.parse(line);
    let answer;
    try {
        answer = { html: katex.renderToString(tex, { displayMode: display, throwOnError: true, strict: "error" }) };
    } catch (error) {
        answer = { error: String(error.message) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
});
