package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

// senderCommand runs loads for a bench as a process of its own, so that what sends is not taken for what serves. It reads
// orders from its input and writes what came of each.
func senderCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "bench-sender",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runtime.GOMAXPROCS(1) // leaves the other processors to the server
			reports := newReportPool(time.Now())
			orders, results := json.NewDecoder(cmd.InOrStdin()), json.NewEncoder(cmd.OutOrStdout())
			for {
				var o loadOrder
				if err := orders.Decode(&o); err != nil {
					if errors.Is(err, io.EOF) {
						return nil
					}
					return err
				}
				result, err := reports.load(cmd.Context(), o)
				if err != nil {
					result.Fault = err.Error()
				}
				if err := results.Encode(result); err != nil {
					return err
				}
			}
		},
	}
}

// sender is such a process.
type sender struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	results *json.Decoder
}

func startSender(ctx context.Context) (*sender, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &sender{cmd: exec.CommandContext(ctx, self, "bench-sender")}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.orders, s.results = json.NewEncoder(s.in), json.NewDecoder(out)
	return s, s.cmd.Start()
}

func (s *sender) stop() { _ = errors.Join(s.in.Close(), s.cmd.Wait()) } // it ends with its input

// load has the process send reports.
func (s *sender) load(o loadOrder) (loadResult, error) {
	if err := s.orders.Encode(o); err != nil {
		return loadResult{}, err
	}
	var result loadResult
	if err := s.results.Decode(&result); err != nil {
		return loadResult{}, err
	}
	if result.Fault != "" {
		return result, errors.New(result.Fault)
	}
	return result, nil
}
