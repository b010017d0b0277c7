package attest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const (
	zone  = "us-west1-b"
	nonce = "abcdefghijklmnopqrstuvwxyz"
)

// lab is a project with a pool of instances, and the verifier of its master.
type lab struct {
	attest.Verifier

	world   *gcptest.World
	pool    *fleet.Fleet
	account string
	machine cloud.InstanceID
}

// newLab launches an instance with or without a service account.
func newLab(t *testing.T, account bool) *lab {
	t.Helper()
	w := gcptest.New(t, gcptest.Options{})
	l := &lab{world: w}
	if account {
		l.account = w.GiveAccount(gcptest.Project, "det-agent")
	}
	c, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-west1"})
	if err != nil {
		t.Fatal(err)
	}
	l.pool, err = fleet.New(c, fleet.Config{
		Cluster: "lab", Pool: "gpu", Pair: fleet.Label{Key: "managed-by", Value: "lab"}, Zones: []string{zone, "us-west1-a"}, Image: gcptest.ImageUbuntu, Account: l.account,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.machine = l.launch(t, "one", zone)
	keys := &attest.Keys{Transport: gcptest.InProcess(w.Certs("key-1", "key-2")), Now: w.Now}
	l.Verifier = attest.Verifier{Keys: keys, Machines: fleet.Pools{l.pool}, Now: w.Now}
	return l
}

func (l *lab) launch(t *testing.T, token, zone string) cloud.InstanceID {
	t.Helper()
	got, err := l.pool.Launch(t.Context(), cloud.Launch{Token: token, Count: 1, Offer: cloud.Offer{Type: "e2-standard-4", Zone: zone, Price: cloud.OnDemand}})
	if err != nil {
		t.Fatal(err)
	}
	return got[0].ID
}

// prove returns the instance's proof.
func (l *lab) prove(t *testing.T, cluster string) cloud.Proof {
	t.Helper()
	p, err := attest.Prover{Metadata: metadata.Server{Transport: gcptest.InProcess(l.world.Metadata(gcptest.Project, zone, string(l.machine)))}}.Prove(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProve(t *testing.T) {
	t.Parallel()
	for kind, account := range map[string]bool{attest.KindToken: true, attest.KindGuest: false} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, account)
			seen := make(map[string]bool)
			for range 2 {
				p := l.prove(t, "lab")
				got, err := l.Attest(t.Context(), "lab", p)
				if err != nil || got.Instance != l.machine || got.Once == "" || seen[got.Once] || p.Kind != kind {
					t.Errorf("got %+v, %v of a proof of kind %s", got, err, p.Kind)
				}
				seen[got.Once] = true
				if _, err := l.Attest(t.Context(), "lab-2", p); cloud.KindOf(err) != cloud.Denied {
					t.Errorf("another cluster: got %v, want it denied", err)
				}
			}
		})
	}
}

// forgery is a token with modified claims.
type forgery struct {
	change func(l *lab, claims, machine map[string]any)
	// sign signs the claims. Nil uses Google's key.
	sign func(l *lab, claims map[string]any) string
	want cloud.Kind
}

// token returns the forged token.
func (f forgery) token(l *lab) string {
	claims := l.world.Claims(gcptest.Project, zone, string(l.machine), attest.Audience("lab", nonce))
	f.change(l, claims, claims["google"].(map[string]any)["compute_engine"].(map[string]any))
	if f.sign == nil {
		return l.world.SignToken("key-2", claims)
	}
	return f.sign(l, claims)
}

func set(key string, value any) func(*lab, map[string]any, map[string]any) {
	return func(_ *lab, claims, _ map[string]any) { claims[key] = value }
}

func setMachine(key string, value any) func(*lab, map[string]any, map[string]any) {
	return func(_ *lab, _, machine map[string]any) { machine[key] = value }
}

// later shifts the times of a token.
func later(d time.Duration) func(*lab, map[string]any, map[string]any) {
	return func(_ *lab, claims, _ map[string]any) {
		for _, key := range []string{"iat", "exp"} {
			claims[key] = claims[key].(int64) + int64(d/time.Second)
		}
	}
}

func part(v any) string {
	b, _ := json.Marshal(v) // maps of strings and numbers
	return base64.RawURLEncoding.EncodeToString(b)
}

func forgeries() map[string]forgery {
	keep := func(*lab, map[string]any, map[string]any) {}
	return map[string]forgery{
		"a token": {change: keep},
		"no signature": {change: keep, want: cloud.Denied, sign: func(_ *lab, c map[string]any) string {
			return part(map[string]string{"alg": "none", "kid": "key-1"}) + "." + part(c) + "."
		}},
		"another algorithm": {change: keep, want: cloud.Denied, sign: func(_ *lab, c map[string]any) string {
			return part(map[string]string{"alg": "none", "kid": "key-1"}) + "." + part(c) + ".AAAA"
		}},
		"a public key as a secret": {change: keep, want: cloud.Denied, sign: func(_ *lab, c map[string]any) string {
			signed := part(map[string]string{"alg": "HS256", "kid": "key-1"}) + "." + part(c)
			mac := hmac.New(sha256.New, []byte("public"))
			mac.Write([]byte(signed))
			return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		}},
		"another name of the algorithm": {change: keep, want: cloud.Denied, sign: func(l *lab, c map[string]any) string { return l.world.SignTokenAs("RS512", "key-1", c) }},
		"another payload": {change: keep, want: cloud.Denied, sign: func(l *lab, c map[string]any) string {
			parts := strings.Split(l.world.SignToken("key-1", c), ".")
			c["sub"] = "x"
			return parts[0] + "." + part(c) + "." + parts[2]
		}},
		"a key that Google does not have": {change: keep, want: cloud.Denied, sign: func(l *lab, c map[string]any) string { return l.world.SignToken("key-9", c) }},
		"no key":                          {change: keep, want: cloud.Denied, sign: func(l *lab, c map[string]any) string { return l.world.SignToken("", c) }},
		"another spelling of the token":   {change: keep, want: cloud.Denied, sign: func(l *lab, c map[string]any) string { return l.world.SignToken("key-1", c) + "\n" }},
		"padding":                         {change: keep, want: cloud.Denied, sign: func(l *lab, c map[string]any) string { return l.world.SignToken("key-1", c) + "=" }},
		"no token":                        {change: keep, want: cloud.Denied, sign: func(*lab, map[string]any) string { return "a.b" }},
		"too much":                        {change: set("x", strings.Repeat("x", 16<<10)), want: cloud.Denied},
		"another issuer":                  {change: set("iss", "https://accounts.example.com"), want: cloud.Denied},
		"no issuer":                       {change: set("iss", ""), want: cloud.Denied},
		"another audience":                {change: set("aud", "https://example.com"), want: cloud.Denied},
		"another cluster":                 {change: set("aud", attest.Audience("lab-2", nonce)), want: cloud.Denied},
		"a cluster that begins so":        {change: set("aud", attest.Audience("lab", "2/"+nonce)), want: cloud.Denied},
		"no nonce":                        {change: set("aud", "det-deploy/lab/"), want: cloud.Denied},
		"many audiences":                  {change: set("aud", []string{attest.Audience("lab", nonce)}), want: cloud.Denied},
		"of a quarter of an hour ago":     {change: later(-16 * time.Minute), want: cloud.Denied},
		"of some minutes ago":             {change: later(-14 * time.Minute)},
		"of a clock that is fast":         {change: later(4 * time.Minute)},
		"of the future":                   {change: later(6 * time.Minute), want: cloud.Denied},
		"over":                            {change: set("exp", int64(1)), want: cloud.Denied},
		"without an end":                  {change: set("exp", nil), want: cloud.Denied},
		"without a beginning":             {change: set("iat", nil), want: cloud.Denied},
		"without a machine":               {change: set("google", nil), want: cloud.Denied},
		"of a person":                     {change: set("email", "ann@example.com"), want: cloud.Denied},
		"of the default account":          {change: set("email", "415104041262-compute@developer.gserviceaccount.com"), want: cloud.Denied},
		"of an address that is unproven":  {change: set("email_verified", false), want: cloud.Denied},
		"of another project":              {change: setMachine("project_id", "evil"), want: cloud.Denied},
		"of another zone":                 {change: setMachine("zone", "us-west1-a"), want: cloud.Denied},
		"of another region's zone":        {change: setMachine("zone", zone+"x"), want: cloud.Denied},
		"of a machine of the same name":   {change: setMachine("instance_id", "4000000000000000001"), want: cloud.Denied},
		"without a number":                {change: setMachine("instance_id", nil), want: cloud.Denied},
		"of a machine that no one made":   {change: setMachine("instance_name", "det-lab-gpu-x-0"), want: cloud.NotFound},
		"without a name":                  {change: setMachine("instance_name", nil), want: cloud.NotFound},
		"of another machine of the pool":  {change: func(l *lab, _, m map[string]any) { m["instance_name"] = string(l.machine[:len(l.machine)-1]) + "1" }, want: cloud.NotFound},
	}
}

func TestForgedTokenIsRejected(t *testing.T) {
	t.Parallel()
	for name, f := range forgeries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, true)
			got, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindToken, Data: []byte(f.token(l))})
			if cloud.KindOf(err) != f.want || (err == nil) != (got.Instance == l.machine) {
				t.Errorf("got %+v, %v, want %q", got, err, f.want)
			}
		})
	}
}

// An instance cannot prove to be another one of the pool, and a re-created instance of the same
// name is another one.
func TestReplacedInstanceIsAnotherOne(t *testing.T) {
	t.Parallel()
	l := newLab(t, true)
	p := l.prove(t, "lab")
	if err := l.pool.Terminate(t.Context(), []cloud.InstanceID{l.machine}); err != nil {
		t.Fatal(err)
	}
	if got := l.launch(t, "one", zone); got != l.machine {
		t.Fatalf("got %s, want %s again", got, l.machine)
	}
	if _, err := l.Attest(t.Context(), "lab", p); cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "another one named") {
		t.Errorf("got %v", err)
	}
	if _, err := l.Attest(t.Context(), "lab", l.prove(t, "lab")); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := l.pool.Terminate(t.Context(), []cloud.InstanceID{l.machine}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Attest(t.Context(), "lab", p); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("one that is gone: got %v", err)
	}
}

func TestStandardTokenHasNoInstanceClaims(t *testing.T) {
	t.Parallel()
	l := newLab(t, true)
	claims := l.world.Claims(gcptest.Project, zone, string(l.machine), attest.Audience("lab", nonce))
	delete(claims, "google")
	_, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindToken, Data: []byte(l.world.SignToken("key-1", claims))})
	if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "full format") {
		t.Errorf("got %v", err)
	}
}

func guest(name, secret string) []byte {
	b, _ := json.Marshal(attest.Guest{Name: name, Secret: secret}) // two strings
	return b
}

func TestForgedGuestProofIsRejected(t *testing.T) {
	t.Parallel()
	l := newLab(t, false)
	name, other := string(l.machine), string(l.launch(t, "two", zone))
	real := l.prove(t, "lab")
	var g attest.Guest
	if err := json.Unmarshal(real.Data, &g); err != nil {
		t.Fatal(err)
	}
	published := attest.Commitment("lab", g)
	for what, tc := range map[string]struct {
		data []byte
		want cloud.Kind
	}{
		"a proof":                        {real.Data, ""},
		"another secret":                 {guest(name, nonce), cloud.Denied},
		"what everybody may read":        {guest(name, published), cloud.Denied},
		"no secret":                      {guest(name, ""), cloud.Denied},
		"the secret of another machine":  {guest(other, g.Secret), cloud.Denied},
		"a machine that was not made":    {guest("det-lab-gpu-x-0", g.Secret), cloud.NotFound},
		"a machine of no name":           {guest("", g.Secret), cloud.NotFound},
		"nothing":                        {nil, cloud.Denied},
		"a list":                         {[]byte("[]"), cloud.Denied},
		"more than a name and a secret":  {guest(name, strings.Repeat("x", 17<<10)), cloud.Denied},
		"a secret of something else":     {guest(name, g.Secret+" "), cloud.Denied},
		"a name that leads to the other": {guest("../"+zone+"/"+name, g.Secret), cloud.NotFound},
	} {
		got, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindGuest, Data: tc.data})
		if cloud.KindOf(err) != tc.want || (err == nil) != (got.Instance == l.machine) {
			t.Errorf("%s: got %+v, %v, want %q", what, got, err, tc.want)
		}
	}
	if _, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: "aws-sts", Data: real.Data}); cloud.KindOf(err) != cloud.Denied {
		t.Errorf("another platform's proof: got %v", err)
	}
	l.world.FailOp("compute.instances.getGuestAttributes", faults.Break, faults.Break, faults.Break)
	if _, err := l.Attest(t.Context(), "lab", real); cloud.KindOf(err) != cloud.Unavailable {
		t.Errorf("Google is out of order: got %v", err)
	}
}

// An instance with a service account cannot use the weaker proof.
func TestInstanceWithAccountRequiresToken(t *testing.T) {
	t.Parallel()
	l := newLab(t, true)
	g := attest.Guest{Name: string(l.machine), Secret: nonce}
	l.world.SetGuestAttribute(gcptest.Project, zone, g.Name, attest.GuestKey, attest.Commitment("lab", g))
	_, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindGuest, Data: guest(g.Name, g.Secret)})
	if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "must present a token") {
		t.Errorf("got %v", err)
	}
}

func TestProofIsBoundToCluster(t *testing.T) {
	t.Parallel()
	if _, err := (attest.Prover{}).Prove(t.Context(), ""); err == nil {
		t.Error("got no error, want one: a proof for every cluster opens every one")
	}
}

// An instance that can neither obtain a token nor write guest attributes gets a descriptive error.
func TestProveWithoutTokenAndGuestAttributes(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		switch {
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusForbidden)
		case !strings.HasSuffix(r.URL.Path, "/name"):
			w.WriteHeader(http.StatusNotFound)
		}
	})
	_, err := attest.Prover{Metadata: metadata.Server{Transport: gcptest.InProcess(h)}}.Prove(t.Context(), "lab")
	if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "guest-attributes") {
		t.Errorf("got %v", err)
	}
}
