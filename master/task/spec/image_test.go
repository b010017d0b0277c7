package spec

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config/container"
)

func TestImagesAreNames(t *testing.T) {
	t.Parallel()
	for _, image := range []string{
		"", "python", "python:3.12", "team/python", "registry.example.com:5000/team/python:a_b-c.d", "localhost/x",
		"python@sha256:" + strings.Repeat("0", 64), "python:3@sha256:" + strings.Repeat("0", 64), "sha256:" + strings.Repeat("a", 64), strings.Repeat("a", 64),
		"determinedai/pytorch-ngc:0.38.1", "123456789012.dkr.ecr.us-west-2.amazonaws.com/a/b:1", "[2001:db8::1]:5000/x",
	} {
		if e := checkImages("environment.image", container.Images{CPU: image, CUDA: image}); len(e) > 0 {
			t.Errorf("%q: got %v, want it to be taken", image, e)
		}
	}
	for _, image := range []string{
		"--privileged", "-v", " python", "python ", "python\n", "python --privileged", "a;b", "$(id)", "../x", "/x", "x/", "https://example.com/x",
		"user:password@example.com/x", "python@sha256:0", "python:a:b", "Python", strings.Repeat("a", 300) + "/x",
	} {
		e := checkImages("environment.image", container.Images{CPU: "python", CUDA: image, ROCm: image})
		if len(e) != 1 || !strings.Contains(e.Error(), "environment.image") {
			t.Errorf("%q: got %v, want one complaint", image, e)
		}
	}
}
