// ---- the page of a run that is still training loads itself again

// When a page that was saved `age` seconds ago, with the next save due `next` seconds after that, looks again: seconds
// from now, or null. A run that has missed two saves may have been killed, so the page waits as long again as it has
// waited, and gives up after an hour.
const missed = (age, next) => age > 2 * next + 10;
const lookAgain = (age, next) => !missed(age, next) ? Math.max(1, next - age + 0.5) : age < 3600 ? Math.max(10, age) : null;

function drawRunning() {
  const { saved, next } = data.run;
  if (!(next > 0)) return;
  const now = () => Date.now() / 1000, clock = new Date(saved * 1000);
  // When this save was seen first, in case the clock of the machine that trains is ahead.
  const seen = kept?.values.seen?.saved === saved ? kept.values.seen : { saved, at: Math.min(now(), saved) };
  controls.set("seen", { value: seen });
  const time = now() - saved > 86400 ? clock.toLocaleString("en-GB") : clock.toLocaleTimeString("en-GB");
  const chosen = html("input", { type: "checkbox", id: "reload", checked: true }), text = html("span", { id: "running" });
  document.querySelector("header").append(html("p", { class: "running" }, text,
    html("label", {}, chosen, " Reload by itself"), html("button", { type: "button", class: "small", id: "reload-now",
      onclick: () => location.reload() }, "Reload now")));
  remember("reload", chosen);

  let timer = 0;
  function wait() {
    clearTimeout(timer);
    const age = now() - seen.at, delay = lookAgain(age, next), minutes = Math.round(age / 60);
    text.textContent = !missed(age, next)
      ? "The run is training. This page was saved at " + time + ", and a save is due every " + duration(next) + ". "
      : "This page was saved at " + time + ", " + duration(age) + " ago, and should have been saved every " + duration(next) +
        ": the run may have been killed. " + (delay === null ? "It no longer reloads by itself. " : "");
    if (!canKeep) text.textContent += "The browser's storage is off, so it does not reload by itself. ";
    chosen.disabled = !canKeep || delay === null;
    if (chosen.checked && !chosen.disabled) timer = setTimeout(reload, delay * 1000);
  }
  function reload() {
    if (busy.size === 0 && !document.hidden) location.reload();
    else timer = setTimeout(reload, 1000);
  }
  chosen.addEventListener("change", wait);
  wait();
}
// ---- the whole page

document.title = visible(data.title);
document.getElementById("title").textContent = visible(data.title);
// A page of attention alone, such as that of a talk, has no training to tell of.
const ofTraining = data.sentences.length === 0
  || losses.training.steps.length + losses.validation.steps.length + data.gradients.steps.length > 0;
if (!ofTraining) document.querySelector(".kicker").textContent = "Attention";
drawOverview();
if (ofTraining) drawLosses();
drawAttention();
drawPlayground();
if (ofTraining) drawGradients();
drawSamples();
drawParameters();
drawSettings();
drawRunning();
document.addEventListener("DOMContentLoaded", restoreView); // after the playground's listener
