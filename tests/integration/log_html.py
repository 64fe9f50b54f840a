# SPDX-License-Identifier: BSD-3-Clause
"""Looks at the timeline page (log-export --format=html) in a headless Chromium, through the WebDriver protocol.

usage: log_html.py PAGE EVENTS THREADS SCREENSHOT
PAGE shows a log with so many events and threads; a picture of it is left in SCREENSHOT.
"""
import base64
import json
import re
import subprocess
import sys
import urllib.request

page, events, threads, picture = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
failures = 0


def check(what, condition, detail=""):
    global failures
    print(("ok - " if condition else "not ok - ") + what + ("" if condition else ": %s" % (detail,)))
    failures += not condition


class Browser:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.base = "http://127.0.0.1:" + found.group(1)
                break
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,700"]
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with self.opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def element(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        return "/element/" + next(iter(found.values()))

    def click(self, selector):
        self.call("POST", self.element(selector) + "/click", {})

    def type(self, selector, text):
        self.call("POST", self.element(selector) + "/value", {"text": text})

    def text(self, selector):
        return self.call("GET", self.element(selector) + "/text")

    def actions(self, *steps):
        self.call("POST", "/actions", {"actions": list(steps)})

    def move(self, x, y):
        self.actions({"type": "pointer", "id": "mouse", "actions": [{"type": "pointerMove", "x": int(x), "y": int(y), "duration": 0}]})

    def wheel(self, x, y, dy):
        self.actions({"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": dy, "duration": 0}]})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()


# Where an event is on the screen.
PLACE = """const e = events[arguments[0]], box = canvas.getBoundingClientRect();
return [box.left + x((e.from + Math.max(e.from, e.to)) / 2), box.top + TOP + e.row * ROW + 34, e.text];"""


def look(browser):
    browser.call("POST", "/url", {"url": "file://" + page})
    check("no errors on the console", not [e for e in browser.call("POST", "/se/log", {"type": "browser"}) if e["level"] == "SEVERE"])
    check("nothing is fetched", browser.run("return performance.getEntriesByType('resource').length") == 0)
    check("all events are there", browser.run("return events.length") == events, browser.run("return events.length"))
    check("all threads are there", browser.run("return threads.length") == threads, browser.run("return threads.length"))
    check("the whole run is shown", browser.run("return view.from === 0 && view.to === end"))
    check("the legend names the states", browser.text("#legend").split() == ["running", "ready", "blocked", "stopped"],
          browser.text("#legend"))
    check("something is drawn", browser.run("""const d = g.getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
        for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
        return seen.size""") > 8)
    with open(picture, "wb") as f:
        f.write(base64.b64decode(browser.call("GET", "/screenshot")))

    browser.click("#in")
    check("a button zooms in", abs(browser.run("return (view.to - view.from) / end") - 0.5) < 0.01)
    browser.click("#all")
    browser.wheel(600, 200, -500)
    size = browser.run("return (view.to - view.from) / end")
    check("the wheel zooms in", 0.3 < size < 0.7, size)
    before = browser.run("return view.from")
    browser.actions({"type": "pointer", "id": "mouse", "actions": [
        {"type": "pointerMove", "x": 600, "y": 200, "duration": 0}, {"type": "pointerDown", "button": 0},
        {"type": "pointerMove", "x": 700, "y": 200, "duration": 0}, {"type": "pointerUp", "button": 0}]})
    check("dragging moves", browser.run("return view.from") < before)
    browser.click("#all")

    # The longest event can be hit with a mouse.
    longest = browser.run("return events.indexOf(events.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a))")
    place = browser.run(PLACE, longest)
    browser.move(place[0], place[1])
    check("a tool tip shows the event", place[2] in browser.text("#tip"), browser.text("#tip"))
    check("the tool tip shows the state", " for " in browser.text("#tip"), browser.text("#tip"))
    browser.move(600, 20)
    check("the tool tip goes away", browser.run("return getComputedStyle(document.getElementById('tip')).display") == "none")

    browser.type("#find", "write(")
    wanted = browser.run("return events.filter((e) => e.text.includes('write(')).length")
    check("search counts", wanted > 1 and browser.text("#count") == "1 of %d" % wanted, browser.text("#count"))
    check("search shows the event", "write(" in browser.text("#detail"), browser.text("#detail"))
    browser.click("#next")
    check("search goes on", browser.text("#count") == "2 of %d" % wanted, browser.text("#count"))
    check("the match is in sight", browser.run("return matches[current].from >= view.from && matches[current].from <= view.to"))


browser = Browser()
try:
    look(browser)
finally:
    browser.close()
sys.exit(failures != 0)
