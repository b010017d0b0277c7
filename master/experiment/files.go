package experiment

import (
	"context"
	"iter"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/experiment/definition"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// holderOf returns the name with which an experiment claims its context.
func holderOf(experiment int32) string { return "experiment/" + record.Key(experiment) }

// claimContext keeps the context of an experiment that is stored in the same transaction.
func (s *shared) claimContext(ctx context.Context, tx *store.Tx, x record.Experiment) error {
	if x.Context == "" {
		return nil
	}
	return s.cfg.Contexts.Claim(ctx, tx, holderOf(x.ID), &apiv1.User{Id: x.UserID, Username: x.Username}, x.Context)
}

// archiveOf returns the packed files of an experiment in parts, and their size in bytes, which is 0
// without files and negative if it is unknown.
func (s *shared) archiveOf(ctx context.Context, x record.Experiment) (int64, iter.Seq2[[]byte, error], error) {
	if x.Context == "" {
		return x.ModelBytes, definition.Read(ctx, s.cfg.Store, x.ID, x.ModelBytes), nil
	}
	all, err := s.cfg.Contexts.Archive(ctx, holderOf(x.ID))
	return bundle.UnknownSize, all, err
}
