"""Which rows for people are longer than they may be.

Left out are documents for programs (JSON, CSV, files of other tools), and words that are longer than a row by themselves: names and
paths."""

COLUMNS = 80
# Commands whose rows may still be longer. Empty it when they keep to the width.
EXEMPT: set[str] = set()
# Flags with which a command prints another tool's format.
FORMATS = {"--json", "--csv", "--print-as"}
# Commands that print a file when they are not told where to write it.
FILES = {("net", "export"), ("calibrate", "network"), ("trace", "slice")}


def too_long(arguments: list[str], printed: str) -> list[str]:
    """Rows of a command's output that are longer than they may be."""
    command = tuple(word for word in arguments if not word.startswith("-"))[:2]
    if command[:1] and command[0] in EXEMPT:
        return []
    if FORMATS & {word.split("=")[0] for word in arguments} or command in FILES:
        return []
    return [
        row
        for row in printed.splitlines()
        if len(row) > COLUMNS and max(map(len, row.split())) + len(row) - len(row.lstrip()) <= COLUMNS
    ]
