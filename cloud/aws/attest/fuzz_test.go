package attest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
)

// signing is a fake STS that knows the instance's keys. It recomputes the signature of a request
// and returns the caller's identity only if both are equal.
type signing struct{ t *testing.T }

func (s signing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "sts.us-west-2.amazonaws.com" || req.Method != http.MethodPost {
		s.t.Errorf("%s %s is asked", req.Method, req.URL)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if string(body) != attest.Body {
		s.t.Errorf("%q is asked", body)
	}
	_, shown, _ := strings.Cut(req.Header.Get("Authorization"), "Signature=")
	again := req.Clone(req.Context())
	again.Header.Del("Authorization")
	keys, err := keys20(req.Context())
	if err != nil {
		return nil, err
	}
	at, err := time.Parse("20060102T150405Z", req.Header.Get("X-Amz-Date"))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(req.Context(), keys, again, hex.EncodeToString(sum[:]), "sts", "us-west-2", at); err != nil {
		return nil, err
	}
	out := &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: req}
	if strings.HasSuffix(again.Header.Get("Authorization"), "Signature="+shown) {
		out.StatusCode = http.StatusOK
		out.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(
			"<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>",
			session("agent", "i-0123456789abcdef0"))))
	}
	return out, nil
}

// For any input, only a request signed by the instance is accepted. All encodings of a proof count
// as the same one, it is valid for one cluster only, and the verifier sends no request other than
// GetCallerIdentity to Amazon.
func FuzzAttest(f *testing.F) {
	// A stored proof, because each fuzzing process would sign a different one.
	text, err := os.ReadFile("testdata/proof.json")
	if err != nil {
		f.Fatal(err)
	}
	good := cloud.Proof{Kind: attest.Kind, Data: bytes.TrimSpace(text)}
	verifier := func(t *testing.T) attest.Verifier {
		return attest.Verifier{Regions: []string{"us-west-2"}, Roles: []attest.Role{{Account: account, Name: "agent"}}, Now: now, Transport: signing{t}}
	}
	f.Add(good.Data, "lab")
	f.Add(good.Data, "prod")
	f.Add([]byte(strings.ReplaceAll(string(good.Data), ", ", ",")), "lab")
	f.Add([]byte(strings.Replace(string(good.Data), "https://sts.", "https://evil/sts.", 1)), "lab")
	f.Add([]byte(strings.Replace(string(good.Data), "X-Det-Deploy-Nonce", "x-det-deploy-nonce", 1)), "lab")
	f.Fuzz(func(t *testing.T, data []byte, cluster string) {
		want, err := verifier(t).Attest(t.Context(), "lab", good)
		if err != nil || want.Instance != "i-0123456789abcdef0" {
			t.Fatalf("the good proof: got %+v, %v", want, err)
		}
		got, err := verifier(t).Attest(t.Context(), cluster, cloud.Proof{Kind: attest.Kind, Data: data})
		if err == nil && (got != want || cluster != "lab") {
			t.Errorf("%q is believed as %+v for %q, want %+v", data, got, cluster, want)
		}
		if err != nil && got.Instance != "" {
			t.Errorf("got %+v beside %v", got, err)
		}
	})
}
