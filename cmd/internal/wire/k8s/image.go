package k8s

import (
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/k8s/registry"
)

// Image is the det-deploy image in local files, and the registry to push it to.
type Image struct {
	*registry.Source

	Registry registry.Registry
}

// OpenImage reads an image from files. at is the registry and path, and plain permits a registry without
// TLS.
func OpenImage(files []string, at string, plain bool) (*Image, error) {
	source, err := registry.Open(files)
	if err != nil {
		return nil, err
	}
	return &Image{source, registry.Registry{At: at, PlainHTTP: plain, UserAgent: "det-deploy/" + build.Read().Version}}, nil
}
