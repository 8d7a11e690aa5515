package debuginfo

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// A file BUILD-ID/debuginfo.missing lists the servers that did not have a file, or had an unusable
// one, so that they are not asked again for each core. Its lines hold the time, the number of
// answers, the server and the reason.
const missingSuffix = ".missing"

// miss is one server's last answer.
type miss struct {
	at    time.Time
	count int // answers in a row
	why   string
}

// fresh reports whether a server need not be asked again: for an hour after the first answer, for a
// day after further ones.
func (m miss) fresh(now time.Time) bool {
	age := time.Hour
	if m.count > 1 {
		age = 24 * time.Hour
	}
	return m.count > 0 && now.Sub(m.at) < age
}

// misses are the answers by server.
type misses map[string]miss

func (m misses) of(server string) miss { return m[server] }

func (f *Folder) missesPath(id BuildID, k Kind) string { return f.path(id, k) + missingSuffix }

// misses reads the answers about a file. Lines that it cannot read count as no answer.
func (f *Folder) misses(id BuildID, k Kind) misses {
	file, err := openRegular(f.missesPath(id, k))
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	all := misses{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), " ", 4)
		if len(parts) != 4 {
			continue
		}
		at, err1 := strconv.ParseInt(parts[0], 10, 64)
		count, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			all[parts[2]] = miss{time.Unix(at, 0), count, parts[3]}
		}
	}
	return all
}

// addMiss stores one more answer.
func (f *Folder) addMiss(id BuildID, k Kind, past misses, server string, a Attempt, now time.Time) error {
	all := misses{}
	for s, m := range past {
		all[s] = m
	}
	why := string(a.Outcome)
	if a.Detail != "" {
		why += ": " + strings.Join(strings.Fields(a.Detail), " ")
	}
	all[server] = miss{now, past.of(server).count + 1, why}
	var b strings.Builder
	for s, m := range all {
		_, _ = fmt.Fprintf(&b, "%d %d %s %s\n", m.at.Unix(), m.count, s, m.why)
	}
	temp, err := f.create()
	if err != nil {
		return err
	}
	_, err = temp.WriteString(b.String())
	err = errors.Join(err, temp.Close())
	if err == nil {
		place := f.missesPath(id, k)
		err = crash.InFolder(filepath.Dir(place), func() error { return os.Rename(temp.Name(), place) })
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("folder of symbols: %w", err)
	}
	return nil
}

// forgetMisses removes the answers about a file that was found.
func (f *Folder) forgetMisses(id BuildID, k Kind) {
	if err := os.Remove(f.missesPath(id, k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // they expire by themselves
	}
}
