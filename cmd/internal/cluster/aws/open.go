package aws

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// open puts a cluster together as the user wants it. Q says what it is for,
// and ask whether somebody may be asked for what is missing.
func (w *wanted) open(ctx context.Context, s *term.Streams, ask bool, q wire.AWSRequest) (*wire.AWS, error) {
	g, err := w.read()
	if err != nil {
		return nil, err
	}
	if err := w.complete(ctx, s, &g, ask); err != nil {
		return nil, err
	}
	r := w.request(s)
	r.Given, r.Binaries, r.Bring = &g, w.Binaries, true
	r.NoWait, r.NoVerify, r.Sink = q.NoWait, q.NoVerify, q.Sink
	return wire.NewAWS(ctx, s, r)
}

// unknown says why a cluster has no record: there is none, or it is lost.
func unknown(ctx context.Context, a *wire.AWS) error {
	lost, err := a.Lost(ctx)
	switch {
	case err != nil:
		return err
	case lost != nil:
		return &lostError{a.Cluster}
	}
	return &absentError{a.Cluster, a.Region()}
}

// lostError is a cluster that runs and of which it is not known any more what it
// should be: up would bring it to what is said now, and to defaults for the rest.
type lostError struct{ cluster string }

func (e *lostError) Error() string { return "the record of cluster " + e.cluster + " is lost" }

// Hint says how to get it back.
func (e *lostError) Hint() string {
	return "run `det-deploy aws adopt --cluster-id " + e.cluster + "` to read its settings back"
}
