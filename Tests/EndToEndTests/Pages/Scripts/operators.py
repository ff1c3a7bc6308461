"""What scripts that use the dashboard share."""

from decimal import Decimal


def sign_in(browser, token):
    browser.fill("textarea[name=token]", token)
    browser.click("Sign in")


def figure(browser, column):
    """The figure in the total row, or the only row, of the first table: by the name of its column."""
    return browser.script(
        """const table = document.querySelector("main table");
        if (!table) return null;
        const index = [...table.tHead.rows[0].cells].findIndex((cell) => cell.innerText === arguments[0]);
        const row = (table.tFoot ?? table.tBodies[0]).rows[0];
        return row.cells[index]?.querySelector("data")?.value ?? null;""", column)


def figures(browser, names):
    """The figures in the rows of the first table, by the names of their columns; 0 where there is none."""
    rows = browser.script(
        """const table = document.querySelector("main table");
        const heads = [...table.tHead.rows[0].cells].map((cell) => cell.innerText);
        return [...table.tBodies[0].rows].map((row) => arguments[0].map((name) => row.cells[heads.indexOf(name)]?.querySelector("data")?.value ?? "0"));""",
        list(names))
    return [[Decimal(value) for value in row] for row in rows]
