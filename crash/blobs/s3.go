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
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"mishap/crash"
)

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
		return crash.Errorf(crash.Invalid, "blobs_refused", "The object storage at %s refuses the credentials: %s.",
			b.location.Endpoint, minio.ToErrorResponse(err).Code).Because(err)
	case err != nil:
		return b.classify(ctx, "check", "", err)
	case !ok:
		return crash.Errorf(crash.Invalid, "blobs_no_bucket", "The object storage at %s has no bucket %s.",
			b.location.Endpoint, b.location.Bucket)
	}
	return nil
}

func isRefusal(err error) bool {
	status := minio.ToErrorResponse(err).StatusCode
	return status == http.StatusForbidden || status == http.StatusUnauthorized
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
		return crash.Errorf(crash.Invalid, "blobs_refused", "The object storage at %s refuses the credentials: %s.",
			b.location.Endpoint, minio.ToErrorResponse(err).Code).Because(err)
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
