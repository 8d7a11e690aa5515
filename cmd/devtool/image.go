package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/spf13/cobra"
)

// imageUser is the user and the group of the processes in an image.
const imageUser = 65532

// refName is the annotation that names an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// imageOptions are the flags of the command image.
type imageOptions struct {
	program, authorities, licence, version string
	postgres                               bool
}

// imageCommand returns the command that writes container images.
func imageCommand() *cobra.Command {
	var o imageOptions
	cmd := &cobra.Command{
		Use:   "image LAYOUT",
		Short: "Adds a container image to an OCI layout",
		Long: `Adds an image with a static program to a folder in the format of an OCI image layout, which it creates if
necessary, and prints its tag and digest. The image contains nothing but the program, its bill of
materials, an empty data_dir and certificate authorities. Its processes run as user 65532.

With --postgres, the image also contains PostgreSQL from the Debian packages that apt-get of this
machine finds and verifies, unpacked without their scripts.

The same program, authorities and packages give the same digest. SOURCE_DATE_EPOCH is the date of all
files, in seconds since 1970.`,
		Example: "  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) devtool image --program bin/mishap bin/image",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tag, digest, err := writeImage(cmd.Context(), args[0], o)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", tag, digest)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.program, "program", "bin/mishap", "the static program")
	cmd.Flags().StringVar(&o.authorities, "authorities", "/etc/ssl/certs/ca-certificates.crt", "trusted certificates")
	cmd.Flags().StringVar(&o.licence, "licence", "LICENSE", "the licence of the program")
	cmd.Flags().StringVar(&o.version, "version", "", "the version, which is the tag (required)")
	cmd.Flags().BoolVar(&o.postgres, "postgres", false, "with PostgreSQL")
	_ = cmd.MarkFlagRequired("version") // the flag exists
	cmd.AddCommand(unpackImageCommand())
	return cmd
}

// writeImage adds an image to a layout, in place of one with the same tag.
func writeImage(ctx context.Context, dir string, o imageOptions) (tag string, digest v1.Hash, err error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return "", digest, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	tag = strings.ReplaceAll(o.version, "+", "-") // a tag has no plus sign
	var layers []tree
	if o.postgres {
		tag += "-postgresql"
		packages, err := postgresTree(ctx)
		if err != nil {
			return "", digest, err
		}
		layers = append(layers, packages)
	}
	base, err := baseTree(o.authorities)
	if err != nil {
		return "", digest, err
	}
	program, err := programTree(ctx, o)
	if err != nil {
		return "", digest, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, t := range append(layers, base, program) {
		layer, err := t.layer(date)
		if err != nil {
			return "", digest, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, History: v1.History{CreatedBy: "devtool image", Created: v1.Time{Time: date}},
		}); err != nil {
			return "", digest, err
		}
	}
	if image, err = mutate.ConfigFile(image, imageConfig(image, o, date)); err != nil {
		return "", digest, err
	}
	path, err := layout.FromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return "", digest, err
	}
	if digest, err = image.Digest(); err != nil {
		return "", digest, err
	}
	return tag, digest, path.ReplaceImage(image, match.Annotation(refName, tag),
		layout.WithAnnotations(map[string]string{refName: tag}))
}

// imageConfig returns the configuration of an image: how to start it, and what it is.
func imageConfig(image v1.Image, o imageOptions, date time.Time) *v1.ConfigFile {
	c := &v1.ConfigFile{Architecture: runtime.GOARCH, OS: "linux", Created: v1.Time{Time: date}}
	if made, err := image.ConfigFile(); err == nil { // the layers
		c.RootFS, c.History = made.RootFS, made.History
	}
	c.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", imageUser, imageUser),
		WorkingDir: "/var/lib/mishap",
		Entrypoint: []string{"/usr/bin/mishap"},
		Cmd:        []string{"serve"},
		Env: []string{"PATH=/usr/bin:/bin", "MISHAP_DATA_DIR=/var/lib/mishap", "MISHAP_LISTEN=:8080",
			"MISHAP_INGEST_LISTEN=:8081", "MISHAP_OPS_LISTEN=:8082", "MISHAP_CORES=never"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}, "8082/tcp": {}},
		Volumes:      map[string]struct{}{"/var/lib/mishap": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/mishap", "health", "--live"},
			Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "mishap",
			"org.opencontainers.image.description": "Crash tracker for fleets of Linux machines",
			"org.opencontainers.image.version":     o.version,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.created":     date.Format(time.RFC3339),
		},
	}
	return c
}

// baseTree returns the files that the program needs.
func baseTree(authorities string) (tree, error) {
	certificates, err := os.ReadFile(authorities)
	if err != nil {
		return nil, fmt.Errorf("certificate authorities: %w (Debian has them in the package ca-certificates)", err)
	}
	t := tree{}
	t.folder("tmp", fs.ModeSticky|0o777, 0)
	t.folder("var/lib/mishap", 0o700, imageUser)
	t.file("etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\n"+
		"mishap:x:%d:%d:mishap:/var/lib/mishap:/sbin/nologin\n", imageUser, imageUser))
	t.file("etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nmishap:x:%d:\n", imageUser))
	t.file("etc/ssl/certs/ca-certificates.crt", 0o644, certificates)
	return t, nil
}

// programTree returns the program with its licence and bill of materials.
func programTree(ctx context.Context, o imageOptions) (tree, error) {
	program, err := os.ReadFile(o.program)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(o.licence)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(o.program)
	if err != nil {
		return nil, err
	}
	sbom, err := exec.CommandContext(ctx, path, "version", "--sbom").Output()
	if err != nil {
		return nil, fmt.Errorf("%s version --sbom: %w", o.program, err)
	}
	t := tree{}
	t.file("usr/bin/mishap", 0o755, program)
	t.file("usr/share/doc/mishap/copyright", 0o644, licence)
	t.file("usr/share/doc/mishap/mishap.cdx.json", 0o644, sbom)
	return t, nil
}

// unpackImageCommand returns the command that unpacks an image, for tests and for machines without a
// container engine.
func unpackImageCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "unpack LAYOUT TAG",
		Short:   "Writes all files of an image as a tar archive to standard output",
		Example: "  devtool image unpack bin/image 0.1.0 | tar -x -C /srv/mishap",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := layout.ImageIndexFromPath(args[0])
			if err != nil {
				return err
			}
			manifest, err := index.IndexManifest()
			if err != nil {
				return err
			}
			for _, m := range manifest.Manifests {
				if m.Annotations[refName] != args[1] {
					continue
				}
				image, err := index.Image(m.Digest)
				if err != nil {
					return err
				}
				files := mutate.Extract(image)
				_, err = io.Copy(cmd.OutOrStdout(), files)
				return errors.Join(err, files.Close())
			}
			return fmt.Errorf("%s has no image with the tag %s", args[0], args[1])
		},
	}
}
