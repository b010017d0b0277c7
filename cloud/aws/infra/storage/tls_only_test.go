package storage

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestTLSOnlyKeepsOtherStatements(t *testing.T) {
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
	if once != twice {
		t.Errorf("applied twice: got %s, want %s", twice, once)
	}
	const want = `{"Version":"2012-10-17","Statement":[
		{"Sid":"Theirs","Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"*"},
		{"Sid":"DetDeployTLSOnly","Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::b","arn:aws:s3:::b/*"],
		 "Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
	var got, wanted any
	if json.Unmarshal([]byte(once), &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %s, want %s", once, want)
	}
}

func TestTLSOnlyRecognizesNormalizedStatement(t *testing.T) {
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
