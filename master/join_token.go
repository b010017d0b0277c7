package master

import (
	"context"
	"log/slog"
	"slices"

	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// JoinToken makes a token that lets machines join a pool for a while. It needs
// the store that the master uses, and a master that has been started
// once; the master may be running.
func JoinToken(ctx context.Context, parts Parts, n auth.NewJoin) (text token.Text, j token.Join, err error) {
	if !slices.ContainsFunc(parts.Config.ResourcePools, func(p config.Pool) bool { return p.Name == n.Pool }) {
		return "", j, &UnknownPool{Name: n.Pool}
	}
	log := slog.New(slog.DiscardHandler)
	err = withStore(ctx, parts, log, func(s *store.Store) error {
		a, err := auth.Open(ctx, auth.Config{Store: s, Log: log})
		if err != nil {
			return err
		}
		text, j, err = a.SignJoinToken(n)
		return err
	})
	return text, j, err
}

// UnknownPool refuses a pool that master.yaml does not have.
type UnknownPool struct{ Name string }

func (e *UnknownPool) Error() string { return "no resource pool " + e.Name + " in the configuration" }

// Unwrap makes it an rm.ErrUnknownPool.
func (e *UnknownPool) Unwrap() error { return rm.ErrUnknownPool }

// Hint says where pools are written.
func (e *UnknownPool) Hint() string { return "name one of resource_pools in master.yaml with --pool" }
