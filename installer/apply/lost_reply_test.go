package apply

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// unanswered is a nameless resource whose first creation has no reply: either the reply was lost,
// and lists show the object seconds later, or the request.
type unanswered struct {
	thing

	arrived bool
	shown   time.Time
	nonces  []string
}

func (u *unanswered) CreateOnce(_ context.Context, nonce string) error {
	if u.nonces = append(u.nonces, nonce); len(u.nonces) > 1 {
		return nil
	}
	u.shown = time.Now().Add(5 * time.Second)
	return &cloud.Error{Kind: cloud.Ambiguous, Op: "create", Err: errors.New("the connection was reset")}
}

func (u *unanswered) Made(context.Context, string) ([]resource.Found, error) {
	if !u.arrived || time.Now().Before(u.shown) {
		return nil, nil
	}
	return []resource.Found{{Kind: "thing", ID: "thing-1", Name: u.id}}, nil
}

func (u *unanswered) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	made, err := u.Made(ctx, "")
	if len(made) == 0 {
		return resource.Found{}, nil, err
	}
	return made[0], nil, nil
}

// A creation without a reply is repeated only if no object appears, and under the same nonce.
func TestACreationWithoutAReplyIsNotRepeatedBlindly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		arrived bool
		want    []string
	}{
		{"the reply was lost", true, []string{"n"}},
		{"the request was lost", false, []string{"n", "n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stored := make(chan struct{})
				close(stored)
				u := &unanswered{thing: thing{id: "address"}, arrived: tc.arrived}
				p := plan.Plan{Steps: []plan.Step{{Verb: plan.Create, ID: u.id, Resource: u}}}
				if err := Run(t.Context(), p, Config{Journal: journal{let: stored}}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(u.nonces, tc.want) {
					t.Errorf("got creations under %q, want under %q", u.nonces, tc.want)
				}
			})
		})
	}
}
