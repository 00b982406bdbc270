"""A report's page as a file: its data, and copies with other data."""
import base64
import json
import struct

START, END = '<script type="application/json" id="data">', "</script>"


def _parts(path):
    page = path.read_text(encoding="utf-8")
    start = page.index(START) + len(START)
    return page[:start], page[start:page.index(END, start)], page[page.index(END, start):]


def data(path):
    return json.loads(_parts(path)[1])


def with_data(path, changed, to):
    """Writes the page again, with other data."""
    before, _, after = _parts(path)
    to.write_text(before + json.dumps(changed).replace("<", "\\u003c") + after, encoding="utf-8")
    return to


def floats(text):
    values = base64.b64decode(text)
    return struct.unpack(f"<{len(values) // 4}f", values)


def packed(doubles):
    return base64.b64encode(struct.pack(f"<{len(doubles)}d", *doubles)).decode()
