# Run by gdb: writes the functions, files and lines at addresses, as its stacks show them.
import json
import os

import gdb

for line in open(os.environ["ADDRESSES"]):
    pc = int(line, 16)
    sal = gdb.find_pc_line(pc)
    file, number = (sal.symtab.filename if sal.symtab else ""), sal.line
    frames = []
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            frames.append({"Function": block.function.print_name, "File": file, "Line": number})
            # For an inlined function, these are where it was called.
            file, number = block.function.symtab.filename, block.function.line
        block = block.superblock
    if not frames:
        symbol = gdb.execute("info symbol %d" % pc, to_string=True).split(" in section ")[0].rsplit(" + ", 1)[0]
        if symbol.startswith("No symbol matches"):
            symbol = ""
        frames.append({"Function": symbol.strip(), "File": file, "Line": number})
    print("FRAMES " + json.dumps(frames))
