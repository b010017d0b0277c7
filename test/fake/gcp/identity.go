package gcptest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"sync"
	"time"

	"google.golang.org/api/compute/v1"
)

// tokenLife is the validity of a token.
// https://cloud.google.com/compute/docs/instances/verifying-instance-identity
const tokenLife = time.Hour

// signer returns the key that signs identity tokens. It is generated once per process on first use,
// because that takes a tenth of a second.
var signer = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// SignToken returns a token with claims, signed like with one of Google's keys.
func (w *World) SignToken(keyID string, claims any) string {
	return w.SignTokenAs("RS256", keyID, claims)
}

// SignTokenAs is like SignToken for a token whose header names another algorithm.
func (w *World) SignTokenAs(algorithm, keyID string, claims any) string {
	key := w.signingKey()
	signed := encodePart(map[string]any{"alg": algorithm, "kid": keyID, "typ": "JWT"}) + "." + encodePart(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		w.tb.Errorf("gcptest: sign a token: %v", err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (w *World) signingKey() *rsa.PrivateKey {
	key, err := signer()
	if err != nil {
		w.tb.Errorf("gcptest: make a key: %v", err)
	}
	return key
}

func encodePart(v any) string {
	b, _ := json.Marshal(v) // maps of strings and numbers
	return base64.RawURLEncoding.EncodeToString(b)
}

// Certs serves the public keys of tokens. The same key is served under all IDs, so that a test can
// use any number of them. https://www.googleapis.com/oauth2/v3/certs
func (w *World) Certs(keyIDs ...string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/oauth2/v3/certs" {
			http.NotFound(rw, r)
			return
		}
		key := w.signingKey().PublicKey
		var keys []map[string]string
		for _, id := range keyIDs {
			keys = append(keys, map[string]string{
				"kty": "RSA", "alg": "RS256", "use": "sig", "kid": id,
				"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
			})
		}
		rw.Header().Set("Cache-Control", "public, max-age=20272, must-revalidate, no-transform")
		_ = json.NewEncoder(rw).Encode(map[string]any{"keys": keys}) // the client may have disconnected
	})
}

// Claims returns the claims of an instance's identity token in the full format.
// https://cloud.google.com/compute/docs/instances/verifying-instance-identity#payload
func (w *World) Claims(projectID, zoneName, name, audience string) map[string]any {
	var out map[string]any
	w.onMachine(projectID, zoneName, name, func(_ string, m *machine) { out = w.claimsOf(projectID, zoneName, audience, &m.Instance) })
	return out
}

func (w *World) claimsOf(projectID, zoneName, audience string, i *compute.Instance) map[string]any {
	now := w.now().Unix()
	subject := "108000000000000000001"
	return map[string]any{
		"iss": "https://accounts.google.com", "aud": audience, "azp": subject, "sub": subject, "iat": now, "exp": now + int64(tokenLife/time.Second),
		"email": i.ServiceAccounts[0].Email, "email_verified": true,
		"google": map[string]any{"compute_engine": map[string]any{
			"project_id": projectID, "project_number": w.findProject(projectID).number, "zone": zoneName,
			"instance_id": decimal64(i.Id), "instance_name": i.Name, "instance_creation_timestamp": now,
		}},
	}
}
