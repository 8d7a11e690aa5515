package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/people"
	"mishap/views"
)

func (p *program) userDisableCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "disable NAME",
		Short: "Disables an account",
		Long: `Disables an account: the person can no longer sign in, is signed out everywhere at once, and their API
tokens stop working.`,
		Example: "  mishap user disable ada",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, accounts *people.Store, u crash.User, _ []string) (string, error) {
		return u.Name + " can no longer sign in.", accounts.Disable(ctx, "", u.Name)
	})
}

func (p *program) userEnableCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "enable NAME",
		Short: "Enables an account that was disabled",
		Long: `Enables an account that was disabled: the person can sign in again with the password and role from
before, and their API tokens work again.`,
		Example: "  mishap user enable ada",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, accounts *people.Store, u crash.User, _ []string) (string, error) {
		return fmt.Sprintf("%s can sign in again, with role %s.", u.Name, u.Role), accounts.Enable(ctx, "", u.Name)
	})
}

// noRole stands for no role on the command line.
const noRole = "none"

func (p *program) userRoleCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "role NAME viewer|triager|admin|none",
		Short: "Changes the role of an account",
		Long: `Changes the role that an account is given by hand. It applies from the next request, also to the
person's API tokens. The person keeps higher roles from groups (see "mishap access").`,
		Example: "  mishap user role ada triager",
		Args:    cobra.ExactArgs(2),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if _, err := crash.ParseRole(args[1]); err != nil && args[1] != noRole {
				return &usageError{err, cmd.CommandPath()}
			}
			return nil
		},
	}, func(ctx context.Context, accounts *people.Store, u crash.User, args []string) (string, error) {
		role, _ := crash.ParseRole(args[1]) // "none" is no role
		if err := accounts.SetRole(ctx, "", u.Name, role); err != nil {
			return "", err
		}
		now, err := accounts.ByName(ctx, u.Name)
		if err != nil {
			return "", err
		}
		message := fmt.Sprintf("The role of %s is %s now; it was %s.", u.Name, views.RoleName(now.Role),
			views.RoleName(u.Role))
		if now.Role != role {
			message += " It comes from a group."
		}
		return message + ifDisabled(u), nil
	})
}

func (p *program) userRemoveCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "remove NAME",
		Short: "Removes an account",
		Long: `Removes an account with its sessions, its API tokens, and the list of what the person follows. The
person's decisions stay under this name: bugs created, problems merged, notes, the ledger of filings.

A later account with the same name counts as the same person. To prevent that, disable the account
instead.`,
		Example: "  mishap user remove ada",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, accounts *people.Store, u crash.User, _ []string) (string, error) {
		message := fmt.Sprintf("The account of %s is removed. Decisions by %s stay under this name.", u.Name, u.Name)
		return message, accounts.Remove(ctx, "", u.Name)
	})
}

func (p *program) userTOTPResetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "totp-reset NAME",
		Short: "Removes the authenticator app of an account",
		Long: `Removes the authenticator app and the recovery codes of an account, for a person who has lost both. The
person is signed out everywhere and told in the inbox and by mail, can then sign in with the password alone, and
set up an app again, which require_totp may demand. First make sure who asks.`,
		Example: "  mishap user totp-reset ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).ResetSecondFactor(ctx, "", args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(p.out, "%s can sign in without a code.\n", args[0])
				return err
			})
		},
	}
}

// userChange completes a command that changes one account and prints the message that change
// returns. The command warns if no admin can sign in afterwards.
func (p *program) userChange(cmd *cobra.Command,
	change func(context.Context, *people.Store, crash.User, []string) (message string, err error),
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
			accounts := people.New(store)
			u, err := accounts.ByName(ctx, args[0])
			if err != nil {
				return err
			}
			message, err := change(ctx, accounts, u, args)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(p.out, message); err != nil {
				return err
			}
			return warnWithoutAdmin(ctx, p.err, accounts)
		})
	}
	return cmd
}

func warnWithoutAdmin(ctx context.Context, w io.Writer, accounts *people.Store) error {
	users, err := accounts.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Role == crash.RoleAdmin && !u.Disabled && !u.Service() {
			return nil
		}
	}
	_, err = fmt.Fprintln(w, "mishap: warning: no admin can sign in now. "+
		`"mishap user add NAME --role admin" or "mishap user role NAME admin" makes someone an admin.`)
	return err
}

// ifDisabled returns a sentence for a disabled account, or an empty string.
func ifDisabled(u crash.User) string {
	if !u.Disabled {
		return ""
	}
	return fmt.Sprintf(" The account is disabled: %s cannot sign in before \"mishap user enable %s\".", u.Name, u.Name)
}
