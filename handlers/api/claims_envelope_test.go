package api_test

import (
	"net/http"
	"slices"
	"strings"

	"mishap/handlers/handlertest"
)

// lists are the resources that return lists, with the parameters that each requires.
var lists = []string{
	"most-common-problems/?period=year", "versions/?id={tide}", "instances/?id={tide}", "average-instances/?id={tide}",
	"average-crashes/?release=Ubuntu%2024.04", "package-rate-of-crashes/?{rate}",
	"package-version-new-buckets/?package=tidewatch&previous_version={older}&new_version={newer}",
	"instances-count/?period=x",
	"problems-count/?period=x", "retracers-results/?period=x", "retracers-average-processing-time/?period=x",
	"retracer-queue-length/?hours=4",
	"crash-signatures-for-bug/?bug={bug}", "reports-for-system/?system=machine-1", "instance/?id={id}",
	"system-image-versions/?image_type=device_image",
	"binary-package-versions/?binary_package=tidewatch", "symbols/missing/?x=y",
}

// others are the resources that are read by a key.
var others = []string{"bucket/{tide-key}/", "dayoops/20260518/", "oops/{id}/", "problem-status/{tide-key}/"}

// questions are the resources that take a request body.
var questions = []string{"reports-state/", "package-version-is-most-recent/", "release-package-version-pockets/",
	"create-bug-report/", "set-problem-status/"}

// pagingClaims test the paging of every list, with valid and invalid parameters.
func pagingClaims() []claim {
	const envelope = `meta/keys="limit next offset previous total_count"`
	wrong := func(sentence string) []string {
		return []string{`error="` + sentence + `"`, `error_message="` + sentence + `"`, `keys="code error error_message"`}
	}
	var list []claim
	for _, ask := range lists {
		add := func(query string, status int, wants ...string) {
			list = append(list, claim{fact: "8.2", ask: ask + query, status: status, wants: wants, as: anybody})
		}
		add("", 200, envelope, `keys="meta objects"`, "meta/limit=360", "meta/offset=0", "meta/next=null",
			"meta/previous=null",
			"@Content-Type=application/json", "@Cache-Control=no-cache")
		add("&limit=0", 200, "meta/limit=360")
		add("&limit=1000", 200, "meta/limit=360")
		add("&limit=1", 200, "meta/limit=1")
		add("&limit=5&limit=2", 200, "meta/limit=2")
		add("&limit=&offset=", 200, "meta/limit=360", "meta/offset=0")
		add("&offset=99999", 200, "meta/offset=99999", "objects/#=0", "meta/next=null", `meta/previous/^="/api/1.0/`+
			ask[:strings.Index(ask, "?")])
		add("&limit=abc", 400, wrong("Invalid limit 'abc' provided. Please provide a positive integer.")...)
		add("&limit=-1", 400, wrong("Invalid limit '-1' provided. Please provide a positive integer >= 0.")...)
		add("&limit=1.5", 400, wrong("Invalid limit '1.5' provided. Please provide a positive integer.")...)
		add("&offset=abc", 400, wrong("Invalid offset 'abc' provided. Please provide an integer.")...)
		add("&offset=-3", 400, wrong("Invalid offset '-3' provided. Please provide a positive integer >= 0.")...)
		add("&format=nosuch&unknown=1&callback=f", 200, envelope, "@Content-Type=application/json")
		list = append(list, claim{fact: "8.2", ask: ask, status: 200, as: anybody, header: handlertest.Header{Name: "Accept",
			Value: "text/html"}, wants: []string{"@Content-Type=application/json"}},
			claim{fact: "8.2", ask: ask + "&format=xml", status: 200, as: anybody,
				wants: []string{"@Content-Type=application/xml; charset=utf-8", "~=<response><meta type=\"hash\">",
					`~=<objects type="list">`}},
			claim{fact: "8.2", ask: ask, status: 200, as: anybody, header: handlertest.Header{Name: "Accept",
				Value: "application/xml"}, wants: []string{"@Content-Type=application/xml; charset=utf-8"}},
			claim{fact: "8.2*", ask: ask + "&format=yaml", status: 200, as: anybody,
				wants: []string{"@Content-Type=text/yaml; " +
					"charset=utf-8"}})
	}
	return list
}

// methodClaims test methods that a resource does not support.
func methodClaims() []claim {
	var list []claim
	for _, ask := range slices.Concat(lists, others) {
		list = append(list, claim{fact: "8.1*", method: http.MethodHead, ask: ask, status: 200, as: anybody,
			wants: []string{"@Content-Type=application/json"}},
			claim{fact: "8.1", method: http.MethodOptions, ask: ask, status: 200, wants: []string{"@Allow=GET, HEAD"}})
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			list = append(list, claim{fact: "8.1", method: method, ask: ask, status: 405, wants: []string{"@Allow=GET, HEAD",
				`code="method"`}})
		}
		path, query, _ := strings.Cut(ask, "?")
		to := "@Location=/api/1.0/" + path
		if query != "" {
			to += "?" + query
		}
		list = append(list, claim{fact: "8.1", ask: strings.TrimSuffix(path, "/") +
			map[bool]string{true: "?" + query}[query != ""], status: 301, wants: []string{to}})
	}
	for _, ask := range questions {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
			list = append(list, claim{fact: "8.1", method: method, ask: ask, status: 405, wants: []string{"@Allow=POST"}})
		}
		list = append(list, claim{fact: "8.1", method: http.MethodOptions, ask: ask, status: 200,
			wants: []string{"@Allow=POST"}})
	}
	return list
}

// addressClaims test the form of addresses: slashes, escapes and the like.
func addressClaims() []claim {
	resources := `keys="average-crashes average-instances binary-package-versions bucket crash-signatures-for-bug create-bug-report dayoops erase-machine instance instances instances-count ` +
		`most-common-problems oops package-rate-of-crashes package-version-is-most-recent package-version-new-buckets problem-people problem-status problems-count release-package-version-pockets ` +
		`reports-for-system reports-state retracer-queue-length retracers-average-processing-time retracers-results set-problem-status symbols/missing system-image-versions update-gate versions"`
	list := []claim{
		{fact: "8.1", ask: "", status: 200, wants: []string{"#=30", resources, `versions/list_endpoint="/api/1.0/versions/"`,
			`versions/schema="/api/1.0/versions/schema/"`}},
		{fact: "8.1*", ask: "no-such-thing/", status: 404, wants: []string{`code="no_resource"`}},
		{fact: "8.1*", ask: "no-such-thing/x/", status: 404},
		{fact: "8.1", ask: "versions/some-key/?id=x", status: 404},
		{fact: "8.1", ask: "dayoops/set/20260518;20260517;20250101/", status: 200,
			wants: []string{"objects/#=3", `objects/*/date=["20260518","20260517","20250101"]`, `keys="objects"`}},
		{fact: "8.1", ask: "bucket/set/{tide-key};nothing;{odd-key}/", status: 200,
			wants: []string{"objects/#=2", `not_found=["nothing"]`}},
		{fact: "8.1*", ask: "bucket/set/" + strings.Repeat("x;", 100) + "x/", status: 400,
			wants: []string{`code="too_many"`}},
		{fact: "8.1*", ask: "oops/set/{id};no-such-report/", status: 200, as: viewer,
			wants: []string{"objects/#=1", `not_found=["no-such-report"]`}},
		{fact: "8.1*", ask: "oops/set/{id}/", status: 401},
		{fact: "9.6*", ask: "dayoops/", status: 400, wants: []string{`code="no_list"`}},
		{fact: "9.2*", ask: "bucket/", status: 400, wants: []string{`code="no_list"`}},
		{fact: "9.6*", ask: "oops/", status: 400, as: viewer, wants: []string{`code="no_list"`}},
		{fact: "12", ask: "oops/", status: 401},
	}
	for _, ask := range slices.Concat(lists, others, questions) {
		name, _, _ := strings.Cut(ask, "/")
		if name == "symbols" {
			name = "symbols/missing"
		}
		method := map[bool]string{true: "post", false: "get"}[slices.Contains(questions, ask)]
		list = append(list, claim{fact: "8.1*", ask: name + "/schema/", status: 200,
			wants: []string{`default_format="application/json"`, `allowed_list_http_methods=["` + method + `"]`}})
	}
	return list
}
