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
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

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
		return Location{}, errors.New("expected s3://bucket/prefix?endpoint=https://host")
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
			return Location{}, fmt.Errorf("unknown parameter %s; expected endpoint or region", name)
		}
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || strings.Trim(e.Path, "/") != "" ||
		e.User != nil || e.RawQuery != "" {
		return Location{}, errors.New("expected the parameter endpoint=https://host or endpoint=http://host:port")
	}
	l.Endpoint, l.Secure = e.Host, e.Scheme == "https"
	return l, nil
}

// DeletePrefix removes all blobs whose keys begin with prefix, and returns how many there were.
func DeletePrefix(ctx context.Context, s Store, prefix string) (int, error) {
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

func checkKey(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		if len(key) > 500 || !segment.MatchString(part) {
			return fmt.Errorf("%.100q is not the key of a blob", key)
		}
	}
	return nil
}

func isKey(key string) bool { return checkKey(key) == nil }

func missing(key string) error { return fmt.Errorf("blob %s: %w", key, fs.ErrNotExist) }

var errTooLarge = crash.Errorf(crash.TooLarge, "blob_too_large", "A file of more than 5 GiB cannot be stored.")

// Folder is a Store in a folder. Any number of processes may use one folder, if its file system has
// hard links.
type Folder struct{ dir string }

const incoming = ".incoming-" // begins the names of files that are being written

// OpenFolder opens a folder and creates it if it is missing. It removes what dead processes left.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("folder of blobs: %w", err)
	}
	if err := crash.RemoveLeftovers(dir, incoming, time.Now()); err != nil {
		return nil, fmt.Errorf("folder of blobs: %w", err)
	}
	return &Folder{dir}, nil
}

func (f *Folder) path(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

// Put implements [Store].
func (f *Folder) Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	if size > maxSize {
		return false, errTooLarge
	}
	if _, err := os.Stat(f.path(key)); err == nil {
		return false, nil
	}
	file, err := os.CreateTemp(f.dir, incoming+"*") // mode 0600
	if err != nil {
		return false, fmt.Errorf("store blob: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the next start removes it
	n, err := io.Copy(file, crash.UntilDone(ctx, content))
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes, want %d", n, size)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return false, fmt.Errorf("store blob: %w", err)
	}
	return f.link(file.Name(), key)
}

// link gives a complete file its name. Another process may remove the empty folder in the meantime.
func (f *Folder) link(file, key string) (fresh bool, err error) {
	place := f.path(key)
	err = crash.InFolder(filepath.Dir(place), func() error {
		err := os.Link(file, place)
		fresh = err == nil
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
	if err == nil && !fresh {
		return false, nil
	}
	for dir := filepath.Dir(place); err == nil; dir = filepath.Dir(dir) {
		if err = syncFolder(dir); err != nil || dir == filepath.Clean(f.dir) {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("store blob: %w", err)
	}
	return true, nil
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open implements [Store].
func (f *Folder) Open(_ context.Context, key string, from, n int64) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", key, err)
	}
	if n < 0 {
		n = maxSize
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, from, n), file}, nil
}

// Stat implements [Store].
func (f *Folder) Stat(_ context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	info, err := os.Stat(f.path(key))
	if err == nil && !info.Mode().IsRegular() {
		err = missing(key)
	}
	if err != nil {
		return Info{}, fmt.Errorf("blob %s: %w", key, err)
	}
	return Info{key, info.Size(), info.ModTime()}, nil
}

// List implements [Store].
func (f *Folder) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		errStop := errors.New("enough")
		err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed in the meantime
			}
			if err != nil {
				return err
			}
			key, _ := strings.CutPrefix(filepath.ToSlash(path), filepath.ToSlash(f.dir)+"/")
			if d.IsDir() {
				if path != f.dir && !strings.HasPrefix(key+"/", prefix) && !strings.HasPrefix(prefix, key+"/") {
					return fs.SkipDir
				}
				return ctx.Err()
			}
			if !strings.HasPrefix(key, prefix) || !isKey(key) {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // removed in the meantime
			}
			if !yield(Info{key, info.Size(), info.ModTime()}, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Info{}, fmt.Errorf("list blobs: %w", err))
		}
	}
}

// Delete implements [Store].
func (f *Folder) Delete(_ context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove blob: %w", err)
	}
	dir := filepath.Dir(f.path(key))
	for dir != filepath.Clean(f.dir) && os.Remove(dir) == nil { // until one is not empty
		dir = filepath.Dir(dir)
	}
	return nil
}

// Bucket is a Store in object storage.
type Bucket struct {
	client   *minio.Client
	location Location
}

// The time-outs of object storage. A store that hangs must not hang jobs.
const (
	connectTimeout = 10 * time.Second
	idleTimeout    = 60 * time.Second // for the next byte, in either direction
	tries          = 3                // of one request
)

// OpenBucket returns the Store at a location. It sends no request; [Bucket.Check] does.
func OpenBucket(l Location, accessKey string, secret crash.Secret) (*Bucket, error) {
	return openBucket(l, accessKey, secret, idleTimeout)
}

func openBucket(l Location, accessKey string, secret crash.Secret, idle time.Duration) (*Bucket, error) {
	dialer := &net.Dialer{Timeout: connectTimeout}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &impatientConn{conn, idle}, nil
		},
		TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: idle, IdleConnTimeout: idle,
		MaxIdleConnsPerHost: 16, DisableCompression: true,
	}
	client, err := minio.New(l.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(accessKey, string(secret), ""),
		Secure: l.Secure, Region: l.Region, Transport: transport, MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("object storage: %w", err)
	}
	return &Bucket{client, l}, nil
}

// impatientConn is a connection that fails if the other side is silent for too long.
type impatientConn struct {
	net.Conn
	idle time.Duration
}

func (c *impatientConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *impatientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Check returns an error if the bucket cannot be used. The kind is Invalid if the bucket does not
// exist or the credentials are wrong, and Unavailable if it cannot be reached.
func (b *Bucket) Check(ctx context.Context) error {
	ok, err := b.client.BucketExists(ctx, b.location.Bucket)
	switch {
	case isRefusal(err):
		return b.refused(err)
	case err != nil:
		return b.classify(ctx, "check", "", err)
	case !ok:
		return crash.Errorf(crash.Invalid, "blobs_no_bucket", "The object storage at %s has no bucket %s. "+
			"Create it, or correct the name.", b.location.Endpoint, b.location.Bucket)
	}
	return nil
}

func isRefusal(err error) bool {
	status := minio.ToErrorResponse(err).StatusCode
	return status == http.StatusForbidden || status == http.StatusUnauthorized
}

func (b *Bucket) refused(err error) error {
	return crash.Errorf(crash.Invalid, "blobs_refused", "The object storage at %s refuses the credentials (%s). "+
		"Correct them in the configuration.", b.location.Endpoint, minio.ToErrorResponse(err).Code).Because(err)
}

// classify returns fs.ErrNotExist for a missing blob, the error of ctx if that is done, and
// otherwise Unavailable.
func (b *Bucket) classify(ctx context.Context, what, key string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s blob: %w", what, ctx.Err())
	}
	if key != "" && minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return missing(key)
	}
	return crash.Errorf(crash.Unavailable, "blobs_unavailable", "The object storage at %s is not available.",
		b.location.Endpoint).Because(fmt.Errorf("%s blob %s: %w", what, key, err))
}

// Put implements [Store].
func (b *Bucket) Put(ctx context.Context, key string, content io.ReadSeeker, size int64) (fresh bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	if size > maxSize {
		return false, errTooLarge
	}
	// Asking first saves sending the content again. What follows is still safe if others store it
	// now.
	switch _, err := b.Stat(ctx, key); {
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	// In one step, so that the blob is complete or absent.
	options := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	options.SetMatchETagExcept("*") // only if there is none
	exact := &exactly{content, size}
	_, err = b.client.PutObject(ctx, b.location.Bucket, b.location.Prefix+key, exact, size, options)
	switch response := minio.ToErrorResponse(err); {
	case err == nil:
		return true, nil
	case response.StatusCode == http.StatusPreconditionFailed || response.StatusCode == http.StatusConflict:
		return false, nil // stored before, or by another process at the same time
	}
	// A server may refuse before it has read everything; then the connection breaks and the answer
	// is lost.
	if _, statErr := b.Stat(ctx, key); statErr == nil {
		return false, nil
	}
	return false, b.classify(ctx, "store", key, err)
}

// PutLarge stores a file under a key, and replaces what is stored there. The file can be larger
// than 5 GiB: it is sent in parts with checksums. An interrupted PutLarge stores nothing under the
// key.
func (b *Bucket) PutLarge(ctx context.Context, key string, file *os.File) error {
	if err := checkKey(key); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	options := minio.PutObjectOptions{SendContentMd5: true, ContentType: "application/octet-stream", NumThreads: 1}
	_, err = b.client.PutObject(ctx, b.location.Bucket, b.location.Prefix+key, &exactly{file, info.Size()}, info.Size(),
		options)
	if isRefusal(err) {
		return b.refused(err)
	}
	if err != nil {
		return b.classify(ctx, "store", key, err)
	}
	return nil
}

// AbortUploads removes the parts that interrupted PutLarge left before a time under keys that begin
// with prefix.
func (b *Bucket) AbortUploads(ctx context.Context, prefix string, before time.Time) error {
	core := minio.Core{Client: b.client}
	for u := range b.client.ListIncompleteUploads(ctx, b.location.Bucket, b.location.Prefix+prefix, true) {
		if u.Err != nil {
			return b.classify(ctx, "list", "", u.Err)
		}
		if !u.Initiated.Before(before) {
			continue
		}
		if err := core.AbortMultipartUpload(ctx, b.location.Bucket, u.Key, u.UploadID); err != nil {
			return b.classify(ctx, "remove", "", err)
		}
	}
	return nil
}

// exactly hides the other methods of a file from the client, which would read it in parts at once.
type exactly struct {
	io.ReadSeeker
	size int64
}

func (e *exactly) Size() int64 { return e.size }

// Open implements [Store].
func (b *Bucket) Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if n == 0 {
		return io.NopCloser(strings.NewReader("")), nil
	}
	var options minio.GetObjectOptions
	if from > 0 || n > 0 {
		last := int64(0) // to the end
		if n > 0 {
			last = from + n - 1
		}
		if err := options.SetRange(from, last); err != nil {
			return nil, fmt.Errorf("read blob %s: %w", key, err)
		}
	}
	core := minio.Core{Client: b.client}
	content, _, _, err := core.GetObject(ctx, b.location.Bucket, b.location.Prefix+key, options)
	if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), nil // the blob ends before
	}
	if err != nil {
		return nil, b.classify(ctx, "read", key, err)
	}
	return &reader{content, b, ctx, key}, nil
}

type reader struct {
	io.ReadCloser
	bucket *Bucket
	ctx    context.Context //nolint:containedctx // of the request that it belongs to
	key    string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.bucket.classify(r.ctx, "read", r.key, err)
	}
	return n, err
}

// Stat implements [Store].
func (b *Bucket) Stat(ctx context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	o, err := b.client.StatObject(ctx, b.location.Bucket, b.location.Prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return Info{}, b.classify(ctx, "find", key, err)
	}
	return Info{key, o.Size, o.LastModified}, nil
}

// List implements [Store].
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		options := minio.ListObjectsOptions{Prefix: b.location.Prefix + prefix, Recursive: true}
		for o := range b.client.ListObjectsIter(ctx, b.location.Bucket, options) {
			if o.Err != nil {
				yield(Info{}, b.classify(ctx, "list", "", o.Err))
				return
			}
			key := strings.TrimPrefix(o.Key, b.location.Prefix)
			if isKey(key) && !yield(Info{key, o.Size, o.LastModified}, nil) {
				return
			}
		}
	}
}

// Delete implements [Store].
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := b.client.RemoveObject(ctx, b.location.Bucket, b.location.Prefix+key, minio.RemoveObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchKey {
		return b.classify(ctx, "remove", key, err)
	}
	return nil
}
