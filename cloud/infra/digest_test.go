package infra_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/infra"
)

func TestDigestDistinguishesAndHidesValues(t *testing.T) {
	t.Parallel()
	tag := infra.Digest("det-deploy/lab/db-url", "postgres://u:p@h/d")
	if !infra.DigestMatches(tag, "det-deploy/lab/db-url", "postgres://u:p@h/d") {
		t.Error("the same value does not match")
	}
	if infra.DigestMatches(tag, "det-deploy/lab/db-url", "postgres://u:q@h/d") {
		t.Error("another value matches")
	}
	if tag == infra.Digest("det-deploy/lab/db-url", "postgres://u:p@h/d") {
		t.Error("two digests of one value are the same: they have no salt")
	}
	if infra.DigestMatches("", "n", "v") {
		t.Error("no digest matches")
	}
}
