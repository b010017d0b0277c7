package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry is a container registry.
type Registry struct {
	// At is its address with a path: "registry.example.com/team".
	At string
	// PlainHTTP permits plain HTTP. For this machine it is always permitted.
	PlainHTTP bool
	// UserAgent is the User-Agent header.
	UserAgent string
}

// Plan describes the effect of a push.
type Plan struct {
	// Image is the full name: registry, path, name and tag.
	Image string
	// Digest is the digest after the push, "sha256:…".
	Digest string
	// Was is the current digest of the name, or empty.
	Was string
}

// Done reports whether the registry already has the image.
func (p Plan) Done() bool { return p.Was == p.Digest }

// Plan queries the registry for the name, and changes nothing.
func (r Registry) Plan(ctx context.Context, s *Source) (Plan, error) {
	tag, err := r.parseTag(s)
	if err != nil {
		return Plan{}, err
	}
	digest, err := s.imageDigest()
	if err != nil {
		return Plan{}, fmt.Errorf("read the image: %w", err)
	}
	p := Plan{Image: r.readImage(s), Digest: digest.String()}
	there, err := remote.Head(tag, r.remoteOptions(ctx)...)
	if isAbsent(err) {
		return p, nil
	}
	if err != nil {
		return p, r.explainError("look for", p.Image, err)
	}
	p.Was = there.Digest.String()
	return p, nil
}

// Push uploads missing blobs and tags the image. tell, which may be nil, is called with the number
// of transferred bytes and the total.
func (r Registry) Push(ctx context.Context, s *Source, tell func(done, total int64)) error {
	tag, err := r.parseTag(s)
	if err != nil {
		return err
	}
	updates, told := make(chan v1.Update, 64), make(chan struct{})
	go func() { // ends when the library closes updates at the end of the push
		defer close(told)
		for u := range updates {
			if tell != nil && u.Error == nil {
				tell(u.Complete, u.Total)
			}
		}
	}()
	err = writeImages(tag, s, append(r.remoteOptions(ctx), remote.WithProgress(updates)))
	<-told
	if err != nil {
		return r.explainError("push", r.readImage(s), err)
	}
	return nil
}

func writeImages(tag name.Tag, s *Source, o []remote.Option) error {
	if len(s.images) == 1 {
		return remote.Write(tag, s.images[0].Image, o...)
	}
	return remote.WriteIndex(tag, s.imageIndex(), o...)
}

// readImage returns the image's name as nodes pull it.
func (r Registry) readImage(s *Source) string {
	return strings.TrimSuffix(r.At, "/") + "/" + s.Name + ":" + s.Tag
}

func (r Registry) parseTag(s *Source) (name.Tag, error) {
	var options []name.Option
	if r.PlainHTTP {
		options = append(options, name.Insecure)
	}
	tag, err := name.NewTag(r.readImage(s), options...)
	if err != nil {
		return tag, fmt.Errorf("parse the image name: %w", err)
	}
	return tag, nil
}

// remoteOptions returns options that use the user's Docker or Podman login.
func (r Registry) remoteOptions(ctx context.Context) []remote.Option {
	transport := remote.DefaultTransport
	if !r.PlainHTTP {
		transport = tlsOnly{transport}
	}
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(transport), remote.WithUserAgent(r.UserAgent),
	}
}
