package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
)

// functions returns the signatures of a list, each with its count.
func functions(l list) string {
	var words []string
	for _, o := range l.Objects {
		words = append(words, fmt.Sprintf("%v×%s", o["count"], short(fmt.Sprint(o["function"]))))
	}
	return strings.Join(words, " ")
}

// short returns a short name for each signature of fill.
func short(signature string) string {
	for name, whole := range map[string]string{"tide": nativeSignature(), "odd": odd, "two": "on two machines"} {
		if signature == whole {
			return name
		}
	}
	for _, word := range []string{"harbor", "reef", "lumen"} {
		if strings.Contains(signature, word) {
			return word
		}
	}
	return signature
}

// TestMostCommonProblems covers every parameter of §9.1.
func TestMostCommonProblems(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	h.save(8, now, crashtest.Native(crashtest.Set("DuplicateSignature", "without a package"),
		crashtest.Without("Package", "SourcePackage"), crashtest.Set("ProblemType", "Snap"),
		crashtest.Set("Snap", "tide 12 (latest/stable)")))
	c := h.Visitor(t)
	h.Visitor(t).Get(api("most-common-problems/?user=tide-team")).Want(http.StatusServiceUnavailable)
	h.Visitor(t).Get(api("most-common-problems/?user=idle-team")).Want(http.StatusServiceUnavailable)
	h.Visitor(t).Get(api("most-common-problems/?user=nobody")).Want(http.StatusServiceUnavailable)
	h.Visitor(t).Get(api("most-common-problems/?packageset=desktop&release=Ubuntu+24.04")).Want(
		http.StatusServiceUnavailable)
	h.read()
	today := "11×tide 3×odd 2×two 1×harbor 1×lumen"
	for query, want := range map[string]string{
		"":                                     today,
		"limit=0":                              "",
		"limit=2":                              "11×tide 3×odd",
		"period=day":                           today,
		"period=today":                         today,
		"period=20260518":                      today,
		"period=20260517":                      "4×tide 1×reef",
		"from=20260516&to=20260517":            "6×tide 1×reef",
		"from=2026-05-16&to=2026/05/17":        "6×tide 1×reef",
		"from=20260517&to=20260516":            "",
		"from=20260516&to=20260517&period=day": today, // period takes precedence
		"period=week":                          "26×tide 3×odd 2×two 1×harbor 1×lumen 1×reef",
		"period=month":                         "26×tide 3×odd 2×two 1×harbor 1×lumen 1×reef",
		"period=202605":                        "26×tide 3×odd 2×two 1×harbor 1×lumen 1×reef",
		"period=202604":                        "1×lumen",
		"period=year":                          "26×tide 3×odd 2×lumen 2×two 1×harbor 1×reef",
		"period=2026":                          "26×tide 3×odd 2×lumen 2×two 1×harbor 1×reef",
		"period=2025":                          "",
		"release=Ubuntu+24.04":                 "10×tide 3×odd 2×two 1×lumen",
		"release=Debian+13":                    "1×tide",
		"release=Ubuntu+26.04":                 "1×harbor",
		"release=Plan+9":                       "",
		"release=Plan+9&release=Debian%2013":   "1×tide", // the last release is used
		"release=Ubuntu%2024.04&release=Debian%2013&release=Ubuntu%2026.04": "1×harbor",
		"package=tidewatch":                              "11×tide 3×odd 2×two",
		"package=nosuch":                                 "",
		"package=tidewatch&version=" + newer:             "10×tide 3×odd 2×two",
		"package=tidewatch&period=week&version=" + older: "15×tide",
		"pkg_arch=amd64":                                 today,
		"pkg_arch=arm64":                                 "",
		"user=tide-team":                                 "11×tide 3×odd 2×two",
		"user=idle-team":                                 "",
		"user=https://launchpad.net/~tide-team":          "11×tide 3×odd 2×two",
		"packageset=desktop&release=Ubuntu+24.04":        "10×tide 3×odd 2×two",
		"user=idle-team&package=tidewatch":               "", // user takes precedence
		"package=nosuch&packageset=desktop":              "", // package takes precedence
		"first_appearance=1&version=" + newer:            "3×odd 2×two",
		"first_appearance=1&version=" + older:            "",
		"snap=True":                                      "1×without a package",
		"q=package:tidewatch+-two":                       "11×tide 3×odd",
		"q=release:%22Debian+13%22":                      "1×tide",
		"q=":                                             today,
		"snap=False":                                     today + " 1×without a package",
		"snap=False&limit=3":                             "11×tide 3×odd 2×two",
		"rootfs_build_version=5&channel_name=x":          today,
		"format=json":                                    today,
		"format=yaml":                                    today,
		"limit=100&format=json":                          today,
	} {
		if got := functions(get(t, c, "most-common-problems/?"+query)); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	c.Get(api("most-common-problems/?user=nobody")).Want(http.StatusNotFound)
	if a := c.Get(api("most-common-problems/?user=new-team")).Want(http.StatusServiceUnavailable); a.Header.Get(
		"Retry-After") == "" {
		t.Error("package set not known yet: got no Retry-After")
	}
	for i, o := range get(t, c, "most-common-problems/?period=year").Objects {
		if o["rank"] != float64(i+1) {
			t.Errorf("rank: got %v, want %d", o["rank"], i+1)
		}
	}
}

// TestSignaturesInAddresses asks for one problem with every spelling of its signature that clients
// use.
func TestSignaturesInAddresses(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	c := h.Visitor(t)
	sha1 := h.bucket(odd).ID.String()
	once := url.QueryEscape(odd)
	for _, id := range []string{once, url.QueryEscape(once), url.QueryEscape(strings.ReplaceAll(once, "+", "%20")), sha1,
		strings.ReplaceAll(strings.ReplaceAll(once, "+", "%20"), "%2Ball", "+all")} {
		for resource, rows := range map[string]int{"instances/?id=": 3, "versions/?id=": 2} {
			if got := len(get(t, c, resource+id).Objects); got != rows {
				t.Errorf("%s%s: got %d rows, want %d", resource, id, got, rows)
			}
		}
		seen := 0
		for _, line := range get(t, c, "average-instances/?id="+id).Objects {
			values, _ := line["values"].([]any)
			seen += len(values)
		}
		if seen != 1 {
			t.Errorf("average-instances of %s: got %d days, want 1", id, seen)
		}
	}
	var got struct {
		ID string `json:"bucket_id"`
	}
	for _, key := range []string{url.PathEscape(odd), strings.ReplaceAll(url.PathEscape(odd), "%2F", "/"), sha1,
		strings.TrimPrefix(strings.ReplaceAll(url.PathEscape(odd), "%2F", "/"), "/")} {
		if c.Get(api("bucket/", key, "/")).Want(http.StatusOK).JSON(&got); got.ID != odd {
			t.Errorf("bucket/%s/: got %q", key, got.ID)
		}
	}
	c.Get(api("bucket/no%20such%20thing/")).Want(http.StatusNotFound)
	for _, resource := range []string{"instances", "versions"} {
		if got := get(t, c, resource+"/?id=no+such+thing"); len(got.Objects) != 0 {
			t.Errorf("%s of an unknown signature: got %v, want none", resource, got)
		}
	}
	for _, line := range get(t, c, "average-instances/?id=no+such+thing").Objects {
		if values, _ := line["values"].([]any); len(values) != 0 {
			t.Errorf("average-instances of an unknown signature: got %v", line)
		}
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for i := range 130 {
		h.save(i, now.Add(time.Duration(i-200)*time.Second), crashtest.Native())
	}
	c := h.Visitor(t)
	id := "instances/?limit=100&id=" + url.QueryEscape(nativeSignature())
	first := get(t, c, id)
	if len(first.Objects) != 100 || first.Meta.Total != 100 {
		t.Fatalf("got %d of %d, want 100", len(first.Objects), first.Meta.Total)
	}
	last, _ := first.Objects[99]["incident"].(string)
	second := get(t, c, id+"&start="+last)
	if len(second.Objects) != 30 {
		t.Fatalf("after the last report of the first page: got %d, want 30", len(second.Objects))
	}
	var ids []string
	for _, o := range slices.Concat(first.Objects, second.Objects) {
		ids = append(ids, fmt.Sprint(o["incident"]))
	}
	if !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) ||
		len(slices.Compact(ids)) != 130 {
		t.Error("got another order or duplicates, want each report once, the newest first")
	}
	if got := get(t, c, id+"&start="+crash.OopsID{1}.String()); len(got.Objects) != 0 {
		t.Errorf("before the oldest report: got %d, want none", len(got.Objects))
	}
}
