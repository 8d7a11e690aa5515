// Package blobs stores files that all instances share: in a folder, or in object storage with S3's
// interface. A blob is stored under a key such as symbols/5f…/debuginfo, complete or not at all, and is
// never changed. The package knows nothing about the contents.
package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"time"

	"mishap/crash"
)

// Info describes a stored blob.
type Info struct {
	Key  string
	Size int64
	At   time.Time // when it was stored
}

// Store is where blobs are. It is safe for concurrent use, also by several processes. If it cannot be
// reached or refuses the credentials, errors have the kind Unavailable, and a later try may succeed. A
// missing blob is fs.ErrNotExist.
type Store interface {
	// Put stores a blob of this size, unless the key is taken: then fresh is false, and what is stored
	// stays.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error)
	// Open returns n bytes of a blob from an offset, or all to its end if n is negative. If the blob is
	// shorter, it returns what there is.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
	// Stat describes a blob.
	Stat(ctx context.Context, key string) (Info, error)
	// List returns the blobs whose keys begin with prefix, in the order of their keys.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes a blob. It does nothing if there is none.
	Delete(ctx context.Context, key string) error
	// DeletePrefix removes all blobs whose keys begin with prefix, and returns how many there were.
	DeletePrefix(ctx context.Context, prefix string) (int, error)
}

// maxSize is the size limit of a blob, because S3 stores no larger ones in one step.
const maxSize = 5 << 30

// Location is the parsed configuration of a store in object storage.
type Location struct {
	Bucket   string
	Prefix   string // of all keys; empty or with a slash at its end
	Endpoint string // host and port
	Secure   bool   // https
	Region   string
}

// ParseLocation parses an address such as s3://bucket/prefix?endpoint=https://s3.example.com.
func ParseLocation(text string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return Location{}, errors.New("want s3://bucket/prefix?endpoint=https://host")
	}
	l := Location{Bucket: u.Host, Region: "us-east-1", Prefix: strings.Trim(u.Path, "/")}
	if l.Prefix != "" {
		if err := checkKey(l.Prefix); err != nil {
			return Location{}, err
		}
		l.Prefix += "/"
	}
	endpoint := ""
	for name, values := range u.Query() {
		switch {
		case len(values) != 1:
			return Location{}, fmt.Errorf("%s is given %d times", name, len(values))
		case name == "endpoint":
			endpoint = values[0]
		case name == "region":
			l.Region = values[0]
		default:
			return Location{}, fmt.Errorf("unknown parameter %s; want endpoint or region", name)
		}
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || strings.Trim(e.Path, "/") != "" ||
		e.User != nil || e.RawQuery != "" {
		return Location{}, errors.New("want the parameter endpoint=https://host or endpoint=http://host:port")
	}
	l.Endpoint, l.Secure = e.Host, e.Scheme == "https"
	return l, nil
}

// deleteAll removes all blobs whose keys begin with prefix, and returns how many there were.
func deleteAll(ctx context.Context, s Store, prefix string) (int, error) {
	n := 0
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			return n, err
		}
		if err := s.Delete(ctx, info.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

var segment = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+~-]*$`)

// checkKey returns an error unless a key is fit for folders and for object storage.
func checkKey(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		if len(key) > 500 || !segment.MatchString(part) {
			return fmt.Errorf("%.100q is no key of a blob", key)
		}
	}
	return nil
}

func isKey(key string) bool { return checkKey(key) == nil }

// missing returns the error for a blob that is not stored.
func missing(key string) error { return fmt.Errorf("blob %s: %w", key, fs.ErrNotExist) }

var errTooLarge = crash.Errorf(crash.TooLarge, "blob_too_large", "A file of more than 5 GiB cannot be stored.")
