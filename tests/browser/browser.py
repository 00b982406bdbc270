"""Chromium without a window, and what a visitor does in it: look, point, click, type."""
import base64
import json
import pathlib
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

KEYS = {"Left": Keys.ARROW_LEFT, "Right": Keys.ARROW_RIGHT, "Up": Keys.ARROW_UP, "Down": Keys.ARROW_DOWN,
        "Home": Keys.HOME, "End": Keys.END, "Tab": Keys.TAB, "Enter": Keys.ENTER, "Escape": Keys.ESCAPE,
        "Space": Keys.SPACE, "PageUp": Keys.PAGE_UP, "PageDown": Keys.PAGE_DOWN}


class Browser:
    def __init__(self):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     "--force-color-profile=srgb", "--disable-background-networking"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def quit(self):
        self.driver.quit()

    def open(self, path, width=1280, height=900, dark=False):
        """The page at that size. Errors and requests of the pages before are forgotten."""
        self.emulate(width, height, dark)
        self.visit(path)

    def emulate(self, width=1280, height=900, dark=False):
        command = self.driver.execute_cdp_cmd
        command("Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                              {"name": "prefers-reduced-motion", "value": "reduce"}]})
        command("Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def visit(self, path):
        """The page as the one before was seen."""
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(str(path) if str(path).startswith("http://") else pathlib.Path(path).as_uri())
        self.run("localStorage.removeItem('weft-theme')")
        self.settle()

    def settle(self):
        """Waits until everything that was asked for is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def wait(self, script, seconds=10):
        """Until the script returns something, which it must within so many seconds."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.02)

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that were asked for since the page was opened."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def attribute(self, selector, name):
        return self.run("return document.querySelector(arguments[0]).getAttribute(arguments[1])", selector, name)

    def focus(self, selector):
        self.run("document.querySelector(arguments[0]).focus()", selector)
        self.settle()

    def press(self, *keys):
        actions = ActionChains(self.driver)
        for key in keys:
            actions.send_keys(KEYS.get(key, key))
        actions.perform()
        self.settle()

    def _into_view(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.settle()
        return self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                        "return [b.left, b.top, b.width, b.height]", selector)

    def hover(self, selector, x=None, y=None):
        """The pointer to the middle of an element, or to a point from its upper left corner."""
        left, top, width, height = self._into_view(selector)
        self._mouse("mouseMoved", left + (width / 2 if x is None else x), top + (height / 2 if y is None else y))

    def click(self, selector):
        left, top, width, height = self._into_view(selector)
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"]:
            self._mouse(kind, left + width / 2, top + height / 2)

    def double_click(self, selector):
        left, top, width, height = self._into_view(selector)
        for count in [1, 2]:
            for kind in ["mousePressed", "mouseReleased"]:
                self._mouse(kind, left + width / 2, top + height / 2, clickCount=count)

    def drag(self, selector, x1, x2, y=100):
        """The pointer with its button down from x1 to x2, counted from the element's left."""
        left, top, _, _ = self._into_view(selector)
        for kind, x in [("mouseMoved", x1), ("mousePressed", x1), ("mouseMoved", (x1 + x2) / 2), ("mouseMoved", x2),
                        ("mouseReleased", x2)]:
            self._mouse(kind, left + x, top + y, button="left")

    def drop(self, *files):
        """Files, each (name, text), onto the page."""
        self.run("""const all = new DataTransfer();
                    for (const [name, text] of arguments[0]) all.items.add(new File([text], name));
                    for (const kind of ["dragover", "drop"])
                      document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: all, bubbles: true, cancelable: true }));""",
                 files)

    def downloaded(self, selector, folder, name):
        """The bytes of the file that a click on an element hands over."""
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        path = pathlib.Path(folder) / name
        path.unlink(missing_ok=True)
        self.click(selector)
        for _ in range(500):
            if path.exists() and path.stat().st_size > 0:
                return path.read_bytes()
            time.sleep(0.02)
        raise TimeoutError(name)

    def _mouse(self, kind, x, y, **more):
        button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
        button.update(more)
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **button})
        self.settle()

    def tap(self, selector):
        left, top, width, height = self._into_view(selector)
        point = {"x": left + width / 2, "y": top + height / 2}
        for kind, points in [("touchStart", [point]), ("touchEnd", [])]:
            self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        time.sleep(0.05)
        self.settle()

    def photograph(self, path, selector=None):
        """The whole page, or one element, as PNG."""
        box = self.run("const b = (arguments[0] ? document.querySelector(arguments[0]) : document.documentElement)"
                       ".getBoundingClientRect();"
                       "return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1}", selector)
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot",
                                           {"format": "png", "captureBeyondViewport": True, "clip": box})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
