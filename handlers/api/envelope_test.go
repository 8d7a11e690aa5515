package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// list is a list of the API as clients decode it.
type list struct {
	Meta struct {
		Limit    int     `json:"limit"`
		Next     *string `json:"next"`
		Offset   int     `json:"offset"`
		Previous *string `json:"previous"`
		Total    int     `json:"total_count"`
	} `json:"meta"`
	Objects []map[string]any `json:"objects"`
}

// get reads a list and fails the test if the status is not 200.
func get(t *testing.T, c *handlertest.Client, path string) list {
	t.Helper()
	var l list
	c.Get(api(path)).Want(http.StatusOK).JSON(&l)
	return l
}

// refusal is the body of an error answer.
type refusal struct {
	Error   string `json:"error"`
	Code    string `json:"code"`
	Message string `json:"error_message"`
}

func TestPaging(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	c := h.Visitor(t)
	versions := "versions/?id=" + url.QueryEscape(nativeSignature()) // four rows
	for _, tt := range []struct {
		name, query                   string
		objects, limit, offset, total int
		next, previous                string // how the links end; empty means null
	}{
		{"nothing given", "", 4, 360, 0, 4, "", ""},
		{"0 is all", "&limit=0", 4, 360, 0, 4, "", ""},
		{"too much is 360", "&limit=1000", 4, 360, 0, 4, "", ""},
		{"far too much", "&limit=99999999999999999999", 4, 360, 0, 4, "", ""},
		{"first page", "&limit=2", 2, 2, 0, 4, "&limit=2&offset=2", ""},
		{"second page", "&limit=2&offset=2", 2, 2, 2, 4, "", "&limit=2&offset=0"},
		{"in between", "&limit=2&offset=1", 2, 2, 1, 4, "&limit=2&offset=3", "&limit=1&offset=0"},
		{"past the end", "&limit=2&offset=99", 0, 2, 99, 4, "", "&limit=2&offset=97"},
		{"exactly the end", "&limit=4", 4, 4, 0, 4, "", ""},
		{"the last one counts", "&limit=1&limit=3&offset=9&offset=0", 3, 3, 0, 4, "&limit=3&offset=3", ""},
		{"empty is none", "&limit=&offset=", 4, 360, 0, 4, "", ""},
		{"unknown ones do not matter", "&format=plist&callback=x&limit=1", 1, 1, 0, 4, "&limit=1&offset=1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := get(t, c, versions+tt.query)
			if len(got.Objects) != tt.objects || got.Meta.Limit != tt.limit || got.Meta.Offset != tt.offset ||
				got.Meta.Total != tt.total {
				t.Errorf("got %d objects, %+v", len(got.Objects), got.Meta)
			}
			for _, link := range []struct {
				name, end string
				got       *string
			}{{"next", tt.next, got.Meta.Next}, {"previous", tt.previous, got.Meta.Previous}} {
				switch {
				case link.end == "" && link.got != nil:
					t.Errorf("%s: got %s, want null", link.name, *link.got)
				case link.end != "" && (link.got == nil || !strings.HasSuffix(*link.got, link.end) || !strings.HasPrefix(*link.got,
					api("versions/?id="))):
					t.Errorf("%s: got %v, want …%s", link.name, link.got, link.end)
				}
			}
		})
	}
	first := get(t, c, versions+"&limit=3")
	var rest list
	c.Get(*first.Meta.Next).Want(http.StatusOK).JSON(&rest)
	if len(rest.Objects) != 1 || rest.Objects[0]["version"] != "All versions" {
		t.Errorf("next: got %v, want the last row", rest.Objects)
	}
}

func TestBadPaging(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.Visitor(t)
	for _, resource := range []string{
		"most-common-problems/?", "versions/?id=x", "instances/?id=x", "average-instances/?id=x", "average-crashes/?",
		"instances-count/?",
		"problems-count/?", "retracers-results/?", "retracers-average-processing-time/?", "retracer-queue-length/?",
		"crash-signatures-for-bug/?bug=1", "binary-package-versions/?binary_package=x",
	} {
		for query, want := range map[string]string{
			"limit=abc": "Invalid limit 'abc' provided. Please provide a positive integer.",
			"limit=-1":  "Invalid limit '-1' provided. Please provide a positive integer >= 0.",
			"offset=x":  "Invalid offset 'x' provided. Please provide an integer.",
			"offset=-3": "Invalid offset '-3' provided. Please provide a positive integer >= 0.",
			"limit=1.5": "Invalid limit '1.5' provided. Please provide a positive integer.",
		} {
			var got refusal
			c.Get(api(resource + "&" + query)).Want(http.StatusBadRequest).JSON(&got)
			if got.Error != want || got.Message != want || got.Code == "" {
				t.Errorf("%s%s: got %+v, want %q", resource, query, got, want)
			}
		}
	}
}

func TestMissingParameters(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.As(t, crash.RoleViewer)
	for path, missing := range map[string]string{
		"versions/": "id", "instances/": "id", "average-instances/": "id",
		"package-version-new-buckets/":                                             "package",
		"package-version-new-buckets/?package=x":                                   "previous_version",
		"package-version-new-buckets/?package=x&previous_version=1":                "new_version",
		"package-rate-of-crashes/":                                                 "release",
		"package-rate-of-crashes/?release=x":                                       "package",
		"package-rate-of-crashes/?release=x&package=x":                             "old_version",
		"package-rate-of-crashes/?release=x&package=x&old_version=1":               "new_version",
		"package-rate-of-crashes/?release=x&package=x&old_version=1&new_version=2": "date",
		"crash-signatures-for-bug/":                                                "bug", "reports-for-system/": "system",
		"instance/": "id", "binary-package-versions/": "binary_package",
		"binary-package-versions/?binary_package=": "binary_package",
	} {
		var got refusal
		c.Get(api(path)).Want(http.StatusBadRequest).JSON(&got)
		if got.Code != "missing_"+missing || !strings.Contains(got.Error, "The parameter "+missing+" is missing") {
			t.Errorf("%s: got %+v, want an error about the missing parameter %s", path, got, missing)
		}
	}
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.As(t, crash.RoleViewer)
	for path, code := range map[string]string{
		"most-common-problems/?from=x&to=20260518":                                               "bad_from",
		"most-common-problems/?from=20261301&to=20260518":                                        "bad_from",
		"most-common-problems/?from=20260518":                                                    "half_a_range",
		"most-common-problems/?q=(x":                                                             "bad_q",
		"most-common-problems/?q=x&period=2020":                                                  "bad_q",
		"most-common-problems/?period=century":                                                   "bad_period",
		"most-common-problems/?package=%00":                                                      "bad_package",
		"most-common-problems/?package=" + strings.Repeat("x", 201):                              "bad_package",
		"instances/?id=x&start=not-a-uuid":                                                       "bad_start",
		"average-crashes/?version=1":                                                             "missing_package",
		"package-rate-of-crashes/?release=x&package=x&old_version=1&new_version=2&date=today":    "bad_date",
		"package-rate-of-crashes/?release=x&package=x&old_version=1&new_version=2&date=99991231": "bad_date",
		"package-rate-of-crashes/?release=x&package=x&old_version=1&new_version=2&date=20260518&phased_update_percentage=101": "bad_phased_update_percentage",
		"package-rate-of-crashes/?release=x&package=x&old_version=1&new_version=2&date=20260518&phased_update_percentage=-1":  "bad_phased_update_percentage",
		"dayoops/yesterday/":              "bad_day",
		"retracers-results/20261301/":     "bad_day",
		"retracer-queue-length/?hours=0":  "bad_hours",
		"crash-signatures-for-bug/?bug=0": "bad_bug",
	} {
		var got refusal
		c.Get(api(path)).Want(http.StatusBadRequest).JSON(&got)
		if got.Code != code {
			t.Errorf("%s: got %+v, want %s", path, got, code)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.Visitor(t)
	c.Get(api("most-common-problems?limit=1&x=%2F")).WantRedirect(http.StatusMovedPermanently,
		api("most-common-problems/?limit=1&x=%2F"))
	c.Get(api("bucket/%2Fusr%2Fbin%2Fx%3Ay")).WantRedirect(http.StatusMovedPermanently,
		api("bucket/%2Fusr%2Fbin%2Fx%3Ay/"))
	c.Get("/api/1.0").Want(http.StatusOK)
	c.Get(api("no-such-thing/")).Want(http.StatusNotFound)
	c.Get(api("versions/some-key/?id=x")).Want(http.StatusNotFound)
	c.Get(api("dayoops/")).Want(http.StatusBadRequest)
	c.Get(api("bucket/")).Want(http.StatusBadRequest)
	for path, allow := range map[string]string{"reports-state/": "POST", "create-bug-report/": "POST"} {
		if a := c.Get(api(path)).Want(http.StatusMethodNotAllowed); !slices.Equal(a.Header.Values("Allow"), []string{allow}) {
			t.Errorf("%s: got %v, want %s", path, a.Header.Values("Allow"), allow)
		}
	}
	if a := h.Visitor(t).PostJSON(api("versions/"), nil).Want(http.StatusMethodNotAllowed); !strings.HasPrefix(
		a.Header.Get("Allow"), "GET") {
		t.Errorf("POST versions: got Allow %q, want GET", a.Header.Get("Allow"))
	}
	for _, cookie := range []string{"csrftoken", "sessionid"} {
		if got := c.Cookie(cookie); got != "" {
			t.Errorf("got a cookie %s, want none from the API", cookie)
		}
	}
}

func TestConditional(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	c := h.Visitor(t)
	for _, path := range []string{"most-common-problems/?period=week", "versions/?id=" +
		url.QueryEscape(nativeSignature()), "", "openapi.json"} {
		a := c.Get(api(path)).Want(http.StatusOK)
		tag := a.Header.Get("ETag")
		for _, sent := range []string{tag, "W/" + strings.TrimPrefix(tag, "W/"), `"other", ` + tag,
			strings.TrimSuffix(strings.TrimPrefix(tag, "W/"), `"`) + `-gzip"`, "*"} {
			if b := c.Get(api(path), handlertest.Header{Name: "If-None-Match", Value: sent}).Want(
				http.StatusNotModified); b.Body != "" {
				t.Errorf("%s with %s: got a body", path, sent)
			}
		}
		c.Get(api(path), handlertest.Header{Name: "If-None-Match", Value: `"other"`}).Want(http.StatusOK)
		if a.Header.Get("Cache-Control") != "no-cache" || !strings.Contains(strings.Join(a.Header.Values("Vary"), ","),
			"Accept") {
			t.Errorf("%s: got %v", path, a.Header)
		}
	}
	tag := c.Get(api("problems-count/")).Header.Get("ETag")
	h.save(9, now, newProblem())
	c.Get(api("problems-count/"), handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusOK)
}
