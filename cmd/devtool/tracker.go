package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"mishap/tracker/trackertest"
)

// trackerCommand returns the command that serves the practice tracker.
func trackerCommand() *cobra.Command {
	var listen string
	var o trackertest.Options
	cmd := &cobra.Command{
		Use:   "tracker",
		Short: "Serves a practice tracker, in which mishap can file bugs",
		Long: `Serves a practice tracker that speaks Launchpad's protocol, with pages to authorise mishap and to read bugs.

Point mishap at it with tracker_url = "http://ADDRESS" and tracker_api_url = "http://ADDRESS/devel".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveTracker(cmd.Context(), listen, o, func(address string) {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "practice tracker: http://%s\n", address)
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "`address` to listen on")
	cmd.Flags().StringVar(&o.StateFile, "state", "", "`file` that stores bugs and tokens; empty: only in memory")
	cmd.Flags().StringVar(&o.Person, "person", "", "`name` of the person who is signed in (default practice-person)")
	return cmd
}

// serveTracker serves a practice tracker until ctx ends. It calls ready with its address once it
// listens.
func serveTracker(ctx context.Context, listen string, o trackertest.Options, ready func(address string)) error {
	t, err := trackertest.NewServer(o)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("practice tracker: %w", err)
	}
	server := &http.Server{Handler: t, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		t.Close()
		_ = server.Close()
	})
	defer stop()
	ready(l.Addr().String())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("practice tracker: %w", err)
	}
	return nil
}
