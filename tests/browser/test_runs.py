"""Runs beside each other, a run that is still training, what it was run with, and what the page hands over as files."""
import base64
import csv
import io
import json
import math
import re
import subprocess
import time

from case import ARGUMENTS, DESKTOP, PHONE, ReportCase, number
import pages


def losses_of(folder):
    with open(folder / "loss.csv", newline="") as file:
        return list(csv.DictReader(file))


class RunsTest(ReportCase):
    @classmethod
    def setUpClass(cls):
        cls.compared = cls.train("compared", cls.text, "--lr", "0.01", "--stop-at", "20", "--compare", "plain",
                                 "--compare", cls.folder / "plain/report.html")

    def names(self):
        return self.browser.texts("#loss .legend bdi")

    def values(self):
        """What the readout tells, by name."""
        return {item.rsplit(" ", 1)[0]: number(item.rsplit(" ", 1)[1]) for item in self.browser.texts("#loss-readout span")[1:]}

    # ---- other runs

    def test_compared_runs_are_drawn_with_their_losses(self):
        self.browser.open(self.compared / "report.html")
        absolute = str(self.folder / "plain")
        self.assertEqual(self.names(), ["plain", absolute])  # as they were given
        self.assertIn("lr 0.001", self.browser.text("#loss .legend small"))
        self.assertNotIn("d_model", self.browser.text("#loss .legend small"))  # the same for both
        self.browser.focus("#loss .plot")
        self.browser.press("Home")
        for step in range(3):
            values = self.values()
            self.assertEqual(values["plain"], float(f"{float(self.losses[step]['loss']):.6g}"))
            self.assertNotEqual(values["plain"], values["training"] if step > 0 else None)
            self.browser.press("Right")
        self.browser.press("End")  # of the longest
        told = self.values()
        self.assertEqual(told["plain validation"], float(f"{float(self.losses[60]['validation_loss']):.6g}"))
        self.assertIn("training (step 19)", told)
        strokes = self.browser.run("return [...document.querySelectorAll('#loss .line.other, #loss .line.training')].map(e =>"
                                   "getComputedStyle(e).stroke)")
        self.assertEqual((len(strokes), len(set(strokes))), (2 * 2 + 2, 3))
        self.browser.click("#loss .remove")
        self.assertEqual((self.names(), len(self.browser.all("#loss .line.other"))), ([absolute], 2))
        self.assertNotIn("plain", self.values())

    def test_reports_are_dropped_and_chosen(self):
        for size in [PHONE, DESKTOP]:
            self.browser.open(self.page, **size)
            other = (self.compared / "report.html").read_text(encoding="utf-8")
            self.browser.drop(["report.html", other], ["my run.html", other])
            self.browser.wait("return document.querySelectorAll('#loss .legend bdi').length === 2")
            self.browser.find("#compare").send_keys(str(self.compared / "report.html"))
            self.browser.wait("return document.querySelectorAll('#loss .legend bdi').length === 3")
            self.assertEqual(self.names(), ["compared", "my run", "compared (2)"])
            self.browser.focus("#loss .plot")
            self.browser.press("Home", "Right")
            self.assertEqual(self.values()["my run"], float(f"{float(losses_of(self.compared)[1]['loss']):.6g}"))
            self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), size["width"])
            self.browser.focus("#loss .remove")
            for left in [["my run", "compared (2)"], ["compared (2)"], []]:  # by the keyboard
                self.browser.press("Enter")
                self.assertEqual(self.names(), left)
            self.assertEqual(self.browser.run("return document.activeElement.id"), "compare")

    def test_a_file_that_is_no_report_is_refused_in_words(self):
        self.browser.open(self.page)
        page = self.page.read_text(encoding="utf-8")
        hostile = '<img src=x onerror="window.hurt=1">.html'
        mean = re.search('"mean":"', page).end()
        later = page.replace('"weft report 2"', '"weft report 9"')
        for name, text, reason in [("notes.txt", "my notes", "it contains no report data"), (hostile, "", "it contains no report data"),
                                   ("cut.html", page[:len(page) // 2], "it contains no report data"),
                                   ("cut.html", page[:mean] + pages.END, "its data is damaged"),
                                   ("later.html", later, "its format is unknown"),
                                   ("letters.html", page[:mean] + "*" + page[mean + 1:], "its losses are damaged"),
                                   ("short.html", page[:mean] + page[mean + 16:], "its losses are damaged"),
                                   ("null.html", re.sub('"steps":.0,', '"steps":[null,', page, 1), "its losses are damaged")]:
            self.browser.drop([name, text])
            self.browser.wait("return document.getElementById('compare-message').textContent.includes("
                              f"{json.dumps(name + ' was not added: ' + reason)})")
            self.assertEqual(self.names(), [])
        self.browser.drop(*[[f"{i}.html", page] for i in range(10)])
        self.browser.wait("return document.querySelectorAll('#loss .legend bdi').length === 8")
        self.assertIn("9.html was not added: 8 other runs are shown already; remove one first.",
                      self.browser.text("#compare-message"))
        self.assertIsNone(self.browser.run("return window.hurt ?? null"))

    def test_hostile_names_of_runs_are_text(self):
        hurt = "</script><img src=x onerror=window.hurt=1>\u202e"
        def change(data):
            data["compared"] = [{"name": hurt, "settings": [["lr", hurt]], "loss": data["loss"]}]
            data["facts"] = [["command", hurt], [hurt, "x"]]
        self.browser.open(self.with_data("hurt.html", change), **PHONE)
        self.assertEqual(self.names(), [hurt.replace("\u202e", "\\u202e")])
        self.assertIn(hurt.replace("\u202e", "\\u202e"), self.browser.texts("#run dd"))
        self.assertEqual(self.browser.all("main img"), [])
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)

    # ---- a run that is still training

    def running(self, name, page=None, **run):
        return self.with_data(name, lambda data: data["run"].update(run), page)

    def delays(self, page):
        """Opens the page and returns the times after which it would do something, in seconds."""
        hook = self.browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source":
            "window.delays = []; window.setTimeout = (what, after) => { delays.push(after / 1000); return 1; }"})
        try:
            self.browser.open(page)
            return self.browser.run("return delays")
        finally:
            self.browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", hook)

    def test_a_page_reloads_by_itself_while_the_run_trains(self):
        page = self.running("live.html", saved=int(time.time()) + 3600, next=0.5)  # its clock is ahead: aged when first seen
        self.browser.open(page)
        self.assertTrue(self.browser.find("#reload").is_selected())
        self.running("live.html", next=0)  # the last save
        self.browser.wait("return document.getElementById('theme') && document.getElementById('reload') === null")

    def test_what_was_chosen_is_kept_when_the_page_reloads(self):
        page = self.running("live.html", saved=int(time.time()), next=1000)
        self.browser.open(page, **PHONE)
        other = (self.compared / "report.html").read_text(encoding="utf-8")
        self.browser.drop(["other.html", other])
        self.browser.wait("return document.querySelectorAll('#loss .legend bdi').length === 1")
        self.browser.click("#logarithmic")
        self.browser.click("#gradients [value=parameters]")
        self.browser.focus("#smoothing")
        self.browser.press("Home")
        self.browser.focus("#loss .plot")
        self.browser.press("+")
        steps = self.browser.texts("#loss svg > .axis:first-of-type text")
        self.browser.click("#sentence")
        self.browser.click("#sentence-2")
        self.browser.click("[data-head='3']")
        self.browser.click("#token-4")
        self.browser.focus("#loss-from")
        self.browser.press("2")
        self.browser.run("scrollTo(0, 1000)")
        self.browser.run("window.same = true; document.getElementById('reload-now').click()")
        self.browser.wait("return !window.same && document.querySelector('.matrix svg') !== null")
        self.browser.settle(), self.browser.settle()
        state = self.browser.run("""const value = (id) => document.getElementById(id);
            return [value("logarithmic").checked, value("smoothing").value, value("loss-from").value, scrollY,
                    document.activeElement.id, document.querySelector("#gradients [value=parameters]").checked,
                    value("sentence").value, document.querySelector(".large h3").textContent]""")
        self.assertEqual(state, [True, "0", "2", 1000, "loss-from", True, self.data["sentences"][2]["text"], "Layer 2, head 2"])
        self.assertTrue(self.browser.find("#token-4").get_attribute("class").endswith("pinned"))
        self.assertEqual(self.names(), ["other"])
        self.assertEqual(self.browser.texts("#loss svg > .axis:first-of-type text"), steps)
        self.assertEqual(self.browser.attribute("#checkpoint", "aria-valuetext"), "step 60")
        self.browser.open(page, **PHONE)  # anew: as it was made
        self.assertEqual(self.browser.run("return document.getElementById('smoothing').value"), "0.8")
        self.assertEqual(self.names(), [])

    def test_a_page_of_a_killed_run_stops_reloading(self):
        now = int(time.time())
        for age, expected, says in [(0, 10.5, "The run is training."), (25, 1, "The run is training."),
                                    (40, 40, " seconds ago, and should have been saved every 10 seconds"), (1800, 1800, "30 min "), (4000, None, "It no longer reloads")]:
            delays = self.delays(self.running("age.html", saved=now - age, next=10))
            self.assertIn(says, self.browser.text("#running"))
            self.assertEqual("may have been killed" in self.browser.text("#running"), age > 30)
            if expected is None:
                self.assertEqual((delays, self.browser.find("#reload").is_enabled()), ([], False))
            else:
                self.assertAlmostEqual(delays[0], expected, delta=5)
        self.assertAlmostEqual(self.delays(self.running("ahead.html", saved=now + 7200, next=10))[0], 10.5, delta=1)  # its clock
        self.assertEqual(self.delays(self.page), [])
        self.assertEqual(self.browser.all("#reload"), [])  # it has ended

    def test_reloading_can_be_switched_off(self):
        page = self.running("off.html", saved=int(time.time()) + 3600, next=0.5)
        self.browser.open(page)
        self.browser.click("#reload")
        self.browser.run("window.same = true")
        self.browser.driver.execute_async_script("setTimeout(arguments[0], 1700)")
        self.assertTrue(self.browser.run("return window.same"))
        self.browser.click("#reload-now")
        self.browser.wait("return !window.same && document.getElementById('reload') !== null")
        self.assertFalse(self.browser.find("#reload").is_selected())

    def test_a_running_page_fits_a_phone(self):
        self.browser.open(self.running("age.html", saved=int(time.time()) - 90000, next=10), width=320, height=740)
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 320)

    # ---- facts

    def test_steps_are_those_that_the_terminal_tells(self):
        out = self.folder / "stopped"
        command = [self.build / "examples/train_gpt", "--out", out, *ARGUMENTS, "--text", self.text, "--stop_at", 12]
        said = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
        self.assertIn("stopped after 12 of 60 steps", said)
        self.browser.open(out / "report.html")
        self.assertEqual(self.tiles()["steps"], "12 of 60")
        self.browser.open(self.page)
        self.assertEqual(self.tiles()["steps"], "60")

    def tiles(self):
        return dict(zip(self.browser.texts(".tiles dt"), self.browser.texts(".tiles dd")))

    def test_facts_are_the_runs(self):
        self.browser.open(self.page)
        run, best = self.data["run"], min(float(row["validation_loss"]) for row in self.losses if row["validation_loss"])
        tiles = self.tiles()
        self.assertEqual(float(tiles["its perplexity"]), float(f"{math.exp(best):.3g}"))
        self.assertEqual(run["tokens"], 60 * 8 * 32)
        self.assertEqual(number(tiles["tokens per second"]), round(run["tokens"] / run["seconds"]))
        self.assertRegex(tiles["duration"], "^[0-9]+ seconds?$")
        facts = dict(zip(self.browser.texts("#run dt"), self.browser.texts("#run dd")))
        self.assertTrue(facts["command"].startswith(f"train_gpt --out {self.folder}/plain --num_layers 2 "), facts)
        with open("/proc/cpuinfo") as file:
            self.assertIn(facts["processor"], file.read() + "unknown")
        self.assertRegex(facts["Weft"], r"^\d+\.\d+\.\d+$")
        self.assertGreaterEqual(int(facts["threads"]), 1)
        self.assertEqual(facts["folder"], "plain")
        self.assertIn(time.strftime("%Y", time.localtime(run["saved"])), facts["saved"])

    # ---- files

    def test_the_csv_is_loss_csv(self):
        self.browser.open(self.page)
        found = self.browser.downloaded("#csv", self.folder, "weaving-loss.csv").decode()
        rows = list(csv.DictReader(io.StringIO(found)))
        numbers = lambda row: {name: text and float(text) for name, text in row.items()}
        self.assertEqual([numbers(row) for row in rows], [numbers(row) for row in self.losses])
        def joined(data):
            data["loss"]["training"].update(steps=[0, 2], size=2, last=2, end=3, mean=pages.packed([2.5, math.nan]),
                                            low=pages.packed([2, 1]), high=pages.packed([3, math.inf]))
            data["loss"]["validation"].update(steps=[3], end=3, last=1, mean=pages.packed([2]))
            data["loss"]["learning_rate"].update(steps=[], end=-1, last=0, mean="")
        self.browser.open(self.with_data("joined.html", joined))
        self.assertEqual(self.browser.downloaded("#csv", self.folder, "weaving-loss.csv").decode(),
                         "step,learning_rate,loss,lowest_loss,highest_loss,validation_loss\n"
                         "0,,2.5,2,3,\n2,,nan,1,inf,\n3,,,,,2\n")

    def test_pictures_are_saved_as_seen(self):
        for dark in [False, True]:
            self.browser.open(self.page, dark=dark)
            for what, hues in [("losses", ["#loss .line.training:not(.raw)", "#loss .dot.validation"]),
                               ("gradients", ["#gradients .cells"]), ("the head", [".matrix .looked", ".matrix text"])]:
                png = self.browser.downloaded(f"[aria-label='Save {what} as PNG']", self.folder,
                                              f"weaving-{what.replace(' ', '-')}.png")
                self.assertTrue(png.startswith(b"\x89PNG"))
                wanted = self.browser.run("""return arguments[0].map((selector) => {
                      const style = getComputedStyle(document.querySelector(selector));
                      return style.stroke !== "none" ? style.stroke : style.fill;
                    }).concat(getComputedStyle(document.body).backgroundColor)""", hues)
                size, found = self.browser.driver.execute_async_script("""
                    const [text, done] = arguments, image = new Image();
                    image.onload = () => {
                      const canvas = document.createElement("canvas");
                      canvas.width = image.width;
                      canvas.height = image.height;
                      const context = canvas.getContext("2d");
                      context.drawImage(image, 0, 0);
                      const found = new Set(new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer));
                      done([[image.width, image.height],
                            [...found].map((c) => `rgb(${c & 255}, ${c >> 8 & 255}, ${c >> 16 & 255})`)]);
                    };
                    image.src = "data:image/png;base64," + text;""", base64.b64encode(png).decode())
                self.assertGreater(min(size), 400)
                self.assertEqual([hue for hue in wanted if hue not in found], [], (what, dark))
