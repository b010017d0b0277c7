package attest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The period in which a token is accepted. Google's tokens are valid for an hour, but instances
// present new ones; clocks may differ by minutes.
const (
	maxAge  = 15 * time.Minute
	maxSkew = 5 * time.Minute
)

// tokenLimit is the maximum size of a token. Tokens are much smaller.
const tokenLimit = 16 << 10

// issuer is the issuer of identity tokens.
const issuer = "https://accounts.google.com"

// algorithm is their signature algorithm. It is never taken from the token.
const algorithm = "RS256"

// tokenForm matches the canonical encoding of a token.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

// token is a parsed, unverified token.
type token struct {
	keyID     string
	claims    claims
	signed    string // the signed part
	signature []byte
}

// claims are the relevant claims of an identity token in the full format.
// https://cloud.google.com/compute/docs/instances/verifying-instance-identity#payload
type claims struct {
	Issuer        string `json:"iss"`
	Audience      string `json:"aud"`
	IssuedAt      int64  `json:"iat"`
	ExpiresAt     int64  `json:"exp"`
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
	Google        struct {
		Machine *machineClaims `json:"compute_engine"`
	} `json:"google"`
}

// machineClaims are the claims about the instance, which exist in the full format only.
type machineClaims struct {
	Project string      `json:"project_id"`
	Zone    string      `json:"zone"`
	Name    string      `json:"instance_name"`
	Number  json.Number `json:"instance_id"`
}

// parseToken parses a token without verifying it.
func parseToken(data []byte) (token, error) {
	text := string(data)
	if len(text) > tokenLimit || !tokenForm.MatchString(text) {
		return token{}, errors.New("it is not a signed token")
	}
	parts := strings.Split(text, ".")
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	t := token{signed: parts[0] + "." + parts[1]}
	if err := errors.Join(decodePart(parts[0], &header), decodePart(parts[1], &t.claims)); err != nil {
		return token{}, err
	}
	if header.Algorithm != algorithm {
		return token{}, fmt.Errorf("it is signed with %.20q instead of %s", header.Algorithm, algorithm)
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil {
		return token{}, errors.New("its signature cannot be parsed")
	}
	t.keyID, t.signature = header.KeyID, signature
	return t, nil
}

func decodePart(part string, into any) error {
	data, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || json.Unmarshal(data, into) != nil {
		return errors.New("its parts are not JSON")
	}
	return nil
}

// checkSignature returns an error if the token is not signed with key.
func (t token) checkSignature(key *rsa.PublicKey) error {
	sum := sha256.Sum256([]byte(t.signed))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], t.signature) != nil {
		return errors.New("its signature is invalid")
	}
	return nil
}

// once returns an identifier of the token. A text has exactly one valid signature.
func (t token) once() string {
	sum := sha256.Sum256([]byte(t.signed))
	return hex.EncodeToString(sum[:])
}

// check returns an error if a token is not valid for this cluster and time, or does not belong to
// an instance.
func (c claims) check(cluster string, now time.Time) error {
	issued, expires := time.Unix(c.IssuedAt, 0), time.Unix(c.ExpiresAt, 0)
	switch {
	case c.Issuer != issuer:
		return fmt.Errorf("its issuer is %.60q, not Google", c.Issuer)
	case issued.After(now.Add(maxSkew)):
		return errors.New("it was issued in the future; synchronize the machines' clocks")
	case now.Sub(issued) > maxAge:
		return fmt.Errorf("it was issued more than %s ago", maxAge)
	case !expires.After(now):
		return errors.New("it has expired")
	case c.Google.Machine == nil:
		return errors.New("it names no instance; it must be in the full format")
	}
	return checkAudience(c.Audience, cluster)
}
