// Package attest proves the identity of a Compute Engine machine. One with a service
// account shows a token that Google signs for it; one without writes a guest attribute,
// which only the machine itself can, and which the master reads under its name.
package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
)

// KindToken and KindGuest name the two forms of proof in cloud.Proof.
const (
	KindToken = "gcp-identity"
	KindGuest = "gcp-guest-attributes"
)

// GuestKey is the guest attribute that a machine writes: its namespace and key.
const GuestKey = "det-deploy/proof"

// audiencePrefix begins the audience of a token: what it is good for.
const audiencePrefix = "det-deploy/"

// nonceForm is what makes every proof another one: a proof that was shown is not shown
// again.
var nonceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{20,128}$`)

// Audience is the audience of a token for one cluster.
func Audience(cluster, nonce string) string { return audiencePrefix + cluster + "/" + nonce }

// checkAudience refuses a token that was made for another cluster, or without a nonce.
func checkAudience(audience, cluster string) error {
	nonce, found := strings.CutPrefix(audience, audiencePrefix+cluster+"/")
	switch {
	case !found || cluster == "":
		return errors.New("it was made for another cluster or purpose")
	case !nonceForm.MatchString(nonce):
		return errors.New("its audience has no nonce")
	}
	return nil
}

// Guest is what a machine without a service account shows: its name, and the secret
// whose commitment is its guest attribute. Everyone who may read machines may read that
// attribute, and learns nothing from it.
type Guest struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// Commitment is the guest attribute of a machine with a secret, for one cluster.
func Commitment(cluster string, g Guest) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{audiencePrefix + cluster, g.Name, g.Secret}, "\x00")))
	return hex.EncodeToString(sum[:])
}
