package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/embedded"
	"mishap/db/upkeep"
)

// facts are what the other checks need from the database.
type facts struct {
	findings []Finding
	token    crash.SavedToken // of the tracker
	read     bool             // the token was read
}

// database checks that the database answers, its version, encoding, schema and clock.
func (d *doctor) database(ctx context.Context) facts {
	url := string(d.Config.DatabaseURL)
	name := "PostgreSQL"
	if url == "" {
		found, err := embedded.Find(ctx, d.Config.DataDir)
		switch {
		case err != nil:
			return facts{findings: []Finding{failed("database", explain(err), "see docs/operating.md, The database")}}
		case found.PID == 0 && !found.Created:
			return facts{findings: []Finding{good("database", "the private database does not exist yet; "+
				"mishap creates it at its first start, with the programs in "+found.Programs), pgDump(ctx, found.Major)}}
		case found.PID == 0:
			return facts{findings: []Finding{good("database", "the private database in "+found.Dir+
				" is not running, so its content was not checked; mishap starts it with the programs in "+found.Programs),
				pgDump(ctx, found.Major)}}
		case found.URL == "":
			return facts{findings: []Finding{warned("database",
				fmt.Sprintf("the private database is starting or stopping (process %d)", found.PID),
				"run mishap doctor again in a minute; "+found.Dir+"/server.log says what the server does")}}
		}
		url, name = found.URL, "private PostgreSQL"
	}
	h, err := db.OpenReadOnly(ctx, url)
	if err != nil {
		return facts{findings: []Finding{failed("database", explain(err), "correct database_url")}}
	}
	defer h.Pool.Close()
	return d.inspect(ctx, h, name)
}

func (d *doctor) inspect(ctx context.Context, h *db.Handle, name string) facts {
	began := d.Now()
	seen, err := h.Inspect(ctx)
	if err != nil && seen.Applied == 0 {
		return facts{findings: []Finding{failed("database", explain(err),
			"start PostgreSQL, or correct database_url; the server's log says more")}}
	}
	ended := d.Now()
	out := facts{findings: []Finding{good("database", name+" "+seen.Server+" answers")}}
	if seen.Encoding != "UTF8" {
		out.findings[0] = failed("database", name+" "+seen.Server+": the encoding of the database is "+seen.Encoding+
			", and mishap needs UTF8", "create the database again with ENCODING 'UTF8' TEMPLATE template0")
	}
	var major int
	if _, err := fmt.Sscanf(seen.Server, "%d", &major); err == nil {
		out.findings = append(out.findings, pgDump(ctx, major))
	}
	switch {
	case err != nil:
		out.findings = append(out.findings, failed("schema", explain(err), "see docs/operating.md, Upgrades"))
	case seen.Applied == 0:
		out.findings = append(out.findings, warned("schema", "the database is empty",
			"start mishap, or run mishap migrate"))
	case seen.Pending > 0 || !seen.Queue:
		out.findings = append(out.findings, warned("schema",
			fmt.Sprintf("%d migrations were applied, %d are missing", seen.Applied, seen.Pending),
			"make a backup, then restart mishap or run mishap migrate"))
	default:
		out.findings = append(out.findings, good("schema",
			fmt.Sprintf("all %d migrations were applied", seen.Applied)))
	}
	out.findings = append(out.findings, clock("the database", seen.Clock, began, ended, 0))
	if err == nil && seen.Applied > 0 && seen.Pending == 0 {
		h.Log = slog.New(slog.DiscardHandler)
		key := crash.TrackerKey{URL: d.Tracker.URL, ConsumerKey: d.Tracker.ConsumerKey}
		out.token, err = bugs.New(&db.Store{Handle: h}).SavedToken(ctx, key)
		out.read = err == nil
		out.findings = append(out.findings, d.backups(ctx, h)...)
	}
	return out
}

// pgDump checks that backups of a server with this major version can be made.
func pgDump(ctx context.Context, major int) Finding {
	path, err := embedded.FindTool(ctx, "pg_dump", major)
	if err != nil {
		return warned("pg_dump", explain(err), "mishap backup and mishap restore need it")
	}
	return good("pg_dump", path+" can back up PostgreSQL "+strconv.Itoa(major))
}

// backups checks the last backup and its verification.
func (d *doctor) backups(ctx context.Context, h *db.Handle) []Finding {
	b, err := upkeep.ReadBackups(ctx, h)
	if err != nil {
		return []Finding{failed("backup", explain(err), "see docs/operating.md")}
	}
	return []Finding{judged(upkeep.JudgeBackup(b, d.Now())), judged(upkeep.JudgeVerification(b, d.Now()))}
}

// judged returns the finding of a health check.
func judged(c crash.HealthCheck) Finding {
	f := Finding{c.ID, c.Status(), strings.TrimSuffix(strings.TrimSpace(c.Problem+" "+c.Detail), "."), c.Remedy}
	if c.Problem == "" {
		f.Remedy = ""
	}
	return f
}

// clock compares another clock with that of this machine, which showed began before the question and
// ended after the answer. resolution is that of the other clock.
func clock(of string, other, began, ended time.Time, resolution time.Duration) Finding {
	var difference time.Duration
	switch {
	case other.Before(began.Add(-resolution)):
		difference = began.Sub(other) - resolution
	case other.After(ended):
		difference = other.Sub(ended)
	}
	message := fmt.Sprintf("this machine and %s differ by %v", of, difference.Round(time.Second))
	const remedy = "correct the clock that is wrong (timedatectl), and keep it right with chrony or systemd-timesyncd"
	switch {
	case difference >= upkeep.ClockFailure:
		return failed("clock", message, remedy)
	case difference >= upkeep.ClockWarning:
		return warned("clock", message, remedy)
	}
	return good("clock", "this machine and "+of+" agree")
}
