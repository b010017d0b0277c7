package aws

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// complete asks a person for what is missing.
func (w *wanted) complete(_ context.Context, _ *term.Streams, _ *spec.Given) error { return nil }
