package api_test

import (
	"net/http"

	"mishap/handlers/handlertest"
)

// countClaims test counts by day.
func countClaims() []claim {
	get := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants}
	}
	return []claim{
		get("9.4", "average-crashes/?release=Ubuntu%2024.04", 200,
			`objects/*/key=["Ubuntu 24.04 (by 12.04 standards)","Ubuntu 24.04"]`, "objects/0/values/5/y=0.6666666666666666",
			"objects/1/values/5/y=0.8333333333333334",
			"objects/1/values/0/x=1775606400000", "objects/1/values/6/x=1779062400000", "objects/1/values/#=7"),
		get("9.4", "average-crashes/?limit=0&release=Ubuntu%2024.04&package=tidewatch&version={older}", 200,
			"objects/1/values/#=5", "objects/1/values/0/y=0.8"),
		get("9.4", "average-crashes/?release=Ubuntu%2024.04&package=nosuch", 200, "objects/*/values=[[],[]]"),
		get("9.4", "average-crashes/?release=Ubuntu%2012.04", 200, `objects/*/key=["Ubuntu 12.04"]`),
		get("9.4", "average-crashes/?limit=0&release=&package=&version=", 200, "objects/#=10",
			`objects/0/key="Debian 13 (by 12.04 standards)"`, `objects/9/key="Ubuntu 26.04"`),
		get("9.4*", "average-crashes/?release=Plan%209", 200, "objects/#=2", "objects/*/values=[[],[]]"),
		get("9.4*", "average-crashes/?version=1", 400, `code="missing_package"`),
		get("9.4", "average-crashes/?release=Plan%209&release=Ubuntu%2026.04", 200, `objects/1/key="Ubuntu 26.04"`,
			"objects/1/values/0/y=1"),

		get("9.5", "instances-count/?limit=1", 200,
			`objects=[{"color":"#6a5364","release":"Debian 13","value":[{"date":"20260518","value":1}]}]`, "meta/total_count=3"),
		get("9.5", "instances-count/?limit=3", 200, "objects/#=3",
			`objects/*/release=["Debian 13","Ubuntu 24.04","Ubuntu 26.04"]`,
			`objects/1/value=[{"date":"20260518","value":16},{"date":"20260517","value":5},{"date":"20260516","value":2}]`),
		get("9.5*", "instances-count/", 200, "objects/1/value/#=6"), get("9.5", "instances-count/?limit=0", 200,
			"objects/#=0"), get("9.5", "instances-count/?limit=365", 200, "objects/#=3"),
		get("9.5", "problems-count/?limit=3", 200,
			`objects=[{"date":"20260518","value":5},{"date":"20260517","value":2},{"date":"20260516","value":1}]`),
		get("9.5", "problems-count/?limit=7", 200, "objects/#=7", "objects/6/value=0"), get("9.5*", "problems-count/", 200,
			"objects/#=30"), get("9.5", "problems-count/?limit=0", 200, "objects/#=0"), get("9.5", "problems-count/?limit=365",
			200, "objects/#=360"),
		get("9.5", "retracers-results/?limit=1", 200, `objects/0/date="20260518"`,
			`objects/0/value/keys="Debian 13 Debian 13:amd64 Ubuntu 24.04 Ubuntu 24.04:amd64"`, "objects/0/value/Ubuntu "+
				"24.04/success=10", "objects/0/value/Ubuntu 24.04:amd64/failed=1"),
		get("9.5*", "retracers-results/20260518/", 200, `date="20260518"`, "value/Ubuntu 24.04/success=10"),
		get("9.5*", "retracers-results/2026-05-18/", 200, `date="20260518"`), get("9.5*", "retracers-results/20260101/", 200,
			"value={}"),
		get("9.5*", "retracers-results/20261301/", 400, `code="bad_day"`), get("9.5*", "retracers-results/", 200,
			"objects/#=6"),
		get("9.5", "retracers-average-processing-time/?limit=2", 200, `objects/*/date=["20260518","20260517"]`,
			`objects/0/value={"Ubuntu 22.04":{},"Ubuntu 24.04":{},"Ubuntu 25.10":{},"Ubuntu 26.04":{}}`),
		get("9.5", "retracer-queue-length/", 200, "objects=[]"), get("9.5", "retracer-queue-length/?hours=336", 200,
			"objects=[]"), get("9.5*", "retracer-queue-length/?hours=0", 400, `code="bad_hours"`),
		get("9.5*", "retracer-queue-length/?hours=x", 400),
	}
}

// reportClaims test reports and who may read them.
func reportClaims() []claim {
	get := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants}
	}
	signed := func(fact, ask string, status int, wants ...string) claim {
		return claim{fact: fact, ask: ask, status: status, wants: wants, as: viewer}
	}
	return []claim{
		signed("9.6", "reports-for-system/?system=machine-6", 200,
			`objects/0/keys="instance occurred problemtype program timestamp"`,
			`objects/*/problemtype=["Crash","RecoverableProblem"]`, `objects/*/program=["harbor-sync","reefd"]`,
			`objects/0/occurred="Mon May 18 13:59:00 2026"`, `objects/0/timestamp="2026-05-18T14:00:00"`),
		signed("9.6", "reports-for-system/?system=machine-1&limit=4", 200, "objects/#=4", "meta/limit=4"),
		signed("9.6", "reports-for-system/?system=machine-1&limit=0", 200, "objects/#=10"),
		signed("9.6", "reports-for-system/?system=nobody", 200, "objects/#=0"),
		signed("9.6", "reports-for-system/?system=machine-7&start={last}", 200, "objects/#=0"),
		signed("9.6*", "reports-for-system/", 400, `code="missing_system"`),
		signed("9.6*", "reports-for-system/?system=x&start=x", 400, `code="bad_start"`),
		get("9.6*", "reports-for-system/?system=machine-6", 401, `code="not_signed_in"`),
		get("9.6", "dayoops/20260518/", 200, `keys="date value"`, `date="20260518"`, "value/oopses/#=18"),
		get("9.6", "dayoops/20260518/?limit=2", 200, "value/oopses/#=2"), get("9.6", "dayoops/20260518/?limit=0", 200,
			"value/oopses=[]"),
		get("9.6", "dayoops/2026-05-17/", 200, `date="20260517"`, "value/oopses/#=5"),
		get("9.6*", "dayoops/20260518/?release=Debian%2013", 200, "value/oopses/#=1"),
		get("9.6", "dayoops/20260518/?release=Plan%209", 200, "value/oopses=[]"),
		get("9.6", "dayoops/20260518/?details&limit=1", 200, `value/oopses/0/details={"ProblemType":"Crash"}`,
			`value/oopses/0/keys="details id"`), get("9.6", "dayoops/20260518/?details=&limit=1", 200,
			`value/oopses/0/keys="details id"`),
		get("9.6", "dayoops/20260517/?release=Ubuntu%2024.04&details=1&limit=9", 200,
			`value/oopses/4/details/ProblemType="RecoverableProblem"`), get("9.6", "dayoops/20250101/", 200, "value/oopses=[]"),
		get("9.6*", "dayoops/yesterday/", 400, `code="bad_day"`), get("9.6*", "dayoops/20260518/?limit=x", 400,
			`code="bad_limit"`), get("8.1", "dayoops/20260518", 301, "@Location=/api/1.0/dayoops/20260518/"),
		signed("9.6", "oops/{id}/", 200, `keys="data oopsid"`, `oopsid="{id}"`, "data/SAS={tide-json}",
			`data/ProblemType="Crash"`, `data/SystemIdentifier="machine-1"`, `data/Package="tidewatch {older}"`),
		signed("9.6", "oops/00000000-0000-1000-8000-000000000000/", 404, `code="unknown_oops"`),
		signed("9.6", "oops/nonsense/", 404), get("12", "oops/{id}/", 401, `code="not_signed_in"`, `error/^="Unauthorized"`),
		signed("9.6", "instance/?id={id}", 200, "meta/total_count=1", "objects/0/instance/SAS={tide-json}"),
		signed("9.6", "instance/?id=nonsense", 200, `objects=[{"instance":{}}]`),
		signed("9.6*", "instance/", 400, `code="missing_id"`),
		get("12*", "instance/?id={id}", 401), signed("9.7", "system-image-versions/?image_type=device_image", 200,
			`objects=[{"versions":[]}]`), get("12", "system-image-versions/?image_type=x", 401),
		{fact: "12", ask: "oops/{id}/", status: 401, wants: []string{`code="bad_token"`},
			header: handlertest.Header{Name: "Authorization", Value: "Bearer mishap_wrong"}, as: viewer},
		{fact: "12*", ask: "instance/?id={id}", status: 401, wants: []string{`code="not_signed_in"`},
			header: handlertest.Header{Name: "Authorization", Value: "some-key-of-old"}},
		{fact: "12", ask: "versions/?id={tide}", status: 401, wants: []string{`code="bad_token"`},
			header: handlertest.Header{Name: "Authorization", Value: "Bearer mishap_wrong"}},
		get("9.7", "binary-package-versions/?binary_package=tidewatch&release=Ubuntu%2024.04", 200,
			`objects=[{"versions":["1.4.9-1","1.4.9-2","1.4.10-1"]}]`),
		get("9.7", "binary-package-versions/?binary_package=tidewatch&release=24.04", 200, `objects/0/versions/#=3`),
		get("9.7", "binary-package-versions/?format=json&binary_package=tidewatch&release=", 200,
			`objects=[{"versions":[]}]`), get("9.7", "binary-package-versions/?binary_package=nosuch", 200,
			`objects=[{"versions":[]}]`),
		get("9.7*", "binary-package-versions/", 400, `code="missing_binary_package"`),
	}
}

// questionClaims test resources that take a request body.
func questionClaims() []claim {
	ask := func(fact, resource, body string, status int, wants ...string) claim {
		return claim{fact: fact, ask: resource + "/", body: body, status: status, wants: wants}
	}
	const recent, pockets, state = "package-version-is-most-recent", "release-package-version-pockets", "reports-state"
	list := []claim{
		ask("9.7", state, `{"reports":["{bug}"]}`, 201, `reports={"{bug}":[false,"77"]}`, `keys="reports"`),
		ask("9.7", state, `{"reports":[{bug},"5"],"release":"Ubuntu 24.04"}`, 201, `reports/{bug}=[false,"77"]`,
			"reports/5=[null,null]", `release="Ubuntu 24.04"`),
		ask("9.7", state, `{"reports":["{bug}"],"release":"Ubuntu 22.04"}`, 201, `reports/{bug}/1="77"`),
		ask("9.7", state, `{"reports":[]}`, 201, "reports={}"),
		ask("8.3", state, `{"reports":[],"mine":{"a":[1,2.50]},"x":"<&>"}`, 201, `keys="mine reports x"`,
			`mine={"a":[1,2.5]}`, `x="<&>"`),
		ask("9.7", recent,
			`{"packages":[{"package":"tidewatch","last_seen":"{older}"},{"package":"tidewatch","last_seen":"{newer}"},{"package":"nosuch","last_seen":"1"}],"release":"Ubuntu 24.04"}`, 201,
			`packages={"nosuch 1":true,"tidewatch {older}":false,"tidewatch {newer}":true}`, `release="Ubuntu 24.04"`),
		ask("9.7", recent, `{"packages":[]}`, 201, "packages={}"),
		ask("9.7", pockets,
			`{"packages_data":[{"package":"tidewatch","seen":"{older}","release":"Ubuntu 24.04"},{"package":"tidewatch","seen":"1.4.10-1","release":"Ubuntu 24.04"}]}`, 201,
			`packages_data={"tidewatch 1.4.10-1 Ubuntu 24.04":"Proposed","tidewatch {older} Ubuntu 24.04":"Release"}`),
		ask("9.7", pockets, `{"packages_data":[{"package":"nosuch","seen":"1","release":"Ubuntu 24.04"}]}`, 201,
			`packages_data={"nosuch 1 Ubuntu 24.04":""}`),
		ask("9.7", pockets, `{"packages_data":[{"package":"tidewatch","release":"Ubuntu 24.04"}]}`, 201,
			`packages_data={"tidewatch  Ubuntu 24.04":"Not Found"}`),
		ask("9.7", pockets, `{"packages_data":[]}`, 201, "packages_data={}"),
		{fact: "11", ask: "create-bug-report/?format=json", body: `{"signature":"{tide-twice}"}`, as: triager, status: 404},
		{fact: "11", ask: "create-bug-report/?format=json", body: `{"signature":"on two machines"}`, as: triager, status: 200,
			wants: []string{`keys="report signature state url"`, `report="{bug}"`, `signature="on two machines"`,
				`state="filed"`}},
		{fact: "11", ask: "create-bug-report/?format=json", body: `{"signature":"on%20two%20machines"}`, as: triager,
			status: 200, wants: []string{`report="{bug}"`}},
		{fact: "11*", ask: "create-bug-report/", body: `{"signature":"{two-key}"}`, as: triager, status: 200,
			wants: []string{`report="{bug}"`, `signature="on two machines"`}},
		{fact: "11*", ask: "create-bug-report/", body: `{"signature":"no such thing"}`, as: triager, status: 404,
			wants: []string{`code="unknown_bucket"`, `keys="code error error_message"`,
				`error_message="There is no such problem."`}}, {fact: "11*", ask: "create-bug-report/", body: `{}`, as: triager,
			status: 400},
		{fact: "11", ask: "create-bug-report/", body: `{"signature":"x"}`, status: 401,
			wants: []string{`error/^="Unauthorized"`, `error_message/^="Unauthorized"`}}, {fact: "12*", ask: "create-bug-report/",
			body: `{"signature":"on two machines"}`, as: viewer, status: 403, wants: []string{`code="role"`}},
		{fact: "11", ask: "create-bug-report/", body: `{"signature":"on two machines"}`, as: triager, status: 401,
			header: handlertest.Header{Name: "X-CSRFToken", Value: "wrong"}},
	}
	for _, resource := range []string{recent, pockets, state} {
		list = append(list, ask("8.3", resource, "no json", 400, `error="Request is not valid JSON."`),
			ask("8.3*", resource, "[1]", 400, `code="bad_question"`), ask("8.3*", resource, `"text"`, 400,
				`code="bad_question"`), ask("8.3*", resource, "{}", 400, `code="bad_question"`),
			claim{fact: "8.3", ask: resource + "/", method: http.MethodPost, body: "a=b", status: 415,
				header: handlertest.Header{Name: "Content-Type", Value: "application/x-www-form-urlencoded"},
				wants:  []string{`code="media_type"`}},
			claim{fact: "8.3", ask: resource + "/", method: http.MethodPost,
				body: `{"reports":[],"packages":[],"packages_data":[]}`, status: 201,
				header: handlertest.Header{Name: "Content-Type", Value: "application/json; charset=utf-8"}},
			claim{fact: "8.1", ask: resource, method: http.MethodPost, body: `{"reports":[],"packages":[],"packages_data":[]}`,
				status: 201})
	}
	return list
}

// clientClaims are queries of known clients, copied exactly.
func clientClaims() []claim {
	get := func(ask string, status int, wants ...string) claim {
		return claim{fact: "15", ask: ask, status: status, wants: wants}
	}
	const gauge = "most-common-problems/?format=json&user=tide-team&limit=10&from=20260517&to=20260517"
	return []claim{
		get("package-rate-of-crashes/?format=json&exclude_proposed=True&release=Ubuntu+24.04&package=tidewatch&old_version={older}&new_version={newer}&phased_update_percentage=10&date=20260518", 200,
			"objects/0/increase=true", "objects/0/previous_average=0",
			`objects/0/web_link="https://errors.example/?release=Ubuntu%2024.04&package=tidewatch&version={newer}"`),
		get("package-rate-of-crashes/?exclude_proposed=True&format=json&new_version={newer}&old_version={older}&package=tidewatch&phased_update_percentage=100&date=20260518&release=Ubuntu%2024.04", 200, "objects/0/increase=true", "objects/0/previous_average=4"),
		get("package-version-new-buckets/?format=json&package=tidewatch&previous_version={older}&new_version={newer}", 200,
			"objects/0/function={odd-json}", `objects/0/web_link="https://errors.example/problem/{odd-key}"`),
		get("package-version-new-buckets/?format=json&package=tidewatch&previous_version=gone&new_version={newer}", 404,
			`error_message/^="The archive has no version gone"`),
		get(gauge, 200, "objects/*/count=[4]"), get(gauge+"&release=Ubuntu%2022.04", 200, "objects/*/count=[]"),
		get(gauge+"&release=Ubuntu%2022.04&release=Ubuntu%2024.04", 200, "objects/*/count=[4]"),
		get(gauge+"&release=Ubuntu%2022.04&release=Ubuntu%2024.04&release=Ubuntu%2026.04", 200, "objects/*/count=[]"),
		get("retracers-results/?limit=1&format=json", 200, `objects/0/date="20260518"`, "objects/0/value/Ubuntu "+
			"24.04/success=10", "objects/0/value/Ubuntu 24.04:amd64/success=10"),
		get("retracers-average-processing-time/?limit=1&format=json", 200, `objects/0/date="20260518"`,
			"objects/0/value/Ubuntu 24.04={}"),
		get("retracers-results", 301, "@Location=/api/1.0/retracers-results/"),
		get("retracers-results/", 200, "objects/0/value/Ubuntu 24.04/failed=1", "objects/0/value/Ubuntu 24.04/success=10"),
		get("most-common-problems/?limit=100&format=json", 200, "objects/0/function={tide-json}"),
		get("versions/?limit=0&id={tide}", 200, "objects/#=4"), get("instances/?limit=100&id={tide}&start=", 200,
			"objects/#=26"), get("average-instances/?limit=0&id={tide}", 200, "objects/#=5"),
		get("average-crashes/?limit=0&release=Ubuntu%2024.04&package=tidewatch&version=", 200, "objects/#=2"),
		get("average-crashes/?limit=0&release=&package=&version=", 200, "objects/#=10"),
		get("most-common-problems/?format=json&limit=30&release=Ubuntu%2024.04&package=&period=week&from=&to=&version=&pkg_arch=&user=&packageset=&snap=&rootfs_build_version=", 200, "objects/0/count=25"),
		{fact: "15", ask: "reports-for-system/?limit=50&system=machine-6", as: viewer, status: 200,
			wants: []string{"objects/#=2"}},
		get("binary-package-versions/?format=json&binary_package=tidewatch&release=Ubuntu+24.04", 200,
			"objects/0/versions/#=3"),
		get("instances-count/?limit=200", 200, "objects/#=3"), get("problems-count/?limit=365", 200, "objects/#=360"),
		get("retracers-results/?limit=365", 200, "objects/#=7"), get("retracer-queue-length/?hours=336", 200, "objects/#=0"),
		{fact: "15", ask: "reports-state/?format=json", body: `{"reports":["{bug}"],"release":"Ubuntu 24.04"}`, status: 201,
			wants: []string{"reports/{bug}/0=false"}},
	}
}
