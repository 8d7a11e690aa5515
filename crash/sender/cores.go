package sender

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"mishap/crash/apport"
)

const (
	coreOf     = ".core"   // names the core dump of the report with the same name
	wantedCore = ".wanted" // names a core dump that the server has asked for
)

// Times of core dumps.
const (
	maxCoreWait  = 7 * 24 * time.Hour // servers do not wait longer
	coreTime     = 3 * time.Hour      // for sending one
	batteryPause = 30 * time.Minute
)

// keepCore stores which core dump belongs to a report.
func (s spool) keepCore(name, core string) error {
	return writeFile(filepath.Join(s.dir, stem(name)+coreOf), []byte(core))
}

// want stores that the server wants the core dump of a report, if there is one.
func (s spool) want(name, report string) error {
	core, err := os.ReadFile(filepath.Join(s.dir, stem(name)+coreOf))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(s.dir, stem(name)+wantedCore), []byte(report+"\n"+string(core)))
}

func stem(name string) string { return strings.TrimSuffix(name, spooled) }

// wantsCore returns the number of the report whose core dump an answer asks for, or "".
func wantsCore(answer string) string {
	report, ok := strings.CutSuffix(answer, " CORE")
	if !ok || report == "" || len(report) > 100 || strings.Trim(report, "0123456789abcdef-") != "" {
		return ""
	}
	return report
}

// sendCores sends the core dumps that the server has asked for.
func (s *Sender) sendCores(ctx context.Context) error {
	return s.repeat(ctx, s.coreNews, s.coreRound)
}

func (s *Sender) coreRound(ctx context.Context) (left bool, after time.Duration, err error) {
	entries, err := os.ReadDir(s.spool.dir)
	if err != nil {
		return false, 0, err
	}
	for _, e := range entries { // sorted by time
		if !strings.HasSuffix(e.Name(), wantedCore) {
			continue
		}
		if !s.config.CoresOnBattery && onBattery(s.config.Power) {
			return true, batteryPause, nil
		}
		done, pause := s.sendCore(ctx, e.Name())
		if ctx.Err() != nil {
			return true, 0, ctx.Err()
		}
		if !done && !expired(e.Name(), s.config.Now(), maxCoreWait) {
			return true, pause, nil
		}
		if err := s.spool.remove(e.Name()); err != nil {
			return false, 0, err
		}
	}
	return false, 0, nil
}

// sendCore sends one core dump. It returns whether that is done, or failed for good.
func (s *Sender) sendCore(ctx context.Context, name string) (done bool, after time.Duration) {
	content, err := s.spool.read(name)
	report, file, _ := strings.Cut(string(content), "\n")
	var c core
	if err == nil {
		c, err = openCore(file, s.config.MaxCore)
	}
	if err != nil {
		s.config.Log.Info("a core dump is not sent", "report", report, "reason", err)
		return true, 0
	}
	defer c.Close() //nolint:errcheck // only read
	o := s.client.postCore(ctx, report, s.config.Machine.Architecture, c)
	switch {
	case ctx.Err() != nil:
	case o.done && !o.refuse:
		s.config.Log.Info("the server has a core dump", "report", report)
	case o.done:
		s.config.Log.Warn("the server refuses a core dump for good", "report", report, "answer", o.text)
	default:
		s.config.Log.Warn("the server does not take a core dump now; it is sent again", "report", report, "answer", o.text)
	}
	return o.done, o.after
}

// core is a core dump as whoopsie sends them: compressed, in lines of base64.
type core struct {
	io.Reader
	closers
	length int64 // in bytes; -1: unknown
}

var errLargeCore = errors.New("it is larger than core_max_bytes")

// openCore opens a core dump: a file of systemd-coredump, or one of apport that contains it.
func openCore(name string, most int64) (c core, err error) {
	f, err := apport.OpenFile(name)
	if err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	switch {
	case err != nil:
		return c, err
	case info.Size() > most:
		return c, errLargeCore
	}
	extension := filepath.Ext(name)
	switch extension {
	case crashFile:
		text, err := apport.OpenCore(f)
		return core{text, closers{f}, -1}, err
	case ".xz", ".lz4":
		return c, errors.New("servers do not understand how it is compressed")
	}
	length := int64(-1)
	if extension == ".zst" {
		length = int64(base64.StdEncoding.EncodedLen(int(info.Size())))
		length += (length - 1) / lineLength // line ends
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(encode(w, f, extension == ".zst")) }() // ends when either side is closed
	return core{r, closers{r, f}, length}, nil
}

// closers are closed one after the other.
type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() (err error) {
	for _, each := range c {
		err = errors.Join(err, each.Close())
	}
	return err
}

// encode writes lines of base64, of zstd data.
func encode(w io.Writer, r io.Reader, compressed bool) error {
	lines := base64.NewEncoder(base64.StdEncoding, &lineWriter{to: w})
	if compressed {
		if _, err := io.Copy(lines, r); err != nil {
			return err
		}
		return lines.Close()
	}
	z, err := zstd.NewWriter(lines, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, r); err != nil {
		return errors.Join(err, z.Close())
	}
	return errors.Join(z.Close(), lines.Close())
}

// lineLength is the length of a line of base64. Each line can be decoded by itself.
const lineLength = 64 << 10

// lineWriter breaks text into lines.
type lineWriter struct {
	to io.Writer
	at int // in the line
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if l.at == lineLength {
			if _, err := l.to.Write([]byte("\n")); err != nil {
				return n, err
			}
			l.at = 0
		}
		part := p[:min(len(p), lineLength-l.at)]
		written, err := l.to.Write(part)
		n, l.at = n+written, l.at+written
		if err != nil {
			return n, err
		}
		p = p[len(part):]
	}
	return n, nil
}

// postCore sends a core dump.
func (c client) postCore(ctx context.Context, report, architecture string, body core) outcome {
	ctx, cancel := context.WithTimeout(ctx, coreTime)
	defer cancel()
	to := c.server + "/" + report + "/submit-core/" + architecture + "/" + url.PathEscape(c.machine)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, body)
	if err != nil {
		return outcome{busy: true, text: err.Error()}
	}
	req.ContentLength = body.length
	client := *c.http
	client.Timeout = 0
	return c.do(&client, req)
}

// onBattery reports whether the machine runs on its battery, from /sys/class/power_supply.
func onBattery(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	value := func(e fs.DirEntry, name string) string {
		content, err := os.ReadFile(filepath.Join(folder, e.Name(), name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(content))
	}
	discharging := false
	for _, e := range entries {
		switch kind := value(e, "type"); {
		case kind == "Mains" && value(e, "online") == "1":
			return false
		case kind == "Battery" && value(e, "scope") != "Device" && value(e, "status") == "Discharging":
			discharging = true
		}
	}
	return discharging
}

// isStale reports whether a file names a core dump that is not sent, because its report is gone, or no core dumps
// are sent any more.
func (s spool) isStale(name string, cores bool) bool {
	report, found := strings.CutSuffix(name, coreOf)
	if !found {
		return !cores && strings.HasSuffix(name, wantedCore)
	}
	_, err := os.Lstat(filepath.Join(s.dir, report+spooled))
	return !cores || errors.Is(err, fs.ErrNotExist)
}
