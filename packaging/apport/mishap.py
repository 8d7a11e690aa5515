"""Crash database of apport that sends crashes to a mishap server.

Install it as apport/crashdb_impl/mishap.py, and mishap.conf, with the address of your server, into
/etc/apport/crashdb.conf.d. It needs nothing but Python's standard library.
"""

import base64
import gzip
import hashlib
import struct
import urllib.error
import urllib.parse
import urllib.request

import apport.crashdb

# The fields that leave the machine, as with mishap-send: no environment, command line, folders, memory maps, values of
# variables, logs, or names of people.
FIELDS = (
    "ApportVersion", "Architecture", "AssertionMessage", "Date", "DistroRelease", "DuplicateSignature", "ErrorMessage",
    "ExecutablePath", "ExecutableTimestamp", "Failure", "InterpreterPath", "MachineType", "OopsText", "Package",
    "PackageArchitecture", "ProblemType", "Signal", "SignalName", "SourcePackage", "StacktraceTop", "Traceback",
)  # fmt: skip
PROBLEM_TYPES = ("Crash", "KernelOops", "Package", "Snap")
MAX_REPORT = 1 << 20  # bytes, the default limit of servers
TIMEOUT = 120  # seconds


class CrashDatabase(apport.crashdb.CrashDatabase):
    """Sends crashes to a mishap server, with whoopsie's protocol.

    Options: "url", the address of ingest_listen; "pages", base_url, to show the report after it was sent, for people
    with an account there; "cores", whether core dumps are sent when the server asks for them (default False).
    """

    def accepts(self, report):
        """Return whether the server can use a report: it groups crashes, and is no tracker for people's bugs."""
        if report.get("ProblemType") not in self.options.get("problem_types", PROBLEM_TYPES):
            report["UnreportableReason"] = (
                "This system reports crashes to %s, which takes no bug reports." % self.options["url"]
            )
            return False
        return True

    def upload(self, report, progress_callback=None, user_message_callback=None):
        """Send a report and return its number at the server, or None if the server refused it."""
        body = encode(fields(report))
        if len(body) > MAX_REPORT:
            return refused("The report is too large.", user_message_callback)
        server = self.options["url"].rstrip("/")
        machine = machine_id()
        try:
            answer = post(server + "/" + machine, body)
        except urllib.error.HTTPError as error:
            if error.code != 400:
                raise
            return refused(error.read(1000).decode("utf-8", "replace"), user_message_callback)
        if progress_callback:
            progress_callback(1, 2)
        handle, _, word = answer.partition(" ")
        core = report.get("CoreDump") or report.get("CoreDump.zst")
        if word == "CORE" and core and self.options.get("cores"):
            path = "/".join(
                urllib.parse.quote(part, safe="")
                for part in (handle, "submit-core", report.get("Architecture", ""), machine)
            )
            try:
                post(server + "/" + path, base64_lines(core))
            except (urllib.error.URLError, OSError):
                pass  # the server has the report; another machine sends the core
        if progress_callback:
            progress_callback(2, 2)
        return handle

    def get_comment_url(self, report, handle):
        """Return the page of a report, or None if the configuration names no pages."""
        if not handle or not self.options.get("pages"):
            return None
        return self.options["pages"].rstrip("/") + "/oops/" + urllib.parse.quote(handle, safe="")


def refused(reason, callback):
    """Tell the person that the server refused a report."""
    if callback:
        callback("Problem not reported", reason)


def machine_id():
    """Return the id by which servers know this machine: that of mishap-send and snapd."""
    with open("/etc/machine-id", encoding="ascii") as f:
        return hashlib.sha512(f.read().strip().encode()).hexdigest()


def fields(report):
    """Return the fields of a report that leave the machine, as texts."""
    chosen = {}
    for name in FIELDS:
        value = report.get(name)
        if hasattr(value, "get_value"):  # stored compressed
            value = value.get_value()
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str):
            chosen[name] = value
    # The memory map stays here, so the signature is made here.
    signature = report.get("StacktraceAddressSignature") or report.crash_signature_addresses()
    if signature:
        chosen["StacktraceAddressSignature"] = signature
    return chosen


def encode(texts):
    """Return a BSON document of texts."""
    elements = b""
    for name, value in texts.items():
        data = value.encode("utf-8", "replace")
        elements += b"\x02" + name.encode() + b"\0" + struct.pack("<i", len(data) + 1) + data + b"\0"
    return struct.pack("<i", len(elements) + 5) + elements + b"\0"


def base64_lines(core):
    """Yield lines of base64 of a compressed core dump."""
    if isinstance(core, str):  # what apport takes for text
        core = core.encode("utf-8", "surrogateescape")
    if isinstance(core, bytes):
        chunks = [gzip.compress(core)]
    elif hasattr(core, "iter_compressed"):
        chunks = core.iter_compressed()
    else:  # before apport 2.27
        chunks = [core.gzipvalue]
    first = True
    for chunk in chunks:
        yield (b"" if first else b"\n") + base64.b64encode(chunk)
        first = False


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Whoever answers with a redirect is not the server of the configuration."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None


def post(url, body):
    """Send a body and return the text of the answer."""
    request = urllib.request.Request(url, data=body, method="POST")
    request.add_header("Content-Type", "application/octet-stream")
    request.add_header("User-Agent", "mishap-apport")
    opener = urllib.request.build_opener(NoRedirects)
    with opener.open(request, timeout=TIMEOUT) as answer:
        return answer.read(1000).decode("utf-8", "replace")
