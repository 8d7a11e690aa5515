package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/people"
	adminview "mishap/views/admin"
	"mishap/views/layout"
)

func (p *program) accessCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Manages the rights that groups and accounts have",
		Long: `Manages which groups give which role to people who sign in at another site or through a proxy, and
which rights single accounts have. A person has the highest of the roles that "mishap user role" and
their groups give. Groups are those of the last sign-in. SOURCE is launchpad (teams), oidc or proxy, or
account for one account by its name; docs/sign-in.md explains them.

The roles triager and private can be limited to some source packages: to a package or a pattern such as
linux-* (--packages), to a package set (--set), or to the packages to whose bugs a person or team is
subscribed in the tracker (--team). private is the right to read private data of reports: environment,
command lines, logs, machines and, for triagers, core dumps, and to see embargoed problems. Rights that come
from an upgrade do not show embargoed problems; granting private again adds that.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	cmd.AddCommand(p.accessListCommand(), p.accessGrantCommand(), p.accessRevokeCommand())
	return cmd
}

func (p *program) accessListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists the rights of groups and accounts, and why people have them",
		Long: "Lists the rights of groups and accounts, then all people with their role and the reasons for it and " +
			"for other " +
			"rights. Times are UTC.",
		Example: "  mishap access list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				grants, err := people.New(store).Grants(ctx)
				if err != nil {
					return err
				}
				identities, err := people.New(store).Identities(ctx, 0)
				if err != nil {
					return err
				}
				users, err := people.New(store).Accounts(ctx)
				if err != nil {
					return err
				}
				return printAccess(p.out, grants, crash.AccessOf(users, identities, grants, store.Rights.Everyone))
			})
		},
	}
}

func printAccess(out io.Writer, grants []crash.Grant, people []crash.PersonAccess) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SOURCE\tGROUP\tROLE\tPACKAGES\tADDED\tBY") // Flush returns the error
	for _, g := range grants {
		role := string(g.Role)
		if g.Unconfirmed {
			role += " (without embargoed problems)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", g.Source, g.Group, role, layout.ScopeName(g.Scope),
			g.Created.UTC().Format(time.DateTime), g.By)
	}
	_, _ = fmt.Fprintln(w, "\nNAME\tROLE\tWHY")
	for _, one := range people {
		var why []string
		for _, r := range one.Reasons {
			why = append(why, layout.WhyRole(r))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", one.User.Name, layout.RoleName(one.User.Role), strings.Join(why, "; "))
	}
	return w.Flush()
}

// scopeFlags are the flags that limit a right to some packages.
type scopeFlags struct{ packages, set, team string }

func (f *scopeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.packages, "packages", "", "only this source `PACKAGE`, or those that match a pattern")
	cmd.Flags().StringVar(&f.set, "set", "", "only the packages of the package set `NAME`")
	cmd.Flags().StringVar(&f.team, "team", "", "only the packages of the team `NAME` in the tracker")
	cmd.MarkFlagsMutuallyExclusive("packages", "set", "team")
}

func (f *scopeFlags) scope() crash.GrantScope {
	switch {
	case f.packages != "":
		return crash.GrantScope{Kind: crash.GrantPackage, Name: f.packages}
	case f.set != "":
		return crash.GrantScope{Kind: crash.GrantSet, Name: f.set}
	case f.team != "":
		return crash.GrantScope{Kind: crash.GrantTeam, Name: f.team}
	}
	return crash.GrantScope{Kind: crash.GrantAll}
}

func (p *program) accessGrantCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "grant SOURCE GROUP viewer|triager|admin|private",
		Short: "Gives a right to the members of a group, or to an account",
		Long: `Gives a role, or the right to private data, to the members of a group or to an account, instead of the
role that it had for the same packages. It takes effect at once for people who were in the group when
they last signed in. The packages of sets and teams come from the tracker within a minute, and follow it.`,
		Example: `  mishap access grant launchpad ubuntu-bugcontrol triager
  mishap access grant oidc kernel-team triager --packages 'linux-*'
  mishap access grant account kim private --team desktop-packages`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			g := crash.Grant{Source: crash.Source(args[0]), Group: args[1], Role: crash.Role(args[2]), Scope: flags.scope()}
			if err := g.Check(); err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).Grant(ctx, "", g); err != nil {
					return err
				}
				_, err := fmt.Fprintln(p.out, adminview.Granted(g))
				return err
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (p *program) accessRevokeCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "revoke SOURCE GROUP [private]",
		Short: "Takes a right of a group or an account away",
		Long: `Takes away at once the role that a group or an account has for all packages or, with a flag, for those
packages; with private, the right to private data instead. Roles from other groups remain.`,
		Example: `  mishap access revoke launchpad ubuntu-bugcontrol
  mishap access revoke account kim private --team desktop-packages`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			g := crash.Grant{Source: crash.Source(args[0]), Group: args[1], Scope: flags.scope()}
			_, err := crash.ParseSource(args[0])
			if g.Source == crash.SourceAccount {
				err = nil
			}
			if err == nil && len(args) == 3 {
				if g.Role = crash.Role(args[2]); g.Role != crash.RolePrivate {
					err = fmt.Errorf("%q cannot be taken away by name; leave it out, or use private", args[2])
				}
			}
			if err == nil {
				err = g.Scope.Check()
			}
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).RevokeGrant(ctx, "", g); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(p.out, adminview.Revoked(g)); err != nil {
					return err
				}
				return warnWithoutAdmin(ctx, p.err, people.New(store))
			})
		},
	}
	flags.add(cmd)
	return cmd
}
