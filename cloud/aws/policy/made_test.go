package policy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
)

func TestEveryCallIsMadeSomewhere(t *testing.T) {
	t.Parallel()
	// Exclude tests and the API clients themselves.
	source := edgetest.Source(t, filepath.Join("..", "..", ".."), []string{"cloud/aws", "cloud/host", "installer", "cmd"}, []string{"api", "testdata"})
	edgetest.CheckMade(t, api.Calls(), source, policy.Unmade(), func(op string) []string {
		_, name, _ := strings.Cut(op, ":")
		return []string{"." + name + "(", "New" + name + "Paginator("}
	})
}
