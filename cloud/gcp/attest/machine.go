package attest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// Prover proves the identity of the machine on which this program runs.
type Prover struct{ Metadata metadata.Server }

// Prove returns a proof for one cluster: an identity token, or a guest attribute if the instance
// has no service account.
func (p Prover) Prove(ctx context.Context, cluster string) (cloud.Proof, error) {
	if cluster == "" {
		return cloud.Proof{}, errors.New("prove the machine's identity: no cluster ID")
	}
	query := url.Values{"audience": {Audience(cluster, rand.Text())}, "format": {"full"}}
	token, err := p.Metadata.Read(ctx, "instance/service-accounts/default/identity?"+query.Encode())
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return p.proveByGuest(ctx, cluster)
	case err != nil:
		return cloud.Proof{}, err
	}
	return cloud.Proof{Kind: KindToken, Data: []byte(token)}, nil
}

// proveByGuest writes the commitment of a new secret to a guest attribute, which only this instance
// can write.
func (p Prover) proveByGuest(ctx context.Context, cluster string) (cloud.Proof, error) {
	name, err := p.Metadata.Read(ctx, "instance/name")
	if err != nil {
		return cloud.Proof{}, err
	}
	g := Guest{Name: name, Secret: rand.Text() + rand.Text()}
	if err := p.Metadata.Write(ctx, "instance/guest-attributes/"+GuestKey, Commitment(cluster, g)); err != nil {
		return cloud.Proof{}, err
	}
	data, err := json.Marshal(g)
	return cloud.Proof{Kind: KindGuest, Data: data}, err
}
