package attest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
)

func keys(_ context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "ASIAX", SecretAccessKey: "not-a-secret", SessionToken: "token"}, nil
}

func sign(t *testing.T, cluster string) attest.Signed {
	t.Helper()
	m := attest.Machine{Credentials: aws.CredentialsProviderFunc(keys), Region: "us-west-2", Now: func() time.Time { return time.Unix(1e9, 0) }}
	p, err := m.Sign(t.Context(), cluster)
	if err != nil || p.Kind != "aws-sts" {
		t.Fatalf("got %+v, %v", p, err)
	}
	var s attest.Signed
	if err := json.Unmarshal(p.Data, &s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(p.Data), "not-a-secret") {
		t.Error("got the secret key in a proof")
	}
	return s
}

func TestClusterIDIsSigned(t *testing.T) {
	t.Parallel()
	a, b := sign(t, "lab"), sign(t, "prod")
	if a.Header[attest.Audience] != "lab" || !strings.Contains(a.Header["Authorization"], "x-det-deploy-cluster") {
		t.Errorf("got %v, want the cluster ID signed", a.Header)
	}
	if a.Header["Authorization"] == b.Header["Authorization"] {
		t.Error("got one signature for two clusters")
	}
	if again := sign(t, "lab"); again.Header["Authorization"] == a.Header["Authorization"] {
		t.Error("got one proof twice in the same second")
	}
	if a.Header["X-Amz-Security-Token"] != "token" {
		t.Errorf("got %v, want the session that names the machine", a.Header)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"us-west-2", "", "https://sts.us-west-2.amazonaws.com/"},
		{"cn-north-1", "", "https://sts.cn-north-1.amazonaws.com.cn/"},
		{"us-west-2", "http://127.0.0.1:5000", "http://127.0.0.1:5000/"},
	} {
		if got := attest.URL(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%s %s: got %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestSignWithoutRole(t *testing.T) {
	t.Parallel()
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("no role") })
	_, err := attest.Machine{Credentials: none, Region: "us-west-2", Now: time.Now}.Sign(t.Context(), "lab")
	if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "no role") {
		t.Errorf("got %v, want that it is denied and why", err)
	}
}
