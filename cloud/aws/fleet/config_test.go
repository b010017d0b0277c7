package fleet_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
)

func TestNewRejectsInvalidConfig(t *testing.T) {
	t.Parallel()
	many := make([]fleet.Tag, 45)
	for i := range many {
		many[i].Key = fmt.Sprint("k", i)
	}
	for name, tc := range map[string]struct {
		change func(*fleet.Config)
		want   string
	}{
		"nothing":            {func(*fleet.Config) {}, ""},
		"no image":           {func(c *fleet.Config) { c.Image = "" }, "provider.image_id"},
		"no tag value":       {func(c *fleet.Config) { c.Tag.Value = "" }, "provider.tag_value"},
		"no cluster":         {func(c *fleet.Config) { c.Cluster = "" }, "the cluster ID"},
		"a mark as own tag":  {func(c *fleet.Config) { c.Tags = []fleet.Tag{{Key: "det-deploy-pool"}} }, `"det-deploy-pool" is duplicate or reserved`},
		"Amazon's own tag":   {func(c *fleet.Config) { c.Tags = []fleet.Tag{{Key: "AWS:x"}} }, "begin with aws:"},
		"a value too long":   {func(c *fleet.Config) { c.Tags = []fleet.Tag{{Key: "x", Value: strings.Repeat("v", 257)}} }, "at most 256"},
		"too many tags":      {func(c *fleet.Config) { c.Tags = many }, "51 tags"},
		"too much user data": {func(c *fleet.Config) { c.UserData = make([]byte, 16385) }, "16385 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fleet.Config{Cluster: "lab", Pool: "gpu", Tag: fleet.Tag{Key: "k", Value: "v"}, Name: "n", Image: "ami-1", Log: slog.New(slog.DiscardHandler)}
			tc.change(&c)
			_, err := fleet.New(nil, c)
			cloudtest.CheckInvalid(t, err, tc.want)
		})
	}
}
