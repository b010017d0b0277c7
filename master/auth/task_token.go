package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// TaskTokens makes the two tokens of an allocation: the one its own processes show,
// and one with which its user's tools work inside it. Asked again it makes two
// more; all of them end with EndAllocation.
func (t *tokens) TaskTokens(ctx context.Context, userID int32, allocation string) (own, user token.Text, err error) {
	if allocation == "" {
		return "", "", status.New(status.InvalidArgument, "an allocation is needed")
	}
	if _, found := t.users.find(userID); !found {
		return "", "", status.Missing("user", fmt.Sprint(userID))
	}
	made, now := map[token.Hash]session{}, t.cfg.Now()
	issue := func(k token.Kind) token.Text {
		text, h := token.NewSession(k)
		made[h] = session{Kind: k, User: userID, Allocation: allocation, Created: now}
		return text
	}
	own, user = issue(token.Allocation), issue(token.User)
	err = t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for h, s := range made {
			if err := sessions.Put(tx, string(h), s.owner(), time.Time{}, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", "", err
	}
	for h, s := range made {
		t.keepSession(h, s)
	}
	return own, user, nil
}

// EndAllocation ends the tokens of an allocation. One without is not an error.
func (t *tokens) EndAllocation(ctx context.Context, allocation string) error {
	return t.dropOwner(ctx, session{Allocation: allocation}.owner())
}
