package local

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/agent/machine"
	"github.com/det-deploy/det-deploy/cloud"
)

// ProofKind is the form in which these machines prove which they are.
const ProofKind = machine.SecretKind

// Attestor checks the proofs of the machines of all pools below a directory,
// which is nobody's but the master's to read.
type Attestor struct{ Root string }

var _ cloud.Attestor = Attestor{}

// Attest implements cloud.Attestor.
func (a Attestor) Attest(_ context.Context, audience string, proof cloud.Proof) (cloud.InstanceID, error) {
	if proof.Kind != ProofKind {
		return "", denied(errors.New("a proof of kind " + proof.Kind + " is none of this machine's processes"))
	}
	id, err := machine.Claimed(proof.Data)
	if err != nil {
		return "", denied(err)
	}
	if !isID(id) {
		return "", denied(errors.New("it names no machine of this kind"))
	}
	files, err := filepath.Glob(filepath.Join(a.Root, "*", id, "secret"))
	if err != nil || len(files) != 1 {
		return "", denied(errors.New("there is no machine " + id))
	}
	secret, err := machine.ReadSecret(files[0])
	if err != nil {
		return "", refuse(cloud.Unavailable, "attest", err)
	}
	if err := secret.Check(proof.Data, audience, time.Now()); err != nil {
		return "", denied(err)
	}
	return cloud.InstanceID(id), nil
}

func denied(err error) error { return refuse(cloud.Denied, "attest", err) }
