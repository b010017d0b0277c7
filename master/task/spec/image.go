package spec

import (
	"github.com/distribution/reference"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// checkImages returns an error for each image name that container engines would not accept, so that its
// author receives it before a machine is launched.
func checkImages(at string, i container.Images) document.Errors {
	var e document.Errors
	seen := map[string]bool{"": true}
	for _, image := range []string{i.CPU, i.CUDA, i.ROCm} {
		if seen[image] {
			continue
		}
		seen[image] = true
		_, err := reference.ParseAnyReference(image)
		e.Check(err == nil, at, "must be the name of an image, such as registry.example.com/team/image:tag (is %q)", excerpt.Of(image))
	}
	return e
}
