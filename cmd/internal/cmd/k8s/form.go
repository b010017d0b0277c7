package k8s

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// complete fills in what a new cluster needs and nobody has said, where somebody may be
// asked.
func (w *wanted) complete(_ context.Context, _ *term.Streams, _ *wire.K8sValues, _ bool) error {
	return w.validate()
}
