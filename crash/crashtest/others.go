package crashtest

import "strings"

// Python returns an exception of a Python program.
func Python(options ...Option) Report {
	r := base("Crash", "harbor-sync", "harbor", "2.1-1").program("/usr/bin/harbor-sync", 611)
	r["PackageArchitecture"] = "all"
	r["InterpreterPath"] = "/usr/bin/python3.12"
	r["PythonArgs"] = "['/usr/bin/harbor-sync', '--all']"
	r["Traceback"] = `Traceback (most recent call last):
  File "/usr/bin/harbor-sync", line 20, in <module>
    main()
  File "/usr/bin/harbor-sync", line 14, in main
    sync(cfg)
  File "/usr/lib/python3/dist-packages/harbor/io.py", line 77, in load
    return int(s)
           ^^^^^^
ValueError: invalid literal for int() with base 10: 'host-77'`
	return r.apply(options)
}

// Recoverable returns a problem that a program detected and reported itself.
func Recoverable(options ...Option) Report {
	r := base("RecoverableProblem", "reefd", "reef", "5.5-1").program("/usr/libexec/reefd", 333)
	r["DuplicateSignature"] = "/usr/libexec/reefd:index-rebuild-needed"
	r["DialogBody"] = "The reef index was damaged and has been rebuilt."
	return r.apply(options)
}

// Package returns the failed installation of a package. Its signature contains line ends.
func Package(options ...Option) Report {
	const failure = "installed brigwifi-dkms package post-installation script subprocess returned error exit status 10"
	r := base("Package", "brigwifi-dkms", "brigwifi", "2.0-1ubuntu3")
	r["PackageArchitecture"] = "all"
	r["ErrorMessage"] = failure
	log := []string{
		"Preparing to unpack .../brigwifi-dkms_2.0-1ubuntu3_all.deb ...",
		"Unpacking brigwifi-dkms (2.0-1ubuntu3) over (1.9-2) ...", "Setting up brigwifi-dkms (2.0-1ubuntu3) ...",
		"Loading new brigwifi-2.0 DKMS files...",
		"Error! Bad return status for module build on kernel: 7.0.0-12-generic (x86_64)",
		"dpkg: error processing package brigwifi-dkms (--configure):",
		" " + failure, "",
	}
	r["DpkgTerminalLog"] = strings.Join(log, "\n")
	r["DuplicateSignature"] = "package:brigwifi-dkms:2.0-1ubuntu3\n" + strings.Join(log[2:], "\n")
	r["UpgradeStatus"] = "Upgraded to noble on 2026-04-29 (19 days ago)"
	return r.apply(options)
}

// Oops returns a fault of the kernel in the old format, which apport can group.
func Oops(options ...Option) Report {
	r := base("KernelOops", "linux-image-6.8.0-85-generic", "linux", "6.8.0-85.85")
	r["Failure"] = "oops"
	r["MachineType"] = "Marlin Corp. SeaBook 14"
	r["NonfreeKernelModules"] = "brigwifi"
	r["Tags"] += " kernel-oops"
	r["OopsText"] = `BUG: unable to handle kernel NULL pointer dereference at 00000000000000b8
IP: [<ffffffffa04b1e22>] brig_tx_done+0x62/0x110 [brigwifi]
Oops: 0000 [#1] SMP
Call Trace:
 [<ffffffffa04b0001>] brig_irq+0x41/0x80 [brigwifi]
 [<ffffffff810d5a2c>] handle_irq_event_percpu+0x4c/0x190
Code: 8b 47 08
`
	return r.apply(options)
}

// Suspend returns a failure to resume from suspend.
func Suspend(options ...Option) Report {
	r := base("KernelOops", "linux-image-6.8.0-85-generic", "linux", "6.8.0-85.85")
	r["Failure"] = "suspend/resume"
	r["ExecutablePath"] = "/usr/share/apport/apportcheckresume"
	r["ProcStatus"] = procStatus("apportcheckresume", 900)
	r["MachineType"] = "Marlin Corp. SeaBook 14"
	r["dmi.bios.version"] = "M14ET29W (1.17 )"
	r["Tags"] += " resume suspend"
	return r.apply(options)
}

// Ungroupable returns a report that no rule can group: a crashed compiler without a stack.
func Ungroupable(options ...Option) Report {
	r := base("Crash", "g++-13", "gcc-13", "13.3.0-6ubuntu2").program("/usr/libexec/gcc/x86_64-linux-gnu/13/cc1plus",
		70001)
	r["PreprocessedSource"] = "int x;"
	return r.apply(options)
}

// Markup returns a problem whose texts all contain HTML, links and entities.
func Markup(options ...Option) Report {
	const evil = `<script>alert("1")</script><img src=x onerror=alert(1)>'"&amp;%3Cb%3E{{7*7}}`
	r := Recoverable(Set("DuplicateSignature", "/usr/libexec/reefd:"+evil), Set("DialogBody", evil),
		Set("Title", evil), Set("ProcCmdline", "/usr/libexec/reefd "+evil))
	r["Package"] = "reefd 5.5-1"
	return r.apply(options)
}

// Long returns a problem with a signature of about 20,000 characters.
func Long(options ...Option) Report {
	var functions strings.Builder
	for functions.Len() < 26_000 {
		functions.WriteString("reef_walk_directory_entry_and_visit_each_child (dir=0x7f22)\n")
	}
	r := base("Crash", "reefd", "reef", "5.5-1").program("/usr/libexec/reefd", 334)
	r.stack(11, "SIGSEGV", tideFrames)
	r["StacktraceTop"] = strings.TrimSuffix(functions.String(), "\n")
	return r.apply(options)
}

// Unicode returns a Python problem with names, paths and texts in many scripts.
func Unicode(options ...Option) Report {
	r := base("Crash", "zeglarz", "zeglarz", "3.0-1 [modified: usr/share/żeglarz/słownik.txt]").program("/usr/bin/żeglarz",
		99)
	r["PackageArchitecture"] = "all"
	r["InterpreterPath"] = "/usr/bin/python3.12"
	r["ProcCmdline"] = "python3 /usr/bin/żeglarz ♥ 日本語 😀"
	r["Traceback"] = `Traceback (most recent call last):
  File "/usr/bin/żeglarz", line 4, in główna
    zapisz(dane)
  File "/usr/share/żeglarz/plik.py", line 31, in zapisz
    f.write("zażółć gęślą jaźń 🛶")
OSError: [Errno 28] Brak miejsca na urządzeniu`
	r["_PythonExceptionQualifier"] = "28"
	return r.apply(options)
}
