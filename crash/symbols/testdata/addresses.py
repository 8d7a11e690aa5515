# Run by gdb: prints the stack of a core as a gdb without debug files shows it, and the mappings; last, the addresses of
# all frames, as systemd-coredump and ABRT have them.
import gdb

print("STACK")
frame, number = gdb.newest_frame(), 0
while frame is not None and number < 40:
    if frame.type() == gdb.SIGTRAMP_FRAME:
        print("#%d  <signal handler called>" % number)
        number += 1
    elif frame.type() == gdb.NORMAL_FRAME:  # not an inlined function
        print("#%d  0x%x in ?? ()" % (number, frame.pc()))
        number += 1
    frame = frame.older()
print("MAPPINGS")
gdb.execute("info proc mappings")
print("ADDRESSES")
frame, number = gdb.newest_frame(), 0
while frame is not None and number < 40:
    if frame.type() in (gdb.SIGTRAMP_FRAME, gdb.NORMAL_FRAME):
        print("0x%x" % frame.pc())
        number += 1
    frame = frame.older()
