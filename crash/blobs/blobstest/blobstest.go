// Package blobstest runs versitygw, an object storage, for tests.
package blobstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"mishap/crash/checktest"
)

// The server and its version. Go builds it in minutes once, and finds it in its cache from then on.
const (
	server  = "github.com/versity/versitygw/cmd/versitygw"
	version = "v1.8.0"
)

// The credentials of the server.
const (
	AccessKey = "mishap-tests"
	Secret    = "a-secret-for-tests"
)

// program is the path of the built server.
var program = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "mishap-tests")
	built := filepath.Join(dir, "versitygw-"+version)
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Several packages may build it at the same time.
	temp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a cache
	cmd := exec.CommandContext(context.Background(), "go", "install", server+"@"+version)
	cmd.Env = append(os.Environ(), "GOBIN="+temp, "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s@%s: %w\n%s", server, version, err, out)
	}
	return built, os.Rename(filepath.Join(temp, "versitygw"), built)
})

// Server is a running object storage.
type Server struct {
	Address string // host and port
	cmd     *exec.Cmd
	dir     string
}

// Start starts an object storage with an empty bucket. The test fails if it cannot be built.
func Start(t *testing.T, bucket string) *Server {
	t.Helper()
	if _, err := program(); err != nil {
		t.Fatalf("object storage for tests: %v", err)
	}
	address, err := checktest.FreeAddress()
	checktest.NoError(t, err)
	s := &Server{Address: address, dir: t.TempDir()}
	for _, name := range []string{"data", "meta"} {
		checktest.NoError(t, os.Mkdir(filepath.Join(s.dir, name), 0o755))
	}
	s.Run(t)
	client, err := minio.New(s.Address, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, Secret, "")})
	if err == nil {
		err = client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{})
	}
	checktest.NoError(t, err)
	return s
}

// Run starts the server again, with what it stored before.
func (s *Server) Run(t *testing.T) {
	t.Helper()
	path, err := program()
	checktest.NoError(t, err)
	var said bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, "--port", s.Address, "--access", AccessKey,
		"--secret", Secret, "posix", "--sidecar", filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "data"))
	cmd.Stdout, cmd.Stderr = &said, &said
	checktest.NoError(t, cmd.Start())
	s.cmd = cmd
	t.Cleanup(func() { s.stop(cmd) })
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; !s.answers(t.Context()); tries++ {
		if tries == 1200 {
			s.stop(cmd) // before its output is read
			t.Fatalf("versitygw has not answered for a minute:\n%s", said.String())
		}
		<-tick.C
	}
}

func (s *Server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return true
}

// Kill stops the server as a power failure would.
func (s *Server) Kill() { s.stop(s.cmd) }

func (s *Server) stop(cmd *exec.Cmd) {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		_ = cmd.Wait()
	}
}
