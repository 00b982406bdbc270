"""Tables that a phone shows row by row, each cell under the name of its column."""
import html
import re


def text_of(cell):
    without_sources = re.sub(r'<span class="katex-mathml">.*?</math></span>', "", cell, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", without_sources)).split())


def is_wide(rows):
    """Whether two columns or more hold words, and all together more than a phone's line."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return sum(width > 15 for width in widths) > 1 and sum(widths) > 60


def stacked(match):
    table = match.group(0)
    rows = [[text_of(cell) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.DOTALL)]
            for row in re.findall(r"<tr\b.*?</tr>", table, re.DOTALL)]
    if "<thead>" not in table or not is_wide(rows):
        return table

    def named(row):
        names = iter(rows[0])
        # A browser takes what is no longer laid out as a table for none, if the roles do not say so.
        return re.sub(r"<td\b", lambda _: f'<td role="cell" data-label="{html.escape(next(names, ""), quote=True)}"', row.group(0))
    table = re.sub(r"<tr\b.*?</tr>", named, table, flags=re.DOTALL)
    for tag, role in [("table", "table"), ("thead", "rowgroup"), ("tbody", "rowgroup"), ("tr", "row"), ("th", "columnheader")]:
        table = re.sub(rf"<{tag}\b", f'<{tag} role="{role}"', table)
    return table.replace('class="docutils', 'class="stacked docutils', 1)


def in_page(body):
    return re.sub(r"<table\b.*?</table>", stacked, body, flags=re.DOTALL)
