package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// account provides tokens of the instance's service account. It is safe for concurrent use.
type account struct {
	metadata metadata.Server
	now      func() time.Time

	mu    sync.Mutex // guards the fields below
	value string
	until time.Time
}

// tokenMargin is the time before expiry at which a token is replaced. The metadata server provides
// a new one five minutes before expiry.
const tokenMargin = 4 * time.Minute

// token returns an access token of the account.
func (a *account) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value != "" && a.now().Before(a.until) {
		return a.value, nil
	}
	text, err := a.metadata.Read(ctx, "instance/service-accounts/default/token")
	if cloud.KindOf(err) == cloud.NotFound {
		return "", errors.New("this instance has no service account")
	}
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"access_token"`
		Life  int64  `json:"expires_in"` // seconds
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Token == "" {
		return "", fmt.Errorf("get a token of this instance's service account: the response contains none")
	}
	a.value, a.until = answer.Token, a.now().Add(time.Duration(answer.Life)*time.Second-tokenMargin)
	return a.value, nil
}
