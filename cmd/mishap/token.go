package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/accounts"
)

func (p *program) tokenCommand() *cobra.Command {
	token := &cobra.Command{
		Use:   "token",
		Short: "Manages the API tokens with which scripts sign in",
		Long: `Manages the API tokens with which scripts sign in, without a browser. A token belongs to an account,
has scopes and an expiry date, and never more rights than its account. People create their own at
/account.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	token.AddCommand(p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
	return token
}

func (p *program) tokenCreateCommand() *cobra.Command {
	var name string
	var words []string
	var days int
	cmd := &cobra.Command{
		Use:   "create PERSON --name NAME",
		Short: "Creates a token and prints it, once",
		Long: `Creates a token for the account of a person and prints only the token to the standard output, so that
it can be redirected to a file. It cannot be shown again, since only its hash is stored. Its details
go to the standard error.

Scopes: read (reports and traces), read-private (private data, core dumps, histories of machines), triage
(status, assignee and tags), file (create bugs), upload (symbols), admin (what administrators read, and
erasing machines). triage, file and upload are for triagers and admins, admin is for admins.`,
		Example: `  mishap token create ada --name "phased updates" --scope read --days 365
  mishap token create bot --name triage --scope read,file > token`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				return &usageError{errors.New("--name is missing: the purpose of the token"), cmd.CommandPath()}
			}
			var scopes []crash.Scope
			for _, word := range words {
				scope, err := crash.ParseScope(strings.TrimSpace(word))
				if err != nil {
					return &usageError{err, cmd.CommandPath()}
				}
				scopes = append(scopes, scope)
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				accounts := accounts.New(store)
				u, err := accounts.ByName(ctx, args[0])
				if err != nil {
					return err
				}
				text, token, err := accounts.AddTokenFor(ctx, "", u, name, scopes, time.Now().Add(time.Duration(days)*24*time.Hour))
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(p.err, "Token %d of %s, for %s, until %s (UTC). It is not shown again.\n",
					token.ID, u.Name, scopeWords(token), token.Expires.Format(time.DateTime))
				_, err = fmt.Fprintln(p.out, text)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the purpose of the token")
	cmd.Flags().StringSliceVar(&words, "scope", []string{string(crash.ScopeRead)},
		"the scopes of the token: read, read-private, triage, file, upload, admin")
	cmd.Flags().IntVar(&days, "days", 90, "days until it expires, at most five years")
	return cmd
}

func (p *program) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [PERSON]",
		Short: "Lists tokens",
		Long: `Lists the tokens of all people, or of one person, including expired but not revoked ones. It prints
the last characters of each, never the whole token. Times are UTC; the last use is to the minute.`,
		Example: `  mishap token list
  mishap token list ada`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				accounts, person := accounts.New(store), ""
				if len(args) == 1 {
					u, err := accounts.ByName(ctx, args[0])
					if err != nil {
						return err
					}
					person = u.Name
				}
				tokens, err := accounts.AllTokens(ctx, person)
				if err != nil {
					return err
				}
				return printTokens(p.out, tokens, time.Now())
			})
		},
	}
}

func printTokens(out io.Writer, tokens []crash.PersonToken, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tPERSON\tNAME\tTOKEN\tSCOPES\tEXPIRES\tLAST USED\tFROM") // Flush returns the error
	for _, t := range tokens {
		ends, used := t.Expires.UTC().Format(time.DateTime), "never"
		switch {
		case t.Expired(now):
			ends = "expired " + ends
		case t.ExpiresSoon(now):
			ends += " (soon)"
		}
		if !t.LastUsed.IsZero() {
			used = t.LastUsed.UTC().Format(time.DateTime)
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			t.ID, t.Person, onOneLine(t.Name), t.Label(), scopeWords(t.APIToken), ends, used, t.LastAddress)
	}
	return w.Flush()
}

func scopeWords(t crash.APIToken) string {
	var words []string
	for _, scope := range crash.Scopes {
		if t.Allows(scope) {
			words = append(words, string(scope))
		}
	}
	return strings.Join(words, ",")
}

func (p *program) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revokes a token",
		Long:    "Revokes a token of any person by its number in the list. It stops working at once.",
		Example: "  mishap token revoke 12",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return &usageError{
					fmt.Errorf("%q is not the number of a token; mishap token list shows them", args[0]), cmd.CommandPath(),
				}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				person, err := accounts.New(store).RevokeTokenOf(ctx, "", id)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.out, "Token %d of %s works no longer.\n", id, person)
				return err
			})
		},
	}
}
