"""Sends the report on standard input with packaging/apport/mishap.py, and prints what apport would show."""

import base64
import io
import json
import sys

import apport.crashdb
import apport.crashdb_impl

plugin, options = sys.argv[1], json.loads(sys.argv[2])
given = json.load(sys.stdin)
core = base64.b64decode(given.pop("CoreDump", ""))
try:
    import apport.report
except ImportError:

    class Report(dict):
        def crash_signature_addresses(self):
            return None

    report = Report(given)
    if core:
        report["CoreDump"] = core
else:
    report = apport.report.Report()
    report.update(given)
    if core:
        report["CoreDump"] = core
    file = io.BytesIO()
    report.write(file)
    file.seek(0)
    report.load(file, binary="compressed")  # as apport's interface does

sys.dont_write_bytecode = True
apport.crashdb_impl.__path__.append(plugin)
module = __import__("apport.crashdb_impl.mishap", fromlist=["CrashDatabase"])
database = module.CrashDatabase(None, options)
shown = []
result = {"accepted": database.accepts(report), "reason": report.get("UnreportableReason", "")}
if result["accepted"]:
    handle = database.upload(report, lambda sent, total: None, lambda title, text: shown.append(text))
    result.update(handle=handle or "", url=database.get_comment_url(report, handle) or "", shown=shown)
json.dump(result, sys.stdout)
