// Package registry pushes the image of det-deploy, an archive written by `make image`, to a
// registry that nodes can pull from.
package registry

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/det-deploy/det-deploy/cloud"
)

// Source is an image in archives, one per platform.
type Source struct {
	// Name and Tag are the name in the archives: det-deploy and a version.
	Name, Tag string

	images []platformImage
}

type platformImage struct {
	v1.Image

	file     string
	platform v1.Platform
}

// Open reads the manifests of the archives. The files must exist until they are pushed.
func Open(files []string) (*Source, error) {
	s := &Source{}
	for _, file := range files {
		if err := s.addArchive(file); err != nil {
			return nil, &cloud.Error{
				Kind: cloud.Invalid, Op: "read the image", Resource: file, Err: err,
				Fix: "use archives written by `make image`, of one version and with one archive per architecture",
			}
		}
	}
	slices.SortFunc(s.images, func(a, b platformImage) int { return cmp.Compare(a.platform.String(), b.platform.String()) })
	return s, nil
}

// addArchive reads an archive. It returns an error if the archive does not match the previous ones.
func (s *Source) addArchive(file string) error {
	tag, err := tagIn(file)
	if err != nil {
		return err
	}
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	platform := *config.Platform()
	short := path.Base(tag.RepositoryStr())
	if len(s.images) > 0 && (s.Name != short || s.Tag != tag.TagStr()) {
		return fmt.Errorf("it is %s:%s, and %s is %s:%s", short, tag.TagStr(), s.images[0].file, s.Name, s.Tag)
	}
	for _, other := range s.images {
		if other.platform.Equals(platform) {
			return fmt.Errorf("it is for %s, as %s is", platform, other.file)
		}
	}
	s.Name, s.Tag = short, tag.TagStr()
	s.images = append(s.images, platformImage{image, file, platform})
	return nil
}

// tagIn returns the name of the only image of an archive.
func tagIn(file string) (name.Tag, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil {
		return name.Tag{}, err
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) == 0 {
		return name.Tag{}, errors.New("it must contain one image with a name")
	}
	return name.NewTag(manifest[0].RepoTags[0])
}

// Platforms returns the platforms of the images, such as "linux/amd64".
func (s *Source) Platforms() string {
	var all []string
	for _, i := range s.images {
		all = append(all, i.platform.String())
	}
	return strings.Join(all, ", ")
}

// Bytes returns the maximum upload size, compressed.
func (s *Source) Bytes() (int64, error) {
	var sum int64
	for _, i := range s.images {
		m, err := i.Manifest()
		if err != nil {
			return 0, fmt.Errorf("read the image %s: %w", i.file, err)
		}
		sum += m.Config.Size
		for _, l := range m.Layers {
			sum += l.Size
		}
	}
	return sum, nil
}

// imageIndex returns an index of the images by platform.
func (s *Source) imageIndex() v1.ImageIndex {
	var all []mutate.IndexAddendum
	for _, i := range s.images {
		all = append(all, mutate.IndexAddendum{Add: i.Image, Descriptor: v1.Descriptor{Platform: &i.platform}})
	}
	return mutate.AppendManifests(empty.Index, all...)
}

// imageDigest returns the digest of the image in the registry.
func (s *Source) imageDigest() (v1.Hash, error) {
	if len(s.images) == 1 {
		return s.images[0].Digest()
	}
	return s.imageIndex().Digest()
}
