package aws_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// Stock images of earlier runs stay, unless they are to be refreshed.
func TestRefreshImages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		_, before, err := s.operator(t.Context())
		must(t, err)
		newest := before.Known.Images["agent/amd64"]
		for refresh, want := range map[bool]string{false: "ami-old", true: newest} {
			known := before.Known
			known.Images = map[string]string{"agent/amd64": "ami-old", "master/amd64": "ami-old"}
			target, err := aws.Open(t.Context(), aws.Config{
				Layout: layout.Layout{Spec: before.Spec, Known: known}, Clients: s.clients(nil), Free: s.clients(nil),
				Options: hosted.Options{RefreshImages: refresh},
			})
			must(t, err)
			must(t, target.Look(t.Context()))
			if got := target.Known.Images["agent/amd64"]; got != want || newest == "" {
				t.Errorf("refresh %t: got %q, want %q", refresh, got, want)
			}
		}
	})
}
