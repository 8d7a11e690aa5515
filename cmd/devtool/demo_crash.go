package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// quaymaster holds the native crash of the demonstration: its report, its core dump, and the packages
// with its program and debug file. testdata/quaymaster/make.sh made them.
//
//go:embed testdata/quaymaster/*.crash testdata/quaymaster/*.gz testdata/quaymaster/*.deb testdata/quaymaster/*.ddeb
var quaymaster embed.FS

const (
	crashMachines = 5                // number of machines that send the crash, until one is asked for its core
	symbolsAfter  = 20 * time.Second // time from the greeting to the debug files, so that one can watch
)

// nativeCrash returns the report of the native crash, and the address of its problem.
func nativeCrash(now time.Time) (report crashtest.Report, path string, err error) {
	text, err := quaymaster.ReadFile("testdata/quaymaster/quaymaster.crash")
	if err != nil {
		return nil, "", err
	}
	fields, _, err := apport.Read(bytes.NewReader(text), apport.Limits{})
	if err != nil {
		return nil, "", err
	}
	report = crashtest.Report(fields)
	crashtest.At(now)(report)
	return report, crash.BucketIDOf(grouping.SignatureOf(fields).Signature).Path(), nil
}

// sendCrash posts the native crash from several machines until one is asked for its core, and sends the
// core. If none is asked, this machine has no debugger, and mishap names the addresses without a core.
func (d *demo) sendCrash(ctx context.Context, ingest string) error {
	report, _, err := nativeCrash(d.memory.SeedTime)
	if err != nil {
		return err
	}
	for n := 1; n <= crashMachines; n++ {
		machine := fmt.Sprint("quay-machine-", n)
		said, err := answer(ctx, http.DefaultClient, ingest+"/"+machine, report.BSON())
		if err != nil {
			return err
		}
		if id, wanted := strings.CutSuffix(said, " CORE"); wanted {
			core, err := quaymaster.ReadFile("testdata/quaymaster/quaymaster.core.gz")
			if err != nil {
				return err
			}
			_, err = answer(ctx, http.DefaultClient, ingest+"/"+id+"/submit-core/amd64/"+machine, asSent(core))
			return err
		}
		if err := crash.Sleep(ctx, time.Second); err != nil { // the server finds out what its debugger can do
			return err
		}
	}
	return nil
}

// asSent returns a core in apport's form: base64, the header of gzip on a line of its own.
func asSent(core []byte) []byte {
	const header = 10
	text := base64.StdEncoding.EncodeToString(core[:header]) + "\n" + base64.StdEncoding.EncodeToString(core[header:])
	return []byte(text)
}

// addSymbols adds the packages with the program that crashed and its debug file.
func (d *demo) addSymbols(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "mishap-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	entries, err := quaymaster.ReadDir("testdata/quaymaster")
	if err != nil {
		return err
	}
	args := []string{"symbols", "add", "--config", d.configFile()}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "deb") {
			continue
		}
		content, err := quaymaster.ReadFile("testdata/quaymaster/" + e.Name())
		if err != nil {
			return err
		}
		name := filepath.Join(dir, e.Name())
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
		args = append(args, name)
	}
	command := exec.CommandContext(ctx, d.program, args...)
	command.Env = d.environ
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("add symbols: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// nameCrash adds the debug files of the native crash some time after the greeting, once.
func (d *demo) nameCrash(ctx context.Context) error {
	if d.memory.Named {
		return nil
	}
	if err := crash.Sleep(ctx, d.symbolsAfter); err != nil {
		return err
	}
	if err := d.addSymbols(ctx); err != nil {
		return err
	}
	d.memory.Named = true
	return d.memory.write()
}
