package k8s

import (
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/k8s/registry"
)

// Image is det-deploy's image in files, and the registry that it is for.
type Image struct {
	*registry.Source

	Registry registry.Registry
}

// OpenImage reads the image that files hold. At is the registry and the path below it;
// plain allows to speak to it without TLS.
func OpenImage(files []string, at string, plain bool) (*Image, error) {
	source, err := registry.Open(files)
	if err != nil {
		return nil, err
	}
	return &Image{source, registry.Registry{At: at, PlainHTTP: plain, UserAgent: "det-deploy/" + build.Read().Version}}, nil
}
