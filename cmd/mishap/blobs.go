package main

import (
	"context"
	"time"

	"mishap/cmd/mishap/config"
	"mishap/crash/blobs"
	"mishap/crash/symbols/debuginfo"
)

// blobsCheckTimeout is how long the object storage may take to answer at the start.
const blobsCheckTimeout = 10 * time.Second

// openBlobs opens the store of the key blobs. It returns nil if the key is empty.
func openBlobs(c config.Config) (blobs.Store, error) {
	if c.Blobs == "" {
		return nil, nil
	}
	location, err := blobs.ParseLocation(c.Blobs)
	if err != nil {
		return blobs.OpenFolder(c.Blobs) // the configuration accepts only these two
	}
	return blobs.OpenBucket(location, c.BlobsAccessKey, c.BlobsSecret)
}

// sharedFiles opens the store of the key blobs for symbols. It returns nil if the key is empty.
func sharedFiles(c config.Config) (debuginfo.Shared, error) {
	store, err := openBlobs(c)
	if store == nil || err != nil {
		return nil, err // an interface that is nil
	}
	return store, nil
}

// shareFiles stores added files in the store of the key blobs, if there is one.
func shareFiles(ctx context.Context, c config.Config, folder *debuginfo.Folder, files []debuginfo.Added) error {
	shared, err := sharedFiles(c)
	if err != nil || shared == nil {
		return err
	}
	for _, a := range files {
		if err := folder.Share(ctx, shared, a.ID, a.Kind); err != nil {
			return err
		}
	}
	return nil
}

// checkBlobs returns an error if the object storage refuses the credentials or has no such bucket, or
// does not answer.
func checkBlobs(ctx context.Context, c config.Config) error {
	store, err := openBlobs(c)
	if err != nil {
		return err
	}
	if b, ok := store.(*blobs.Bucket); ok {
		ctx, cancel := context.WithTimeout(ctx, blobsCheckTimeout)
		defer cancel()
		return b.Check(ctx)
	}
	return nil
}
