package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
	"mishap/db/upkeep"
)

// readingCommands are the commands that change nothing in the database. Others leave a record in the
// audit log. "mishap serve" records what people do.
var readingCommands = map[string]bool{
	"mishap access list": true, "mishap check": true, "mishap gate": true, "mishap inspect": true, "mishap serve": true,
	"mishap symbols list": true, "mishap token list": true, "mishap user list": true, "mishap version": true,
}

// actAs puts the actor of a command into its context.
func actAs(cmd *cobra.Command) {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	cmd.SetContext(audit.WithActor(cmd.Context(), &audit.Actor{Kind: audit.Command, Via: name,
		RequestID: cmd.CommandPath()}))
}

// recordCommand records a command that may have changed the database and has left no record itself.
func recordCommand(ctx context.Context, store *db.Store) error {
	a := audit.ActorOf(ctx)
	if a == nil || a.Kind != audit.Command || a.Recorded() || readingCommands[a.RequestID] {
		return nil
	}
	return store.AuditAlone(ctx, db.AuditEvent{Action: audit.CommandOther, Subject: a.RequestID})
}

func (p *program) auditCommand() *cobra.Command {
	var f audit.Filter
	var since, until string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Prints the audit log as lines of JSON",
		Long: `Prints records of the audit log as lines of JSON, newest first: who did what, from where, before and
after, and with which result (docs/operating.md). Days and times are UTC.`,
		Example: `  mishap audit --since 2026-11-01 --who ada
  mishap audit --action user.role --result refused
  mishap audit > audit.jsonl`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			if f.Since, err = parseMoment(since, false); err == nil {
				f.Until, err = parseMoment(until, true)
			}
			if _, known := audit.Words(f.Action); f.Action != "" && !known {
				err = errors.New("--action: " + audit.UnknownAction(f.Action))
			}
			if f.Result != "" && f.Result != audit.Done && f.Result != audit.Refused {
				err = fmt.Errorf("--result: expected done or refused, got %q", f.Result)
			}
			return err
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if err := s.store.AuditAlone(ctx, db.AuditEvent{Action: "read.log"}); err != nil {
				return "", err
			}
			out := bufio.NewWriter(p.out)
			lines := json.NewEncoder(out)
			for record, err := range upkeep.NewAuditLog(s.store).All(ctx, f) {
				if err == nil {
					err = lines.Encode(record)
				}
				if err != nil {
					return "", err
				}
			}
			return "", out.Flush()
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "records from this `day` or time on, such as 2026-11-23 or 2026-11-23T14:00:00Z")
	flags.StringVar(&until, "until", "", "records up to this `day`, or before this time")
	flags.StringVar(&f.Person, "who", "", "records of this `name`: account, system user, rule or task")
	flags.StringVar(&f.Action, "action", "", "records of this `action`, such as user.role")
	flags.StringVar(&f.Object, "object", "", "records about this `object`: number of a problem or report, "+
		"account, address")
	flags.StringVar(&f.Address, "address", "", "records from this `address`")
	flags.StringVar(&f.Result, "result", "", "records with this `result`: done or refused")
	return cmd
}

// parseMoment parses a day or a time. The end of a day is the start of the next one.
func parseMoment(text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, fmt.Errorf("expected a day such as 2026-11-23 or a time such as 2026-11-23T14:00:00Z, got %q", text)
	}
	if end {
		t = t.AddDate(0, 0, 1)
	}
	return t, nil
}

// dataConfig reads the configuration for a command that uses data_dir. Root becomes the owner of
// data_dir first, because the owner could not use what root creates there.
func (p *program) dataConfig(cmd *cobra.Command) (config.Config, error) {
	c, err := p.config(cmd)
	if err != nil {
		return c, err
	}
	return c, p.becomeOwner(c.DataDir)
}

// becomeOwner makes the process of root one of the owner of an existing folder, for good. It does
// nothing if root owns the folder, if it is missing, and for other users. It returns Forbidden, with
// the command to run, if root lacks the right.
func (p *program) becomeOwner(dataDir string) error {
	info, err := os.Stat(dataDir)
	if os.Geteuid() != 0 || err != nil {
		return nil //nolint:nilerr // whoever uses the folder reports the error
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	id := strconv.Itoa(int(owner.Uid))
	name, gid, groups, home := "#"+id, int(owner.Gid), []int{int(owner.Gid)}, "/"
	if u, err := user.LookupId(id); err == nil { // it may have no account, as in containers
		name, home = u.Username, u.HomeDir
		gid, _ = strconv.Atoi(u.Gid) // always a number on Unix
		groups = []int{gid}
		ids, _ := u.GroupIds() // without them, the account has fewer rights
		for _, text := range ids {
			if n, err := strconv.Atoi(text); err == nil && n != gid {
				groups = append(groups, n)
			}
		}
	}
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(int(owner.Uid))); err != nil {
		return crash.Errorf(crash.Forbidden, "data_dir_forbidden", "%s belongs to %s, and root could not become that "+
			"user; run this as that user: sudo -u '%s' mishap …", dataDir, name, name).Because(err)
	}
	p.became = fmt.Sprintf("%s, who owns %s", name, dataDir)
	// As after starting with these rights: the sandbox of the debugger writes below /proc.
	return errors.Join(os.Setenv("HOME", home), unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
}
