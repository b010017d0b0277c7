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

// tokenLife is how long a token is good.
// https://cloud.google.com/compute/docs/instances/verifying-instance-identity
const tokenLife = time.Hour

// signer signs the tokens of machines. Its key is made when it is first needed, once a
// process: it takes a tenth of a second.
var signer = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// SignToken is a token with claims, as Google signs it with one of its keys.
func (w *World) SignToken(keyID string, claims any) string {
	return w.SignTokenAs("RS256", keyID, claims)
}

// SignTokenAs is SignToken for a token that says it is signed by another algorithm.
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
	b, _ := json.Marshal(v) // maps of texts and numbers
	return base64.RawURLEncoding.EncodeToString(b)
}

// Certs answers with the public keys of tokens. All of them are the same key, so that a
// world can name as many as it wants.
// https://www.googleapis.com/oauth2/v3/certs
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
		_ = json.NewEncoder(rw).Encode(map[string]any{"keys": keys}) // the client is gone
	})
}

// Claims is what the token of a machine says, in full form.
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
