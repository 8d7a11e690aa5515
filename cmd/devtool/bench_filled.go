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

// start returns the address of the database, whose PostgreSQL it starts when it is a private one.
func (f *filled) start(ctx context.Context) (databaseURL string, stop func() error, err error) {
	if f.database != "" {
		return f.database, func() error { return nil }, nil
	}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: f.dataDir})
	if err != nil {
		return "", nil, err
	}
	return server.URL(), func() error { return server.Stop(context.WithoutCancel(ctx)) }, nil
}

// serve starts the server on the database, and stops both when measuring is over.
func (f *filled) serve(ctx context.Context, measuring func(s *site, databaseURL string) error) (err error) {
	address, stop, err := f.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
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
