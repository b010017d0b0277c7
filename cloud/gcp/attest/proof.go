// Package attest proves the identity of a Compute Engine instance. An instance with a service
// account presents an identity token signed by Google. One without writes a guest attribute, which
// only the instance itself can write and which the master reads by the instance's name.
package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
)

// KindToken and KindGuest are the proof types in cloud.Proof.
const (
	KindToken = "gcp-identity"
	KindGuest = "gcp-guest-attributes"
)

// GuestKey is the namespace and the key of the guest attribute.
const GuestKey = "det-deploy/proof"

// audiencePrefix is the prefix of a token's audience, which restricts the token to det-deploy.
const audiencePrefix = "det-deploy/"

// nonceForm matches nonces, which make every proof unique and prevent replays.
var nonceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{20,128}$`)

// Audience returns the audience of a token for one cluster.
func Audience(cluster, nonce string) string { return audiencePrefix + cluster + "/" + nonce }

// checkAudience returns an error if a token was issued for another cluster or without a nonce.
func checkAudience(audience, cluster string) error {
	nonce, found := strings.CutPrefix(audience, audiencePrefix+cluster+"/")
	switch {
	case !found || cluster == "":
		return errors.New("it was issued for another cluster or purpose")
	case !nonceForm.MatchString(nonce):
		return errors.New("its audience has no nonce")
	}
	return nil
}

// Guest is the proof of an instance without a service account: its name, and the secret whose
// commitment is in its guest attribute. Any principal that can read the instance can read the
// attribute; it does not reveal the secret.
type Guest struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// Commitment returns the guest attribute for a secret and one cluster.
func Commitment(cluster string, g Guest) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{audiencePrefix + cluster, g.Name, g.Secret}, "\x00")))
	return hex.EncodeToString(sum[:])
}
