package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is how long the command "health" waits for an answer.
const healthTimeout = 5 * time.Second

func healthCommand(p *program) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Asks the instance on this machine whether it is ready",
		Long: `Asks the instance at the address of ops_listen whether it is ready, as /readyz says, and prints its
answer. The exit status is 0 if it is ready, else 1. With --live it only asks whether the instance
answers, as /healthz says. Containers use this command as their health check.`,
		Example: `  mishap health
  mishap health --live`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			path := "/readyz"
			if live {
				path = "/healthz"
			}
			return askHealth(cmd.Context(), p, listenURL(c.OpsListen)+path)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask only whether the instance answers")
	return cmd
}

// listenURL returns the address at which this machine reaches a listener.
func listenURL(listen string) string {
	if host, port, err := net.SplitHostPort(listen); err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			listen = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + listen
}

func askHealth(ctx context.Context, p *program, address string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	resp, err := client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("no instance answers at ops_listen: %w", failed.Err)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(body)))
	}
	_, err = p.out.Write(body)
	return err
}
