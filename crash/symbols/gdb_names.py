# Run by gdb. Adds the command -names FILE:ADDRESS[:CALLEE]…, which names addresses of code in programs and libraries.
# CALLEE is the address of the place before in the same file, which the code at the address has called.
import re

import gdb

ERRORS = RuntimeError, UnicodeError  # gdb.error is a RuntimeError
MOST_JUMPS = 200  # functions that a search for tail calls reads

inferiors = {}  # by file; each has a program or library of its own
refusals = {}  # by file, why it cannot be read


def select(file):
    """Selects the inferior of a file. It reads the file when it is new."""
    if file not in inferiors:
        gdb.execute("add-inferior -no-connection", to_string=True)
        inferiors[file] = max(i.num for i in gdb.inferiors())
        gdb.execute("inferior %d" % inferiors[file], to_string=True)
        try:
            gdb.execute("file " + file, to_string=True)
        except ERRORS as e:
            refusals[file] = str(e)
    if gdb.selected_inferior().num != inferiors[file]:
        gdb.execute("inferior %d" % inferiors[file], to_string=True)


def functions(pc):
    """Yields the blocks of the functions at an address, the innermost inlined one first."""
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            yield block
        block = block.superblock


def function_at(pc):
    """Returns the block of the function at an address that is not inlined, or None."""
    return (list(functions(pc)) or [None])[-1]


def frames(pc):
    """Returns the functions at an address, the innermost inlined one first."""
    sal = gdb.find_pc_line(pc)
    place = {"file": sal.symtab.filename if sal.symtab else "", "line": sal.line}
    found = []
    for block in functions(pc):
        found.append(dict(place, func=block.function.print_name))
        # Of an inlined function, these are the place of the call.
        place = {"file": block.function.symtab.filename, "line": block.function.line}
    return found or [dict(place, **symbol(pc))]


def symbol(pc):
    """Returns what the table of symbols has at an address."""
    text = gdb.execute("info symbol %d" % pc, to_string=True)
    if text.startswith("No symbol matches"):
        return {}
    return {"symbol": text.split(" in section ")[0].rsplit(" + ", 1)[0].strip()}


def target(instruction):
    """Returns where a direct call or jump leads, or None."""
    found = re.match(r"(?:call|j\w+|bl?)\s+(0x[0-9a-f]+)", instruction["asm"])
    return int(found.group(1), 16) if found else None


def ways(start, callee, passed, read):
    """Yields the ways from the start of a function to one with the address callee by jumps: their addresses."""
    block = function_at(start)
    if block is None or start in passed or len(read) > MOST_JUMPS:
        return
    if block.start <= callee <= block.end:
        yield []
        return
    read.append(start)
    for i in gdb.selected_inferior().architecture().disassemble(block.start, block.end - 1):
        to = target(i)
        if to is not None and not i["asm"].startswith(("call", "bl")) and not block.start <= to < block.end:
            for way in ways(to, callee, passed | {start}, read):
                yield [i["addr"]] + way


def tail_calls(after, callee):
    """Returns the functions that were left by a jump between the call before an address and the function at callee,
    the innermost first. As in gdb's stacks, there are none if there are several ways."""
    architecture = gdb.selected_inferior().architecture()
    size = 4 if architecture.name().startswith("aarch64") else 5  # of a direct call
    call = architecture.disassemble(after - size)[0]
    to = target(call)
    if to is None or call["length"] != size:
        return []
    found = list(ways(to, callee, frozenset(), []))
    return [frames(jump)[0] for jump in reversed(found[0])] if len(found) == 1 else []


def name(file, pc, inner):
    """Returns the functions at an address and before it, and how it called the address inner of the same file."""
    answer = {}
    select(file)
    problems = [refusals[file]] if file in refusals else []
    for key, read in (
        ("at", lambda: frames(pc)),
        ("before", lambda: frames(pc - 1)),
        ("code", lambda: gdb.selected_inferior().read_memory(pc - 7, 7).tobytes().hex()),
        ("tail", lambda: tail_calls(pc, inner) if inner is not None else []),
    ):
        try:
            answer[key] = read()
        except ERRORS as e:
            if key in ("at", "before"):
                problems.append(str(e))
                answer[key] = [symbol(pc if key == "at" else pc - 1)]
    if problems:
        answer["problem"] = problems[0]
    return answer


class Names(gdb.MICommand):
    def invoke(self, args):
        answers = []
        for place in args:
            file, address, *inner = place.split(":")
            answers.append(name(file, int(address, 16), int(inner[0], 16) if inner else None))
        return {"names": answers}


Names("-names")
