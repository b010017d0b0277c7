package local

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// ProofKind is the proof type of local machines.
const ProofKind = machine.SecretKind

// Attestor verifies proofs against the secrets of all pools' machines below a directory that only
// the master can read.
type Attestor struct{ Root string }

var _ cloud.Attestor = Attestor{}

// Attest implements cloud.Attestor.
func (a Attestor) Attest(_ context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	if proof.Kind != ProofKind {
		return cloud.Attested{}, deniedError(errors.New("proof type " + proof.Kind + " is not supported"))
	}
	id, err := machine.Claimed(proof.Data)
	if err != nil {
		return cloud.Attested{}, deniedError(err)
	}
	if !isID(id) {
		return cloud.Attested{}, deniedError(errors.New("it names no local machine"))
	}
	pools, err := listDir(a.Root)
	if err != nil {
		return cloud.Attested{}, wrapRefusal(cloud.Unavailable, "attest", err)
	}
	at := slices.IndexFunc(pools, func(pool string) bool { return fileExists(Place(filepath.Join(pool, id)).Secret()) })
	if at < 0 {
		return cloud.Attested{}, deniedError(errors.New("there is no machine " + id))
	}
	secret, err := machine.ReadSecret(Place(filepath.Join(pools[at], id)).Secret())
	if err != nil {
		return cloud.Attested{}, wrapRefusal(cloud.Unavailable, "attest", err)
	}
	once, err := secret.Check(proof.Data, audience, time.Now())
	if err != nil {
		return cloud.Attested{}, deniedError(err)
	}
	return cloud.Attested{Instance: cloud.InstanceID(id), Once: once}, nil
}

func deniedError(err error) error { return wrapRefusal(cloud.Denied, "attest", err) }
