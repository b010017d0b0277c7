package machine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	aws "github.com/det-deploy/det-deploy/cloud/aws/machine"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// paths holds the metadata by path. Reading an empty value fails.
type paths map[string]string

func (p paths) Get(_ context.Context, path string) (string, bool, error) {
	text, found := p[path]
	if found && text == "" {
		return "", false, errors.New("no answer")
	}
	return text, found, nil
}

func TestNotices(t *testing.T) {
	t.Parallel()
	const interruption, rebalance = "spot/instance-action", "events/recommendations/rebalance"
	at := time.Date(2030, 1, 2, 3, 9, 5, 0, time.UTC)
	ends := machine.Notice{Kind: machine.Interruption, At: at, Reason: "spot interruption: terminate"}
	may := machine.Notice{Kind: machine.Rebalance, At: at, Reason: "spot rebalance recommendation"}
	end, advice := `{"action":"terminate","time":"2030-01-02T03:09:05Z"}`, `{"noticeTime":"2030-01-02T03:09:05Z"}`
	for name, tt := range map[string]struct {
		told   paths
		want   []machine.Notice
		failed bool
	}{
		"none":                          {paths{}, nil, false},
		"an interruption":               {paths{interruption: end}, []machine.Notice{ends}, false},
		"a rebalance":                   {paths{rebalance: advice}, []machine.Notice{may}, false},
		"both":                          {paths{interruption: end, rebalance: advice}, []machine.Notice{ends, may}, false},
		"one, and the other is mute":    {paths{interruption: "", rebalance: advice}, []machine.Notice{may}, true},
		"one, and the other is no JSON": {paths{interruption: end, rebalance: "<html>"}, []machine.Notice{ends}, true},
	} {
		got, err := aws.ReadNotices(t.Context(), tt.told)
		if d := cmp.Diff(got, tt.want); d != "" || (err != nil) != tt.failed {
			t.Errorf("%s: got %v, -; want +:\n%s", name, err, d)
		}
	}
}
