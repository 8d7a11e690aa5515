package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// longestLine bounds one line of the standard input, in bytes.
const longestLine = 64 << 10

// newPassword reads a new password from the standard input, or twice from the terminal without
// showing it.
func (p *program) newPassword(cmd *cobra.Command, fromStdin bool) (string, error) {
	if fromStdin {
		line, err := readLine(bufio.NewReader(io.LimitReader(p.in, longestLine)))
		if errors.Is(err, io.EOF) {
			return "", errors.New("--password-stdin: the standard input contains no password")
		}
		return line, err
	}
	terminal, ok := p.in.(*os.File)
	if !ok || !isTerminal(terminal) {
		return "", &usageError{
			errors.New("no terminal to ask for the password; give it with --password-stdin"), cmd.CommandPath(),
		}
	}
	first, err := p.askHidden(cmd.Context(), terminal, "New password: ")
	if err != nil {
		return "", err
	}
	second, err := p.askHidden(cmd.Context(), terminal, "The same again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the two passwords differ; nothing was changed")
	}
	return first, nil
}

// askHidden asks at the terminal and hides the answer.
func (p *program) askHidden(ctx context.Context, terminal *os.File, question string) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	_, _ = fmt.Fprint(p.err, question)
	answer, err := await(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	_, _ = fmt.Fprintln(p.err)
	if err != nil {
		_ = term.Restore(fd, before) // otherwise an interrupt would leave the input hidden
		return "", fmt.Errorf("read the password: %w", err)
	}
	return answer, nil
}

// await waits for an answer from the terminal, or until ctx ends. A read from a terminal cannot be
// cancelled; after the end of ctx it ends with the process.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	answered := make(chan result, 1)
	go func() {
		text, err := read()
		answered <- result{text, err}
	}()
	select {
	case r := <-answered:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads one line, without its line break. It returns io.EOF if there is none.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if line == "" && err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
