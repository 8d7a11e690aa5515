package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"mishap/views/gallery"
)

// galleryCommand returns the command that serves pages and parts in every state until it is
// interrupted.
func galleryCommand() *cobra.Command {
	var listen, assetsDir string
	cmd := &cobra.Command{
		Use:   "gallery",
		Short: "Shows pages and parts in every state, with invented data",
		Long: `Shows pages and parts in every state: empty, partial, refused, without permission, overlong. It needs no
database and no account, and its buttons have no effect. The accessibility test checks the same pages.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var lc net.ListenConfig
			l, err := lc.Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return err
			}
			server := &http.Server{Handler: gallery.Handler(assetsDir), ReadHeaderTimeout: 10 * time.Second}
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(l) }()
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "The gallery is at http://%s\n", l.Addr())
			select {
			case err = <-ended:
			case <-cmd.Context().Done():
				if err := server.Close(); err != nil {
					return err
				}
				err = <-ended
			}
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8086", "`address` to listen on")
	cmd.Flags().StringVar(&assetsDir, "assets", "", "`folder` of assets to read on each request (assets/static); "+
		"empty: the built-in ones")
	return cmd
}
