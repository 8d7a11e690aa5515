package api_test

const commonRow = `objects/0/keys="count first_seen first_seen_release function last_seen last_seen_release package rank report web_link"`

// commonClaims test most-common-problems.
func commonClaims() []claim {
	ask := func(fact, query string, status int, wants ...string) claim {
		return claim{fact: fact, ask: "most-common-problems/?" + query, status: status, wants: wants}
	}
	counts := func(fact, query, numbers string) claim {
		return ask(fact, query, 200, "objects/*/count=["+numbers+"]")
	}
	return []claim{
		ask("9.1", "", 200, commonRow, "objects/*/rank=[1,2,3,4,5]", "objects/*/count=[11,3,2,1,1]",
			"objects/0/function={tide-json}", `objects/0/package="tidewatch"`,
			`objects/0/first_seen="{older}"`, `objects/0/last_seen="{newer}"`, `objects/0/last_seen_release="Ubuntu 24.04"`,
			`objects/0/web_link="https://errors.example/problem/{tide-key}"`, `objects/0/report=""`, `objects/2/report="{bug}"`),
		ask("9.1", "limit=2", 200, "meta/total_count=2", "meta/limit=2", "objects/*/rank=[1,2]"),
		ask("9.1", "limit=0", 200, "meta/total_count=0", "meta/limit=360", "objects/#=0"),
		ask("9.1", "limit=1000&period=year", 200, "meta/limit=360", "objects/#=6"),
		ask("8.2", "limit=2&offset=1", 200, "objects/*/rank=[2]", `meta/previous=null`, "meta/next=null"),
		ask("8.2", "release=Ubuntu%2024.04&limit=1", 200, "meta/next=null", "meta/total_count=1"),
		counts("9.1", "period=day", "11,3,2,1,1"), counts("9.1", "period=today", "11,3,2,1,1"),
		counts("9.1", "period=week", "26,3,2,1,1,1"), counts("9.1", "period=month", "26,3,2,1,1,1"),
		counts("9.1", "period=year", "26,3,2,2,1,1"),
		counts("9.1", "period=20260517", "4,1"), counts("9.1", "period=202604", "1"), counts("9.1", "period=2025", ""),
		counts("9.1", "period=2026", "26,3,2,2,1,1"),
		counts("9.1", "from=20260516&to=20260517", "6,1"), counts("9.1", "from=2026-05-16&to=2026-05-17", "6,1"),
		counts("9.1", "from=2026/05/16&to=2026/05/17", "6,1"),
		counts("9.1", "from=20260517&to=20260516", ""), counts("9.1", "from=20260101&to=20260102&period=day", "11,3,2,1,1"),
		counts("9.1", "from=&to=&period=", "11,3,2,1,1"),
		counts("9.1", "release=Ubuntu%2024.04", "10,3,2,1"), counts("9.1", "release=Ubuntu+24.04", "10,3,2,1"),
		counts("9.1", "release=Debian%2013", "1"), counts("9.1", "release=Plan%209", ""),
		counts("9.1", "package=tidewatch", "11,3,2"), counts("9.1", "package=nosuch", ""),
		counts("9.1", "package=tidewatch&version={newer}", "10,3,2"),
		counts("9.1", "package=tidewatch&version={older}&period=week", "15"), counts("9.1", "pkg_arch=amd64", "11,3,2,1,1"),
		counts("9.1", "pkg_arch=riscv64", ""),
		counts("9.1", "release=Ubuntu%2024.04&package=tidewatch&version={newer}&pkg_arch=amd64&period=day", "10,3,2"),
		counts("9.1", "user=tide-team", "11,3,2"), counts("9.1", "user=idle-team", ""),
		counts("9.1", "user=https://launchpad.net/~tide-team", "11,3,2"),
		ask("9.1", "user=nobody-there", 404), counts("9.1", "packageset=desktop&release=Ubuntu%2024.04", "10,3,2"),
		counts("9.1", "user=idle-team&package=tidewatch", ""),
		counts("9.1", "package=nosuch&packageset=desktop&release=Ubuntu%2024.04", ""),
		counts("9.1", "first_appearance=1&version={newer}", "3,2"), counts("9.1", "first_appearance=true&version={older}",
			""), counts("9.1", "first_appearance=&version={newer}", "10,3,2"),
		ask("9.1*", "first_appearance=1", 400, `code="missing_version"`), counts("9.1", "snap=True", ""),
		counts("9.1", "snap=False", "11,3,2,1,1"),
		counts("9.1", "rootfs_build_version=7&channel_name=devel&device_name=mako&device_image_version=3", "11,3,2,1,1"),
		counts("9.1", "release=Plan%209&release=Debian%2013", "1"), counts("9.1", "q=package:tidewatch", "11,3,2"),
		ask("9.1*", "period=century", 400, `code="bad_period"`), ask("9.1*", "period=20261301", 400, `code="bad_period"`),
		ask("9.1*", "from=20260516", 400, `code="half_a_range"`),
		ask("9.1*", "to=20260516", 400, `code="half_a_range"`), ask("9.1*", "from=soon&to=20260516", 400, `code="bad_from"`),
		ask("9.1*", "from=20260516&to=20260231", 400, `code="bad_to"`),
		ask("9.1*", "q=(", 400, `code="bad_q"`), ask("9.1", "package=%00", 400, `code="bad_package"`),
		ask("8.4", "package=%FF%FE", 200, "objects/#=0"), ask("8.4", "package=100%25&version=%zz", 200, "objects/#=0"),
	}
}

// problemClaims test single problems and the answers that stop phased updates.
func problemClaims() []claim {
	get := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants}
	}
	missing := func(ask, name string) claim {
		return get("9.2*", ask, 400, `code="missing_`+name+`"`, `error/^="The parameter `+name+` is missing"`)
	}
	const fields = `keys="bucket_id metadata signature source_package stacktrace thread_stacktrace traceback"`
	const tide = `versions/?id={tide}`
	const buckets = "package-version-new-buckets/?package=tidewatch"
	const rate = "package-rate-of-crashes/?"
	return []claim{
		// bucket
		get("9.2", "bucket/{tide-path}/", 200, fields, "bucket_id={tide-json}", "signature={tide-json}", `source_package="tidewatch"`,
			"stacktrace=null", "thread_stacktrace=null", "traceback=null",
			`metadata/keys="FirstSeen FirstSeenRelease LastSeen LastSeenRelease Source"`, `metadata/Source="tidewatch"`,
			`metadata/FirstSeen="{older}"`, `metadata/LastSeen="{newer}"`),
		get("8.1", "bucket/{tide}/", 200, "bucket_id={tide-json}"), get("8.1", "bucket/{odd-segment}/", 200,
			"bucket_id={odd-json}"), get("9.2", "bucket/{odd}/", 200, "bucket_id={odd-json}"),
		get("9.2*", "bucket/{odd-twice}/", 200, "bucket_id={odd-json}"), get("9.2", "bucket/{tide-key}/", 200,
			"bucket_id={tide-json}"), get("9.2", "bucket/{two-key}/", 200, `metadata/CreatedBug="{bug}"`),
		get("9.2", "bucket/no%20such%20thing/", 404, `code="unknown_bucket"`),
		get("9.2", "bucket/0000000000000000000000000000000000000000/", 404),
		get("8.1", "bucket/{tide}", 301, "@Location=/api/1.0/bucket/{tide}/"),
		{fact: "9.2", ask: "bucket/{tide-key}/", as: viewer, status: 200, wants: []string{`stacktrace/^="#0  0x"`,
			`thread_stacktrace/^="."`, "traceback=null"}},
		// versions
		get("9.2", tide, 200, "objects/#=4", `objects/*/version=["{older}","1.4.9-1+deb13u1","{newer}","All versions"]`,
			"objects/*/noble=[15,-1,10,25]", "objects/*/derivatives=[-1,1,-1,1]",
			"objects/*/total=[15,1,10,26]", "objects/*/precise=[-1,-1,-1,-1]", `objects/0/pockets={"noble":"Release"}`,
			`objects/2/pockets={"noble":"Updates"}`, "objects/3/pockets={}"),
		get("9.2", tide+"&limit=2", 200, "objects/#=2", `meta/next="/api/1.0/versions/?id=`+
			"%2Fusr%2Fbin%2Ftidewatch%3A11%3Atide_parse_row%3Atide_load%3Aon_open_clicked%3A__libc_start_call_main%3A_start"+
			`&limit=2&offset=2"`),
		get("9.2*", "versions/?id={tide-twice}", 200, "objects/#=4"), get("9.2", "versions/?id={tide-key}", 200,
			"objects/#=4"), get("9.2", "versions/?id={odd}", 200, "objects/#=2", "objects/*/noble=[3,3]"),
		get("9.2", "versions/?id={odd-twice}", 200, "objects/#=2"), get("9.2", "versions/?id=unknown", 200, "objects/#=0",
			"meta/total_count=0"), missing("versions/", "id"), missing("versions/?id=", "id"),
		get("9.2", "versions/?id=x&id={odd}", 200, "objects/#=2"),
		// instances
		get("9.2", "instances/?id={odd}", 200, "objects/#=3",
			`objects/0/keys="architecture incident package_version timestamp ubuntu_version"`,
			`objects/0/timestamp="2026-05-18T17:00:00"`,
			`objects/0/package_version="{newer}"`, `objects/0/ubuntu_version="Ubuntu 24.04"`, `objects/0/architecture="amd64"`),
		get("9.2", "instances/?limit=100&id={odd-twice}&start=", 200, "objects/#=3"),
		get("9.2", "instances/?id={tide}&start={id}", 200, "objects/#=11"),
		get("9.2*", "instances/?id={tide}&start=yesterday", 400, `code="bad_start"`),
		get("9.2", "instances/?id=unknown", 200, "objects/#=0"), missing("instances/", "id"),
		get("9.2", "instances/?id={tide}&start=00000000-0000-1000-8000-000000000000", 200, "objects/#=0"),
		// average-instances
		get("9.2", "average-instances/?limit=0&id={tide}", 200, `objects/0/keys="color key values"`,
			`objects/*/key=["Debian 13","Ubuntu 22.04","Ubuntu 24.04","Ubuntu 25.10","Ubuntu 26.04"]`,
			`objects/2/values/0={"x":1779062400000,"y":1.4285714285714286}`, "objects/2/values/#=6", "objects/1/values=[]",
			"objects/2/values/5/y=0.8"),
		get("9.2", "average-instances/?id={odd-twice}", 200,
			`objects/1/values=[{"x":1779062400000,"y":0.42857142857142855}]`), get("9.2", "average-instances/?id=unknown", 200,
			"objects/0/values=[]"), missing("average-instances/", "id"),
		// package-version-new-buckets
		get("9.2", buckets+"&previous_version={older}&new_version={newer}", 200, "objects/#=1",
			"objects/0/function={odd-json}", `objects/0/web_link="https://errors.example/problem/{odd-key}"`,
			`objects/0/archive="published"`, "objects/0/systems=3"),
		get("9.2", buckets+"&previous_version={newer}&new_version={older}", 200, "objects/#=0"),
		get("9.2", buckets+"&previous_version=0.1-1&new_version={newer}", 404, `code="unknown_version"`),
		get("9.2", buckets+"&previous_version={older}&new_version=99-1", 404,
			`error_message/^="The archive has no version 99-1"`), missing("package-version-new-buckets/", "package"),
		missing(buckets, "previous_version"),
		missing(buckets+"&previous_version=1", "new_version"),
		get("9.2", "package-version-new-buckets/?format=json&package=nosuch&previous_version=1&new_version=2", 404),
		// crash-signatures-for-bug
		get("9.2*", "crash-signatures-for-bug/?bug={bug}", 200, `objects=[{"signatures":["on two machines"]}]`),
		get("9.2", "crash-signatures-for-bug/?bug={bug}&limit=5", 200, `objects/0/signatures=["on two machines"]`),
		get("9.2", "crash-signatures-for-bug/?bug=1", 200, `objects=[{"signatures":[]}]`),
		missing("crash-signatures-for-bug/", "bug"), get("9.2*", "crash-signatures-for-bug/?bug=x", 400, `code="bad_bug"`),
		// package-rate-of-crashes: 15 crashes of the new version today; 4, 2, 3, 2, 4 of the old version
		// on the five days before
		get("9.3", rate+"{rate}", 200, "meta/total_count=1",
			`objects/0/keys="difference evidence increase previous_average previous_period_in_days web_link"`,
			"objects/0/increase=true", "objects/0/previous_average=4",
			"objects/0/previous_period_in_days=5", "objects/0/difference=12",
			`objects/0/web_link="https://errors.example/?release=Ubuntu%2024.04&package=tidewatch&version={newer}"`),
		get("9.3", rate+"{rate}&phased_update_percentage=10", 200, "objects/0/previous_average=0", "objects/0/difference=14"),
		get("9.3", rate+"{rate}&phased_update_percentage=100", 200, "objects/0/difference=12"),
		get("9.3", rate+"{rate}&exclude_proposed=True", 200, "objects/0/difference=11"),
		get("9.3", rate+"{rate}&exclude_proposed=", 200, "objects/0/difference=12"), get("9.3", rate+"{rate}&date=2026-05-18",
			200, "objects/0/difference=12"),
		get("9.3", rate+"{rate}&date=20260516", 200, "objects/0/previous_period_in_days=3", "objects/0/previous_average=4"),
		get("9.3", rate+"{rate}&date=20260513", 200, "objects/0/increase=false", "objects/0/difference=null"),
		get("9.3", rate+"{rate}&date=20260512", 200, "objects/0/increase=true", "objects/0/difference=15",
			"objects/0/previous_average=null", "objects/0/previous_period_in_days=null"),
		get("9.3", rate+"{rate}&new_version=77-1", 200, "objects/0/increase=false", "objects/0/web_link=null",
			"objects/0/previous_average=null"), get("9.3", rate+"{rate}&old_version=77-1", 200, "objects/0/increase=true",
			"objects/0/difference=15"),
		get("9.3", rate+"{rate}&release=Ubuntu%2026.04", 200, "objects/0/increase=false"),
		get("9.3", rate+"{rate}&package=nosuch", 200, "objects/0/increase=false"),
		get("9.3", rate+"{rate}&new_version={older}&old_version={newer}", 200, "objects/0/increase=false"),
		missing(rate, "release"), missing(rate+"release=x&package=x&old_version=1&new_version=2", "date"),
		missing(rate+"{rate}&package=", "package"),
		missing(rate+"{rate}&old_version=", "old_version"), missing(rate+"{rate}&new_version=", "new_version"),
		get("9.3*", rate+"{rate}&date=today", 400, `code="bad_date"`), get("9.3*", rate+"{rate}&phased_update_percentage=ten",
			400),
		get("9.3*", rate+"{rate}&phased_update_percentage=101", 400),
		// evidence: 15 crashes on 7 machines for three quarters of a day, 15 on 26 machine-days
		get("9.3*", rate+"{rate}", 200, `objects/0/evidence/keys="new old ratio"`, "objects/0/evidence/new/crashes=15",
			"objects/0/evidence/new/machine_days=5.25", "objects/0/evidence/old/crashes=15",
			"objects/0/evidence/old/machine_days=26",
			"objects/0/evidence/ratio/ratio=4.95238"),
	}
}
