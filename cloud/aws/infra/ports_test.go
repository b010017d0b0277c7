package infra

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func TestWhatIsLetIn(t *testing.T) {
	t.Parallel()
	office := []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32"), netip.MustParsePrefix("2001:db8::/64")}
	for _, tc := range []struct {
		name  string
		rules []Rule
		want  []string
	}{
		{"a master", MasterRules(8443, office, Existing("sg-a"), false), []string{
			"8443 from 2001:db8::/64", "8443 from 203.0.113.9/32", "8443 from sg-a",
		}},
		{"a master with a key pair", MasterRules(8443, office[:1], Existing("sg-a"), true), []string{
			"22 from 203.0.113.9/32", "8443 from 203.0.113.9/32", "8443 from sg-a",
		}},
		{"agents", AgentRules(Existing("sg-m"), Existing("sg-a")), []string{"all from sg-a", "all from sg-m"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var sent []types.IpPermission
			for _, r := range tc.rules {
				sent = append(sent, r.permission())
			}
			// What is sent reads the same when it comes back.
			got := sortKeys(slices.Collect(maps.Keys(split(sent))))
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
			for _, r := range tc.rules {
				if _, ok := split(sent)[r.key()]; !ok {
					t.Errorf("%s is not among %v", r.key(), got)
				}
			}
		})
	}
}

func TestDigestTellsValuesApartAndHidesThem(t *testing.T) {
	t.Parallel()
	tag := digest("det-deploy/lab/db-url", "postgres://u:p@h/d")
	if !digestMatches(tag, "det-deploy/lab/db-url", "postgres://u:p@h/d") {
		t.Error("the same value does not match")
	}
	if digestMatches(tag, "det-deploy/lab/db-url", "postgres://u:q@h/d") {
		t.Error("another value matches")
	}
	if tag == digest("det-deploy/lab/db-url", "postgres://u:p@h/d") {
		t.Error("two digests of one value are the same: they have no salt")
	}
	if digestMatches("", "n", "v") {
		t.Error("no digest matches")
	}
}

func TestTLSOnlyKeepsWhatElseThePolicySays(t *testing.T) {
	t.Parallel()
	const theirs = `{"Version":"2012-10-17","Statement":{"Sid":"Theirs","Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"*"}}`
	once, err := withTLSOnly(theirs, "b")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := withTLSOnly(once, "b")
	if err != nil {
		t.Fatal(err)
	}
	if !sameDocument(once, twice) {
		t.Errorf("applied twice: got %s, want %s", twice, once)
	}
	const want = `{"Version":"2012-10-17","Statement":[
		{"Sid":"Theirs","Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"*"},
		{"Sid":"DetDeployTLSOnly","Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::b","arn:aws:s3:::b/*"],
		 "Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
	if !sameDocument(once, want) {
		t.Errorf("got %s, want %s", once, want)
	}
}

func TestOurStatementIsKnownAsS3GivesItBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action, resource string
		want             bool
	}{
		"as it was put":               {`"s3:*"`, `["arn:aws:s3:::b","arn:aws:s3:::b/*"]`, true},
		"in another order":            {`"s3:*"`, `["arn:aws:s3:::b/*","arn:aws:s3:::b"]`, true},
		"with a list of one":          {`["s3:*"]`, `["arn:aws:s3:::b/*","arn:aws:s3:::b"]`, true},
		"without the bucket's object": {`"s3:*"`, `"arn:aws:s3:::b"`, false},
		"of fewer actions":            {`["s3:GetObject"]`, `["arn:aws:s3:::b","arn:aws:s3:::b/*"]`, false},
	} {
		doc, err := readPolicy(`{"Statement":[{"Sid":"DetDeployTLSOnly","Effect":"Deny","Principal":"*","Action":`+tc.action+`,"Resource":`+tc.resource+`,
			"Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`, "b")
		if err != nil {
			t.Fatal(err)
		}
		_, ours := splitStatements(doc)
		if got := len(ours) == 1 && sameStatement(ours[0], tlsOnly("b")); got != tc.want {
			t.Errorf("%s: got whole %v, want %v", name, got, tc.want)
		}
	}
}

func TestEveryKindIsListedOrderedAndRemoved(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, l := range listers() {
		listed = append(listed, l.kind)
	}
	if d := cmp.Diff(listed, Kinds()); d != "" {
		t.Errorf("inventory -, order +:\n%s", d)
	}
}
