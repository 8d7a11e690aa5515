package api_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
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

// TestQueriesDoNotGrow checks that the number of queries does not depend on the number of versions,
// releases and days.
func TestQueriesDoNotGrow(t *testing.T) {
	t.Parallel()
	address, executed := countExecutes(t, dbtest.URL(t))
	store := dbtest.OpenAt(t, address, now)
	h := newFixture(t, func(o *handlertest.Options) { o.Store = store })
	c := h.Visitor(t)
	id := url.QueryEscape(nativeSignature())
	// The values are the most queries allowed: for the problem, the archive facts, the revision, and the
	// embargoed problems where they are not read with the revision.
	asks := map[string]int64{
		"versions/?id=" + id: 5, "average-instances/?id=" + id: 4, "average-crashes/?release=": 2,
		"average-crashes/?package=tidewatch": 2, "average-crashes/?package=tidewatch&version=" + older: 2,
	}
	cost := func() map[string]int64 {
		costs := map[string]int64{}
		for ask := range asks {
			for range 5 { // the minimum excludes queries of background work
				before := executed.Load()
				c.Get(api(ask)).Want(http.StatusOK)
				if n := executed.Load() - before; costs[ask] == 0 || n < costs[ask] {
					costs[ask] = n
				}
			}
		}
		return costs
	}
	h.save(1, now, crashtest.Native(crashtest.Version(older)))
	few := cost()
	for i := range 60 {
		h.save(i%7, now.AddDate(0, 0, -i/2), crashtest.Native(crashtest.Version(fmt.Sprintf("1.4.%d-1", i)),
			crashtest.On(crash.Release([]string{"Ubuntu 22.04", "Ubuntu 24.04", "Debian 13"}[i%3]))))
	}
	if rows := len(get(t, c, "versions/?id="+id).Objects); rows != 61 {
		t.Fatalf("got %d rows, want 61", rows)
	}
	for ask, n := range cost() {
		if n > few[ask] || n > asks[ask] {
			t.Errorf("%s: got %d queries for many versions and days and %d for one, want at most %d",
				ask, n, few[ask], asks[ask])
		}
	}
}

// countExecutes starts a relay in front of a database and counts the statements that pass it.
func countExecutes(t *testing.T, to string) (address string, executed *atomic.Int64) {
	t.Helper()
	config, err := pgx.ParseConfig(to)
	if err != nil {
		t.Fatal(err)
	}
	network, target := pgxNetwork(config.Host, config.Port)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	executed = &atomic.Int64{}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(t.Context(), network, target)
			if err != nil {
				_ = client.Close()
				continue
			}
			wait.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
			wait.Go(func() { relay(server, client, executed); _ = server.Close() })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	port := listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=%s sslmode=disable", port, config.User,
		config.Password, config.Database), executed
}

func pgxNetwork(host string, port uint16) (network, address string) {
	if host != "" && host[0] == '/' {
		return "unix", fmt.Sprintf("%s/.s.PGSQL.%d", host, port)
	}
	return "tcp", net.JoinHostPort(host, fmt.Sprint(port))
}

// relay forwards the messages of a PostgreSQL client: a start-up message without a type, then typed
// messages with a length.
func relay(to io.Writer, from io.Reader, executed *atomic.Int64) {
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[:4]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		if head[0] == 'E' || head[0] == 'Q' {
			executed.Add(1)
		}
		if _, err := to.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(head[len(head)-4:]))-4); err != nil {
			return
		}
	}
}

// TestNewBucketsEvidence covers four machines: three have a new problem in a version that is one
// day old.
func TestNewBucketsEvidence(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for machine := range 4 {
		h.save(machine, now.AddDate(0, 0, -3), crashtest.Native(crashtest.Version(older)))
	}
	h.save(1, now.AddDate(0, 0, -1), crashtest.Native(crashtest.Version(newer)))
	for i := range 6 {
		h.save(i%3, now, crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature", odd)))
	}
	// This release does not have the new version.
	h.save(9, now, crashtest.Native(crashtest.On("Debian 13"), crashtest.Version("1-1")))
	got := get(t, h.Visitor(t), "package-version-new-buckets/?package=tidewatch&previous_version="+older+"&new_version="+
		newer).Objects
	if len(got) != 1 {
		t.Fatalf("got %v, want one problem", got)
	}
	// Four machines, yesterday and three quarters of today: 7 machine-days. The old version has the
	// two days before.
	want := map[string]any{
		"new": map[string]any{
			"crashes": 6., "machine_days": 7., "per_1000_machine_days": 857.143, "interval": []any{314.556, 1865.64},
		},
		"old": map[string]any{"crashes": 0., "machine_days": 8., "per_1000_machine_days": 0.,
			"interval": []any{0., 461.11}},
		"ratio": map[string]any{"ratio": nil, "interval": []any{1.34563, nil}},
	}
	if diff := cmp.Diff(want, got[0]["evidence"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0]["reports"] != 6. || got[0]["systems"] != 3. || got[0]["archive"] != "unknown" || got[0]["function"] != odd {
		t.Errorf("got %v", got[0])
	}
}

// TestNewBucketsStrict checks which problems count as new.
func TestNewBucketsStrict(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	save := func(machines int, signature string, changes ...crashtest.Option) {
		t.Helper()
		for i := range machines {
			h.save(i+1, now,
				crashtest.Native(append([]crashtest.Option{crashtest.Version(newer), crashtest.Set("DuplicateSignature",
					signature)}, changes...)...))
		}
	}
	save(3, "new on three")
	save(2, "new on two")
	save(3, "seen before")
	h.save(1, now.AddDate(0, 0, -200), crashtest.Native(crashtest.Version(older), crashtest.Set("DuplicateSignature",
		"seen before")))
	save(3, "failed:/usr/bin/x:11:addresses")
	save(3, "of another package", crashtest.Set("Package", "other "+newer), crashtest.Set("SourcePackage", "other"))
	save(3, "of a binary of it", crashtest.Set("Package", "libtide1 "+newer))
	save(2, "on a third machine elsewhere")
	h.save(3, now, crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature",
		"on a third machine elsewhere"), crashtest.On("Debian 13")))
	save(2, "on two that moved on")
	save(2, "on two that moved on", crashtest.On("Debian 13"))
	save(3, "on three that moved on")
	save(3, "on three that moved on", crashtest.On("Debian 13"))
	save(3, "of a third version", crashtest.Version("1.4.9-3"))
	for i := range 3 { // not yet symbolised
		h.save(i+1, now, crashtest.Unsymbolised(crashtest.Version(newer), crashtest.Set("Package", "tidewatch "+newer),
			crashtest.Set("SourcePackage", "tidewatch")))
	}
	c := h.Visitor(t)
	for query, want := range map[string]string{
		"package=tidewatch&previous_version=" + older + "&new_version=" + newer: "new on three: 3, of a " +
			"binary of it: 3, on a third machine elsewhere: 3, on three that moved on: 3",
		"package=other&previous_version=" + older + "&new_version=" + newer:                         "of another package: 3",
		"package=nosuch&previous_version=" + older + "&new_version=" + newer:                        "",
		"package=tidewatch&previous_version=" + newer + "&new_version=" + older:                     "",
		"package=tidewatch&previous_version=" + newer + "&new_version=" + newer:                     "",
		"package=tidewatch&previous_version=" + url.QueryEscape("1:2~3+4") + "&new_version=1.4.9-3": "of a third version: 3",
	} {
		seen := []string{}
		for _, o := range get(t, c, "package-version-new-buckets/?"+query).Objects {
			seen = append(seen, fmt.Sprintf("%v: %v", o["function"], o["systems"]))
		}
		slices.Sort(seen)
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}
