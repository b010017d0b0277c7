package spec

import (
	"github.com/distribution/reference"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// checkImages refuses what no engine takes for the name of an image. What is no name
// is never handed to one, and the author is told before a machine is there.
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
