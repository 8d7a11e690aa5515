package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"mishap/db/embedded"
)

// filled is a database that is measured as it stands, with the server that is measured on it.
type filled struct {
	database, dataDir, program string
}

func (f *filled) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.database, "database", "", "the `url` of the database")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "the data_dir whose private PostgreSQL it is")
	cmd.Flags().StringVar(&f.program, "mishap", besideMe("mishap"), "the mishap `program`")
	cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	cmd.MarkFlagsOneRequired("database", "data-dir")
}

// serve starts the server on the database, and stops both when measuring is over.
func (f *filled) serve(ctx context.Context, measuring func(s *site, databaseURL string) error) (err error) {
	address := f.database
	if address == "" {
		server, startErr := embedded.Start(ctx, embedded.Config{DataDir: f.dataDir})
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
		address = server.URL()
	}
	folder, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s, err := startSite(ctx, f.program, folder, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return measuring(s, address)
}
