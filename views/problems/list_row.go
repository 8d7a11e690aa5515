package problems

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// ListRow is one problem with its bug.
type ListRow struct {
	*crash.Problem
	First, Last crash.Occurrence // in the selected release, or anywhere
	Bug         bugs.BugPart
	Rank        int        // by reports, independent of the order of the list
	Past        int64      // its reports in the preceding period of the same length
	Compared    bool       // Past is known
	New         bool       // first seen in the past week
	Rise        stats.Rise // see [stats.Rising]; zero unless Rising
	Rising      bool
	Spark       layout.Sparkline
	People      *index.People // nil: nobody, no tags, or for visitors
	Held        bool          // false for visitors
}

// countTitle describes the number of reports of a row.
func (r *ListRow) countTitle(c ListChoice, now time.Time) string {
	return listRank(r.Rank, r.Past, c.length(now), r.Compared)
}

// rowProgram returns the name under which a row shows a problem: its program, else its package.
func rowProgram(b *crash.Bucket, s layout.Signature) string {
	if s.Program != "" {
		return s.Program
	}
	return b.Package
}

// rowFrameCount is the number of functions that a row shows. Its tooltip has the whole signature.
const rowFrameCount = 8

func rowFrames(s layout.Signature) string {
	frames := s.Frames
	if len(frames) > rowFrameCount {
		frames = frames[:rowFrameCount]
	}
	if len(frames) == 0 && s.Program == "" {
		return "(blank signature)"
	}
	return strings.Join(frames, " → ")
}

// seenTitle describes a report in full: "2026-09-02 14:03:07 UTC, Ubuntu 24.04 (noble), 1.4.9-2".
func seenTitle(seen crash.Occurrence) string {
	if seen.At.IsZero() {
		return ""
	}
	return layout.Exact(seen.At) + ", " + layout.FullRelease(seen.Release) + ", " + layout.OrUnknown(seen.Version)
}

// shortAgo formats how long before now t was, for a narrow column: "3 min", "5 h", "2 d", "2 Sep".
func shortAgo(t, now time.Time) string {
	ago := layout.Ago(t, now)
	if ago == "just now" {
		return "now"
	}
	return strings.TrimSuffix(ago, " ago")
}

// share returns part/whole as the width of a bar, in percent. A part above 0 is always visible.
func share(part, whole int64) string {
	percent := 100 * float64(part) / float64(max(whole, 1))
	if part > 0 {
		percent = max(percent, 2)
	}
	return fmt.Sprintf("%.0f%%", min(percent, 100))
}

// listRank describes a row by its rank, and by its reports in as many days before.
func listRank(rank int, before int64, days int64, compared bool) string {
	rankText := "Rank " + strconv.Itoa(rank) + " by reports"
	if !compared {
		return rankText
	}
	return rankText + "; " + crash.Counted(before, "report", "reports") + " in the " +
		crash.Counted(days, "day", "days") + " before"
}
