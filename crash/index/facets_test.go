package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/index"
)

// people returns an index of random problems of few packages, releases, versions, types, states and people.
func people(r *rand.Rand) *index.Index {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	b, states := index.New(), map[crash.BucketID]index.State{}
	b.Update(func(u *index.Updater) {
		for n := byte(1); n < 60; n++ {
			var spans []crash.SeenSpan
			for _, release := range []crash.Release{"22.04", "24.04", "26.04", "Ubuntu of me@quay.example"}[r.IntN(4):] {
				first := time.Date(2026, 5, 1+r.IntN(15), 9, 0, 0, 0, time.UTC)
				span := seen(release, pick("1", "2", "3", "4"), first, first.AddDate(0, 0, r.IntN(9)))
				spans = append(spans, span)
			}
			head := id(n)
			if n%7 == 0 {
				head = id(n - 1)
			}
			u.SetBucket(index.Bucket{ID: id(n), Head: head, Package: pick("reef", "gull"), Reports: int64(r.IntN(9)),
				Type:      pick("Crash", "Hang", "Snap", "/home/wendeline"),
				Signature: pick("/usr/bin/a:11:f", "/usr/bin/b:6:g")}, spans...)
			for range r.IntN(20) {
				u.SetCell(id(n), week.Since-5+index.Day(r.IntN(15)), []byte(pick("22.04", "24.04", "26.04", "",
					"Ubuntu of me@quay.example")), []byte(pick("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "")),
					[]byte(pick("amd64", "arm64")), nil, int64(r.IntN(4)))
			}
			states[id(n)] = index.State{Word: crash.StateWords[r.IntN(4)], Bug: int64(r.IntN(2) * 9), People: &index.People{
				Assigned: crash.Assigned{Name: pick("", "", "ada", "~ada", "Bo", "~bo", "~team", "none", "me")},
				TagList:  pick("", "", "sru", "sru c++", "none sru")}}
		}
	})
	b.SetStates(states)
	return b
}

// TestFacets checks that a facet counts the problems that a list still has after a value is chosen, and that it leaves
// out no value.
func TestFacets(t *testing.T) {
	t.Parallel()
	values := map[string][]string{"release": {"22.04", "24.04", "26.04"}, "type": {"Crash", "Hang", "Snap"},
		"version": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}, "bug": {"none", "any"},
		"assignee": {"ada", "~ada", "Bo", "~bo", "~team", "none"}, "tag": {"sru", "c++"}}
	for _, word := range crash.StateWords {
		values["state"] = append(values["state"], string(word))
	}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(words ...string) string { return words[r.IntN(len(words))] }
		b := people(r)
		q, err := index.ParseQuery(pick("f", "package:reef", "first:<3 -lowest:4", "seen:2", "new:>=2026-05-06", "type:hang",
			"f OR tag:sru", "release:24.04", "assignee:ada tag:sru", "-bug:any version:2"))
		checktest.NoError(t, err)
		f := week
		f.Release, f.Version = crash.Release(pick("", "", "24.04")), pick("", "", "2")
		f.Type, f.State, f.New = pick("", "", "Hang"), pick("", "", "bug", "regression"), r.IntN(3) == 0
		f.Public, f.Muted = r.IntN(3) == 0, index.MutedHidden
		ids := func(q index.Query, f index.Filter) (found []crash.BucketID) {
			f = q.Narrow(f)
			rows, _ := b.All(f, q.Match)
			for _, row := range rows {
				found = append(found, row.ID)
			}
			return found
		}
		all := ids(q, f)
		values["release"], values["type"] = values["release"][:3], values["type"][:3]
		if !f.Public {
			values["release"] = append(values["release"], "Ubuntu of me@quay.example")
			values["type"] = append(values["type"], "/home/wendeline")
		}
		facets := map[string]index.Facet{}
		for _, facet := range b.Facets(q.Narrow(f), q.Match) {
			facets[facet.Field] = facet
		}
		narrowed := q.Narrow(f)
		for field, known := range values {
			facet := facets[field]
			counts := map[string]int64{}
			for i, v := range facet.Values {
				if counts[v.Value] = v.Problems; i > 0 && facet.Values[i-1].Problems < v.Problems {
					t.Errorf("seed %d, %s: got %v, want the most problems first", seed, field, facet.Values)
				}
			}
			chosen := map[string]string{"release": string(narrowed.Release), "version": narrowed.Version, "type": narrowed.Type,
				"state": narrowed.State}[field]
			if chosen != "" {
				checktest.Equal(t, fmt.Sprint("seed ", seed, ": values of the chosen ", field), len(facet.Values), 0)
				continue
			}
			others := 0
			for _, value := range known {
				g, text := f, q.String()
				switch field {
				case "release":
					g.Release = crash.Release(value)
				case "version":
					g.Version = value
				case "type":
					g.Type = value
				case "state":
					g.State = value
				default:
					text = q.With(field, value)
				}
				after, err := index.ParseQuery(text)
				checktest.NoError(t, err)
				want := int64(0)
				for _, id := range ids(after, g) {
					if slices.Contains(all, id) {
						want++
					}
				}
				if _, listed := counts[value]; !listed && want > 0 && len(facet.Values) == 8 &&
					want <= facet.Values[7].Problems {
					others++
					continue
				}
				if _, listed := counts[value]; !listed && field == "assignee" && (len(facet.Values) == 0 || value[0] != '~') {
					continue // nobody alone is no choice; "ada" may be nobody's name, though it finds "~ada"
				}
				if got := counts[value]; got != want {
					t.Errorf("seed %d, %q %+v: %s %q: got %d problems, want %d", seed, q, f, field, value, got, want)
				}
				delete(counts, value)
			}
			if len(counts) > 0 || facet.More != others {
				t.Errorf("seed %d: %s: got the values %v and %d more, want only those that a search finds and %d more", seed,
					field, counts, facet.More, others)
			}
		}
	}
}

func TestQueryTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tag:sru": "[{tag sru }]", "(a OR b) tag:sru bug:any": "[{tag sru (a OR b) bug:any} {bug any (a OR b) tag:sru}]",
		"tag:a OR tag:b": "[]", "-tag:a reports:>5 word": "[]", `a assignee:"b c"`: "[{assignee b c a}]",
	} {
		q, err := index.ParseQuery(text)
		checktest.NoError(t, err)
		checktest.Equal(t, text, fmt.Sprint(q.Terms()), want)
	}
	for text, want := range map[string]string{"": "tag:c++", "a b": "a b tag:c++", "a OR b": "(a OR b) tag:c++"} {
		q, err := index.ParseQuery(text)
		checktest.NoError(t, err)
		checktest.Equal(t, text, q.With("tag", "c++"), want)
	}
}
