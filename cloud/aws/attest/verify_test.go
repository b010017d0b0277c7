package attest_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

const account = "123456789012"

// now returns the time of the tests.
func now() time.Time { return time.Unix(1_900_000_000, 0) }

// sts is a fake STS that returns the same ARN or status for every request.
type sts struct {
	*httptest.Server
	asked atomic.Int32
}

func answer(t *testing.T, arn string, status int) *sts {
	t.Helper()
	s := &sts{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.asked.Add(1)
		if status == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/")
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>", arn)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sts) verifier() attest.Verifier {
	return attest.Verifier{
		Regions: []string{"us-west-2"}, Endpoint: s.URL, Roles: []attest.Role{{Account: account, Name: "agent"}}, Now: now,
		Transport: &http.Transport{DisableKeepAlives: true},
	}
}

func (s *sts) machine() attest.Machine {
	return attest.Machine{Credentials: aws.CredentialsProviderFunc(keys20), Region: "us-west-2", Endpoint: s.URL, Now: now}
}

var keys20 = credentials.NewStaticCredentialsProvider("ASIAIOSFODNN7EXAMPLE", "not-a-secret", "token").Retrieve

func proof(t *testing.T, m attest.Machine, cluster string) cloud.Proof {
	t.Helper()
	p, err := m.Sign(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// change modifies a proof like a man in the middle.
func change(t *testing.T, p cloud.Proof, f func(*attest.Signed)) cloud.Proof {
	t.Helper()
	var s attest.Signed
	if err := json.Unmarshal(p.Data, &s); err != nil {
		t.Fatal(err)
	}
	f(&s)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	p.Data = data
	return p
}

func session(role, name string) string {
	return "arn:aws:sts::" + account + ":assumed-role/" + role + "/" + name
}

func TestOnlyAgentRoleSessionsAreAccepted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arn    string
		status int
		want   cloud.Kind
	}{
		"a machine":                          {session("agent", "i-0123456789abcdef0"), 200, ""},
		"another role with the same session": {session("admin", "i-0123456789abcdef0"), 200, cloud.Denied},
		"the role in another account":        {"arn:aws:sts::999999999999:assumed-role/agent/i-0123456789abcdef0", 200, cloud.Denied},
		"a session that a person named":      {session("agent", "alice"), 200, cloud.Denied},
		"a session that only begins so":      {session("agent", "i-0123456789abcdef0x"), 200, cloud.Denied},
		"a user":                             {"arn:aws:iam::" + account + ":user/agent", 200, cloud.Denied},
		"a role below a path":                {session("agent/x", "i-0123456789abcdef0"), 200, cloud.Denied},
		"no caller":                          {"", 200, cloud.Denied},
		"a signature that Amazon refuses":    {"", 403, cloud.Denied},
		"an answer that sends elsewhere":     {session("agent", "i-0123456789abcdef0"), 302, cloud.Denied},
		"Amazon is out of order":             {"", 503, cloud.Unavailable},
		"Amazon asks for patience":           {"", 429, cloud.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answer(t, tc.arn, tc.status)
			id, err := s.verifier().Attest(t.Context(), "lab", proof(t, s.machine(), "lab"))
			if got := cloud.KindOf(err); got != tc.want || (err == nil) != (id.Instance == "i-0123456789abcdef0") {
				t.Errorf("got %v, %v, want kind %q", id, err, tc.want)
			}
		})
	}
}

func TestModifiedProofIsRejectedWithoutCall(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(*attest.Signed) {
		return func(s *attest.Signed) { s.Header[name] = value }
	}
	swap := func(old, with string) func(*attest.Signed) {
		return func(s *attest.Signed) {
			s.Header["Authorization"] = strings.Replace(s.Header["Authorization"], old, with, 1)
		}
	}
	for name, tc := range map[string]struct {
		change func(*attest.Signed)
		want   string
	}{
		"another host":                 {func(s *attest.Signed) { s.URL = "https://sts.evil.example/" }, "endpoint other than"},
		"a host with the same prefix":  {func(s *attest.Signed) { s.URL += ".evil.example/" }, "endpoint other than"},
		"another query":                {func(s *attest.Signed) { s.URL += "?Action=AssumeRole" }, "endpoint other than"},
		"an unknown header":            {set("X-Forwarded-Host", "x"), "unexpected header"},
		"a Host header":                {set("Host", "sts.evil.example"), "unexpected header"},
		"a header twice":               {set("x-det-deploy-cluster", "prod"), "duplicate header"},
		"the cluster not signed":       {swap(";x-det-deploy-cluster", ""), "missing or not signed"},
		"the host not signed":          {swap("host;", ""), "Host header is not signed"},
		"the session not signed":       {swap(";x-amz-security-token", ""), "missing or not signed"},
		"a missing signed header":      {swap("host;", "host;x-other;"), "signs a missing header"},
		"without its nonce":            {func(s *attest.Signed) { delete(s.Header, "X-Det-Deploy-Nonce") }, "X-Det-Deploy-Nonce"},
		"no session, so a user's keys": {func(s *attest.Signed) { delete(s.Header, "X-Amz-Security-Token") }, "X-Amz-Security-Token"},
		"another cluster":              {set("X-Det-Deploy-Cluster", "prod"), "another cluster"},
		"another region":               {swap("us-west-2", "eu-west-1"), "eu-west-1"},
		"another service":              {swap("/sts/", "/s3/"), "no version 4 signature"},
		"no signature":                 {func(s *attest.Signed) { delete(s.Header, "Authorization") }, "no version 4 signature"},
		"a line break in a signature":  {swap("Signature=", "Signature=\n"), "no version 4 signature"},
		"another day than its scope":   {set("X-Amz-Date", now().AddDate(0, 0, -1).UTC().Format("20060102T150405Z")), "date is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answer(t, session("agent", "i-0123456789abcdef0"), 200)
			p := change(t, proof(t, s.machine(), "lab"), tc.change)
			if _, err := s.verifier().Attest(t.Context(), "lab", p); cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it denied for %q", err, tc.want)
			}
			if s.asked.Load() != 0 {
				t.Errorf("asked %d times", s.asked.Load())
			}
		})
	}
}

// A re-encoded proof is either rejected or recognized as the same one.
func TestReencodedProofHasSameID(t *testing.T) {
	t.Parallel()
	s := answer(t, session("agent", "i-0123456789abcdef0"), 200)
	p := proof(t, s.machine(), "lab")
	want, err := s.verifier().Attest(t.Context(), "lab", p)
	if err != nil || want.Once == "" {
		t.Fatalf("got %+v, %v", want, err)
	}
	rename := func(s *attest.Signed, to func(string) string) {
		header := map[string]string{}
		for name, value := range s.Header {
			header[to(name)] = value
		}
		s.Header = header
	}
	for name, spell := range map[string]func(*attest.Signed){
		"headers in small letters": func(s *attest.Signed) { rename(s, strings.ToLower) },
		"headers in capitals":      func(s *attest.Signed) { rename(s, strings.ToUpper) },
		"no blanks in the signature": func(s *attest.Signed) {
			s.Header["Authorization"] = strings.ReplaceAll(s.Header["Authorization"], ", ", ",")
		},
		"blanks around the nonce":   func(s *attest.Signed) { s.Header[attest.Nonce] = " " + s.Header[attest.Nonce] + "  " },
		"blanks around the cluster": func(s *attest.Signed) { s.Header[attest.Audience] += " " },
		"a capital signature":       func(s *attest.Signed) { s.Header["Authorization"] = strings.ToUpper(s.Header["Authorization"]) },
		"escapes in the address":    func(s *attest.Signed) { s.URL = strings.TrimSuffix(s.URL, "/") + "/%2e" },
	} {
		if got, err := s.verifier().Attest(t.Context(), "lab", change(t, p, spell)); err == nil && got.Once != want.Once {
			t.Errorf("%s: got %q, want %q or a refusal", name, got.Once, want.Once)
		}
	}
	padded := cloud.Proof{Kind: p.Kind, Data: []byte(" \n" + strings.ReplaceAll(string(p.Data), `":`, `" : `) + "\n\n")}
	if got, err := s.verifier().Attest(t.Context(), "lab", padded); err == nil && got.Once != want.Once {
		t.Errorf("blanks in the text: got %q, want %q or a refusal", got.Once, want.Once)
	}
}

func TestProofExpiresAndIsBoundToCluster(t *testing.T) {
	t.Parallel()
	s := answer(t, session("agent", "i-0123456789abcdef0"), 200)
	p := proof(t, s.machine(), "lab")
	for name, tc := range map[string]struct {
		later    time.Duration
		audience string
		good     bool
	}{
		"at once":               {0, "lab", true},
		"after ten minutes":     {10 * time.Minute, "lab", true},
		"after sixteen minutes": {16 * time.Minute, "lab", false},
		"from the near future":  {-4 * time.Minute, "lab", true},
		"from the far future":   {-6 * time.Minute, "lab", false},
		"shown to another":      {0, "prod", false},
		"shown to no master":    {0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := s.verifier()
			v.Now = func() time.Time { return now().Add(tc.later) }
			_, err := v.Attest(t.Context(), tc.audience, p)
			if (err == nil) != tc.good {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMalformedProofIsRejected(t *testing.T) {
	t.Parallel()
	s := answer(t, "", 200)
	for _, p := range []cloud.Proof{
		{},
		{Kind: "local", Data: []byte("{}")},
		{Kind: attest.Kind},
		{Kind: attest.Kind, Data: []byte("null")},
		{Kind: attest.Kind, Data: []byte(`{"url": "x", "body": "Action=AssumeRole"}`)},
		{Kind: attest.Kind, Data: []byte(`{}{}`)},
		{Kind: attest.Kind, Data: make([]byte, 1<<20)},
	} {
		if _, err := s.verifier().Attest(t.Context(), "lab", p); cloud.KindOf(err) != cloud.Denied {
			t.Errorf("%s %.40s: got %v", p.Kind, p.Data, err)
		}
	}
	if s.asked.Load() != 0 {
		t.Errorf("asked %d times", s.asked.Load())
	}
}

func TestUnavailableSTSDeniesNoProof(t *testing.T) {
	t.Parallel()
	s := answer(t, "", 200)
	p, v := proof(t, s.machine(), "lab"), s.verifier()
	s.Close()
	if _, err := v.Attest(t.Context(), "lab", p); cloud.KindOf(err) != cloud.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestRealSignatures verifies proofs against an emulator: a valid one, those with wrong keys or
// another role, and modified ones whose changes only the emulator can detect.
func TestRealSignatures(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	arn := a.Role(t, "agent", "")
	other := a.Role(t, "other", "")
	a.Enforce(t, true)
	v := attest.Verifier{
		Regions: []string{motest.Region}, Endpoint: a.Endpoint, Now: time.Now, Roles: []attest.Role{{Account: a.ID, Name: "agent"}},
		Transport: &http.Transport{DisableKeepAlives: true},
		Patience:  2 * time.Minute, // the emulator is slow on a loaded machine
	}
	signer := func(role, id string, change func(*aws.Credentials)) attest.Machine {
		c := a.Assume(t, role, id)
		change(&c)
		return attest.Machine{
			Credentials: credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken),
			Region:      motest.Region, Endpoint: a.Endpoint, Now: time.Now,
		}
	}
	same := func(*aws.Credentials) {}
	p := proof(t, signer(arn, "i-0123456789abcdef0", same), "lab")
	if id, err := v.Attest(t.Context(), "lab", p); id.Instance != "i-0123456789abcdef0" || err != nil {
		t.Errorf("got %v, %v", id, err)
	}
	for name, p := range map[string]cloud.Proof{
		"by wrong keys":   proof(t, signer(arn, "i-0123456789abcdef0", func(c *aws.Credentials) { c.SecretAccessKey += "x" }), "lab"),
		"by another role": proof(t, signer(other, "i-0123456789abcdef0", same), "lab"),
		"of another cluster, renamed": change(t, proof(t, signer(arn, "i-0123456789abcdef0", same), "prod"), func(s *attest.Signed) {
			s.Header["X-Det-Deploy-Cluster"] = "lab"
		}),
		"made fresh again": change(t, p, func(s *attest.Signed) {
			s.Header["X-Amz-Date"] = time.Now().Add(time.Minute).UTC().Format("20060102T150405Z")
		}),
	} {
		if _, err := v.Attest(t.Context(), "lab", p); cloud.KindOf(err) != cloud.Denied {
			t.Errorf("%s: got %v, want it denied", name, err)
		}
	}
}

func TestRoleOfProfile(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	role := a.Role(t, "agent", "")
	arn := strings.Replace(role, ":role/", ":instance-profile/", 1)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	ask := func(c aws.Config, arn string) (attest.Role, error) {
		return attest.RoleOf(t.Context(), api.New(c, api.Options{}).IAM, arn, log)
	}
	want := attest.Role{Account: a.ID, Name: "agent"}
	if got, err := ask(a.Config(), arn); got != want || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	nobody := a.As(a.Assume(t, role, "i-1"))
	a.Enforce(t, true)
	if got, err := ask(nobody, arn); got != want || err != nil {
		t.Errorf("without permission: got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "agent", role} {
		if _, err := ask(a.Config(), bad); cloud.KindOf(err) != cloud.Invalid {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	if _, err := ask(a.Config(), arn+"x"); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v", err)
	}
}
