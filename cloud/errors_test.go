package cloud_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
)

func TestErrorReadsAsAPath(t *testing.T) {
	t.Parallel()
	cause := errors.New("you have reached your limit of 32")
	for _, tc := range []struct {
		name string
		err  cloud.Error
		want string
	}{
		{
			"everything is known",
			cloud.Error{Kind: cloud.Quota, Op: "ec2:RunInstances", Resource: "aws/instance/master", Err: cause},
			"ec2:RunInstances aws/instance/master: you have reached your limit of 32",
		},
		{"no resource", cloud.Error{Kind: cloud.Quota, Op: "ec2:RunInstances", Err: cause}, "ec2:RunInstances: you have reached your limit of 32"},
		{"no operation", cloud.Error{Kind: cloud.Quota, Resource: "aws/vpc", Err: cause}, "aws/vpc: you have reached your limit of 32"},
		{"no cause", cloud.Error{Kind: cloud.NotFound, Op: "ec2:DeleteVpc", Resource: "aws/vpc"}, "ec2:DeleteVpc aws/vpc: not-found"},
		{"only a kind", cloud.Error{Kind: cloud.Denied}, "denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	quota := &cloud.Error{Kind: cloud.Quota, Fix: "ask for more"}
	for _, tc := range []struct {
		name string
		err  error
		want cloud.Kind
	}{
		{"no error has no kind", nil, ""},
		{"a stranger's error is unknown", errors.New("boom"), cloud.Unknown},
		{"an error without a kind is unknown", &cloud.Error{Op: "x"}, cloud.Unknown},
		{"a refusal", quota, cloud.Quota},
		{"a wrapped refusal", fmt.Errorf("create the master: %w", quota), cloud.Quota},
		{"the first refusal of several", errors.Join(errors.New("boom"), quota, &cloud.Error{Kind: cloud.Denied}), cloud.Quota},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := cloud.KindOf(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHintIsReachableThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("apply: %w", &cloud.Error{Kind: cloud.Quota, Fix: "ask for more"})
	var h interface{ Hint() string }
	if !errors.As(err, &h) || h.Hint() != "ask for more" {
		t.Errorf("got %v, want the hint of the refusal", h)
	}
}

func TestTransientKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[cloud.Kind]bool{
		cloud.Unknown: false, cloud.NotFound: false, cloud.Denied: false, cloud.Quota: false,
		cloud.NoCapacity: false, cloud.RateLimited: true, cloud.Conflict: false,
		cloud.Invalid: false, cloud.Ambiguous: false, cloud.Unavailable: true,
	} {
		if got := kind.Transient(); got != want {
			t.Errorf("%s: got %t, want %t", kind, got, want)
		}
	}
}
